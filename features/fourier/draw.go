package fourier

import (
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/io/rowio"
)

// maxOut is the largest number of features of a recipe.
const maxOut = 1 << 24

// maxValues bounds the memory of the frequencies: 2²⁸ numbers, 1 GiB. A recipe of a few bytes can ask for
// any number, and nothing else in a model bounds them. Structured frequencies take hardly any memory.
const maxValues = 1 << 28

var (
	frequency = stream.PurposeOf("fourier/frequency")
	offset    = stream.PurposeOf("fourier/offset")
	radius    = stream.PurposeOf("fourier/radius")
)

// draw is the common part of the recipes: how to draw the frequencies.
type draw struct {
	name    string
	in, out int
	width   float64
	form    Form
	scheme  Draw
	seed    uint64
	// number draws a coordinate of a frequency at width 1.
	number func(*stream.Stream) float64
	// factor draws a common factor of the coordinates; nil for 1.
	factor func(*stream.Stream) float64
}

// frequencies returns the number of frequencies.
func (d *draw) frequencies() int {
	if d.form == Paired {
		return d.out / 2
	}
	return d.out
}

func (d *draw) validate() error {
	fail := func(format string, a ...any) error {
		return fmt.Errorf("fourier: %s: %s", d.name, fmt.Sprintf(format, a...))
	}
	switch {
	case d.in < 1 || d.in > rowio.MaxDim:
		return fail("in must be 1 to %d (have %d)", rowio.MaxDim, d.in)
	case d.form > Offset:
		return fail("form must be paired or offset (have %v)", d.form)
	case d.out < 1 || d.out > maxOut:
		return fail("out must be 1 to %d (have %d)", maxOut, d.out)
	case d.form == Paired && d.out%2 != 0:
		return fail("out must be even in the paired form (have %d)", d.out)
	case int(d.scheme) >= len(drawNames):
		return fail("draw must be iid, orthogonal or structured (have %v)", d.scheme)
	case d.scheme == Orthogonal && d.in > maxOrthogonal:
		return fail("in must be at most %d for an orthogonal draw (have %d); use a structured draw", maxOrthogonal, d.in)
	case d.scheme != Structured && d.frequencies() > maxValues/d.in:
		return fail("%d frequencies of %d values take %.1f GiB; the limit is %d: use fewer features or a "+
			"structured draw",
			d.frequencies(), d.in, 4*float64(d.frequencies())*float64(d.in)/(1<<30), 4*maxValues>>30)
	case !(d.width > 0) || math.IsInf(d.width, 1):
		return fail("width must be > 0 and finite (have %v)", d.width)
	}
	return nil
}

// turns stores in w (n×in) the frequencies first … first+n−1, in turns. It fails if a frequency does not
// fit in float32.
func (d *draw) turns(w []float32, first, n int) error {
	switch d.scheme {
	case Orthogonal:
		d.orthogonalTurns(w, first, n)
	case Structured:
		d.structuredTurns(w, first, n)
	default:
		d.iidTurns(w, first, n)
	}
	if j := slices.IndexFunc(w[:n*d.in], infinite); j >= 0 {
		return d.tooLarge(first + j/d.in)
	}
	return nil
}

func (d *draw) tooLarge(frequency int) error {
	return fmt.Errorf("fourier: %s: width %v makes frequency %d too large for float32; scale the rows up and the width "+
		"with them", d.name, d.width, frequency)
}

// iidTurns stores in w the n frequencies from first on, in turns, for independent draws: frequency j is a vector of
// d.number values, times d.factor if there is one. Each frequency has a stream of its own, so any range can be drawn.
func (d *draw) iidTurns(w []float32, first, n int) {
	perTurn := 1 / float64(2*math.Pi*d.width)
	each(n, d.in, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			row := w[j*d.in : (j+1)*d.in]
			s := stream.New(d.seed, frequency, uint64(first+j))
			factor := 1.0
			if d.factor != nil {
				factor = d.factor(stream.New(d.seed, radius, uint64(first+j)))
			}
			for i := range row {
				// Only products: there is no sum that a compiler could fuse.
				row[i] = float32(d.number(s) * factor * perTurn)
			}
		}
	})
}

func infinite(v float32) bool { return !exact.Finite(v) }

// offsets returns the offsets first … first+n−1 in turns, or nil in the paired form.
func (d *draw) offsets(first, n int) []float32 {
	if d.form == Paired {
		return nil
	}
	b := make([]float32, n)
	for j := range b {
		b[j] = float32(stream.New(d.seed, offset, uint64(first+j)).Uniform())
	}
	return b
}

// each cuts 0 … n−1 into ranges and calls f for them, on all processors if n rows of in values are enough
// work.
func each(n, in int, f func(lo, hi int)) {
	const enough = 1 << 14 // numbers that take a quarter of a millisecond
	parallel.Ranges(n, max(1, enough/in), runtime.GOMAXPROCS(0), f)
}

// Draw is the joint distribution of the frequencies of a Gaussian kernel. Each
// frequency has the same distribution in all of them, or nearly; they differ in how
// frequencies depend on each other and in the cost of the map.
type Draw uint8

const (
	// Iid draws frequencies independently of each other.
	Iid Draw = iota
	// Orthogonal draws blocks of d orthogonal frequencies whose lengths are distributed as with
	// Iid. The estimate is unbiased and has less variance, most of all where D is a multiple of d
	// and rows are within a few widths. The map costs as much as with Iid; drawing a block costs d³
	// instead of d². Rows have at most 4,096 values.
	Orthogonal
	// Structured draws blocks of d' orthogonal frequencies, d' the least power of
	// two ≥ max(d, 64), as products of Hadamard matrices and random signs. The map
	// costs D·log d' instead of D·d, for frequencies that are only nearly
	// normal: see the package comment on the bias.
	Structured
)

var drawNames = [...]string{Iid: "iid", Orthogonal: "orthogonal", Structured: "structured"}

// String returns "iid", "orthogonal" or "structured".
func (d Draw) String() string {
	if int(d) < len(drawNames) {
		return drawNames[d]
	}
	return fmt.Sprintf("Draw(%d)", uint8(d))
}

// MarshalText returns the name of the draw.
func (d Draw) MarshalText() ([]byte, error) {
	if int(d) >= len(drawNames) {
		return nil, fmt.Errorf("fourier: unknown draw %v", d)
	}
	return []byte(d.String()), nil
}

// UnmarshalText accepts "iid", "orthogonal" and "structured".
func (d *Draw) UnmarshalText(text []byte) error {
	for i, name := range drawNames {
		if name == string(text) {
			*d = Draw(i)
			return nil
		}
	}
	return fmt.Errorf("unknown draw %q; have iid, orthogonal, structured", text)
}
