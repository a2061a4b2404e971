package transforms

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
)

// Written lists the files that were written for a shard, with the report of the shard. It is
// stored next to them in the file DoneName, which exists only if they are complete.
type Written struct {
	Report  dataset.Report  `json:"report"`
	Outputs []WrittenOutput `json:"parts"` // in the order of the rows
	// NotFinite counts the rows of Report that have no values, because those would not be finite.
	NotFinite int64 `json:"not_finite,omitempty"`
	// Drift holds the encoded drift.Counts of the shard's rows, if they were counted.
	Drift []byte `json:"drift,omitempty"`
}

// WrittenOutput is the output for consecutive rows.
type WrittenOutput struct {
	Rows  int64         `json:"rows"`
	Files []WrittenFile `json:"files"`
}

// WrittenFile is a file of the work directory.
type WrittenFile struct {
	Name string `json:"name"`
	// Suffix is the end of its published name, such as ".csv" or "-labels.npy".
	Suffix string `json:"suffix"`
	// Checksum identifies the content that was written.
	Checksum storage.Checksum `json:"sum"`
}

// Writing a remote file takes round trips. So small files are written while the next shards are processed.
const (
	maxBackgroundFile  = 256 << 10 // largest file, in bytes, that is written in the background
	maxBackgroundBytes = 4 << 20   // of all files that are being written
	minShardBytes      = 64 << 10  // least bytes that a shard counts as, so that at most 64 are being written
)

// ShardName is the prefix of the names of all files written for a shard.
func ShardName(s dataset.Shard) string { return fmt.Sprintf("file-%05d-at-%015d", s.File, s.Start) }

// DoneName returns the name of the file that holds a shard's Written.
func DoneName(s dataset.Shard) string { return ShardName(s) + ".done" }

// WriteShards writes the files of every shard of the reader into the directory dir, and emits the
// Written of each, in JSON. Shards are processed one after the other; small files are
// opened and written in the background.
func WriteShards(ctx context.Context, r *Reader, p *Pass, dir string,
	write func(dataset.Shard, *dataset.Source, *ShardFiles) (Written, error), emit func([]byte)) (err error) {
	tasks, ctx := errgroup.WithContext(ctx)
	room := semaphore.NewWeighted(maxBackgroundBytes)
	defer func() {
		if failed := tasks.Wait(); err == nil || errors.Is(err, context.Canceled) {
			err = cmp.Or(failed, err)
		}
	}()
	shards := r.shards(p)
	first, end := r.rest(len(shards))
	for shard, source := range r.ahead(ctx, p, shards[:end], first) {
		files := &ShardFiles{ctx: ctx, dir: dir}
		w, err := write(shard, source, files)
		if err != nil {
			return err
		}
		line, err := json.Marshal(w)
		if err != nil {
			return err
		}
		weight := min(max(files.bytes+int64(len(line)), minShardBytes), maxBackgroundBytes)
		if err := room.Acquire(ctx, weight); err != nil {
			return context.Cause(ctx)
		}
		tasks.Go(func() error {
			defer room.Release(weight)
			return files.commit(DoneName(shard), line)
		})
		emit(line)
	}
	return nil
}

// ShardFiles are the files of one shard. Small ones stay in memory until the shard is
// committed.
type ShardFiles struct {
	ctx   context.Context
	dir   string
	small []storage.File
	bytes int64
}

// Create writes a file through the function write, as storage.CreateState does. A small
// file stays in memory until WriteShards has finished the shard.
func (o *ShardFiles) Create(name string, write func(io.Writer) error) (storage.Checksum, error) {
	h := storage.NewHash()
	w := &spilling{ctx: o.ctx, uri: storage.Join(o.dir, name)}
	defer w.abandon() // of no effect after finish; it ends the upload if write panics
	if err := w.finish(write(io.MultiWriter(w, h))); err != nil {
		return storage.Checksum{}, err
	}
	if w.pipe == nil {
		o.small = append(o.small, storage.File{Name: name, Data: w.small.Bytes()})
		o.bytes += int64(w.small.Len())
	}
	return h.Checksum(), nil
}

// commit writes the files in memory, and when they are complete the file done.
func (o *ShardFiles) commit(done string, data []byte) error {
	for _, f := range o.small {
		_, err := storage.CreateState(o.ctx, storage.Join(o.dir, f.Name), func(w io.Writer) error {
			_, err := w.Write(f.Data)
			return err
		})
		if err != nil {
			return err
		}
	}
	return storage.WriteState(o.ctx, storage.Join(o.dir, done), data)
}

// Context ends when the first file cannot be written.
func (o *ShardFiles) Context() context.Context { return o.ctx }

// spilling is a file that stays in memory as long as it is small.
type spilling struct {
	ctx   context.Context
	uri   string
	small bytes.Buffer
	pipe  *io.PipeWriter // to the file, once it is large
	done  chan error
}

func (w *spilling) Write(p []byte) (int, error) {
	if w.pipe == nil {
		if w.small.Len()+len(p) <= maxBackgroundFile {
			return w.small.Write(p)
		}
		w.stream()
		if _, err := w.pipe.Write(w.small.Bytes()); err != nil {
			return 0, err
		}
		w.small = bytes.Buffer{}
	}
	return w.pipe.Write(p)
}

// stream starts to write the file.
func (w *spilling) stream() {
	var in *io.PipeReader
	in, w.pipe = io.Pipe()
	w.done = make(chan error, 1)
	go func() {
		_, err := storage.CreateState(w.ctx, w.uri, func(dst io.Writer) error {
			_, err := io.Copy(dst, in)
			return err
		})
		in.CloseWithError(err)
		w.done <- err
	}()
}

// finish completes the file, unless its writer failed with err: then nothing remains of the file. It
// returns the first error.
func (w *spilling) finish(err error) error {
	if w.pipe == nil {
		return err
	}
	w.pipe.CloseWithError(err)
	if streamed := <-w.done; streamed != nil {
		return streamed // if err caused it, it says so
	}
	return err
}

var errAbandoned = errors.New("transforms: the file was not finished")

func (w *spilling) abandon() {
	if w.pipe != nil {
		w.pipe.CloseWithError(errAbandoned)
	}
}
