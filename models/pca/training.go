package pca

import (
	"fmt"
	"runtime"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/learner"
	"github.com/bochner-ml/bochner/models/ridge"
)

func init() {
	learner.Register(learner.Learner{
		Name: "pca", Summary: "principal components of the features, one pass", Unlabeled: true,
		New: func() learner.Options { return NewTraining() },
	})
}

// Training holds the options of finding components.
type Training struct {
	Components int        `flag:"components" help:"Number of components."` // 0 is DefaultComponents
	Grid       ridge.Bits `flag:"grid" help:"Bits of the grid that features are rounded to for exact sums: 8, 16 (four times slower) or auto, which uses 16 unless rows × features² exceeds 4·10¹²." values:"auto,8,16"`
}

// DefaultComponents is the number of components if none is given.
const DefaultComponents = 2

// FewProducts is the number of products of features, rows × D², up to which auto uses 16
// bits.
const FewProducts = 1 << 42

// NewTraining returns the default options.
func NewTraining() *Training {
	return &Training{Components: DefaultComponents, Grid: ridge.AutoBits}
}

// Validate returns errors that do not depend on the data.
func (t *Training) Validate() error {
	if t.Components < 0 || t.Components > MaxComponents {
		return option.Errorf("components", "must be between 1 and %d (have %d)", MaxComponents, t.Components)
	}
	return t.Grid.Validate()
}

// Fit finds the components of rows in memory, from the features that m makes of x,
// row-major, on all cores. Nil options mean those of NewTraining. The scores of
// Result.Linear are the coordinates of features.
func Fit(m features.Map, x []float32, t *Training) (*Result, error) {
	if t == nil {
		t = NewTraining()
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	g, ok := m.(features.Gridded)
	if !ok {
		return nil, fmt.Errorf("pca: a %T has no grid for exact sums of its features", m)
	}
	in, dim := m.Dims()
	shape := ridge.Shape{Dim: dim, Outputs: 1}
	if err := shape.Validate(); err != nil {
		return nil, err
	}
	n, threads := len(x)/in, runtime.GOMAXPROCS(0)
	if len(x) != n*in {
		return nil, fmt.Errorf("pca: %d numbers do not form rows of %d", len(x), in)
	}
	_, wide := m.(features.Ranged)
	steps := t.Grid.Steps(float64(n)*float64(dim)*float64(dim), FewProducts, wide, shape.Fine(int64(n)))
	sum, z := ridge.NewSum(shape), features.NewGrid(dim, steps)
	for lo := 0; lo < n; lo += rows.Rows(in) {
		k := min(rows.Rows(in), n-lo)
		if cut := g.Quantize(z, x[lo*in:], k, threads); cut > 0 {
			return nil, fmt.Errorf("pca: %d features of rows %d to %d are not finite, or far beyond the bound of the map; scale the rows as the map expects", cut, lo, lo+k-1)
		}
		sum.Add(z, nil, nil, threads)
	}
	step, ranges := ridge.GridOf(g, steps)
	o := Options{Components: t.Components, Step: step, Ranges: ranges, Seed: 1, Threads: threads}
	if o.Components == 0 {
		o.Components = DefaultComponents
	}
	return Solve(sum, o)
}
