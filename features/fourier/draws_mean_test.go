package fourier

import (
	"fmt"
	"math"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/testing/campaign"

	"github.com/bochner-ml/bochner/internal/testing/stattest"
)

// apart returns two rows of d numbers at distance z, in a general direction or
// along an axis.
func apart(d int, z float64, axis bool) (x []float32) {
	x = append(normals(d, 11), make([]float32, d)...)
	v := normals(d, 7)
	var squares float64
	for _, a := range v {
		squares += float64(a) * float64(a)
	}
	for i, a := range v {
		step := float64(a) * z / math.Sqrt(squares)
		if axis {
			step = 0
			if i == d/2 {
				step = z
			}
		}
		x[d+i] = x[i] + float32(step)
	}
	return x
}

// E[φ(x)·φ(z)] = K(x, z) for orthogonal draws, in both forms and on the grid of
// bytes. Structured draws are too small by 1 to 1½ times K·‖x−z‖⁴/(4d'σ⁴), as the package comment says.
func TestMeanOfProductsOfDependentDraws(t *testing.T) {
	if testing.Short() {
		t.Skip("slow test")
	}
	const width = 1.5
	gain, rest := gridGain()
	for _, c := range []struct {
		draw       Draw
		in, out, n int
	}{
		{Orthogonal, 5, 20, campaign.Pick(250, 1500)},
		{Orthogonal, 16, 50, campaign.Pick(150, 800)}, // the last block not full
		{Structured, 5, 128, campaign.Pick(200, 1200)}, {Structured, 100, 300, campaign.Pick(120, 1200)},
	} {
		for _, form := range []Form{Paired, Offset} {
			for _, z := range []float64{0, 0.5, 1, 2, 3} {
				for _, axis := range []bool{false, true} {
					x := apart(c.in, z*width, axis)
					plain, grid := make([]float64, c.n), make([]float64, c.n)
					dst, bytes := make([]float32, 2*c.out), features.NewGrid(c.out, features.ByteSteps)
					for s := range c.n {
						m := mustNew(t, Gaussian{In: c.in, Out: c.out, Width: width, Form: form, Draw: c.draw, Seed: uint64(s)})
						m.Apply(dst, x, 2)
						plain[s] = dot(dst[:c.out], dst[c.out:])
						m.Quantize(bytes, x, 2, 1)
						var sum int
						for j := range c.out {
							sum += int(bytes.At(0, j)) * int(bytes.At(1, j))
						}
						grid[s] = float64(sum) * m.Step() * m.Step()
					}
					k := Gaussian{Width: width}.Kernel(x[:c.in], x[c.in:])
					want, bias := k, 1e-6
					if c.draw == Structured {
						d := draw{in: c.in}
						short := k * math.Pow(z, 4) / 4 / float64(d.size())
						want, bias = k-1.25*short, 0.25*short+1e-6
					}
					what := fmt.Sprintf("%v %v, rows of %d, %v widths apart (along an axis: %v)", c.draw, form, c.in, z, axis)
					stattest.MeanOf(plain).Near(t, what, want, bias)
					grain := gain - 1 + rest
					if c.draw == Structured { // the angles of short rows lie on a lattice and round alike
						grain += gain - 1
					}
					stattest.MeanOf(grid).Near(t, what+", on the grid", want, bias+grain)
				}
			}
		}
	}
}

// At equal D both draws have a smaller squared error than independent frequencies where rows are
// close, and nowhere a significantly larger one.
func TestDependentDrawsAreNoWorseThanIid(t *testing.T) {
	if testing.Short() {
		t.Skip("slow test")
	}
	in, seeds := 64, campaign.Pick(150, 400)
	for _, c := range []struct {
		form Form
		out  int
		// most is the largest allowed ratio to the iid squared error at ½, 1 and 2 widths.
		most map[Draw][3]float64
	}{
		{Paired, 2 * in, map[Draw][3]float64{Orthogonal: {0.1, 0.15, 0.9}, Structured: {0.02, 0.1, 0.95}}},
		{Offset, 2 * in, map[Draw][3]float64{Orthogonal: {1, 1, 1}, Structured: {1, 1, 1}}},
	} {
		for i, z := range []float64{0.5, 1, 2} {
			x := apart(in, z, false)
			k := Gaussian{Width: 1}.Kernel(x[:in], x[in:])
			squared := func(d Draw) stattest.Mean {
				return stattest.Over(seeds, func(seed uint64) float64 {
					m, dst := mustNew(t, Gaussian{In: in, Out: c.out, Width: 1, Form: c.form, Draw: d, Seed: seed}), make([]float32,
						2*c.out)
					m.Apply(dst, x, 2)
					off := dot(dst[:c.out], dst[c.out:]) - k
					return off * off
				})
			}
			iid := squared(Iid)
			for d, most := range c.most {
				m := squared(d)
				t.Logf("%v %v at %v widths: %.3f of the iid squared error", d, c.form, z, m.Value/iid.Value)
				// An interval of 3 standard errors of the difference.
				if over := m.Value - most[i]*iid.Value; !(over < 3*math.Hypot(m.SE, most[i]*iid.SE)) {
					t.Errorf("%v %v at %v widths: squared error %.3g ± %.2g, iid %.3g ± %.2g", d, c.form, z, m.Value, m.SE, iid.Value,
						iid.SE)
				}
			}
		}
	}
}
