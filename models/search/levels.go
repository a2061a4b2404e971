package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
)

const (
	// standardView is the name of the view of standardised columns.
	standardView = "standard"
	// mostOutputs is the largest number of classes with which columns may be levels.
	mostOutputs = 100
	// levelsView is the name of the view in which some columns are levels.
	levelsView = "levels"
	// levelWeight is the number that stands for a level among a few columns, as for a
	// category. Among more than fewColumns it grows as their distances do, or levels would hardly
	// be seen before a metric is learned.
	levelWeight = 0.7
	fewColumns  = 16
	// leastJumps is a share of the variance of what a linear fit leaves, and leastShare a share of
	// the variance of the labels, from which on jumps between levels count, and sureJumps the
	// number of standard errors that they have to be above chance.
	leastJumps = 0.05
	leastShare = 0.01
	sureJumps  = 5
	// jumpRows is the largest number of rows that jumps are counted on, jumpNumbers the largest number of their
	// numbers times the outputs.
	jumpRows    = 4000
	jumpNumbers = 10_000_000
)

// addLevels adds the view in which columns are levels, if there is one.
func (r *runner) addLevels(views *[]View) error {
	if r.options.Levels == nil || (*views)[0].Name != standardView || r.pilot.N < fewest || r.outputs > mostOutputs {
		return nil
	}
	v, some := r.levels((*views)[0], r.views[standardView])
	if !some {
		return nil
	}
	s, err := newScaled(r.pilot, v, r.views[standardView].mostHats)
	if err != nil {
		return err
	}
	r.views[v.Name] = s
	*views = append(*views, v)
	return nil
}

// levels returns the view of standardised columns in which those that seem to name things rather
// than measure them, such as the numbers of states, are levels; false if there is none. All rows of
// the pilot say which columns seem so, by far more than chance, and rows that candidates have not
// seen judge them then, as they judge others.
func (r *runner) levels(standard View, s *scaled) (View, bool) {
	type found struct {
		column preprocess.BinColumn
		jumps  float64
	}
	var all []found
	var left [][]float64
	var share float64
	most := mostJumpLevels(len(s.x) / s.d)
	n := min(len(s.x)/s.d, jumpRows, jumpNumbers/(s.d*r.outputs))
	if n < fewest {
		return View{}, false
	}
	for j := range s.d {
		if !r.options.Levels(j) {
			continue
		}
		c, ok := jumpLevels(s.x, s.d, j, most)
		if !ok {
			continue
		}
		if left == nil {
			codes := make([][]float64, r.outputs)
			for c := range codes {
				for i := range n {
					codes[c] = append(codes[c], r.code(i, c))
				}
			}
			left, share = jumpResiduals(codes, s.x, s.d, r.options.Threads)
		}
		of, sure := jumpShare(left, s.x, s.d, c)
		if of >= leastJumps && float64(of*share) >= leastShare && sure >= sureJumps {
			all = append(all, found{c, of})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.jumps, a.jumps) })
	to := preprocess.BinLevels{In: s.d, Weight: levelWeight * float32(math.Sqrt(max(1, float64(s.d)/fewColumns)))}
	total := 0
	for _, f := range all {
		if n := len(f.column.Cuts) + 1; total+n <= most {
			to.Columns = append(to.Columns, f.column)
			total += n
		}
	}
	if to.Columns == nil {
		return View{}, false
	}
	return View{Name: levelsView, Steps: append(slices.Clip(standard.Steps), features.Recipe(to))}, true
}

// MoreColumns bounds the numbers by which the view of levels makes the rows of a pilot of n longer,
// of d numbers.
func MoreColumns(n, d int) int { return min(mostJumpLevels(n), d*(n/RowsPerLevel)) }
