package align

import (
	"math"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
)

// hinge trains a linear support vector machine by dual coordinate ascent, with one more feature
// that is always 1. The experiments judge features by it. phi is n×r, y is ±1, and c is the weight
// of a row's loss relative to ½‖w‖².
func hinge(phi []float32, n, r int, y []float32, c float64, epochs int) (w []float64, b float64) {
	w = make([]float64, r)
	alpha, square, order := make([]float64, n), make([]float64, n), make([]int, n)
	for i := range n {
		order[i] = i
		for _, v := range phi[i*r : (i+1)*r] {
			square[i] += float64(v) * float64(v)
		}
		square[i]++
	}
	s := stream.New(1, stream.PurposeOf("align/test/svm"), 0)
	for range epochs {
		var most float64
		for j := range order {
			o := j + int(s.Below(uint64(n-j)))
			order[j], order[o] = order[o], order[j]
			i := order[j]
			row := phi[i*r : (i+1)*r]
			t := b
			for l, v := range row {
				t += w[l] * float64(v)
			}
			next := min(c, max(0, alpha[i]+(1-float64(y[i])*t)/square[i]))
			if step := (next - alpha[i]) * float64(y[i]); step != 0 {
				most = max(most, math.Abs(step)/c)
				for l, v := range row {
					w[l] += step * float64(v)
				}
				b += step
				alpha[i] = next
			}
		}
		if most < 1e-3 {
			break
		}
	}
	return w, b
}

func accuracy(w []float64, b float64, phi []float32, n, r int, y []float32) float64 {
	right := 0
	for i := range n {
		t := b
		for l, v := range phi[i*r : (i+1)*r] {
			t += w[l] * float64(v)
		}
		if t > 0 == (y[i] > 0) {
			right++
		}
	}
	return 100 * float64(right) / float64(n)
}

// offsetFeatures returns √(2/m) cos 2π(w_j·x + b_j) with random offsets b_j.
func offsetFeatures(w []float32, m, d int, x []float32, n int) []float32 {
	s := stream.New(1, stream.PurposeOf("align/test/offset"), 0)
	b := make([]float32, m)
	for j := range b {
		b[j] = float32(s.Uniform())
	}
	phi := make([]float32, n*m)
	blas.Pack(w, b, m, d).Cos(phi, x, n, float32(math.Sqrt(2/float64(m))), 2)
	return phi
}

func pairedFeatures(w []float32, m, d int, x []float32, n int) []float32 {
	phi := make([]float32, n*2*m)
	blas.Pack(w, nil, m, d).CosSin(phi, x, n, float32(math.Sqrt(1/float64(m))), 2)
	return phi
}

func gaussianTurns(m, d int, sigma float64, seed uint64) []float32 {
	return normals(m*d, 1/(2*math.Pi*sigma), seed)
}
