package profile

import (
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/rows"
)

// FoldBy says which column assigns rows to folds.
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
)

// FoldRule says how rows are assigned to folds by the key of each row (rows.Block.Keys). It is plain data,
// and stored in models.
type FoldRule struct {
	By      FoldBy   `json:"by"`
	Columns []string `json:"columns"` // names of the columns that give the key
	Parts   int      `json:"parts"`   // number of parts of the rows, 2 or more
	// Gap says that parts with odd numbers are gaps in time: they are not judged, and not fitted to when
	// the part before them is judged.
	Gap bool `json:"gap,omitempty"`
	// Cluster is the mean over rows of the size of the row's group: that many rows count as one independent
	// row.
	Cluster float64 `json:"cluster,omitempty"`
	// Keys are the groups that were placed, or the numbers of given folds, and Folds are their parts. For
	// other groups their hash decides.
	Keys  HashSet `json:"keys,omitempty"`
	Folds []int   `json:"folds,omitempty"`
	// Cuts are the times at which parts begin, ascending: the latest part is part 0.
	Cuts HashSet `json:"cuts,omitempty"`
}

// Validate checks a rule that may come from a damaged file. A nil rule is valid.
func (r *FoldRule) Validate() error {
	switch {
	case r == nil:
		return nil
	case r.By != ByGroup && r.By != ByFold && r.By != ByTime:
		return fmt.Errorf("folds by %.40q", r.By)
	case len(r.Columns) == 0 || r.Parts < 2 || r.Parts > 2*maxFolds:
		return fmt.Errorf("%d folds by %d columns", r.Parts, len(r.Columns))
	case !(r.Cluster >= 0) || math.IsInf(r.Cluster, 0):
		return fmt.Errorf("groups of %g rows", r.Cluster)
	case len(r.Keys) != len(r.Folds) || len(r.Keys) > maxCounted || !slices.IsSorted(r.Keys):
		return fmt.Errorf("%d folds of %d keys", len(r.Folds), len(r.Keys))
	case (r.By == ByTime) != (len(r.Cuts) > 0) || r.By == ByTime && len(r.Cuts) != r.Parts-1 || !slices.IsSorted(r.Cuts):
		return fmt.Errorf("%d cuts for %d parts of time", len(r.Cuts), r.Parts)
	case slices.ContainsFunc(r.Folds, func(f int) bool { return f < 0 || f >= r.Parts }):
		return fmt.Errorf("a fold outside 0 to %d", r.Parts-1)
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

// part returns the part of a row with that key.
func (r *FoldRule) part(key uint64) int {
	if r.By == ByTime {
		later, found := slices.BinarySearch(r.Cuts, key)
		if found {
			later++
		}
		return len(r.Cuts) - later
	}
	if i, found := slices.BinarySearch(r.Keys, key); found {
		return r.Folds[i]
	}
	return int(key % uint64(r.Parts))
}

// hash returns a hash of a row that is its part modulo Parts, given its key and the hash of its content.
// Any further division of a part by the rest of the hash keeps groups whole.
func (r *FoldRule) hash(key, content uint64) uint64 {
	part := r.part(key)
	rest := content
	switch {
	case r.By == ByGroup:
		rest = mix(key ^ groupSalt)
	case part > 0: // training rows of a part stay together, as given folds may be groups
		rest = uint64(part)
	}
	parts := uint64(r.Parts)
	return rest%(math.MaxUint64/parts)*parts + uint64(part)
}

// pilot divides the rows that are not held out into n parts, and returns the part of a row, given its hash.
func (r *FoldRule) pilot(hash uint64, n int) int {
	if part := int(hash % uint64(r.Parts)); r.By != ByGroup && r.Parts > 2 {
		if r.Gap {
			part /= 2
		}
		return (part - 1) % n
	}
	return int(hash / uint64(r.Parts) % uint64(n))
}

// Latest returns the time at which the latest part begins.
func (r *FoldRule) Latest() float64 { return rows.OfKey(r.Cuts[len(r.Cuts)-1]) }
