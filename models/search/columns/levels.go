package columns

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/preprocess"
)

const (
	// The largest number of levels of all columns together is a third of the rows, but at least someLevels and at
	// most maxLevels.
	maxLevels  = 1024
	someLevels = 256
	// rowsPerLevel is the smallest mean number of rows per level, minLevels the smallest number of levels, and maxWhole
	// the largest number of levels of a column of whole numbers.
	rowsPerLevel = 2
	minLevels    = 3
	maxWhole     = 32
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

// Pilot has rows of D numbers before standardisation (X) and In numbers after it (Scaled), both row-major. The
// columns of X keep their indices.
type Pilot struct {
	X       []float32
	D       int
	Scaled  []float32
	In      int
	Allowed func(column int) bool         // whether the values of a column may become levels
	Code    func(row, output int) float64 // the label as a number for each output
	Outputs int
	Threads int
}

// levelLimit returns the largest number of levels of all columns together, for n rows.
func levelLimit(n int) int { return min(maxLevels, max(someLevels, n/3)) }

// More returns an upper bound on the numbers that levels and differences add to each row, for a pilot of n rows of d
// numbers, of which repeated may become levels.
func More(n, d, repeated int) int {
	return min(levelLimit(n), repeated*(n/rowsPerLevel)) + min(maxDifferences(d), repeated*(repeated-1)/2)
}

// levelsOf returns column j of rows of d numbers, with a cut at each of its values except the smallest. The
// second result is false if it has too few or too many levels, or too few rows per level.
func levelsOf(x []float32, d, j, most int) (preprocess.BinColumn, bool) {
	n := len(x) / d
	values := make([]float32, n)
	for i := range values {
		values[i] = x[i*d+j]
	}
	// A column that measures mostly has too many values among some of the rows already.
	sample := slices.Clone(values[:min(n, rowsPerLevel*most)])
	slices.Sort(sample)
	if rows := len(sample); rowsPerLevel*len(slices.Compact(sample)) > rows {
		return preprocess.BinColumn{}, false
	}
	slices.Sort(values)
	values = slices.Compact(values)
	if len(values) < minLevels || len(values) > most || rowsPerLevel*len(values) > n {
		return preprocess.BinColumn{}, false
	}
	return preprocess.BinColumn{Index: j, Cuts: values[1:]}, true
}

// Whole returns the levels of all columns of small whole numbers; no columns if these are too many levels.
func (p *Pilot) Whole() preprocess.BinLevels {
	most := levelLimit(len(p.X) / p.D)
	to, total := newLevels(p.In), 0
	for j := range p.In {
		if !p.Allowed(j) || !p.isWhole(j) {
			continue
		}
		if c, ok := levelsOf(p.Scaled, p.In, j, maxWhole); ok {
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
func (p *Pilot) isWhole(j int) bool {
	other := float32(math.NaN())
	for i := range len(p.X) / p.D {
		v := p.X[i*p.D+j]
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

// Named returns the levels of the columns that seem to name things rather than to measure them, such as numbers
// of states. All rows of the pilot, also those to judge, decide which columns these are, so they must exceed
// chance by far. The view is then judged like any other, on rows that candidates were not fitted to.
func (p *Pilot) Named() preprocess.BinLevels {
	type found struct {
		column preprocess.BinColumn
		share  float64 // of its jumps
	}
	var all []found
	var left [][]float64
	var rest float64 // share of the variance of the labels
	most := levelLimit(len(p.X) / p.D)
	n := min(len(p.X)/p.D, jumpRows, jumpNumbers/(p.In*p.Outputs))
	to := newLevels(p.In)
	if n < fewestRows {
		return to
	}
	for j := range p.In {
		if !p.Allowed(j) {
			continue
		}
		c, ok := levelsOf(p.Scaled, p.In, j, most)
		if !ok {
			continue
		}
		if left == nil {
			codes := make([][]float64, p.Outputs)
			for c := range codes {
				for i := range n {
					codes[c] = append(codes[c], p.Code(i, c))
				}
			}
			left, rest = residuals(codes, p.Scaled, p.In, p.Threads)
		}
		share, sure := jumpShare(left, p.Scaled, p.In, c)
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
