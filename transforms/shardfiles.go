package transforms

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
)

// Written says which files were made of a shard, and what was seen of it. It
// stands in a file of its own beside them, DoneName, which is there only when
// they are whole.
type Written struct {
	Report dataset.Report `json:"report"`
	Parts  []WrittenPart  `json:"parts"` // in the order of the rows
}

// WrittenPart is what was made of consecutive rows.
type WrittenPart struct {
	Rows  int64         `json:"rows"`
	Files []WrittenFile `json:"files"`
}

// WrittenFile is a file of the work directory.
type WrittenFile struct {
	Name string `json:"name"`
	// Suffix is how its name ends where it is published: ".csv", "-labels.npy".
	Suffix string `json:"suffix"`
}

// shardName begins the names of all files that are made of a shard.
func shardName(s dataset.Shard) string { return fmt.Sprintf("file-%05d-at-%015d", s.File, s.Start) }

// DoneName returns the name of the file that holds a shard's Written.
func DoneName(s dataset.Shard) string { return shardName(s) + ".done" }

// writeShards has every shard of the lane written into the directory out, and
// emits what was Written, in JSON.
func (sc Scan) writeShards(ctx context.Context, p *Pass, lane int, out string, write func(dataset.Shard) (Written, error), emit func([]byte)) error {
	for _, shard := range sc.shards(p, lane) {
		w, err := write(shard)
		if err != nil {
			return err
		}
		line, err := json.Marshal(w)
		if err != nil {
			return err
		}
		if err := storage.WriteFile(ctx, storage.Join(out, DoneName(shard)), line); err != nil {
			return err
		}
		emit(line)
	}
	return nil
}
