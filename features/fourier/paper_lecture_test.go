package fourier

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/kerneltest"
	"github.com/bochner-ml/bochner/internal/testing/stattest"
)

// The statements of M. Meilă, "SVM with Random Fourier Features", Lecture VI-2,
// University of Washington, 2021, in their order.

// "Gram matrix G ∈ R^{n×n}. Expensive for n large! … approximate k(x, x') with
// finite sum": the features of a row are D numbers however many rows there
// are, and the error of the sum falls as 1/√D.
//
// The variances are exact: 2cos(a+b)cos(a'+b) = cos(a−a') + cos(a+a'+2b).
func TestErrorFallsAsOneOverRootD(t *testing.T) {
	if testing.Short() {
		t.Skip("slow test")
	}
	seeds := campaign.Pick(150, 1000)
	x, z := pairs[3].x, pairs[3].z
	twice := make([]float32, len(z)) // x + 2(z−x), so that K(x, twice) = K(2Δ)
	for i := range twice {
		twice[i] = 2*z[i] - x[i]
	}
	for name, r := range kernels(5, 2, 1.4, Paired, 0) {
		k, k2 := kerneltest.Kernel(r)(x, z), kerneltest.Kernel(r)(x, twice)
		for _, out := range []int{16, 256} {
			variance := map[Form]float64{
				Paired: (1 + k2 - 2*k*k) / float64(out),
				Offset: (1 + k2/2 - k*k) / float64(out),
			}
			for form, want := range variance {
				squares := stattest.Over(seeds, func(seed uint64) float64 {
					m := mustNew(t, kernels(5, out, 1.4, form, seed)[name])
					dst := make([]float32, 2*out)
					m.Apply(dst, slices.Concat(x, z), 2)
					off := dot(dst[:out], dst[out:]) - k
					return off * off
				})
				squares.Near(t, name+", "+form.String()+", squared error", want, 0)
			}
		}
	}
}

// Bochner, eq. (1): K(Δ) is the Fourier transform of p(ω); p is even, so that is
// E[cos ω·Δ].
func TestKernelIsTheFourierTransformOfItsFrequencies(t *testing.T) {
	const n = 40000
	for name, r := range kernels(5, 2*n, 1.4, Paired, 1) {
		w, _, err := Turns(r, 0, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range pairs {
			cos, sin := make([]float64, n), make([]float64, n)
			for j := range n {
				angle := 2 * math.Pi * (dot(w[j*5:j*5+5], pair.x) - dot(w[j*5:j*5+5], pair.z))
				cos[j], sin[j] = math.Cos(angle), math.Sin(angle)
			}
			// A float64 holds these angles to 1e-9, even for Cauchy frequencies; equal rows have no variance.
			stattest.MeanOf(cos).Near(t, name+", "+pair.name+", real part", kerneltest.Kernel(r)(pair.x, pair.z), 1e-9)
			stattest.MeanOf(sin).Near(t, name+", "+pair.name+", imaginary part", 0, 1e-9)
		}
	}
}

// Bochner: "K(x, x') is a positive definite kernel".
func TestKernelsArePositiveDefinite(t *testing.T) {
	const n, d = 40, 3
	x := normals(n*d, 5)
	copy(x[d:2*d], x[:d]) // two equal rows: the Gram is singular, and still has no negative eigenvalue
	for name, r := range kernels(d, 2, 2, Paired, 0) {
		g := mat.NewSymDense(n, nil)
		for i := range n {
			for j := range i + 1 {
				g.SetSym(i, j, kerneltest.Kernel(r)(x[i*d:(i+1)*d], x[j*d:(j+1)*d]))
			}
			if g.At(i, i) != 1 {
				t.Errorf("%s: K(x, x) = %v", name, g.At(i, i))
			}
		}
		var e mat.EigenSym
		if !e.Factorize(g, false) {
			t.Fatalf("%s: no eigenvalues", name)
		}
		if v := e.Values(nil); !(v[0] > -1e-12 && v[1] > 1e-9) {
			t.Errorf("%s: least eigenvalues %v", name, v[:2])
		}
	}
}

// Frequencies have the densities p(ω) of the table of K(Δ). The Laplace row prints (2π)^{-d} Π 1/(1+ω²), whose
// integral is 2^{-d}: the density is Π 1/(π(1+ω²)). The product row prints Π 2π/(1+ω²), which is 2π at Δ = 0:
// the kernel is Π 1/(1+Δ²), of p = Π e^{−|ω|}/2.
func TestFrequenciesHaveTheDensitiesOfTheTable(t *testing.T) {
	const d, n, width = 4, 20000, 3.0
	student := func(nu float64) func(float64) float64 {
		return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: 2 * nu}.CDF
	}
	cdf := map[string]func(float64) float64{
		"gaussian":   func(w float64) float64 { return math.Erfc(-w/math.Sqrt2) / 2 },
		"laplace":    func(w float64) float64 { return 0.5 + math.Atan(w)/math.Pi },
		"cauchy":     distuv.Laplace{Mu: 0, Scale: 1}.CDF,
		"matern 1/2": student(0.5),
		"matern 1.2": student(1.2),
		"matern 3/2": student(1.5),
		"matern 5/2": student(2.5),
	}
	for name, r := range kernels(d, 2*n, width, Paired, 2) {
		if cdf[name] == nil {
			continue // the mean of its features is tested
		}
		w, _, err := Turns(r, 0, n)
		if err != nil {
			t.Fatal(err)
		}
		for i := range d {
			column := make([]float64, n)
			for j := range column {
				column[j] = float64(w[j*d+i]) * 2 * math.Pi * width
			}
			if ks := stattest.KS(column, cdf[name]); !(ks < 2.36) {
				t.Errorf("%s, column %d: KS %.2f", name, i, ks)
			}
		}
	}
}

// "Because K() is real, the random complex features ζ ← √2 cos(ω·x + b) with b ~
// uniform[0, 2π]": offsets are uniform, and uncorrelated with each other.
func TestOffsetsAreUniform(t *testing.T) {
	const n = 100000
	_, b, err := Turns(Gaussian{In: 1, Out: n, Width: 1, Form: Offset, Seed: 3}, 0, n)
	if err != nil {
		t.Fatal(err)
	}
	turns, products := make([]float64, n), make([]float64, n-1)
	for j, v := range b {
		turns[j] = float64(v)
		if j > 0 {
			products[j-1] = (turns[j] - 0.5) * (turns[j-1] - 0.5)
		}
	}
	stattest.MeanOf(products).Near(t, "neighbours", 0, 0)
	if ks := stattest.KS(turns, func(u float64) float64 { return u }); !(ks < 1.95) {
		t.Errorf("KS %.2f", ks)
	}
}

// Theorem, eq. (2): with D from the bound, the largest error over all pairs of a
// region is below ε except for a share δ of the seeds, in both forms. The same holds for
// given pairs with their D.
func TestBoundsHold(t *testing.T) {
	const epsilon, delta, diameter, seeds, steps = 0.5, 0.1, 3.0, 100, 15
	x := make([]float32, steps+1)
	for i := range x {
		x[i] = diameter * float32(i) / steps
	}
	for _, form := range []Form{Paired, Offset} {
		for _, name := range []string{"gaussian", "cauchy", "matern 3/2"} {
			r := kernels(1, 2, 1, form, 0)[name]
			moment := r.(interface{ SecondMoment() float64 }).SecondMoment()
			for _, b := range []kernel.Bound{
				kernel.Uniform{Paired: form == Paired, Dim: 1, Diameter: diameter, Moment: moment},
				kernel.Pairs{Paired: form == Paired, Pairs: steps * (steps + 1) / 2},
			} {
				out, err := kernel.Features(b, epsilon, delta)
				if err != nil {
					t.Fatal(err)
				}
				out += out % 2
				failures := 0
				dst := make([]float32, len(x)*out)
				for seed := range uint64(seeds) {
					mustNew(t, kernels(1, out, 1, form, seed)[name]).Apply(dst, x, len(x))
					if largest(dst, out, x, r) >= epsilon {
						failures++
					}
				}
				if share := float64(failures) / seeds; share > delta {
					t.Errorf("%s, %v, %T, D = %d: %v of the seeds fail", name, form, b, out, share)
				}
			}
		}
	}
	if _, err := kernel.Features(kernel.Uniform{Paired: true, Dim: 1, Diameter: diameter,
		Moment: Laplace{In: 1, Width: 1}.SecondMoment()}, epsilon, delta); err == nil {
		t.Error("a uniform bound for the Laplace kernel, whose frequencies have no second moment")
	}
}

// The simulation can fail: with a tenth of the features that the bound of pairs
// requires, too many seeds have an error of ε.
func TestBoundOfPairsFailsWithATenthOfTheFeatures(t *testing.T) {
	const epsilon, delta, seeds, n, d = 0.2, 0.05, 100, 20, 10
	x := normals(n*d, 3)
	for _, form := range []Form{Paired, Offset} {
		out, err := kernel.Features(kernel.Pairs{Paired: form == Paired, Pairs: n * (n - 1) / 2}, epsilon, delta)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			out  int
			most bool
		}{{out, true}, {out / 10, false}} {
			c.out += c.out % 2
			failures := 0
			dst := make([]float32, n*c.out)
			for seed := range uint64(seeds) {
				r := Gaussian{In: d, Out: c.out, Width: 2, Form: form, Seed: seed}
				mustNew(t, r).Apply(dst, x, n)
				if largest(dst, c.out, x, r) >= epsilon {
					failures++
				}
			}
			if share := float64(failures) / seeds; c.most == (share > delta) {
				t.Errorf("%v, D = %d: %v of the seeds fail", form, c.out, share)
			}
		}
	}
}

// largest returns the largest error of inner products of features (rows of dim) over
// the pairs of different rows of x.
func largest(phi []float32, dim int, x []float32, r features.Recipe) (most float64) {
	n := len(phi) / dim
	d := len(x) / n
	for i := range n {
		for j := i + 1; j < n; j++ {
			k := kerneltest.Kernel(r)(x[i*d:(i+1)*d], x[j*d:(j+1)*d])
			most = max(most, math.Abs(dot(phi[i*dim:(i+1)*dim], phi[j*dim:(j+1)*dim])-k))
		}
	}
	return most
}

// Hoeffding's bound for one pair holds, for the Laplace kernel too: with the number of features from
// kernel.Features the error reaches ε for at most a share δ of the seeds.
func TestPointwiseBoundHolds(t *testing.T) {
	const epsilon, delta, d = 0.3, 0.1, 4
	seeds := campaign.Pick(100, 300)
	x := normals(2*d, 9)
	for _, form := range []Form{Offset, Paired} {
		out, err := kernel.Features(kernel.Pairs{Paired: form == Paired, Pairs: 1}, epsilon, delta)
		if err != nil {
			t.Fatal(err)
		}
		out += out % 2 // paired features come in twos
		for name, r := range kernels(d, out, 2, form, 0) {
			k, failures := kerneltest.Kernel(r)(x[:d], x[d:]), 0
			dst := make([]float32, 2*out)
			for seed := range uint64(seeds) {
				mustNew(t, kernels(d, out, 2, form, seed)[name]).Apply(dst, x, 2)
				if math.Abs(dot(dst[:out], dst[out:])-k) >= epsilon {
					failures++
				}
			}
			if share := float64(failures) / float64(seeds); share > delta {
				t.Errorf("%s, %v, D = %d: %v of the seeds fail", name, form, out, share)
			}
		}
	}
}

// σ_p² = E[ωᵀω] of each kernel that has it. The fourth moment is finite too where ν > 2,
// so that the mean has a standard error.
func TestSecondMomentsMatchTheFrequencies(t *testing.T) {
	const d, n, width = 3, 100000, 0.5
	for _, r := range []interface {
		features.Recipe
		SecondMoment() float64
	}{
		Gaussian{In: d, Out: 2 * n, Width: width},
		Cauchy{In: d, Out: 2 * n, Width: width},
		Matern{In: d, Out: 2 * n, Width: width, Nu: 2.5},
		Matern{In: d, Out: 2 * n, Width: width, Nu: 30},
	} {
		w, _, err := Turns(r, 0, n)
		if err != nil {
			t.Fatal(err)
		}
		norms := make([]float64, n)
		for j := range norms {
			row := w[j*d : (j+1)*d]
			norms[j] = 4 * math.Pi * math.Pi * dot(row, row)
		}
		stattest.MeanOf(norms).Near(t, "E‖ω‖²", r.SecondMoment(), 0)
	}
	for _, m := range []float64{Laplace{In: 2, Width: 1}.SecondMoment(), Matern{In: 2, Width: 1, Nu: 1}.SecondMoment()} {
		if !math.IsInf(m, 1) {
			t.Errorf("second moment %v of a distribution without one", m)
		}
	}
}

// φ(x)·φ(x) = 1 in the paired form, as cos² + sin² = 1, to float32 rounding.
func TestPairedFeaturesHaveUnitNorm(t *testing.T) {
	const in, out, n = 30, 512, 50
	x := normals(n*in, 8)
	for name, r := range kernels(in, out, 2, Paired, 1) {
		m, dst := mustNew(t, r), make([]float32, n*out)
		m.Apply(dst, x, n)
		for i := range n {
			row := dst[i*out : (i+1)*out]
			if off := math.Abs(dot(row, row) - 1); off > 5e-7 {
				t.Errorf("%s: row %d has squared norm 1 %+g", name, i, off)
			}
		}
	}
}

// The paired form uses a frequency for two features, yet estimates a smooth
// kernel with less variance than the offset form at the same D, most of all for close rows.
func TestPairedSpreadsLessThanOffset(t *testing.T) {
	const out, seeds = 64, 1000
	for _, pair := range pairs[:4] {
		var spread [2]float64
		for form := range spread {
			spread[form] = stattest.Over(seeds, func(seed uint64) float64 {
				m, dst := mustNew(t, Gaussian{In: 5, Out: out, Width: 1.4, Form: Form(form), Seed: seed}), make([]float32, 2*out)
				m.Apply(dst, slices.Concat(pair.x, pair.z), 2)
				return dot(dst[:out], dst[out:])
			}).Variance()
		}
		// The variance of 1,000 values is known to about 4.5%: 20% below is significant.
		if !(spread[Paired] < 0.8*spread[Offset]) {
			t.Errorf("%s: variance %.3g paired, %.3g offset", pair.name, spread[Paired], spread[Offset])
		}
	}
}
