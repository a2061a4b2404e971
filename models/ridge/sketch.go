package ridge

import (
	"math"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/models/linear"
)

// Probes is the number of random directions of a Sketch. Leverages estimated from them have a relative
// error of about √(2/Probes), the same in all programs.
const Probes = 64

var signs = stream.PurposeOf("spread")

// Sketch estimates leverages: how far features are from the rows of a fit. With the factor A = LLᵀ of the
// normal equations, the leverage φᵀA⁻¹φ of centred features φ is ‖L⁻¹φ‖², which ‖R L⁻¹φ‖² estimates with a
// few rows R of random signs (Johnson and Lindenstrauss 1984).
type Sketch struct {
	// Linear has outputs whose squares add up to the leverage of a row divided by Leverage.
	Linear *linear.Model
	// Leverage is the mean leverage of the rows of the fit: the effective number of features divided by the
	// number of rows. In Solution.FirstSketch the divisor is the number of all rows.
	Leverage float64
}

// sketchBytes returns the memory of two Sketches and of the float64s while one is computed.
func sketchBytes(dim int) int64 { return (8 + 2*4) * int64(Probes) * int64(dim) }

// sketch returns the Sketch of the rows of a factor; rows is the divisor of the mean leverage.
func (p *problem) sketch(f *factor, rows int64) *Sketch {
	eq, d := f.eq, f.eq.shape.Dim
	k := min(Probes, d)
	x := probes(p.Return.Seed, k, d)
	blas.CholeskyTilesBack(f.tiles, d, x, k, p.Threads)
	// Over the rows of the fit the squares add up to tr RL⁻¹G(RL⁻¹)ᵀ, and G = A − μ·diag(Ridge).
	sum := float64(d)
	for i, v := range x {
		sum -= float64(float64(f.mu*eq.Ridge[i%d]) * float64(v*v))
	}
	if !(sum > 0) {
		return nil
	}
	l := &linear.Model{K: k, D: d, W: make([]float32, k*d), B: make([]float32, k)}
	unit := math.Sqrt(eq.n / sum)
	for i := range k {
		var b float64
		for j, v := range x[i*d:][:d] {
			v *= unit
			b -= float64(v * float64(eq.colSum[j]/eq.n))
			w := v / p.Units.Step
			if r := p.Units.Ranges; r.Half != nil {
				w /= r.Half[j]
				b -= float64(w * r.Centre[j])
			}
			l.W[i*d+j] = float32(w)
		}
		l.B[i] = float32(b)
	}
	if !exact.AllFinite(l.W) || !exact.AllFinite(l.B) {
		return nil
	}
	return &Sketch{l, sum / float64(rows)}
}

// probes returns k rows of d numbers whose squares are 1 on average over the rows: random signs, or the
// unit vectors if k = d.
func probes(seed uint64, k, d int) []float64 {
	x := make([]float64, k*d)
	for i := range k {
		if k == d {
			x[i*d+i] = 1
			continue
		}
		s, one := stream.New(seed, signs, uint64(i)), 1/math.Sqrt(float64(k))
		var word uint64
		for j := range d {
			if j%64 == 0 {
				word = s.Uint64()
			}
			x[i*d+j] = one
			if word>>(j%64)&1 == 1 {
				x[i*d+j] = -one
			}
		}
	}
	return x
}

// SmallLeverage is a mean leverage below which new rows are about as far from a fit as its own rows.
const SmallLeverage = 0.02

// firstSketch returns Solution.FirstSketch, computed in the memory of total. It is nil if there are no rows
// outside fold 0, or if their equations have no solution.
func (p *problem) firstSketch(fit *Solution, eq *system, total *Sum) (*Sketch, error) {
	if err := p.sumRest(total); err != nil || total.head.Weight() == 0 {
		return nil, err
	}
	f, _ := p.solveIn(eq, total, fit.Lambda)
	if f == nil {
		return nil, nil
	}
	// A leverage falls with the number of rows: scale it to the number behind Sketch.
	return p.sketch(f, fit.Rows), nil
}
