package transforms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
)

// A reader may read for an hour, and its worker may be lost at any moment. So a reader stores its
// partial result between two shards, at most once a minute, as a file of the work directory.
// Another attempt at the reader continues from this checkpoint. Because sums are exact, it ends
// with the same bits as an uninterrupted reader. Because a checkpoint depends only on the pass
// and the range of shards, it does not matter which attempt wrote it, or how often.
//
// A split reader leaves a checkpoint for each of its pieces, named by the first shard. Another run of
// the pass cuts the reader at the same places; see Scan.Continue.

// CheckpointInterval is the default of Scan.Checkpoint.
const CheckpointInterval = time.Minute

// checkpointShare is the inverse of the largest share of its time that a reader spends on
// checkpoints.
const checkpointShare = 20

// Saver is the work of a reader in a form that can be stored between two shards.
type Saver interface {
	// Save returns all of the work so far, or the names of files in which it has stored the work.
	// last says that the reader has read all of its shards.
	Save(ctx context.Context, last bool) ([]byte, error)
	// Restore continues from the result of Save, in this process or another, and returns the
	// reports of the shards that the result covers. After an error nothing is restored.
	Restore(ctx context.Context, state []byte) ([]dataset.Report, error)
}

// checkpoint is the content of a file of state.
type checkpoint struct {
	Shards int    `json:"shards"` // number of shards that it covers, from the first of the range
	Rows   int64  `json:"rows"`   // rows that were read from them
	State  []byte `json:"state"`  // result of Saver.Save
}

func readCheckpoint(ctx context.Context, name string) (c checkpoint, err error) {
	data, err := storage.ReadState(ctx, name, MaxState)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	return c, err
}

// checkpointPrefix is how the names of the checkpoints of a pass begin.
func checkpointPrefix(pass string) string {
	dir, name := storage.Split(pass)
	return storage.Join(dir, "checkpoint-"+strings.TrimSuffix(strings.TrimPrefix(name, "pass-"), ".json")+"-")
}

// checkpointFile returns the name of the checkpoint of an element's shards from shard from on.
func (sc Scan) checkpointFile(element, from int) string {
	return fmt.Sprintf("%s%d-of-%d-by-%d-from-%d", checkpointPrefix(sc.Pass), element, sc.Readers, sc.stripes(), from)
}

// saving decides when a reader stores its next checkpoint.
type saving struct {
	Saver
	name   string
	done   checkpoint
	last   time.Time     // when the last checkpoint was complete, or the reader began
	pause  time.Duration // time from last to the next checkpoint
	saved  bool          // there is a checkpoint
	failed bool          // a shard could not be read, and must be read again
}

// newSaving returns the saving of the reader's shards from shard from on; nil without a Saver.
func (r *Reader) newSaving(from int) *saving {
	if r.Saver == nil {
		return nil
	}
	return &saving{Saver: r.Saver, name: r.Scan.checkpointFile(r.Number*r.Scan.stripes()+r.Stripe, from),
		last: time.Now(), pause: r.Scan.interval()}
}

// restore continues from the checkpoint, if there is one that covers at most limit shards, and
// returns how many shards it covers.
func (s *saving) restore(ctx context.Context, r *Reader, limit int) (shards int, err error) {
	if s == nil {
		return 0, nil
	}
	defer r.Clock(StoreTime)()
	var reports []dataset.Report
	found, err := readCheckpoint(ctx, s.name)
	usable := err == nil && 0 < found.Shards && found.Shards <= limit
	if usable {
		reports, err = s.Restore(ctx, found.State)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, storage.ErrDamaged):
		return 0, nil // the shards are read again
	case err != nil:
		return 0, fmt.Errorf("transforms: checkpoint %s: %w", s.name, err)
	case !usable:
		return 0, nil
	}
	s.done = checkpoint{Shards: found.Shards, Rows: found.Rows}
	if first, _ := r.rest(0); !r.claim(first + s.done.Shards - 1) {
		return 0, fmt.Errorf("transforms: checkpoint %s: the range of the reader has changed", s.name)
	}
	for _, shard := range reports {
		aside := shard.Bad + shard.Unlabeled + shard.Weightless
		r.Add(RowsRead, shard.Rows+aside)
		r.Add(RowsUsed, shard.Rows)
		r.Add(RowsSetAside, aside)
		r.Add(rowsRestored, shard.Rows+aside)
	}
	r.Commit(ctx)
	s.saved = true
	r.log(ctx, "continued from a checkpoint", "shards", s.done.Shards, "rows", s.done.Rows)
	return s.done.Shards, nil
}

// add counts a shard, and stores a checkpoint if one is due. last says that no shard follows.
func (s *saving) add(ctx context.Context, r *Reader, shard dataset.Report, last bool) error {
	if s == nil {
		return nil
	}
	s.done.Shards++
	s.done.Rows += shard.Rows + shard.Bad + shard.Unlabeled + shard.Weightless
	s.failed = s.failed || shard.Fault != "" || shard.Stopped
	if s.failed || time.Since(s.last) < s.pause && !(last && s.saved) {
		return nil
	}
	begun := time.Now()
	defer r.Clock(StoreTime)()
	state, err := s.Save(ctx, last)
	if err != nil {
		return err
	}
	data, err := json.Marshal(checkpoint{s.done.Shards, s.done.Rows, state})
	if err != nil {
		return err
	}
	if err := storage.WriteState(ctx, s.name, data); err != nil {
		return err
	}
	s.last, s.saved = time.Now(), true
	if s.pause >= 0 {
		s.pause = max(r.Scan.interval(), checkpointShare*s.last.Sub(begun))
		r.setLeastPiece(s.pause)
	}
	return nil
}

// Continue makes the scan continue from the checkpoints of an earlier run of the pass: it sets
// Scan.Cuts. It returns the number of rows that the checkpoints cover.
func (sc *Scan) Continue(ctx context.Context) (rows int64, err error) {
	dir, prefix := storage.Split(checkpointPrefix(sc.Pass))
	names, err := storage.Names(ctx, dir)
	if err != nil {
		return 0, err
	}
	begins := map[int][]int{} // by element
	for _, name := range names {
		var element, readers, stripes, from int
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			if _, err := fmt.Sscanf(rest, "%d-of-%d-by-%d-from-%d", &element, &readers, &stripes, &from); err == nil &&
				readers == sc.Readers && stripes == sc.stripes() {
				begins[element] = append(begins[element], from)
			}
		}
	}
	sc.Cuts = map[int][]int{}
	for element, at := range begins {
		slices.Sort(at)
		covered := 0
		for _, from := range at {
			if from < covered {
				continue // another attempt at the reader has read these shards as well
			}
			c, err := readCheckpoint(ctx, sc.checkpointFile(element, from))
			if errors.Is(err, storage.ErrDamaged) {
				continue
			}
			if err != nil {
				return rows, err
			}
			rows += c.Rows
			covered = from + c.Shards
			if from > 0 {
				sc.Cuts[element] = append(sc.Cuts[element], from)
			}
		}
	}
	return rows, nil
}
