package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/models/search/differences"
	"github.com/bochner-ml/bochner/models/search/jumps"
)

const (
	// standardView is the name of the view of standardised columns.
	standardView = "standard"
	// mostOutputs is the largest number of classes for which levels are tried.
	mostOutputs = 100
	// levelsView is the name of the view in which some columns are levels.
	levelsView = "levels"
	// In wholeView, bothView and differencesView all columns of small whole numbers are levels, at most mostWhole per
	// column. bothView keeps the numbers next to the levels, and differencesView adds distances of two columns. These
	// views need wholeRows rows, because with few rows more candidates make the choice worse.
	wholeView       = "whole numbers as levels"
	bothView        = "whole numbers and levels"
	differencesView = "whole numbers, levels and differences"
	mostWhole       = 32
	wholeRows       = 800
	// levelWeight is the value of a level's indicator if there are few columns, as for a category. Among more than
	// fewColumns the value grows as distances do; otherwise levels would hardly count before a metric is learned.
	levelWeight = 0.7
	fewColumns  = 16
	// Jumps between levels must explain at least the share leastJumps of the variance of the residuals of a linear fit
	// and the share leastShare of the variance of the labels, and be at least sureJumps standard errors above chance.
	leastJumps = 0.05
	leastShare = 0.01
	sureJumps  = 5
	// jumpRows is the largest number of rows used to measure jumps; jumpNumbers bounds their numbers times the outputs.
	jumpRows    = 4000
	jumpNumbers = 10_000_000
)

// addLevels adds views in which columns are levels, if there are any: one with the columns that seem to name
// things, and others with all columns of small whole numbers, without or with the numbers and their differences.
func (r *runner) addLevels() error {
	standard := r.options.Views[0]
	if r.options.Levels == nil || standard.Name != standardView || r.pilot.N < fewRows || r.outputs > mostOutputs {
		return nil
	}
	s := r.views[standardView]
	add := func(name string, steps ...features.Recipe) error {
		return r.addView(View{name, append(slices.Clip(standard.Steps), steps...)})
	}
	if named := r.levels(s); named.Columns != nil {
		if err := add(levelsView, named); err != nil {
			return err
		}
	}
	if r.pilot.N < wholeRows {
		return nil
	}
	whole := r.whole(s)
	if whole.Columns == nil {
		return nil
	}
	if err := add(wholeView, whole); err != nil {
		return err
	}
	whole.Keep = true
	pilot := differences.Pilot{X: r.pilot.X, D: r.pilot.D, Scaled: s.x, In: s.d, Code: r.code, Outputs: r.outputs,
		Threads: r.options.Threads}
	recipe := pilot.Find(whole.Columns)
	if recipe.Pairs == nil {
		return add(bothView, whole)
	}
	_, whole.In = recipe.Dims()
	return add(differencesView, recipe, whole)
}

// whole returns the levels of all columns of small whole numbers; no columns if these are too many levels.
func (r *runner) whole(s *viewRows) preprocess.BinLevels {
	most := jumps.MostLevels(r.pilot.N)
	to, total := newLevels(s.d), 0
	for j := range s.d {
		if !r.options.Levels(j) || !r.isWhole(j) {
			continue
		}
		if c, ok := jumps.Levels(s.x, s.d, j, mostWhole); ok {
			to.Columns = append(to.Columns, c)
			total += len(c.Cuts) + 1
		}
	}
	if total > most {
		to.Columns = nil
	}
	return to
}

// isWhole reports whether all values of a column of the pilot are whole numbers. One other value is allowed: the
// mean that replaces missing values.
func (r *runner) isWhole(j int) bool {
	other := float32(math.NaN())
	for i := range r.pilot.N {
		v := r.pilot.X[i*r.pilot.D+j]
		switch {
		case v == float32(math.Trunc(float64(v))) || v == other:
		case math.IsNaN(float64(other)):
			other = v
		default:
			return false
		}
	}
	return true
}

// newLevels returns a recipe of levels without columns, for rows of d numbers.
func newLevels(d int) preprocess.BinLevels {
	return preprocess.BinLevels{In: d, Weight: levelWeight * float32(math.Sqrt(max(1, float64(d)/fewColumns)))}
}

// levels returns the levels of the columns that seem to name things rather than to measure them, such as numbers
// of states. All rows of the pilot, also those to judge, decide which columns these are, so they must exceed
// chance by far. The view is then judged like any other, on rows that candidates were not fitted to.
func (r *runner) levels(s *viewRows) preprocess.BinLevels {
	type found struct {
		column preprocess.BinColumn
		share  float64 // of its jumps
	}
	var all []found
	var left [][]float64
	var rest float64 // share of the variance of the labels
	most := jumps.MostLevels(len(s.x) / s.d)
	n := min(len(s.x)/s.d, jumpRows, jumpNumbers/(s.d*r.outputs))
	to := newLevels(s.d)
	if n < fewRows {
		return to
	}
	for j := range s.d {
		if !r.options.Levels(j) {
			continue
		}
		c, ok := jumps.Levels(s.x, s.d, j, most)
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
			left, rest = jumps.Residuals(codes, s.x, s.d, r.options.Threads)
		}
		share, sure := jumps.Share(left, s.x, s.d, c)
		if share >= leastJumps && float64(share*rest) >= leastShare && sure >= sureJumps {
			all = append(all, found{c, share})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.share, a.share) })
	total := 0
	for _, f := range all {
		if n := len(f.column.Cuts) + 1; total+n <= most {
			to.Columns = append(to.Columns, f.column)
			total += n
		}
	}
	return to
}

// MoreColumns returns an upper bound on the numbers that a view with levels adds to each row, for a pilot of n
// rows of d numbers, of which repeated may become levels.
func MoreColumns(n, d, repeated int) int {
	return min(jumps.MostLevels(n), repeated*(n/jumps.RowsPerLevel)) + min(differences.Max(d), repeated*(repeated-1)/2)
}

// levelsFor returns the view with levels in which metrics are learned, in addition to the view of the best
// candidate: levelsView, or else the best of the other views with levels, or else "".
func (r *runner) levelsFor(candidates []*entry) string {
	if r.views[levelsView] != nil {
		return levelsView
	}
	for _, e := range candidates {
		if slices.Contains([]string{wholeView, bothView, differencesView}, e.View) {
			return e.View
		}
	}
	return ""
}
