package preprocess

import (
	"fmt"
	"math"
	"sync"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rowio"
)

// HoG is the recipe of the histograms of oriented gradients of an image (Dalal & Triggs, "Histograms of oriented
// gradients for human detection", CVPR 2005), one for each cell of Cell×Cell pixels, each normalised separately
// (blocks of 1×1 cells). It follows the conventions of scikit-image's feature.hog:
//
//   - The gradient is the difference of the two neighbours, g_x = v(y, x+1) −
//     v(y, x−1), and 0 across the border: g_x in the first and last column, g_y in
//     the first and last row.
//   - A pixel votes with the length of its gradient for one of Orientations equal
//     parts of the half circle, [k, k+1)·180°/Orientations, by the angle of
//     (g_x, g_y) without its sense. There is no interpolation between bins or cells.
//   - A number h_k of a cell's histogram is the sum of its votes over Cell².
//   - Normalisation is L2-Hys: h/√(‖h‖² + ε²), clipped at 0.2, and normalised
//     again; ε = 10⁻⁵, in the units of the pixels.
//
// Pixels right of and below the last whole cell are only used as neighbours. The features are
// ordered cell by cell, row after row, orientations side by side, in both layouts. All are between
// 0 and 1. The cells that a NaN or infinity touches become NaN.
//
// A colour image is converted to grey first, as by Gray; Dalal and Triggs use the channel of the
// longest gradient instead. With 8 orientations and cells of 4×4, an image of 32×32 pixels has 512
// features, the length of Bullins, Zhang & Zhang, "Not-so-random features", ICLR 2018, §5.
type HoG struct {
	Shape        ImageShape `json:"shape"`        // of one channel or three
	Cell         int        `json:"cell"`         // pixels, 1 to the lesser of height and width
	Orientations int        `json:"orientations"` // 1 to 180
}

// hogScratch is the working memory of one image.
type hogScratch struct {
	gray  []float32
	votes []float64 // cells×orientations
}

// New returns the map.
func (r HoG) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	in, out := r.Dims()
	bounds := bounds(r.Orientations)
	pool := sync.Pool{New: func() any {
		s := &hogScratch{votes: make([]float64, out)}
		if r.Shape.Channels == 3 {
			s.gray = make([]float32, r.Shape.Height*r.Shape.Width)
		}
		return s
	}}
	return &rowMap{family: "image", in: in, out: out, row: func(dst, x []float32) {
		s := pool.Get().(*hogScratch)
		defer pool.Put(s)
		if r.Shape.Channels == 3 {
			gray(s.gray, x, r.Shape)
			x = s.gray
		}
		clear(s.votes)
		r.vote(s.votes, x, bounds)
		scale := float64(r.Cell * r.Cell)
		for lo := 0; lo < out; lo += r.Orientations {
			normalize(dst[lo:lo+r.Orientations], s.votes[lo:lo+r.Orientations], scale)
		}
	}}, nil
}

// vote adds the votes of the pixels of x, a grey image, to their cells.
func (r HoG) vote(votes []float64, x []float32, bounds []direction) {
	h, w := r.Shape.Height, r.Shape.Width
	down, across := h/r.Cell, w/r.Cell
	for i := range down * r.Cell {
		here := x[i*w : (i+1)*w]
		above, below := here, here // their difference is 0 across the border
		if i > 0 && i < h-1 {
			above, below = x[(i-1)*w:i*w], x[(i+1)*w:(i+2)*w]
		}
		row := votes[i/r.Cell*across*r.Orientations:]
		for c := range across {
			cell := row[c*r.Orientations:][:r.Orientations]
			for j := c * r.Cell; j < (c+1)*r.Cell; j++ {
				gx, gy := 0.0, float64(below[j])-float64(above[j])
				if j > 0 && j < w-1 {
					gx = float64(here[j+1]) - float64(here[j-1])
				}
				cell[bin(bounds, gx, gy)] += math.Sqrt(float64(gx*gx) + float64(gy*gy))
			}
		}
	}
}

// normalize stores votes/scale in dst, normalised by L2-Hys. It overwrites votes.
func normalize(dst []float32, votes []float64, scale float64) {
	const eps, limit = 1e-5, 0.2
	var squares float64
	for k, v := range votes {
		v /= scale
		votes[k] = v
		squares += float64(v * v)
	}
	norm := math.Sqrt(squares + eps*eps)
	squares = 0
	for k, v := range votes {
		v = min(v/norm, limit)
		votes[k] = v
		squares += float64(v * v)
	}
	norm = math.Sqrt(squares + eps*eps)
	for k, v := range votes {
		dst[k] = float32(v / norm)
	}
}

// Validate implements features.Recipe.
func (r HoG) Validate() error {
	if err := r.Shape.check("HoG"); err != nil {
		return err
	}
	if r.Shape.Channels != 1 && r.Shape.Channels != 3 {
		return fmt.Errorf("image: HoG: shape.channels must be 1 or 3 (have %d)", r.Shape.Channels)
	}
	if limit := min(r.Shape.Height, r.Shape.Width); r.Cell < 1 || r.Cell > limit {
		return fmt.Errorf("image: HoG: cell must be 1 to %d (have %d)", limit, r.Cell)
	}
	if r.Orientations < 1 || r.Orientations > 180 {
		return fmt.Errorf("image: HoG: orientations must be 1 to 180 (have %d)", r.Orientations)
	}
	if _, out := r.Dims(); out > rowio.MaxDim {
		return fmt.Errorf("image: HoG: %d features; the limit is %d: use larger cells or fewer orientations", out,
			rowio.MaxDim)
	}
	return nil
}

// Dims implements features.Recipe.
func (r HoG) Dims() (in, out int) {
	return r.Shape.Len(), (r.Shape.Height / r.Cell) * (r.Shape.Width / r.Cell) * r.Orientations
}

// The bin of a gradient is decided by the sign of cross products with directions.
// An arc tangent would give different bits on different platforms.

// direction is a vector of about unit length.
type direction struct{ cos, sin float64 }

// bounds returns the directions of the angles kπ/n, k = 1 … n−1, which separate n bins of the half
// circle. The directions of 45°, 90° and 135° are exact. No gradient with integer components lies
// on another bound (Niven's theorem: no other tangent of a rational part of π is rational).
func bounds(n int) []direction {
	b := make([]direction, n-1)
	for i := range b {
		k := i + 1
		m := min(k, n-k) // the angle to the horizontal is mπ/n, in (0, π/2]
		var d direction
		if 4*m <= n {
			d.cos, d.sin = cosSin(2*m, 2*n)
		} else {
			d.sin, d.cos = cosSin(n-2*m, 2*n)
		}
		if m != k {
			d.cos = -d.cos
		}
		b[i] = d
	}
	return b
}

// cosSin returns cosine and sine of mπ/n, 0 ≤ 4m ≤ n, by their Taylor series,
// whose next terms are below 2⁻⁶⁰; of π/4 twice the same number.
func cosSin(m, n int) (cos, sin float64) {
	const (
		pi       = 3.14159265358979323846
		halfRoot = 0.707106781186547524401
	)
	if 4*m == n {
		return halfRoot, halfRoot
	}
	x := float64(pi*float64(m)) / float64(n)
	y := float64(x * x)
	// Horner's rule: cos = 1 − y/(1·2)·(1 − y/(3·4)·(…)), and so the sine.
	cos, sin = 1, 1
	for k := 18; k >= 2; k -= 2 {
		cos = 1 - float64(y/float64(k*(k-1))*cos)
		sin = 1 - float64(y/float64(k*(k+1))*sin)
	}
	return cos, float64(x * sin)
}

// bin returns the bin, between the bounds, of the line along (x, y), rotated by half a turn if it
// points below the horizontal axis. A line on a bound belongs to the bin that begins there.
func bin(bounds []direction, x, y float64) int {
	// Half of the gradients are rotated, unpredictably, so this avoids a branch.
	sense := math.Float64bits(y)
	if y == 0 {
		sense = math.Float64bits(x)
	}
	sense &= 1 << 63
	x, y = math.Float64frombits(math.Float64bits(x)^sense), math.Float64frombits(math.Float64bits(y)^sense)
	n := 0
	for _, d := range bounds {
		// d is at or clockwise of (x, y).
		at := 0
		if float64(d.cos*y)-float64(d.sin*x) >= 0 {
			at = 1
		}
		n += at
	}
	return n
}
