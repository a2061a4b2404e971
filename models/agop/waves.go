package agop

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/blas"
)

// Waves are the Fourier features of a recipe: a cosine and a sine for each of Count frequencies; in the
// offset form only a cosine.
type Waves struct {
	In    int // d, the length of the rows in which gradients are taken
	Count int // number of frequencies m
	First int // index of the first cosine among the features; the sines follow the cosines
	// W holds the frequencies in radians, column by column: d×m.
	W []float64
	// Offsets are the offsets of the offset form in units of 2π, one for each frequency; nil in the paired form.
	Offsets []float32
	// Amplitude is the largest value of the features of each frequency.
	Amplitude []float32
	// Before is the chain of steps from the rows of the recipe to the rows in which gradients are taken.
	Before []features.Recipe
}

// WavesOf returns the waves of a recipe: Fourier features in the paired form, possibly after other steps or
// as the only such part of a join; gradients ignore the other parts. The coordinates are those before the
// metrics directly before the features, so that a metric can be learned that replaces these.
func WavesOf(r features.Recipe) (*Waves, error) {
	steps := features.StepsOf(r)
	if len(steps) == 0 {
		return nil, errors.New("agop: a chain without steps")
	}
	first := 0
	if j, ok := steps[len(steps)-1].(preprocess.Join); ok {
		waveSteps, at, err := fourierPart(j)
		if err != nil {
			return nil, err
		}
		first = at
		steps = append(steps[:len(steps)-1:len(steps)-1], waveSteps...)
	}
	w, err := WavesAfter(steps)
	if err != nil {
		return nil, err
	}
	if w.Offsets != nil {
		return nil, fmt.Errorf(
			"agop: gradients of Fourier features in the %v form do not follow from their sums; use the paired form",
			fourier.Offset)
	}
	w.First = first
	return w, nil
}

// WavesAfter returns the waves of Fourier features of either form after other steps, in the coordinates of
// WavesOf. The error is ErrNoWaves if the last step is another recipe.
func WavesAfter(steps []features.Recipe) (*Waves, error) {
	last := steps[len(steps)-1]
	w := &Waves{}
	turns, err := w.turns(last)
	if err != nil {
		return nil, err
	}
	d, _, err := features.Dims(last)
	if err != nil {
		return nil, err
	}
	w.In, w.Count, w.W = d, len(turns)/d, make([]float64, len(turns))
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

// fourierPart returns the steps of the only part of a join that ends in Fourier features, and the index of its
// first feature.
func fourierPart(j preprocess.Join) (steps []features.Recipe, first int, err error) {
	at := 0
	for _, p := range j.Parts {
		recipes := features.StepsOf(p)
		if paired(recipes[len(recipes)-1]) {
			if steps != nil {
				return nil, 0, errors.New("agop: several parts of a join are Fourier features; want one")
			}
			steps, first = recipes, at
		}
		_, out, err := features.Dims(p)
		if err != nil {
			return nil, 0, err
		}
		at += out
	}
	if steps == nil {
		return nil, 0, errors.New("agop: no part of a join is Fourier features in the paired form")
	}
	return steps, first, nil
}

// ErrNoWaves is returned for features that are not waves.
var ErrNoWaves = errors.New("use Fourier features in the paired form")

// paired reports whether a recipe has Fourier features in the paired form.
func paired(r features.Recipe) bool {
	switch r := r.(type) {
	case learned.Recipe:
		return r.Form == fourier.Paired
	case drawn:
		form, _ := r.Drawn()
		return form == fourier.Paired
	}
	return false
}

// drawn is a recipe of package fourier.
type drawn interface {
	features.Recipe
	Drawn() (fourier.Form, fourier.Draw)
	Dims() (in, out int)
}

// turns returns the frequencies of a recipe in units of 2π, row by row, and sets their offsets and amplitudes.
func (w *Waves) turns(r features.Recipe) (turns []float32, err error) {
	switch r := r.(type) {
	case learned.Recipe:
		if w.Amplitude, w.Offsets, err = r.Waves(); err != nil {
			return nil, err
		}
		return r.Turns()
	case drawn:
		_, out := r.Dims()
		n := out
		if paired(r) {
			n = out / 2
		}
		w.Amplitude = slices.Repeat([]float32{float32(math.Sqrt(2 / float64(out)))}, n)
		turns, w.Offsets, err = fourier.Turns(r, 0, n)
		return turns, err
	}
	return nil, fmt.Errorf("agop: gradients of features of a %T do not follow from their sums; %w", r, ErrNoWaves)
}

// through converts the frequencies to the coordinates before the step, if that is a metric: ω·Ax = (Aᵀω)·x.
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
		rows := make([]float64, m*d) // one frequency per row
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
