package search

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/search/pairs"
)

// MaxRows is the largest number of rows of a pilot.
const MaxRows = 10000

// Pilot is a sample of the training rows, in the order of the hashes of their content, so that its first rows are
// a sample, too.
type Pilot struct {
	X    []float32 // N×D, row-major: columns as plain numbers, before any scaling
	N, D int

	// Y has the classes of the rows, 0 ≤ y < Classes, or targets if Classes is 0.
	Y       []float64
	Classes int

	Weights []float64 // of the rows, > 0; nil if they are all 1

	// Fold has the fold of each row, less than Folds; nil if the hash of a row decides it.
	Fold []uint8
	// Ordered says that a fold is judged by fits to later folds only, whose rows are earlier in time.
	Ordered bool
}

// Constant reports whether all labels are equal, so that there is nothing to predict.
func (p *Pilot) Constant() bool {
	return !slices.ContainsFunc(p.Y, func(y float64) bool { return y != p.Y[0] })
}

func (p *Pilot) validate() error {
	switch {
	case p.N < 1 || p.N > MaxRows || p.D < 1:
		return fmt.Errorf("search: the pilot must have 1 to %d rows (have %d of %d numbers)", MaxRows, p.N, p.D)
	case len(p.X) != p.N*p.D || len(p.Y) != p.N || p.Weights != nil && len(p.Weights) != p.N ||
		p.Fold != nil && len(p.Fold) != p.N:
		return errors.New("search: rows, labels, weights and parts of the pilot differ in number")
	case slices.ContainsFunc(p.Fold, func(fold uint8) bool { return fold >= Folds }):
		return fmt.Errorf("search: a part of the pilot is outside 0 to %d", Folds-1)
	case p.Classes < 0 || p.Classes == 1:
		return fmt.Errorf("search: %d classes, want 2 or more, or 0 for targets", p.Classes)
	}
	for i, y := range p.Y {
		if !exact.Finite(y) || p.Classes > 0 && !(y >= 0 && int(y) < p.Classes && y == float64(int(y))) {
			return fmt.Errorf("search: label %v of row %d of the pilot is out of range", y, i+1)
		}
	}
	return nil
}

// Folds is the number of folds of a pilot. A candidate is fitted to all but one.
const Folds = 5

// salt separates the folds of a pilot from the folds of the data and from samples.
const salt = 0x70696c6f74 // "pilot"

// split returns the fold of each row: Fold, or from the hash of its numbers, so that equal rows share a fold.
func (p *Pilot) split() []uint8 {
	if p.Fold != nil {
		return p.Fold
	}
	folds := make([]uint8, p.N)
	for i := range folds {
		h := rowio.Hash(salt, p.X[i*p.D:(i+1)*p.D])
		folds[i] = uint8((h ^ h>>32) % Folds)
	}
	return folds
}

// labels are the labels of a pilot in the form that fits use.
type labels struct {
	y          []float64
	scaled     []float32          // targets as fractions of the grid's range
	grid       *linear.TargetGrid // nil for classes
	outputs    int
	weights    []float64           // of the rows
	weightGrid *profile.WeightGrid // of the weights; nil without
}

// labels returns the labels as classes or scaled targets, with weights on a grid.
func (p *Pilot) labels() (*labels, error) {
	l := &labels{y: p.Y, outputs: max(p.Classes, 1), weights: p.Weights}
	if p.Classes == 0 {
		grid := linear.TargetGrid{Low: p.Y[0], High: p.Y[0]}
		for _, y := range p.Y {
			grid.Low, grid.High = min(grid.Low, y), max(grid.High, y)
		}
		if err := grid.Validate(); err != nil {
			return nil, err
		}
		l.grid, l.scaled = &grid, make([]float32, p.N)
		for i, y := range p.Y {
			l.scaled[i] = grid.Scaled(y)
		}
	}
	if p.Weights != nil {
		var sum profile.WeightSum
		for _, w := range p.Weights {
			sum.Add(w)
		}
		l.weightGrid = profile.NewWeightGrid(sum.Result(), nil, nil)
	} else {
		l.weights = slices.Repeat([]float64{1}, p.N)
	}
	return l, nil
}

// With at least oneJudges rows, a single fold of the pilot has fewJudged rows, by a wide margin.
const oneJudges = Folds * fewJudged * 4 / 3

// levelViews is the largest number of views with levels, in addition to the given views.
const levelViews = 3

// Memory returns an upper bound on the bytes that a search needs for a pilot of n rows of d numbers. In views
// with levels, rows are longer by up to more numbers. views is the number of given views.
func Memory(n, d, more, outputs, views, threads int) int64 {
	plain := 4 * int64(n) * int64(d) * int64(1+views)
	d += more
	rows := 4 * int64(n) * int64(d)
	var fit, small, near, shared int64
	for _, i := range rungSizes(n) {
		size := sizes[i]
		if size.exact {
			// Exact kernels: matrices of all rows of the trial with the additional features, twice of
			// the training rows, and between these and the judged rows. Of few rows more than one fold judges.
			train := min(int64(size.train), int64(n))
			bytes := train + int64(size.judge)
			if n < oneJudges {
				bytes *= 2
			}
			bytes = min(bytes, int64(n))
			fit = max(fit, drawnBytes(bytes))
			small = 8 * (bytes*(bytes+1) + 2*train*train + train*int64(size.judge) + bytes*(maxPiecewise+productRows))
			near = 2 * bytes * (bytes + 1)
			// Rows in two metrics of each fold, with distances in two norms.
			judging := min(Folds, Folds*fewJudged/int64(max(n, 1))+2)
			shared = 2 * judging * (rows + 2*near)
			// Fits to learn metrics from.
			fit = max(fit, fitBytes(n, d, min(maxFeatures, max(leastFeatures, n)), 0, outputs))
			continue
		}
		shared = 0                            // metrics are not learned on the first rung
		judge := min(size.judge, n/Folds*5/4) // rows of a fold, which chance makes larger
		piecewise := min(maxPiecewise, preprocess.MaxBinKnots*d)
		fit = max(fit, fitBytes(n, d, max(size.features, landmarkFeatures)+piecewise, judge, outputs))
	}
	workers := int64(max(1, min(threads, maxWorkers)))
	// Views, distances of each in two norms, and two columns of one.
	return plain + levelViews*rows + workers*max(fit, small) + int64(views+levelViews)*2*near + 8*int64(n) + near +
		shared + max(pairs.Memory(n, d-more), pairs.Memory(n, d))
}

// fitBytes bounds the memory of a fit: its sum, equations, features of judged rows, and rows in a metric.
func fitBytes(n, d, features, judge, outputs int) int64 {
	shape := ridge.Shape{Dim: features, Outputs: outputs, Regression: outputs == 1}
	return ridge.Memory(shape, ridge.FoldPlan{}, 0, 1) + shape.Bytes() + 4*int64(judge)*int64(features) + 4*int64(n)*int64(d) +
		4*int64(d)*int64(features) + 8*int64(judge)*int64(outputs)
}
