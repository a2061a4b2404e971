package transforms

import (
	"context"
	"io"

	"github.com/bochner-ml/bochner/io/storage"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// Writing a remote file takes round trips. So small files are written while the next shards are processed.
const (
	maxBackgroundFile  = 256 << 10 // largest file, in bytes, that is written in the background
	maxBackgroundBytes = 4 << 20   // of all files that are being written
	minShardBytes      = 64 << 10  // least bytes that a shard counts as, so that at most 64 are being written
)

// backgroundWriter writes the files of a reader's shards in the background.
type backgroundWriter struct {
	tasks *errgroup.Group
	ctx   context.Context
	slots *semaphore.Weighted
}

func newBackgroundWriter(ctx context.Context) *backgroundWriter {
	tasks, ctx := errgroup.WithContext(ctx)
	return &backgroundWriter{tasks: tasks, ctx: ctx, slots: semaphore.NewWeighted(maxBackgroundBytes)}
}

// commit writes the files in memory, and when they are complete the last file. It returns
// once there is room for the next shard.
func (b *backgroundWriter) commit(o *ShardFiles, last storage.File) error {
	weight := min(max(o.bytes+int64(len(last.Data)), minShardBytes), maxBackgroundBytes)
	if err := b.slots.Acquire(b.ctx, weight); err != nil {
		return context.Cause(b.ctx)
	}
	b.tasks.Go(func() error {
		defer b.slots.Release(weight)
		for _, f := range o.small {
			_, err := storage.CreateState(b.ctx, storage.Join(o.dir, f.Name), func(w io.Writer) error {
				_, err := w.Write(f.Data)
				return err
			})
			if err != nil {
				return err
			}
		}
		return storage.WriteState(b.ctx, storage.Join(o.dir, last.Name), last.Data)
	})
	return nil
}

// wait returns when all committed files are written.
func (b *backgroundWriter) wait() error { return b.tasks.Wait() }
