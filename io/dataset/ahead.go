package dataset

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"

	"golang.org/x/sync/semaphore"

	"github.com/bochner-ml/bochner/io/storage"
)

// Opening a remote file takes a round trip of tens of milliseconds, longer than reading
// a small file. So files are opened before their turn.
const (
	aheadHead  = 256 << 10 // bytes of one file that are read ahead, at most
	aheadBytes = 4 << 20   // bytes of all files that are open ahead, at most
	aheadLeast = 64 << 10  // smallest weight of a file, so that at most 64 are open
)

// Ahead yields the shards in order, each with its files already open, for ReadFrom. Read-ahead stays below 4 MiB in
// all; of large files only the next one is open. An error is reported when it is the shard's turn.
func (d *Dataset) Ahead(ctx context.Context, shards []Shard) iter.Seq2[Shard, *Source] {
	return func(yield func(Shard, *Source) bool) {
		ctx, cancel := context.WithCancel(ctx)
		slots := semaphore.NewWeighted(aheadBytes)
		queue := make(chan chan *Source, aheadBytes/aheadLeast)
		go func() {
			defer close(queue)
			for _, s := range shards {
				weight := d.aheadWeight(s)
				if slots.Acquire(ctx, weight) != nil {
					return
				}
				opened := make(chan *Source, 1)
				queue <- opened // never blocks: each shard in it weighs aheadLeast or more
				go func() { opened <- d.source(ctx, s, weight) }()
			}
		}()
		defer func() {
			cancel()
			for opened := range queue {
				(<-opened).close()
			}
		}()
		for _, s := range shards {
			opened, more := <-queue
			if !more { // the context has ended; the reader will see that too
				if !yield(s, nil) {
					return
				}
				continue
			}
			source := <-opened
			more = yield(s, source)
			source.close()
			slots.Release(source.weight)
			if !more {
				return
			}
		}
	}
}

// aheadWeight returns the bytes of aheadBytes that an open shard uses up. At most two large shards are open at once.
func (d *Dataset) aheadWeight(s Shard) int64 {
	f := &d.Files[s.File]
	size := min(d.Bytes(s), f.Size)
	if f.Labels != nil {
		size += f.Labels.Size
	}
	if size > aheadHead {
		return aheadBytes / 2
	}
	return max(size, aheadLeast)
}

// Source holds the files of one shard, opened before its turn.
type Source struct {
	weight int64
	files  []*openFile
}

// openFile is an open file whose beginning is in memory.
type openFile struct {
	object storage.Object
	off, n int64 // as storage.Object.Open takes them
	head   []byte
	rest   io.ReadCloser // nil if head is the whole range
	err    error         // after the head
	taken  bool
}

// source opens the files that the reader of a shard needs first.
func (d *Dataset) source(ctx context.Context, s Shard, weight int64) *Source {
	f := &d.Files[s.File]
	out := &Source{weight: weight}
	off, n := d.opening(f, s)
	out.add(ctx, f.Object, off, n, min(aheadHead, d.Bytes(s)))
	if f.Labels != nil {
		out.add(ctx, *f.Labels, 0, -1, aheadHead)
	}
	return out
}

// opening returns the range of a file that the reader of a shard opens first.
func (d *Dataset) opening(f *File, s Shard) (off, n int64) {
	format := find(d.Schema.Format)
	switch {
	case f.Compressed() || format == nil: // read from the beginning
	case format.Range != nil:
		return format.Range(f, s)
	case !format.Text: // the same
	case !s.Exact && s.Start > 0:
		return s.Start - 1, -1 // to see whether a line begins exactly at Start
	default:
		return s.Start, -1
	}
	return 0, -1
}

// add opens a file and reads about most bytes of it.
func (s *Source) add(ctx context.Context, o storage.Object, off, n, most int64) {
	f := &openFile{object: o, off: off, n: n}
	s.files = append(s.files, f)
	r, err := o.Open(ctx, off, n)
	if err != nil {
		f.err = err
		return
	}
	// One byte more than the size of a small file, to see its end.
	f.head = make([]byte, max(0, min(most, o.Size-off))+1)
	got, err := io.ReadFull(r, f.head)
	f.head = f.head[:got]
	switch {
	case err == nil:
		f.rest = r
		return
	case err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF):
		f.err = err
	}
	r.Close()
}

// open returns the file that was opened ahead if it matches, and otherwise opens it.
func (s *Source) open(ctx context.Context, o storage.Object, off, n int64) (io.ReadCloser, error) {
	if s == nil {
		return o.Open(ctx, off, n)
	}
	for _, f := range s.files {
		if f.object.URI != o.URI {
			continue
		}
		if f.off == off && f.n == n && !f.taken {
			if f.err != nil && len(f.head) == 0 {
				return nil, f.err
			}
			f.taken = true
			return io.NopCloser(io.MultiReader(bytes.NewReader(f.head), f)), nil // the Source closes the file
		}
		if f.off == 0 && f.n < 0 && f.rest == nil && f.err == nil { // the whole file is in memory
			part := f.head[min(off, int64(len(f.head))):]
			if n >= 0 {
				part = part[:min(n, int64(len(part)))]
			}
			return io.NopCloser(bytes.NewReader(part)), nil
		}
	}
	return o.Open(ctx, off, n)
}

// close closes the open files. It may be called more than once.
func (s *Source) close() {
	for _, f := range s.files {
		if f.rest != nil {
			f.rest.Close()
			f.rest = nil
		}
	}
}

// Read reads what follows the head.
func (f *openFile) Read(p []byte) (int, error) {
	switch {
	case f.rest != nil:
		return f.rest.Read(p)
	case f.err != nil:
		return 0, f.err
	}
	return 0, io.EOF
}
