package ridge

import (
	"cmp"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/models/iterative"
)

// Name is the name of the learner.
const Name = "ridge"

func init() {
	iterative.Register(iterative.Definition{Name: Name, Aliases: []string{"krr"}, Summary: "least squares, one pass",
		Weighted: true, New: func() iterative.Options { return NewLearnerOptions() }})
}

// LearnerOptions holds the options of the learner ridge. Use NewLearnerOptions for the defaults.
type LearnerOptions struct {
	// Bits of the grid that ridge rounds features to for exact sums: 8, 16 (four times slower) or
	// auto, which uses 16 for small data, for raw columns, and when the chosen lambda is so small that
	// rounding to 8 matters.
	Grid features.Bits `flag:"grid" values:"auto,8,16"` // "" is auto
	// How ridge solves its equations: gram (exact sums of all products of features, in one pass), cg
	// (conjugate gradients: a pass for each round, in memory proportional to the number of features,
	// with the options of --learner cg) or auto: cg for more than 30000 features if it takes less time
	// by the numbers of rows, features and outputs, and no other option needs the sums.
	Solver iterative.Solver `flag:"solver" values:"auto,gram,cg"`
	// Class weights in the loss: balanced, or a list of NAME=WEIGHT separated by commas.
	Weights []string `flag:"class_weight" placeholder:"LIST" values:"balanced" list:"commas"`
}

// NewLearnerOptions returns the default options.
func NewLearnerOptions() *LearnerOptions {
	return &LearnerOptions{Grid: features.AutoBits, Solver: iterative.AutoSolver}
}

// Validate returns errors that do not depend on the data.
func (o *LearnerOptions) Validate() error {
	return cmp.Or(o.Grid.Validate(), iterative.CheckSolver(o.Solver))
}

// FewProducts is the number of products of features, rows × D², up to which auto uses 16 bits from the
// start, because their cost is small.
const FewProducts = 0x1p35

// GridOf returns the grid step of a map's features. With ranges it is the step of a feature whose range is
// from −1 to 1.
func GridOf(m features.Gridded, steps int) (step float64, ranges Ranges) {
	if r, ok := m.(features.Ranged); ok {
		ranges.Centre, ranges.Half = r.Ranges()
		return 1 / float64(steps), ranges
	}
	return m.Step() * features.ByteSteps / float64(steps), ranges
}
