package align

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
)

// normals returns n normal numbers with standard deviation sd.
func normals(n int, sd float64, seed uint64) []float32 {
	s := stream.New(seed, stream.PurposeOf("align/test"), 0)
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(sd * s.Normal())
	}
	return out
}

// potential computes the potential of one frequency, in radians, by its definition.
func potential(omega []float64, x []float32, n int, a []float32, k int) float64 {
	var v float64
	for l := range k {
		var c, s float64
		for i := range n {
			var t float64
			for j, o := range omega {
				t += o * float64(x[i*len(omega)+j])
			}
			c += float64(a[l*n+i]) * math.Cos(t)
			s += float64(a[l*n+i]) * math.Sin(t)
		}
		v += (c*c + s*s) / float64(n*n)
	}
	return v
}

func radians(w []float32) []float64 {
	out := make([]float64, len(w))
	for i, v := range w {
		out[i] = 2 * math.Pi * float64(v)
	}
	return out
}

func TestGradientMatchesDifferences(t *testing.T) {
	for _, c := range []struct{ n, d, m, k int }{{5, 1, 3, 1}, {1025, 7, 20, 1}, {2100, 5, 9, 3}, {63, 33, 100, 2}} {
		x, w, a := normals(c.n*c.d, 1, 1), normals(c.m*c.d, 0.2/math.Sqrt(float64(c.d)), 2), normals(c.k*c.n, 1, 3)
		v, grad := make([]float64, c.m), make([]float64, c.m*c.d)
		NewField(x, c.n, c.d).gradients(v, grad, w, Weightings{a, c.k}, 2)
		for j := range c.m {
			omega := radians(w[j*c.d : (j+1)*c.d])
			want := potential(omega, x, c.n, a, c.k)
			if math.Abs(v[j]-want) > 1e-6 {
				t.Errorf("%+v: v[%d] = %v, want %v", c, j, v[j], want)
			}
			for i := range omega {
				const h = 1e-4
				at := omega[i]
				omega[i] = at + h
				up := potential(omega, x, c.n, a, c.k)
				omega[i] = at - h
				down := potential(omega, x, c.n, a, c.k)
				omega[i] = at
				if got, want := grad[j*c.d+i], (up-down)/(2*h); math.Abs(got-want) > 3e-6 {
					t.Errorf("%+v: gradient %d of frequency %d = %v, difference quotient %v", c, i, j, got, want)
				}
			}
		}
	}
}

// The potential is yᵀ diag(α) G diag(α) y for the rank-2 kernel G_ij = cos ω·(x_i−x_j).
func TestPotentialIsTheAlignmentOfItsKernel(t *testing.T) {
	const n, d = 40, 3
	x, w, a := normals(n*d, 1, 4), normals(d, 0.3, 5), normals(n, 1, 6)
	cs := make([]float64, 2)
	NewField(x, n, d).Sums(cs, w, 1, Weightings{a, 1}, 1)
	omega, want := radians(w), 0.0
	for i := range n {
		for j := range n {
			var t float64
			for l := range d {
				t += omega[l] * (float64(x[i*d+l]) - float64(x[j*d+l]))
			}
			want += float64(a[i]) * float64(a[j]) * math.Cos(t)
		}
	}
	if got := cs[0]*cs[0] + cs[1]*cs[1]; math.Abs(got-want) > 1e-5*float64(n) {
		t.Errorf("c²+s² = %v, aᵀGa = %v", got, want)
	}
}

func TestFrequencyDoesNotDependOnOthersOrThreads(t *testing.T) {
	const n, d, m, k = 1500, 6, 131, 2
	x, w, a := normals(n*d, 1, 7), normals(m*d, 0.1, 8), normals(k*n, 1, 9)
	f := NewField(x, n, d)
	v, grad, cs := make([]float64, m), make([]float64, m*d), make([]float64, m*k*2)
	f.gradients(v, grad, w, Weightings{a, k}, 1)
	f.Sums(cs, w, m, Weightings{a, k}, 1)
	for _, cut := range []struct{ first, count, threads int }{{0, m, 3}, {5, 1, 1}, {40, 91, 2}} {
		v2, grad2, cs2 := make([]float64, cut.count), make([]float64, cut.count*d), make([]float64, cut.count*k*2)
		f.gradients(v2, grad2, w[cut.first*d:], Weightings{a, k}, cut.threads)
		f.Sums(cs2, w[cut.first*d:], cut.count, Weightings{a, k}, cut.threads)
		end := cut.first + cut.count
		if !slices.Equal(v2, v[cut.first:end]) || !slices.Equal(grad2, grad[cut.first*d:end*d]) ||
			!slices.Equal(cs2, cs[cut.first*k*2:end*k*2]) {
			t.Errorf("frequencies %d to %d with %d threads have other bits", cut.first, end, cut.threads)
		}
	}
}

// BenchmarkGradient measures the rate of the two products of a step and, for comparison, the rate
// of a single product of the same rows and frequencies.
func BenchmarkGradient(b *testing.B) {
	for _, c := range []struct{ n, d, m int }{{10000, 512, 500}, {2048, 784, 500}, {2000, 2, 500}} {
		x, w, a := normals(c.n*c.d, 1, 1), normals(c.m*c.d, 0.01, 2), normals(c.n, 1, 3)
		flops := 4 * float64(c.n) * float64(c.d) * float64(c.m)
		for _, threads := range []int{1, runtime.GOMAXPROCS(0)} {
			name := fmt.Sprintf("rows=%d,d=%d,chains=%d,threads=%d", c.n, c.d, c.m, threads)
			f := NewField(x, c.n, c.d)
			v, grad := make([]float64, c.m), make([]float64, c.m*c.d)
			b.Run("gradient/"+name, func(b *testing.B) {
				for b.Loop() {
					f.gradients(v, grad, w, Weightings{a, 1}, threads)
				}
				b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
			b.Run("product/"+name, func(b *testing.B) {
				p := blas.Pack(w, nil, c.m, c.d)
				dst := make([]float32, c.n*c.m)
				for b.Loop() {
					p.Mul(dst, x, c.n, threads)
				}
				b.ReportMetric(flops/2*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
