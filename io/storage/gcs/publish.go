package gcs

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"

	gcstorage "cloud.google.com/go/storage"
	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/io/storage"
)

// manifestName is the file that completes a directory.
const manifestName = "manifest.json"

// publication is a directory in the making.
//
// A bucket cannot rename directories. So the files are written under their final names,
// and the directory exists once its last file does, the commit file, which readers read
// first. The files of two publishers must never mix, even if one of them stops at the
// worst moment and continues later:
//
//   - A publisher holds a lease, the claim. A process that takes the claim over first
//     deletes what the previous publisher has left.
//   - A file is written only under a free name, and deleted only by generation. So a
//     late write or delete fails instead of changing another publisher's file.
//   - The commit file is first written as the content of the claim, whose generation must
//     be the publisher's, and then copied from that generation to its free name: one
//     request with two conditions. A publisher whose claim was taken cannot commit.
type publication struct {
	g      *gcs
	dir    object
	files  []storage.File
	commit storage.File
	claim  *lease
	mark   string // of the commit file, to recognise it

	dropped bool // the claim was released
}

func (g *gcs) Claim(ctx context.Context, name string) (storage.Claimed, error) {
	d, _, err := g.at(ctx, name)
	if err != nil {
		return nil, err
	}
	l, err := g.acquire(ctx, claimOf(d))
	if err != nil {
		return nil, err
	}
	return &publication{g: g, dir: d, claim: l, mark: rand.Text()}, nil
}

func (p *publication) Publish(ctx context.Context, files []storage.File) error {
	if len(files) == 0 {
		return storage.Invalid("a directory needs at least one file")
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
	tidy, cancel := tidying(ctx)
	defer cancel()
	switch {
	case p.undo(tidy):
		return nil
	case !errors.Is(err, errUnmet):
		return err
	}
	if err := p.g.Vacant(tidy, p.dir.String()); err != nil {
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
	ctx, cancel := tidying(ctx)
	defer cancel()
	return p.claim.drop(ctx)
}

// claimOf names the object of the claim on a directory.
func claimOf(d object) object {
	return resolved(storage.ClaimName(d.String()))
}

// make writes the files and commits.
func (p *publication) make(ctx context.Context) error {
	if err := p.clearVacant(ctx); err != nil {
		return err
	}
	tasks, tctx := errgroup.WithContext(ctx)
	tasks.SetLimit(parallelRequests)
	for _, f := range p.files {
		tasks.Go(func() error { return p.write(tctx, f) })
	}
	if err := tasks.Wait(); err != nil {
		return err
	}
	generation, err := p.claim.seal(ctx, p.commit)
	if err != nil {
		return err
	}
	metadata := p.metadata(commitKey)
	metadata[writerKey] = p.mark
	_, err = p.g.copy(ctx, p.dir.join(p.commit.Name), p.claim.object, generation, metadata)
	return err
}

// write writes one file. If the name is taken, an earlier holder of the claim wrote it
// late, and it is deleted.
func (p *publication) write(ctx context.Context, f storage.File) error {
	to := p.dir.join(f.Name)
	for range maxAttempts {
		err := p.put(ctx, to, f)
		if !errors.Is(err, errUnmet) {
			return err
		}
		a, err := p.g.attrs(ctx, to)
		if missing(err) {
			continue
		}
		if err != nil {
			return err
		}
		// The claim is still ours after the file was seen, so the file is not the
		// next publisher's.
		if err := p.claim.touch(ctx); err != nil {
			return err
		}
		if err := p.g.delete(ctx, to, a.Generation); err != nil {
			return err
		}
	}
	return errUnmet
}

// put writes a file under a name that must be free. A file that is already in Google's
// storage is copied there.
func (p *publication) put(ctx context.Context, to object, f storage.File) error {
	if !strings.HasPrefix(f.From, "gs://") {
		none := &gcstorage.Conditions{DoesNotExist: true}
		_, err := p.g.uploadFile(ctx, to, none, p.metadata(partKey), f)
		return err
	}
	from, a, err := p.g.named(ctx, f.From)
	if err != nil {
		return &storage.Error{Op: "open", Name: f.From, Err: err}
	}
	if f.Sum != nil && sumOf(a) != *f.Sum {
		return storage.Damaged(f.From)
	}
	_, err = p.g.copy(ctx, to, from, a.Generation, p.metadata(partKey))
	return err
}

// metadata marks a file of the directory. A copy in another directory does not count as
// its file.
func (p *publication) metadata(key string) map[string]string {
	return map[string]string{key: p.dir.String()}
}

// unfinished returns the files in a directory that was never committed. With any other
// content the error is storage.ErrOccupied.
func (g *gcs) unfinished(ctx context.Context, d object) ([]*gcstorage.ObjectAttrs, error) {
	if _, err := g.attrs(ctx, d); err == nil {
		return nil, storage.ErrOccupied // a file of that name
	} else if !missing(err) {
		return nil, err
	}
	all, err := g.content(ctx, d)
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		if a.Metadata[partKey] != d.String() {
			return nil, storage.ErrOccupied
		}
	}
	return all, nil
}

func (g *gcs) Vacant(ctx context.Context, dir string) error {
	_, err := g.unfinished(ctx, resolved(dir))
	return err
}

// Clear deletes what earlier publishers have left. A committed directory stays.
func (p *publication) Clear(ctx context.Context) error {
	err := p.clearVacant(ctx)
	if errors.Is(err, storage.ErrOccupied) {
		err = nil
	}
	return err
}

// clearVacant is Clear, with an error if the directory was committed.
func (p *publication) clearVacant(ctx context.Context) error {
	left, err := p.g.unfinished(ctx, p.dir)
	if err != nil || len(left) == 0 {
		return err
	}
	// After the files were seen, as in write.
	if err := p.claim.touch(ctx); err != nil {
		return err
	}
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(parallelRequests)
	for _, a := range left {
		tasks.Go(func() error { return p.g.delete(ctx, object{p.dir.bucket, a.Name}, a.Generation) })
	}
	return tasks.Wait()
}

// undo deletes the files of a failed Publish and releases the claim. It reports whether
// the directory was committed all the same, because the answer to that request may have
// been lost.
func (p *publication) undo(ctx context.Context) (committed bool) {
	p.claim.hold()
	if p.claim.touch(ctx) != nil {
		p.dropped = true
		return false // another publisher has it, or the server cannot be reached
	}
	// A commit under way fails from here on.
	a, err := p.g.attrs(ctx, p.dir.join(p.commit.Name))
	if missing(err) {
		err = p.clearVacant(ctx)
	} else if err == nil {
		committed = a.Metadata[writerKey] == p.mark
	}
	if err != nil {
		return false // the next publisher deletes it
	}
	_ = p.Drop(ctx) // as in Publish
	return committed
}
