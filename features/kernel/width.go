package kernel

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// Width is the width σ > 0 of a kernel in units of the preprocessed rows, or a way to choose it.
type Width float64

const (
	// Median uses the median distance between rows of a sample.
	Median Width = 0
	// Scale uses the width of scikit-learn's gamma="scale".
	Scale Width = -1
)

// Help returns the help for options of this type.
func (Width) Help() (help string, values []string) {
	return `Kernel width σ, in units of the scaled rows: a number, median (the median distance between rows) or scale (scikit-learn's gamma="scale").`, []string{"median", "scale"}
}

// MarshalText returns "median", "scale" or the number.
func (w Width) MarshalText() ([]byte, error) {
	switch w {
	case Median:
		return []byte("median"), nil
	case Scale:
		return []byte("scale"), nil
	}
	return strconv.AppendFloat(nil, float64(w), 'g', -1, 64), nil
}

// UnmarshalText accepts "median", "scale" and numbers > 0.
func (w *Width) UnmarshalText(text []byte) error {
	switch string(text) {
	case "median":
		*w = Median
		return nil
	case "scale":
		*w = Scale
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("must be median, scale or a number > 0 (have %q)", text)
	}
	*w = Width(v)
	return nil
}

// Validate returns an error unless w is Median, Scale or a number > 0.
func (w Width) Validate() error {
	if v := float64(w); w == Median || w == Scale || v > 0 && !math.IsInf(v, 1) {
		return nil
	}
	return option.Errorf("width", "must be median, scale or a number > 0 (have %v)", float64(w))
}

// Choose returns the width as a number, in that distance, and how it was found: "width 7 (median
// distance)".
func (w Width) Choose(d *Data, distance Distance) (width float64, summary string, err error) {
	how := ""
	switch w {
	case Median:
		how = " (median distance)"
		width, err = d.median(distance)
	case Scale:
		how = " (scale)"
		if math.IsNaN(d.Variance) {
			return 0, "", option.Errorf("width",
				"scale needs statistics of the columns, which a step of the scaling mixes; use median or a number")
		}
		width, err = scaleWidth(d.In, d.Variance)
	default:
		width = float64(w)
	}
	return width, fmt.Sprintf("width %.4g%s", width, how), err
}

// Distance is the distance between rows in a kernel. It sets the unit of the kernel's width.
type Distance uint8

const (
	// Euclidean is ‖x−z‖₂: the distance of the Gaussian, Matérn and product
	// (Cauchy) kernels. γ multiplies its square: exp(−γ‖x−z‖₂²).
	Euclidean Distance = iota
	// L1 is ‖x−z‖₁: the distance of the Laplace kernel. γ multiplies it: exp(−γ‖x−z‖₁).
	L1
)

// OfDistance is implemented by recipes of Fourier features whose kernel has a width in units of a distance.
type OfDistance interface {
	features.Random
	// Distance returns the distance.
	Distance() Distance
	// SecondMoment returns E‖ω‖² of the frequencies, which may be +Inf.
	SecondMoment() float64
}

// MaxSample is the largest sample for MedianWidth: 8.4 million distances, 67 MB.
const MaxSample = 4096

// Errors of MedianWidth that the rows of a sample cause.
var (
	ErrNotFinite = errors.New("kernel: the sample contains NaN or an infinity; clean the data first")
	ErrEqualRows = errors.New("kernel: all rows of the sample are equal, so the median distance is undefined; give the " +
		"width as a number")
)

// MedianWidth returns the median of the pairwise distances of the n rows of sample
// (n×d, row-major), the usual width of a kernel (Bullins, Zhang & Zhang,
// "Not-so-random features", 2018, §A.1). Pairs of equal rows are ignored: they
// carry no information about scale, and would make the width 0 if half of the rows are
// duplicates. For an even number of distances the median is the mean of the middle two.
//
// The result has the same bits for any order of the rows. MedianWidth fails if the sample has fewer than
// two different rows, more than MaxSample rows, or a value that is not finite. It panics if sample is too
// short.
func MedianWidth(sample []float32, n, d int, distance Distance) (float64, error) {
	if n < 0 || d < 1 || len(sample) < n*d {
		panic("kernel: sample too short")
	}
	if n > MaxSample {
		return 0, fmt.Errorf("kernel: median of %d rows; take a sample of at most %d", n, MaxSample)
	}
	all := make([]float64, n*(n-1)/2)
	var bad atomic.Bool
	parallel.Each(n, runtime.GOMAXPROCS(0), func(_, i int) {
		to := all[i*(i-1)/2:][:i]
		// A width is part of a model, so the order of the sums is fixed.
		blas.Distances(to, sample[i*d:(i+1)*d], sample, distance == L1)
		for _, v := range to {
			if !(v <= math.MaxFloat64) {
				bad.Store(true)
			}
		}
	})
	if bad.Load() {
		return 0, ErrNotFinite
	}
	low, high := middle(all)
	if high == 0 {
		return 0, ErrEqualRows
	}
	if distance == Euclidean {
		low, high = math.Sqrt(low), math.Sqrt(high)
	}
	return low/2 + high/2, nil
}

// FromGamma returns the width σ of the kernel with the given γ: 1/√(2γ) for
// exp(−γ‖x−z‖₂²), 1/γ for exp(−γ‖x−z‖₁). It returns an error unless γ is positive and finite.
func FromGamma(gamma float64, distance Distance) (float64, error) {
	if !(gamma > 0) || math.IsInf(gamma, 1) {
		return 0, fmt.Errorf("kernel: gamma must be > 0 and finite (have %v)", gamma)
	}
	if distance == L1 {
		return 1 / gamma, nil
	}
	return 1 / math.Sqrt(2*gamma), nil
}

// scaleWidth returns the width of scikit-learn's gamma="scale", γ = 1/(d·Var X) of the
// Gaussian kernel: σ = √(d·variance/2), where variance is taken over all values of all
// rows. It returns an error unless variance is positive and finite.
func scaleWidth(d int, variance float64) (float64, error) {
	if d < 1 {
		panic("kernel: row length below 1")
	}
	if !(variance > 0) || math.IsInf(variance, 1) {
		return 0, fmt.Errorf(
			"kernel: the variance of the data must be > 0 and finite (have %v); give the width as a number",
			variance)
	}
	return math.Sqrt(float64(d) * variance / 2), nil
}

// middle returns the two middle ones of the positive numbers of v in ascending order. They are equal for an
// odd count, and 0 if there are none. v has no negative numbers. It is overwritten.
//
// Numbers are counted by their leading bits, which sort like the numbers. Then only those that share their
// leading bits with the middle ones are compared.
func middle(v []float64) (low, high float64) {
	const shift = 48 // leaves the exponent and 4 bits
	counts := make([]int, 1<<(63-shift))
	n := len(v)
	for _, x := range v {
		counts[math.Float64bits(x)>>shift]++
		if x == 0 {
			n--
		}
	}
	if n == 0 {
		return 0, 0
	}
	skip := len(v) - n // zeros come first
	first, before := 0, 0
	find := func(rank int) (bucket int) {
		for before+counts[first] <= rank {
			before += counts[first]
			first++
		}
		return first
	}
	from := find(skip + (n-1)/2)
	below := before
	upTo := find(skip + n/2)
	near := v[:0]
	for _, x := range v {
		if b := int(math.Float64bits(x) >> shift); from <= b && b <= upTo {
			near = append(near, x)
		}
	}
	k := skip + n/2 - below
	smallest(near, k)
	high = near[k]
	if n%2 == 1 {
		return high, high
	}
	return slices.Max(near[:k]), high
}

// smallest moves the k smallest numbers of v to its front and the next one to v[k]
// (Hoare 1961, with the median of three as pivot). If many rounds show that the pivots
// are bad, it sorts.
func smallest(v []float64, k int) {
	for rounds := 2 * bits.Len(uint(len(v))); len(v) > 16 && rounds > 0; rounds-- {
		a, b, c := v[0], v[len(v)/2], v[len(v)-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := 0, len(v)-1
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch { // v[:j+1] ≤ pivot ≤ v[i:], and the elements between equal the pivot
		case k <= j:
			v = v[:j+1]
		case k >= i:
			v, k = v[i:], k-i
		default:
			return
		}
	}
	slices.Sort(v)
}
