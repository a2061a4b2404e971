package pca

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
)

func init() {
	iterative.Register(iterative.Definition{
		Name: "pca", Summary: "principal components of the features, one pass", Unlabeled: true, Weighted: true,
		New: func() iterative.Options { return NewLearnerOptions() },
	})
}

// LearnerOptions holds the options of the learner pca.
type LearnerOptions struct {
	// Number of components.
	Components int `flag:"components,common" group:"Model and output"` // 0 is DefaultComponents

	// Bits of the grid that features are rounded to for exact sums: 8, 16 (four times slower) or auto,
	// which uses 16 unless rows × features² exceeds 4·10¹².
	Grid features.Bits `flag:"grid" values:"auto,8,16"`
}

// DefaultComponents is the number of components if none is given.
const DefaultComponents = 2

// FewProducts is the number of products of features, rows × D², up to which auto uses 16 bits.
const FewProducts = 1 << 42

// NewLearnerOptions returns the default options.
func NewLearnerOptions() *LearnerOptions {
	return &LearnerOptions{Components: DefaultComponents, Grid: features.AutoBits}
}

// Validate returns errors that do not depend on the data.
func (o *LearnerOptions) Validate() error {
	if o.Components < 0 || o.Components > maxComponents {
		return option.Errorf("components", "must be 1 to %d (have %d)", maxComponents, o.Components)
	}
	return o.Grid.Validate()
}

// Fit finds the components of the features that m gives the rows of x (row-major), on all cores. Nil
// options mean NewLearnerOptions(). The scores of Result.Linear are the coordinates of features.
func Fit(m features.Map, x []float32, o *LearnerOptions) (*Result, error) {
	return FitWeighted(m, x, nil, o)
}

// FitWeighted is Fit for rows with weights, one for each row: mean and variance are
// weighted, so that a row of weight 3 counts as three rows. Nil weights are all 1.
func FitWeighted(m features.Map, x []float32, weights []float64, o *LearnerOptions) (*Result, error) {
	if o == nil {
		o = NewLearnerOptions()
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	g, ok := m.(features.Gridded)
	if !ok {
		return nil, fmt.Errorf("pca: a %T has no grid for exact sums of its features", m)
	}
	in, dim := m.Dims()
	n, threads := len(x)/in, runtime.GOMAXPROCS(0)
	if len(x) != n*in {
		return nil, fmt.Errorf("pca: %d numbers do not form rows of %d", len(x), in)
	}
	d := linear.Data{Map: m, X: x, Target: make([]float64, n), Weights: weights}
	if _, _, err := d.Validate(); err != nil {
		return nil, err
	}
	w, all := d.Weighed(1)
	grid := profile.NewWeightGrid(w, nil, all)
	shape := ridge.Shape{Dim: dim, Outputs: 1, Weighted: grid != nil}
	if err := shape.Validate(); err != nil {
		return nil, err
	}
	wide := features.Wide(m)
	count, total := ridge.WeightedRows(w, grid)
	steps := o.Grid.Steps(float64(count)*float64(dim)*float64(dim), FewProducts, wide, shape.Fine(total))
	sum, how := ridge.NewSum(shape), &ridge.Options{Units: ridge.Units{Weights: grid}, Threads: threads}
	saturated := ridge.SumRows([]*ridge.Sum{sum}, g, steps, how,
		func(add func(fold int, x []float32, y []float64, w float64)) {
			for i := range n {
				add(0, d.Row(i), nil, d.Weight(i))
			}
		})
	if saturated > 0 {
		return nil, fmt.Errorf(
			"pca: %d features are not finite, or far beyond the bound of the map; scale the rows as the map expects", saturated)
	}
	step, ranges := ridge.GridOf(g, steps)
	return Solve(sum, Options{Components: cmp.Or(o.Components, DefaultComponents), Step: step, Ranges: ranges, Seed: 1,
		Threads: threads})
}
