package objects

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/io/storage"
)

// maxLate is how many late files of earlier holders of a claim are deleted before another is written.
const maxLate = 12

// manifestName is the file that completes a directory.
const manifestName = "manifest.json"

// publication is a directory while it is published.
//
// A bucket cannot rename directories. So the files are written under their final names,
// and the directory exists once its last file does, the commit file, which readers read
// first. The files of two publishers must never mix, even if one of them stops at the
// worst moment and continues later:
//
//   - A publisher holds a lease, the claim. A process that takes the claim over first
//     deletes what the previous publisher has left.
//   - A file is written only under a free name, and deleted only at the version that
//     was seen. So a late write or delete fails instead of changing another publisher's file.
//   - The commit file appears in one request, in Client.Commit, which fails if the claim was taken before. A
//     publisher whose claim was taken cannot commit.
//
// Where versions follow from the content, the version does not protect a file from the delete of a late publisher
// that has seen an equal one. Such deletes have a deadline well before the claim may be taken. One that is served
// even later leaves a directory without a file, which readers refuse.
type publication struct {
	store  *Store
	dir    Name
	files  []storage.File
	commit storage.File
	claim  *Lease
	mark   string // of the commit file, to recognise it

	dropped bool // the claim was released
}

// Claim implements storage.Store.
func (s *Store) Claim(ctx context.Context, name string) (storage.StoreClaim, error) {
	d, err := Object(name)
	if err != nil {
		return nil, err
	}
	l, err := s.Acquire(ctx, resolved(storage.ClaimName(d.String())))
	if err != nil {
		return nil, err
	}
	return &publication{store: s, dir: d, claim: l, mark: rand.Text()}, nil
}

// Publish implements storage.StoreClaim: it creates the manifest, or else the last file, after all others, because a
// directory counts as complete once it has this file. If that fails, it removes what it has created.
func (p *publication) Publish(ctx context.Context, files []storage.File) error {
	if len(files) == 0 {
		return storage.Invalidf("a directory needs at least one file")
	}
	last := slices.IndexFunc(files, func(f storage.File) bool { return f.Name == manifestName })
	if last < 0 {
		last = len(files) - 1
	}
	p.commit = files[last]
	p.files = slices.Delete(slices.Clone(files), last, last+1)
	err := p.make(ctx)
	if err == nil {
		// A claim that stays is harmless: the next publisher sees that its owner has ended.
		_ = p.Drop(ctx)
		return nil
	}
	tidy, cancel := Tidying(ctx)
	defer cancel()
	switch {
	case p.undo(tidy):
		return nil
	case !errors.Is(err, ErrUnmet):
		return err
	}
	if err := p.store.CheckAbsent(tidy, p.dir.String()); err != nil {
		return err
	}
	return storage.ErrBusy
}

// Drop releases the claim, unless that has been done.
func (p *publication) Drop(ctx context.Context) error {
	if p.dropped {
		return nil
	}
	p.dropped = true
	ctx, cancel := Tidying(ctx)
	defer cancel()
	return p.claim.Drop(ctx)
}

// make writes the files and commits.
func (p *publication) make(ctx context.Context) error {
	if err := p.clearUncommitted(ctx); err != nil {
		return err
	}
	// After an error no further file is begun, but those that are being written end: a request that is
	// cancelled may still arrive after Publish has removed what it wrote.
	var tasks errgroup.Group
	var failed atomic.Bool
	tasks.SetLimit(ParallelRequests)
	for _, f := range p.files {
		tasks.Go(func() error {
			if failed.Load() {
				return nil
			}
			err := p.write(ctx, f)
			if err != nil {
				failed.Store(true)
			}
			return err
		})
	}
	if err := tasks.Wait(); err != nil {
		return err
	}
	metadata := p.metadata(commitKey)
	metadata[WriterKey] = p.mark
	return p.store.Service.Commit(ctx, p.dir.Join(p.commit.Name), p.commit, metadata, p.seal)
}

// seal ends renewing the claim with its last content.
func (p *publication) seal(ctx context.Context, content storage.File) (Name, string, error) {
	version, err := p.claim.Seal(ctx, content)
	return p.claim.object, version, err
}

// write writes one file. If the name is taken, an earlier holder of the claim wrote it
// late, and it is deleted.
func (p *publication) write(ctx context.Context, f storage.File) error {
	to := p.dir.Join(f.Name)
	for range maxLate {
		err := p.put(ctx, to, f)
		if !errors.Is(err, ErrUnmet) {
			return err
		}
		a, err := p.store.Service.Head(ctx, to)
		if missing(err) {
			continue
		}
		if err != nil {
			return err
		}
		// The claim is still ours after the file was seen, so the file is not the
		// next publisher's.
		a.Name = to.Name
		if err := p.delete(ctx, a); err != nil {
			return err
		}
	}
	return ErrUnmet
}

// delete deletes files that were seen in the directory, if the claim is still ours.
func (p *publication) delete(ctx context.Context, left ...*Attrs) error {
	for chunk := range slices.Chunk(left, 4*ParallelRequests) {
		holding, cancel, err := p.claim.holding(ctx)
		if err != nil {
			return err
		}
		err = each(holding, chunk, func(ctx context.Context, a *Attrs) error {
			return p.store.Service.Delete(ctx, p.dir.in(a.Name), a.Version)
		})
		late := holding.Err() != nil && ctx.Err() == nil
		cancel()
		if err != nil && late {
			err = fmt.Errorf("files of a killed run were not deleted in time, because the service is slow; try again (%w)", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// put writes a file under a name that must be free. A file of the same service is copied there.
func (p *publication) put(ctx context.Context, to Name, f storage.File) error {
	if strings.HasPrefix(f.From, p.store.Scheme+"://") {
		return p.store.Service.Copy(ctx, to, f, p.metadata(PartKey))
	}
	_, err := p.store.putFile(ctx, to, Condition{Absent: true}, p.metadata(PartKey), f)
	return err
}

// metadata marks a file of the directory. A copy in another directory does not count as
// its file.
func (p *publication) metadata(key string) map[string]string {
	return map[string]string{key: p.dir.String()}
}

// unfinished returns the files in a directory that was never committed. With any other
// content the error is storage.ErrExists.
func (s *Store) unfinished(ctx context.Context, d Name) ([]*Attrs, error) {
	if _, err := s.Service.Head(ctx, d); err == nil {
		return nil, storage.ErrExists // a file of that name
	} else if !missing(err) {
		return nil, err
	}
	all, err := s.content(ctx, d)
	if err != nil {
		return nil, err
	}
	return all, each(ctx, all, func(ctx context.Context, a *Attrs) error { return s.part(ctx, d, a) })
}

// part returns storage.ErrExists if an object in a directory is not a file that a publisher has written there. It
// completes the attributes from a listing.
func (s *Store) part(ctx context.Context, d Name, a *Attrs) error {
	if a.Metadata == nil {
		full, err := s.Service.Head(ctx, d.in(a.Name))
		if missing(err) {
			return nil // it was just deleted
		}
		if err != nil {
			return err
		}
		*a = *full
	}
	if a.Metadata[PartKey] != d.String() {
		return storage.ErrExists
	}
	return nil
}

// CheckAbsent implements storage.Store.
func (s *Store) CheckAbsent(ctx context.Context, dir string) error {
	_, err := s.unfinished(ctx, resolved(dir))
	return err
}

// Clear deletes what earlier publishers have left. A committed directory stays.
func (p *publication) Clear(ctx context.Context) error {
	err := p.clearUncommitted(ctx)
	if errors.Is(err, storage.ErrExists) {
		err = nil
	}
	return err
}

// clearUncommitted is Clear, with an error if the directory was committed.
func (p *publication) clearUncommitted(ctx context.Context) error {
	if err := p.store.Service.Fence(ctx, p.dir); err != nil {
		return err
	}
	left, err := p.store.unfinished(ctx, p.dir)
	if err != nil || len(left) == 0 {
		return err
	}
	return p.delete(ctx, left...) // after the files were seen, as in write
}

// undo deletes the files of a failed Publish and releases the claim. It reports whether
// the directory was committed all the same, because the answer to that request may have
// been lost.
func (p *publication) undo(ctx context.Context) (committed bool) {
	p.claim.hold()
	if p.claim.Touch(ctx) != nil || p.store.Service.Fence(ctx, p.dir) != nil {
		p.dropped = true
		return false // another publisher has it, or the server cannot be reached
	}
	// A commit under way fails from here on.
	a, err := p.store.Service.Head(ctx, p.dir.Join(p.commit.Name))
	if missing(err) {
		err = p.clearUncommitted(ctx)
	} else if err == nil {
		committed = a.Metadata[WriterKey] == p.mark
	}
	if err != nil {
		return false // the next publisher deletes it
	}
	_ = p.Drop(ctx) // as in Publish
	return committed
}
