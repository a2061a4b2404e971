package fourier

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/blas"
)

// featureMap is the map of random Fourier features of any kernel, with the frequencies
// as a dense matrix. It is immutable and safe for concurrent use.
type featureMap struct {
	weights *blas.Weights
	in, out int
	form    Form
	limit   float32 // see features.AngleLimit
}

var _ features.Gridded = (*featureMap)(nil)

// build draws the map.
func (d *draw) build() (features.Map, error) {
	if err := d.validate(); err != nil {
		return nil, err
	}
	if d.scheme == Structured {
		return d.buildStructured()
	}
	m, err := d.dense(d.in, func(w, offsets []float32) *blas.Weights {
		return blas.Pack(w, offsets, d.frequencies(), d.in)
	})
	if err != nil {
		return nil, err // m is a nil *featureMap, which would make a Map that is not nil
	}
	return m, nil
}

// newShort draws the map for rows in the short form. A structured draw has none.
func (d *draw) newShort(form *features.ShortForm) (features.Map, error) {
	if err := d.validate(); err != nil || d.scheme == Structured {
		return nil, err
	}
	short, whole := form.Row()
	if whole != d.in {
		panic("fourier: NewShort: rows of another length")
	}
	m, err := d.dense(short, func(w, offsets []float32) *blas.Weights {
		return blas.PackHot(w, offsets, d.frequencies(), d.in, blas.Hot{Values: form.Hot, Groups: form.Groups})
	})
	if err != nil || !form.Within(m.limit) {
		return nil, err
	}
	return m, nil
}

// dense draws the map for rows of length in. pack packs the frequencies.
func (d *draw) dense(in int, pack func(w, offsets []float32) *blas.Weights) (*featureMap, error) {
	n := d.frequencies()
	w := make([]float32, n*d.in)
	if err := d.turns(w, 0, n); err != nil {
		return nil, err
	}
	return &featureMap{weights: pack(w, d.offsets(0, n)), in: in, out: d.out, form: d.form,
		limit: features.AngleLimit(w, d.in)}, nil
}

// Dims implements features.Map.
func (m *featureMap) Dims() (in, out int) { return m.in, m.out }

// Apply stores the features of the n rows of x in dst, computed by the calling goroutine. If an angle
// overflows float32, the row's features are NaN. It panics if a slice is too short.
func (m *featureMap) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.in || len(dst) < n*m.out {
		panic("fourier: Apply: slice too short")
	}
	scale := float32(m.bound())
	if m.form == Paired {
		m.weights.CosSin(dst, x, n, scale, 1)
	} else {
		m.weights.Cos(dst, x, n, scale, 1)
	}
}

// Quantize stores the features of n ≤ features.MaxRows rows of x on the grid. No feature is out of bounds;
// features whose angle overflows float32 are counted. The 8-bit grid makes inner products larger by a
// factor of 1.00015 on average, because the many cosines near ±1 are mostly rounded outwards; the remaining
// error is 10⁻⁵. It panics if x is too short.
func (m *featureMap) Quantize(dst *features.Grid, x []float32, n, threads int) (saturated int64) {
	if n < 0 || n > blas.MaxRows || len(x) < n*m.in {
		panic("fourier: Quantize: slice too short, or too many rows")
	}
	if dst.Steps() != blas.MaxByte {
		return features.OnGrid(m, dst, x, n, threads, float32(m.bound()))
	}
	if m.form == Paired {
		m.weights.CosSinBytes((*blas.Bytes)(dst), x, n, threads)
	} else {
		m.weights.CosBytes((*blas.Bytes)(dst), x, n, threads)
	}
	return features.Overflows(m, x, n, m.limit)
}

// Step returns √(2/D)/127.
func (m *featureMap) Step() float64 { return m.bound() / 127 }

// bound is the largest magnitude of a feature.
func (m *featureMap) bound() float64 { return math.Sqrt(2 / float64(m.out)) }

// drawn is a recipe of this package.
type drawn interface {
	kernel.OfDistance
	draw() draw
}

var _ = []drawn{Gaussian{}, Laplace{}, Cauchy{}, Exponential{}, Matern{}}

// Offsets returns the offsets of all frequencies of a recipe of this package, in turns; nil in the paired
// form.
func Offsets(r features.Recipe) ([]float32, error) {
	f, ok := r.(drawn)
	if !ok {
		return nil, fmt.Errorf("fourier: Offsets: %T has no frequencies", r)
	}
	d := f.draw()
	if err := d.validate(); err != nil {
		return nil, err
	}
	return d.offsets(0, d.frequencies()), nil
}

// Turns returns frequencies first … first+n−1 of a recipe of this package in turns (n×in, row-major), as in
// its map, and their offsets in turns, nil in the paired form. It fails if the recipe is invalid or of
// another package, or if the range exceeds its frequencies.
func Turns(r features.Recipe, first, n int) (w, b []float32, err error) {
	f, ok := r.(drawn)
	if !ok {
		return nil, nil, fmt.Errorf("fourier: Turns: %T has no frequencies", r)
	}
	d := f.draw()
	if err := d.validate(); err != nil {
		return nil, nil, err
	}
	if all := d.frequencies(); first < 0 || n < 0 || first > all-n {
		return nil, nil, fmt.Errorf("fourier: Turns: %d frequencies from %d; the recipe has %d", n, first, all)
	} else if n > maxValues/d.in {
		return nil, nil, fmt.Errorf("fourier: Turns: %d frequencies of %d values at once; ask for at most %d", n, d.in,
			maxValues/d.in)
	}
	w = make([]float32, n*d.in)
	if err := d.turns(w, first, n); err != nil {
		return nil, nil, err
	}
	return w, d.offsets(first, n), nil
}

// Form is the way in which a frequency becomes features.
type Form uint8

const (
	// Paired uses a cosine and a sine of each of D/2 frequencies. Its rows have
	// norm 1 exactly, and it estimates smooth kernels with less variance.
	Paired Form = iota
	// Offset uses a cosine with a random offset of each of D frequencies.
	Offset
)

// String returns "paired" or "offset".
func (f Form) String() string {
	switch f {
	case Paired:
		return "paired"
	case Offset:
		return "offset"
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}

// MarshalText returns the name of the form.
func (f Form) MarshalText() ([]byte, error) {
	if f > Offset {
		return nil, fmt.Errorf("fourier: unknown form %v", f)
	}
	return []byte(f.String()), nil
}

// UnmarshalText accepts "paired" and "offset".
func (f *Form) UnmarshalText(text []byte) error {
	switch string(text) {
	case "paired":
		*f = Paired
	case "offset":
		*f = Offset
	default:
		return fmt.Errorf("unknown form %q; have paired, offset", text)
	}
	return nil
}

// Help returns the help for options of this type.
func (Form) Help() (help string, values []string) {
	return "Form of the features: paired (cosine and sine of each frequency) or offset (cosine with a random phase).",
		[]string{"paired", "offset"}
}
