package search

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
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

	// Part has the part of each row, less than Parts; nil if the hash of a row decides it.
	Part []uint8
	// Ordered says that a part is judged by fits to later parts only, whose rows are earlier in time.
	Ordered bool
}

// Constant reports whether all labels are equal, so that there is nothing to predict.
func (p *Pilot) Constant() bool {
	return !slices.ContainsFunc(p.Y, func(y float64) bool { return y != p.Y[0] })
}

func (p *Pilot) validate() error {
	switch {
	case p.N < 1 || p.N > MaxRows || p.D < 1:
		return fmt.Errorf("search: pilot of %d rows of %d numbers, want 1 to %d rows", p.N, p.D, MaxRows)
	case len(p.X) != p.N*p.D || len(p.Y) != p.N || p.Weights != nil && len(p.Weights) != p.N ||
		p.Part != nil && len(p.Part) != p.N:
		return errors.New("search: rows, labels, weights and parts of the pilot differ in number")
	case slices.ContainsFunc(p.Part, func(part uint8) bool { return part >= Parts }):
		return fmt.Errorf("search: a part of the pilot is outside 0 to %d", Parts-1)
	case p.Classes < 0 || p.Classes == 1:
		return fmt.Errorf("search: %d classes, want 2 or more, or 0 for targets", p.Classes)
	}
	for i, y := range p.Y {
		if y-y != 0 || p.Classes > 0 && !(y >= 0 && int(y) < p.Classes && y == float64(int(y))) {
			return fmt.Errorf("search: label %v of row %d of the pilot is out of range", y, i+1)
		}
	}
	return nil
}

// Parts is the number of parts of a pilot. A candidate is fitted to all but one.
const Parts = 5

const parts = Parts

// salt separates the parts of a pilot from the folds of the data and from samples.
const salt = 0x70696c6f74 // "pilot"

// split returns the part of each row: Part, or from the hash of its numbers, so that equal rows share a part.
func (p *Pilot) split() []uint8 {
	if p.Part != nil {
		return p.Part
	}
	part := make([]uint8, p.N)
	for i := range part {
		h := rows.Hash(salt, p.X[i*p.D:(i+1)*p.D])
		part[i] = uint8((h ^ h>>32) % parts)
	}
	return part
}

// labels are the labels of a pilot in the form that fits use.
type labels struct {
	y       []float64
	scaled  []float32          // targets as fractions of the grid's range
	grid    *linear.TargetGrid // nil for classes
	outputs int
	weights []float64           // nil if they are all 1
	whole   *profile.WeightGrid // of the weights; nil without
}

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
		l.whole = profile.NewWeightGrid(sum.Result(), nil, nil)
	}
	return l, nil
}

// grids returns the grid of the targets, for package ridge; nil for classes.
func (l *labels) grids() linear.Grids {
	if l.grid == nil {
		return nil
	}
	return linear.Grids{*l.grid}
}

// weight returns the weight of row i.
func (l *labels) weight(i int) float64 {
	if l.weights == nil {
		return 1
	}
	return l.weights[i]
}
