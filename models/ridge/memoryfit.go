package ridge

import (
	"fmt"
	"runtime"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// FitResult is the result of Fit.
type FitResult struct {
	*linear.Machine
	Lambda float64    // λ of the weights
	Table  []CVResult // cross-validation results for each λ; nil if one λ was given
	Steps  int        // of the feature grid: features.ByteSteps for 8 bits
}

// seedOfFit is the seed that assigns rows to solver.Folds folds, as in training on files.
const seedOfFit = 1

// Fit trains on rows in memory, on all cores: it adds up the sums of the features and solves. If several
// values of λ are given, it takes the one with the least error in cross-validation over five folds. Rows
// are assigned to folds by content or by the field Groups of d. If none is given, it tries AutoLambda. The map must
// be features.Gridded. Nil options mean NewLearnerOptions().
//
// Training on a file of these rows with the same options gives the same weights, byte for byte, unless several λ are
// tried on few different rows (profile.Few). A row of whole weight w counts exactly like w copies of the row.
func Fit(d *linear.Data, lambda []float64, o *LearnerOptions) (*FitResult, error) {
	if o == nil {
		o = NewLearnerOptions()
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	f, err := newMemoryFit(d, lambda, o.Weights)
	if err != nil {
		return nil, err
	}
	shape := f.options.From.Shape
	dim, fine := float64(shape.Dim), shape.Fine(f.total)
	steps := o.Grid.Steps(float64(f.rows)*dim*dim, FewProducts, features.Wide(f.m), fine)
	mayRefine := o.Grid != features.Bits8 && steps != fine
	s, err := f.solve(steps, mayRefine)
	coarseBelow := FloorFactor * LambdaFloor(f.m.Step()*features.ByteSteps/float64(steps))
	if err == nil && mayRefine && TooCoarse(s.Table, s.Lambda, coarseBelow) {
		steps = fine
		s, err = f.solve(fine, false)
	}
	if err != nil {
		return nil, err
	}
	model := &linear.Model{W: s.Weights, B: s.Intercept, K: shape.Outputs, D: shape.Dim}
	return &FitResult{Machine: &linear.Machine{Map: f.m, Linear: model, Grid: f.options.Units.Grid}, Lambda: s.Lambda,
		Table: s.Table, Steps: steps}, nil
}

// memoryFit is a fit to rows in memory.
type memoryFit struct {
	data        *linear.Data
	m           features.Gridded
	options     Options // without sums and their grid, which solve sets
	auto        bool    // no values of λ are given
	rows, total int64   // see WeightedRows
}

// newMemoryFit checks the data. classWeights is the option class_weight.
func newMemoryFit(d *linear.Data, lambda []float64, classWeights []string) (*memoryFit, error) {
	_, outputs, err := d.Validate()
	if err != nil {
		return nil, err
	}
	m, ok := d.Map.(features.Gridded)
	if !ok {
		return nil, fmt.Errorf("ridge: a %T has no grid for exact sums of its features", d.Map)
	}
	_, dim := m.Dims()
	weights, byClass := d.Weighed(outputs)
	classes, err := iterative.ClassWeights(classWeights, d.Names(outputs), byClass)
	if err != nil {
		return nil, err
	}
	grid := profile.NewWeightGrid(weights, classes, byClass)
	if err := grid.CheckClasses(weights, d.Names(outputs)); err != nil {
		return nil, err
	}
	shape := Shape{Dim: dim, Outputs: outputs, Regression: d.Target != nil, Weighted: grid != nil}
	if err = shape.Validate(); err != nil {
		return nil, err
	}
	o := Options{Search: LambdaSearch{Lambda: lambda}, From: Source{Shape: shape}, Plan: FoldPlan{Folds: 1},
		Units: Units{Weights: grid}, Threads: runtime.GOMAXPROCS(0)}
	if len(lambda) == 0 {
		o.Search.Lambda = AutoLambda()
	}
	if len(o.Search.Lambda) > 1 {
		o.Plan.Folds = solver.Folds
	}
	if d.Target != nil {
		if o.Units.Grid, err = d.Grids(); err != nil {
			return nil, err
		}
	}
	f := &memoryFit{data: d, m: m, options: o, auto: len(lambda) == 0}
	f.rows, f.total = WeightedRows(weights, grid)
	return f, nil
}

// solve sums the rows on a grid of steps, and solves. With mayRefine, the caller can sum again on a finer grid.
func (f *memoryFit) solve(steps int, mayRefine bool) (_ *Solution, err error) {
	o := &f.options
	if f.auto {
		o.Search.Smaller = SmallerLambdaOn(steps, mayRefine)
	}
	if o.From.Sums, err = f.sums(steps); err != nil {
		return nil, err
	}
	o.Units.Step, o.Units.Ranges = GridOf(f.m, steps)
	return Solve(*o)
}

// WeightedRows returns the number of rows, where a row with a whole weight counts that many times, and an upper bound
// on the sum of the weights.
func WeightedRows(w *profile.Weights, grid *profile.WeightGrid) (rows, total int64) {
	if grid == nil {
		return w.Rows, w.Rows
	}
	return grid.Rows(w.Rows, w.Sum/grid.Unit*grid.One), grid.Total
}

// sums sums the rows of each fold.
func (f *memoryFit) sums(steps int) ([]*Sum, error) {
	d, o := f.data, &f.options
	hashes, err := d.FoldHashes(seedOfFit, o.Plan.Folds)
	if err != nil {
		return nil, err
	}
	sums := make([]*Sum, o.Plan.Folds)
	for fold := range sums {
		sums[fold] = NewSum(o.From.Shape)
	}
	saturated := SumRows(sums, f.m, steps, o, func(add func(fold int, x []float32, y []float64, w float64)) {
		var y []float64
		for i := range d.Rows() {
			y = d.AppendLabel(y[:0], i)
			add(int(hashes[i]%uint64(o.Plan.Folds)), d.Row(i), y, d.Weight(i))
		}
	})
	if saturated > 0 {
		return nil, fmt.Errorf(
			"ridge: %d features are not finite, or far beyond the bound of the map; scale the rows as the map expects",
			saturated)
	}
	return sums, nil
}

// SumRows adds the features of rows in memory to the sums of their folds. It calls each once, which calls
// add with every row, its labels (nil for an embedding) and its weight. It returns the number of features
// that are not finite or far beyond the bound of the map.
func SumRows(sums []*Sum, m features.Gridded, steps int, o *Options,
	each func(add func(fold int, x []float32, y []float64, w float64))) (saturated int64) {
	in, out := m.Dims()
	z, one := features.NewGrid(out, steps), rowio.Block{N: 1, D: in}
	collectors := make([]profile.WeightCollector, len(sums))
	for fold, s := range sums {
		collectors[fold] = profile.WeightCollector{Weights: o.Units.Weights, Full: func(b *rowio.Block, w []int64) {
			saturated += m.Quantize(z, b.X, b.N, o.Threads)
			s.Add(z, b.Y, o.Units.Grid, w, o.Threads)
		}}
	}
	each(func(fold int, x []float32, y []float64, w float64) {
		if w > 0 {
			one.X, one.Y, one.Weights = x, y, append(one.Weights[:0], w)
			collectors[fold].Add(&one, 0, 1)
		}
	})
	for fold := range collectors {
		collectors[fold].Flush()
	}
	return saturated
}
