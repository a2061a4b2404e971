package profile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
)

// ErrUncounted is returned for a shard whose preceding copies were not counted.
var ErrUncounted = errors.New("profile: copies were not counted")

// Assigner assigns the rows of shards to folds. Each reader needs its own. The rows of a shard must come in
// order, from the first.
type Assigner struct {
	seed   uint64
	rule   *FoldRule // nil if rows are assigned by their content
	copies *Copies   // nil if there are many different rows
	labels FoldLabels
	at     ShardStart
	begun  bool
	next   []int64 // number of the next copy of each content

	rowHashes []uint64 // scratch of AppendRowHashes
}

// NewAssigner returns an Assigner of rows by a rule or, if r is nil, by content. c has the copies of few
// different rows, or is nil; then the labels are ignored.
func NewAssigner(seed uint64, r *FoldRule, c *Copies, l FoldLabels) *Assigner {
	a := &Assigner{seed: seed, rule: r, labels: l}
	if c != nil && r == nil {
		c.index()
		a.copies, a.next = c, make([]int64, len(c.Contents))
	}
	return a
}

// Hashes returns, in dst if it is large enough, the hashes that decide the folds of the rows of a block:
// with K folds, a row is in fold hash mod K. By a rule K is FoldRule.Folds. at is the shard of the block.
func (a *Assigner) Hashes(dst []uint64, at ShardStart, b *rowio.Block) ([]uint64, error) {
	if a.rule != nil {
		if len(b.Keys) != b.N {
			return nil, fmt.Errorf("profile: %d keys of %d rows", len(b.Keys), b.N)
		}
		dst = dst[:0]
		for _, key := range b.Keys {
			dst = append(dst, a.rule.hash(key))
		}
		return dst, nil
	}
	dst = rowio.HashBlock(dst, a.seed^salt, b)
	if a.copies != nil {
		if !a.begun || a.at != at {
			if err := a.begin(at); err != nil {
				return nil, err
			}
		}
		for i, h := range dst {
			if _, ok := a.copies.rows[h]; !ok {
				continue
			}
			content, copied := a.labels.contentOf(b, i, h), int64(0)
			if k, ok := a.copies.contents[content]; ok { // all copies of others are in one fold
				copied = a.next[k]
				a.next[k]++
			}
			dst[i] = CopyHash(content, copied)
		}
	}
	return dst, nil
}

// Samples returns, in dst if it is large enough, hashes by which to sample rows of a block, given the
// hashes of their folds. They depend only on the content, even if groups or times decide the folds.
func (a *Assigner) Samples(dst, hashes []uint64, b *rowio.Block) []uint64 {
	if a.rule == nil {
		return append(dst[:0], hashes...)
	}
	return rowio.HashBlock(dst, a.seed^salt, b)
}

// AppendRowHashes appends for each row of a block a hash of 8 bytes: of its numbers, labels and weight, and of the
// key that decides its fold. Equal rows have equal hashes.
func (a *Assigner) AppendRowHashes(dst []byte, b *rowio.Block) []byte {
	a.rowHashes = rowio.HashBlock(a.rowHashes[:0], a.seed^salt, b)
	for i, h := range a.rowHashes {
		h = a.labels.contentOf(b, i, h)
		if len(b.Keys) > 0 {
			h = content(h, b.Keys[i])
		}
		dst = binary.LittleEndian.AppendUint64(dst, h)
	}
	return dst
}

// Pilot divides the rows that are not held out into n parts, and returns the part of a row, given the hash
// of its fold. It returns −1 without a rule.
func (a *Assigner) Pilot(hash uint64, n int) int {
	r := a.rule
	if r == nil {
		return -1
	}
	if fold := int(hash % uint64(r.Folds)); r.By != ByGroup && r.Folds > 2 {
		if r.Gap {
			fold /= 2
		}
		return (fold - 1) % n
	}
	return int(hash / uint64(r.Folds) % uint64(n))
}

// Trains reports whether models are fitted to a row while fold 0 of folds is held out, given the hash of
// the row's fold. It is true with fewer than two folds.
func (a *Assigner) Trains(hash uint64, folds int) bool {
	if folds < 2 {
		return true
	}
	fold := hash % uint64(folds)
	return fold > 1 || fold == 1 && !(a.rule != nil && a.rule.Gap)
}

// begin sets the copy numbers to their values at the start of a shard.
func (a *Assigner) begin(at ShardStart) error {
	a.at, a.begun = at, true
	if len(a.next) == 0 {
		return nil
	}
	before, ok := a.copies.before[at]
	if !ok {
		return fmt.Errorf("%w before %d of file %d", ErrUncounted, at.Start, at.File)
	}
	return wire.Unmarshal(copyNumbers(a.next), before)
}

// FoldBy is the kind of column that assigns rows to folds.
type FoldBy string

// Values of FoldBy.
const (
	ByGroup FoldBy = "group" // all rows of a group are in one fold
	ByFold  FoldBy = "fold"  // the column has the number of the row's fold
	ByTime  FoldBy = "time"  // the first fold has the latest rows
)

// Limits of a FoldRule.
const (
	maxFolds   = 100      // largest number of folds
	maxCounted = 128      // groups that are counted and placed; with more, hashes of groups decide
	timed      = 1 << 12  // times in the sample from which quantiles are taken
	groupSalt  = 0x67726f // separates the folds of groups from the folds of rows
	laterHalf  = 2        // score.Half of 2 is not that of 0, which the earlier half has
)

// FoldRule assigns rows to folds by the key of each row (rowio.Block.Keys). It is plain data,
// and stored in models.
type FoldRule struct {
	By      FoldBy   `json:"by"`
	Columns []string `json:"columns"` // names of the columns that give the key
	Folds   int      `json:"folds"`   // number of folds, 2 or more
	// Gap is true if folds with odd numbers are gaps in time: they are not judged, and not fitted to when
	// the fold before them is judged.
	Gap bool `json:"gap,omitempty"`
	// Cluster is the mean over rows of the size of the row's group: as many rows count as one independent row.
	Cluster float64 `json:"cluster,omitempty"`
	// Keys are the groups that were placed, or the numbers of given folds, and FoldOfKey are their folds.
	// For other groups their hash decides.
	Keys      HashSet `json:"keys,omitempty"`
	FoldOfKey []int   `json:"fold_of_key,omitempty"`
	// Cuts are the times at which folds begin, ascending: the latest fold is fold 0.
	Cuts HashSet `json:"cuts,omitempty"`
	// Middle holds the time that divides the rows of the latest fold in halves: curves of probabilities that are fitted
	// to one half are judged by the other. It is empty if all have the same time.
	Middle HashSet `json:"middle,omitempty"`
}

// Validate checks a rule that may come from a damaged file. A nil rule is valid.
func (r *FoldRule) Validate() error {
	switch {
	case r == nil:
		return nil
	case r.By != ByGroup && r.By != ByFold && r.By != ByTime:
		return fmt.Errorf("folds by %.40q", r.By)
	case len(r.Columns) == 0 || r.Folds < 2 || r.Folds > 2*maxFolds:
		return fmt.Errorf("%d folds by %d columns", r.Folds, len(r.Columns))
	case !(r.Cluster >= 0) || math.IsInf(r.Cluster, 0):
		return fmt.Errorf("groups of %g rows", r.Cluster)
	case len(r.Keys) != len(r.FoldOfKey) || len(r.Keys) > maxCounted || !slices.IsSorted(r.Keys):
		return fmt.Errorf("%d folds of %d keys", len(r.FoldOfKey), len(r.Keys))
	case (r.By == ByTime) != (len(r.Cuts) > 0) || r.By == ByTime && len(r.Cuts) != r.Folds-1 || !slices.IsSorted(r.Cuts):
		return fmt.Errorf("%d cuts for %d parts of time", len(r.Cuts), r.Folds)
	case len(r.Middle) > 0 && (r.By != ByTime || len(r.Middle) > 1 || r.Middle[0] <= r.Cuts[len(r.Cuts)-1]):
		return errors.New("the latest part of time has no such middle")
	case slices.ContainsFunc(r.FoldOfKey, func(f int) bool { return f < 0 || f >= r.Folds }):
		return fmt.Errorf("a fold outside 0 to %d", r.Folds-1)
	}
	return nil
}

// Ordered reports whether folds follow each other in time: a fold is judged by a fit to folds with larger
// numbers, which are earlier.
func (r *FoldRule) Ordered() bool { return r != nil && r.By == ByTime }

// GroupSize returns how many rows count as one independent row because rows of a group are similar; 1 if
// rows are independent.
func (r *FoldRule) GroupSize() float64 {
	if r == nil {
		return 1
	}
	return max(1, r.Cluster)
}

// fold returns the fold of a row with that key.
func (r *FoldRule) fold(key uint64) int {
	if r.By == ByTime {
		later, found := slices.BinarySearch(r.Cuts, key)
		if found {
			later++
		}
		return len(r.Cuts) - later
	}
	if i, found := slices.BinarySearch(r.Keys, key); found {
		return r.FoldOfKey[i]
	}
	return int(key % uint64(r.Folds))
}

// hash returns a hash of a row that is its fold modulo Folds, given its key.
// Any further division of a fold by the rest of the hash keeps groups, given folds and either half of the latest part
// of time whole.
func (r *FoldRule) hash(key uint64) uint64 {
	fold := r.fold(key)
	rest := uint64(fold)
	switch {
	case r.By == ByGroup:
		rest = mix(key ^ groupSalt)
	case fold == 0 && len(r.Middle) > 0 && key >= r.Middle[0]:
		rest = laterHalf
	}
	folds := uint64(r.Folds)
	return rest%(math.MaxUint64/folds)*folds + uint64(fold)
}

// Latest returns the time at which the latest fold begins.
func (r *FoldRule) Latest() float64 { return rowio.KeyNumber(r.Cuts[len(r.Cuts)-1]) }
