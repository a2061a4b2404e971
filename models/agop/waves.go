package agop

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/blas"
)

// Waves are the Fourier features of a recipe: for each of Count frequencies a cosine and a sine.
type Waves struct {
	In    int // length d of the rows in whose coordinates gradients are
	Count int // number of frequencies m
	First int // index of the first cosine among the features; the sines follow the cosines
	// W holds the frequencies in radians, column by column: d×m.
	W []float64
	// Before is the chain of steps that makes those rows of the rows that the recipe takes.
	Before []features.Recipe
}

// WavesOf returns the waves of a recipe: of Fourier features in the paired form, alone, after other steps
// or as the one such part of a join, whose other parts gradients leave out. The coordinates are those
// before the metrics that precede the features directly, so that a metric which takes the place of
// these can be learned.
func WavesOf(r features.Recipe) (*Waves, error) {
	w := &Waves{}
	steps := []features.Recipe{r}
	if c, ok := r.(features.Chain); ok {
		steps = c.Steps
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("agop: a chain without steps")
	}
	if j, ok := steps[len(steps)-1].(preprocess.Join); ok {
		part, first, err := partOf(j)
		if err != nil {
			return nil, err
		}
		w.First = first
		steps = append(steps[:len(steps)-1:len(steps)-1], part...)
	}
	turns, err := turnsOf(steps[len(steps)-1])
	if err != nil {
		return nil, err
	}
	d, out, err := features.Dims(steps[len(steps)-1])
	if err != nil {
		return nil, err
	}
	w.In, w.Count, w.W = d, out/2, make([]float64, len(turns))
	for j := range w.Count {
		for i := range d {
			w.W[i*w.Count+j] = 2 * math.Pi * float64(turns[j*d+i])
		}
	}
	end := len(steps) - 1
	for ; end > 0; end-- {
		if done, err := w.through(steps[end-1]); err != nil {
			return nil, err
		} else if !done {
			break
		}
	}
	w.Before = steps[:end]
	return w, nil
}

// partOf returns the steps of the one part of a join that ends in Fourier features, and where its features
// begin.
func partOf(j preprocess.Join) (steps []features.Recipe, first int, err error) {
	at := 0
	for _, p := range j.Parts {
		of := []features.Recipe{p}
		if c, ok := p.(features.Chain); ok {
			of = c.Steps
		}
		if _, err := turnsOf(of[len(of)-1]); err == nil {
			if steps != nil {
				return nil, 0, fmt.Errorf("agop: several parts of a join are Fourier features; want one")
			}
			steps, first = of, at
		}
		_, out, err := features.Dims(p)
		if err != nil {
			return nil, 0, err
		}
		at += out
	}
	if steps == nil {
		return nil, 0, fmt.Errorf("agop: no part of a join is Fourier features in the paired form")
	}
	return steps, first, nil
}

// turnsOf returns the frequencies of a recipe in turns, row by row.
func turnsOf(r features.Recipe) ([]float32, error) {
	form := fourier.Offset
	switch r := r.(type) {
	case learned.Recipe:
		if form = r.Form; form == fourier.Paired {
			return r.Turns()
		}
	case interface {
		Drawn() (fourier.Form, fourier.Draw)
		Dims() (in, out int)
	}:
		if form, _ = r.Drawn(); form == fourier.Paired {
			_, out := r.Dims()
			w, _, err := fourier.Turns(r.(features.Recipe), 0, out/2)
			return w, err
		}
	default:
		return nil, fmt.Errorf(
			"agop: gradients of features of a %T do not follow from their sums; use Fourier features in the paired form", r)
	}
	return nil, fmt.Errorf(
		"agop: gradients of Fourier features in the %v form do not follow from their sums; use the paired form", form)
}

// through changes the frequencies to those in the coordinates before the step, if that is a metric:
// ω·Ax = (Aᵀω)·x.
func (w *Waves) through(step features.Recipe) (done bool, err error) {
	m := w.Count
	switch r := step.(type) {
	case preprocess.DiagonalMetric:
		for i, a := range r.A {
			row := w.W[i*m : (i+1)*m]
			for j := range row {
				row[j] *= float64(a)
			}
		}
	case preprocess.FullMetric:
		a, err := r.Matrix()
		if err != nil {
			return false, err
		}
		d := w.In
		rows := make([]float64, m*d) // frequency by frequency
		blas.Transpose(rows, w.W, d, m)
		at := make([]float64, d*d)
		for k := range d {
			for i := range d {
				at[i*d+k] = float64(a.A[k*d+i])
			}
		}
		for i := range d {
			blas.Dots(w.W[i*m:(i+1)*m], at[i*d:(i+1)*d], rows, d)
		}
	default:
		return false, nil
	}
	return true, nil
}
