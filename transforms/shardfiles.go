package transforms

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
)

// Written lists the files that were written for a shard, with the report of the shard. It is
// stored next to them in the file DoneName, which exists only if they are complete.
type Written struct {
	Report dataset.Report `json:"report"`
	Parts  []WrittenPart  `json:"parts"` // in the order of the rows
	// Drift holds the encoded sums.DriftCounts of the shard's rows, if they were counted.
	Drift []byte `json:"drift,omitempty"`
}

// WrittenPart is the output for consecutive rows.
type WrittenPart struct {
	Rows  int64         `json:"rows"`
	Files []WrittenFile `json:"files"`
}

// WrittenFile is a file of the work directory.
type WrittenFile struct {
	Name string `json:"name"`
	// Suffix is the end of its published name, such as ".csv" or "-labels.npy".
	Suffix string `json:"suffix"`
	// Sum identifies the content that was written.
	Sum storage.Sum `json:"sum"`
}

// ShardName is the prefix of the names of all files written for a shard.
func ShardName(s dataset.Shard) string { return fmt.Sprintf("file-%05d-at-%015d", s.File, s.Start) }

// DoneName returns the name of the file that holds a shard's Written.
func DoneName(s dataset.Shard) string { return ShardName(s) + ".done" }

// WriteShards writes the files of every shard of the lane into the directory dir, and emits the
// Written of each, in JSON. Shards are processed one after the other; small files are
// opened and written in the background.
func WriteShards(ctx context.Context, l *Lane, p *Pass, dir string,
	write func(dataset.Shard, *dataset.Source, *ShardFiles) (Written, error), emit func([]byte)) (err error) {
	b := newBehind(ctx)
	defer func() {
		if failed := b.wait(); err == nil || errors.Is(err, context.Canceled) {
			err = cmp.Or(failed, err)
		}
	}()
	for shard, source := range l.shardsAhead(b.ctx, p) {
		files := &ShardFiles{ctx: b.ctx, dir: dir}
		w, err := write(shard, source, files)
		if err != nil {
			return err
		}
		line, err := json.Marshal(w)
		if err != nil {
			return err
		}
		if err := b.commit(files, storage.File{Name: DoneName(shard), Data: line}); err != nil {
			return err
		}
		emit(line)
	}
	return nil
}
