package gcs

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	gcstorage "cloud.google.com/go/storage"
	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/io/storage"
)

// manifestName is the file that makes a directory whole.
const manifestName = "manifest.json"

// publication is a directory in the making.
//
// A bucket cannot rename a directory into being. So the files are written under
// their own names, and the directory counts as there when its last file is, the
// commit file: readers begin with it. Nothing may be mixed of two publishers, even
// if one of them sleeps at the worst moment and goes on later:
//
//   - A publisher holds a lease, the claim. Whoever takes it over first clears away
//     what the one before has left.
//   - Files are written only where there is none, and deleted only by generation,
//     so a late write or delete cannot hit the file of another publisher: it finds
//     it there, or finds another generation.
//   - The commit file is first made the content of the claim, where the claim's
//     generation must be the publisher's, and then copied from that generation to
//     its place, where there must be nothing: one request with two conditions. A
//     publisher whose claim was taken cannot commit.
type publication struct {
	g      *gcs
	dir    object
	files  []storage.File
	commit storage.File
	claim  *lease
	mark   string // of the commit file, so that it is known again

	dropped bool // the claim was given back
}

func (g *gcs) Claim(ctx context.Context, name string) (storage.Claimed, error) {
	d, err := parse(name)
	if err != nil {
		return nil, err
	}
	if d.name == "" {
		return nil, storage.Invalid("is a bucket; name a directory in it")
	}
	l, err := g.acquire(ctx, claimOf(d), ctx.Err)
	if err != nil {
		return nil, err
	}
	return &publication{g: g, dir: d, claim: l, mark: random()}, nil
}

func (p *publication) Publish(ctx context.Context, files []storage.File) error {
	if len(files) == 0 {
		return storage.Invalid("a directory without files cannot be there")
	}
	last := slices.IndexFunc(files, func(f storage.File) bool { return f.Name == manifestName })
	if last < 0 {
		last = len(files) - 1
	}
	p.commit = files[last]
	p.files = slices.Delete(slices.Clone(files), last, last+1)
	err := p.make(ctx)
	if err == nil {
		// A claim that stays harms nobody: the next publisher finds its owner gone.
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

// drop gives the claim back, if that has not been done.
func (p *publication) Drop(ctx context.Context) error {
	if p.dropped {
		return nil
	}
	p.dropped = true
	ctx, cancel := tidying(ctx)
	defer cancel()
	return p.claim.drop(ctx)
}

// claimOf names the claim on a directory, beside it.
func claimOf(d object) object {
	dir, base := storage.Split(d.String())
	o, _ := parse(storage.Join(dir, ".tmp-"+base+"-claim")) // it has a bucket
	return o
}

// make writes the files, and commits.
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
	generation, err := p.claim.seal(ctx, p.commit.Size(), func(w io.Writer) error { return p.commit.CopyTo(ctx, w) })
	if err != nil {
		return err
	}
	metadata := p.metadata(commitKey)
	metadata[writerKey] = p.mark
	_, err = p.g.copy(ctx, p.dir.join(p.commit.Name), p.claim.object, generation, metadata)
	return err
}

// write makes one file. What is there already was written late by a publisher that
// had the claim before, and goes.
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
		// If the claim is ours after the file was seen, the file is not that of the
		// next publisher.
		if err := p.claim.touch(ctx); err != nil {
			return err
		}
		if err := p.g.delete(ctx, to, a.Generation); err != nil {
			return err
		}
	}
	return errUnmet
}

// put writes a file where there must be none. What is in Google's storage already
// is copied there.
func (p *publication) put(ctx context.Context, to object, f storage.File) error {
	if !strings.HasPrefix(f.From, "gs://") {
		none := &gcstorage.Conditions{DoesNotExist: true}
		_, err := p.g.upload(ctx, to, none, p.metadata(partKey), f.Size(), func(w io.Writer) error { return f.CopyTo(ctx, w) })
		return err
	}
	from, err := parse(f.From)
	if err != nil {
		return err
	}
	a, err := p.g.attrs(ctx, from)
	if err != nil {
		return &storage.Error{Op: "open", Name: f.From, Err: err}
	}
	if got := (storage.Sum{Bytes: a.Size, CRC32C: a.CRC32C}); f.Sum != nil && got != *f.Sum {
		return storage.Damaged(f.From)
	}
	_, err = p.g.copy(ctx, to, from, a.Generation, p.metadata(partKey))
	return err
}

// metadata says what a file is for the directory; copied elsewhere it is nothing.
func (p *publication) metadata(key string) map[string]string {
	return map[string]string{key: p.dir.String()}
}

// unfinished returns the files in a directory that was never committed. Any other
// content is storage.ErrOccupied.
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
	d, err := parse(dir)
	if err != nil {
		return err
	}
	if d.name == "" {
		return storage.Invalid("is a bucket; name a file or directory in it")
	}
	_, err = g.unfinished(ctx, d)
	return err
}

// clear deletes what publishers before have left; a directory that was committed stays.
func (p *publication) Clear(ctx context.Context) error {
	err := p.clearVacant(ctx)
	if errors.Is(err, storage.ErrOccupied) {
		err = nil
	}
	return err
}

// clearVacant is clear where there must be no directory.
func (p *publication) clearVacant(ctx context.Context) error {
	left, err := p.g.unfinished(ctx, p.dir)
	if err != nil || len(left) == 0 {
		return err
	}
	// Now that they have been seen: see write.
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

// undo clears away what a publisher that failed has made, and gives the claim back.
// It reports whether the directory is there nevertheless: the answer to the
// request that committed it may have been lost.
func (p *publication) undo(ctx context.Context) (committed bool) {
	p.claim.hold()
	if p.claim.touch(ctx) != nil {
		p.dropped = true
		return false // it is another publisher's, or nothing can be done
	}
	// A commit under way fails from here on.
	a, err := p.g.attrs(ctx, p.dir.join(p.commit.Name))
	if missing(err) {
		err = p.clearVacant(ctx)
	} else if err == nil {
		committed = a.Metadata[writerKey] == p.mark
	}
	if err != nil {
		return false // the next publisher clears it away
	}
	_ = p.Drop(ctx) // as in publish
	return committed
}

// holds compares by checksums.
func (g *gcs) Holds(ctx context.Context, dir string, files []storage.File) (bool, error) {
	d, err := parse(dir)
	if err != nil {
		return false, err
	}
	all, err := g.content(ctx, d)
	if err != nil || len(all) != len(files) {
		return false, err
	}
	there := map[string]*gcstorage.ObjectAttrs{}
	for _, a := range all {
		there[a.Name] = a
	}
	for _, f := range files {
		a := there[d.join(f.Name).name]
		if a == nil {
			return false, nil
		}
		same, err := isObject(ctx, f, a)
		if err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// isObject compares a file with an object.
func isObject(ctx context.Context, f storage.File, a *gcstorage.ObjectAttrs) (bool, error) {
	r, err := f.Open(ctx)
	if err != nil {
		return false, err
	}
	defer r.Close()
	crc, sum := crc32.New(castagnoli), md5.New()
	n, err := io.Copy(io.MultiWriter(crc, sum), r)
	if err != nil {
		return false, err
	}
	// An object that was put together of others has no MD5.
	return n == a.Size && crc.Sum32() == a.CRC32C && (len(a.MD5) == 0 || bytes.Equal(sum.Sum(nil), a.MD5)), nil
}
