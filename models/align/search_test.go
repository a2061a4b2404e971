package align

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// wave returns rows and a weighting a_i = cos(ω·x_i + 1), whose potential has its peak at the
// frequency omega (radians).
func wave(n int, omega []float64, seed uint64) (x, a []float32) {
	d := len(omega)
	x, a = normals(n*d, 1, seed), make([]float32, n)
	for i := range n {
		t := 1.0
		for j, o := range omega {
			t += o * float64(x[i*d+j])
		}
		a[i] = float32(math.Cos(t))
	}
	return x, a
}

func TestSearchFindsThePeak(t *testing.T) {
	const n, d = 1200, 5
	omega := []float64{0.6, -0.9, 0.3, 0, 1.1}
	x, a := wave(n, omega, 1)
	f := NewField(x, n, d)
	s := Search{Chains: 60, Steps: 60, Width: 3, StartDeviation: 3, Step: 1.5, Noise: 1, Seed: 2}
	found := s.run(f, Weightings{a, 1}, chains{0, 0, s.Chains}, 2)
	best := found.pick(1, 0)[0]
	var plus, minus float64
	for i, w := range radians(found.W[best*d : (best+1)*d]) {
		plus += (w - omega[i]) * (w - omega[i])
		minus += (w + omega[i]) * (w + omega[i])
	}
	if off := math.Sqrt(min(plus, minus)); off > 0.2 {
		t.Errorf("the best chain ends %.2f from the peak", off)
	}
	if truth := potential(omega, x, n, a, 1); found.V[best] < 0.98*truth {
		t.Errorf("best potential %v, at the peak it is %v", found.V[best], truth)
	}
	if !(found.Zeta > 0) || !(found.Xi > 0) {
		t.Errorf("step %v, temperature %v", found.Zeta, found.Xi)
	}
	// Without noise the first step has length Step/Width, as in plain gradient ascent.
	if quiet := (Search{Chains: 3, Steps: 2, Width: 3, StartDeviation: 1, Step: 0.1, Seed: 2}).run(f,
		Weightings{a, 1}, chains{0, 0, 3}, 1); quiet.Xi != 0 {
		t.Errorf("temperature %v without noise", quiet.Xi)
	}
}

func TestChainsDoNotDependOnTheirAssignment(t *testing.T) {
	const n, d, k = 700, 4, 2
	f, a := NewField(normals(n*d, 1, 3), n, d), normals(k*n, 1, 4)
	s := Search{Chains: 23, Steps: 7, Width: 2, StartDeviation: 1.5, Step: 1, Noise: 1, Seed: 5}
	all := s.run(f, Weightings{a, k}, chains{6, 0, 23}, 2)
	joined := join(s.run(f, Weightings{a, k}, chains{6, 20, 3}, 1), s.run(f, Weightings{a, k}, chains{6, 0, 1}, 1),
		s.run(f, Weightings{a, k}, chains{6, 1, 19}, 3))
	if !slices.Equal(all.Chain, joined.Chain) || !slices.Equal(all.W, joined.W) || !slices.Equal(all.V, joined.V) {
		t.Error("chains in three shares differ from those in one")
	}
	if math.Abs(joined.Zeta/all.Zeta-1) > 1e-12 || math.Abs(joined.Xi/all.Xi-1) > 1e-12 {
		t.Errorf("step %v, temperature %v; at once %v, %v", joined.Zeta, joined.Xi, all.Zeta, all.Xi)
	}
	if other := s.run(f, Weightings{a, k}, chains{7, 0, 23}, 2); slices.Equal(all.W, other.W) {
		t.Error("the next round has the same chains")
	}
}

func TestPickKeepsLargestFrequenciesAtADistance(t *testing.T) {
	f := &searchResult{Chain: []int64{0, 1, 2, 3, 4}, W: []float32{0.1, -0.101, 0.5, 0.3, 0.3}, V: []float64{3, 4, 1, 2, 2}}
	if got := f.pick(10, 0); !slices.Equal(got, []int{1, 0, 3, 4, 2}) {
		t.Errorf("all: %v", got)
	}
	if got := f.pick(10, 0.1); !slices.Equal(got, []int{1, 3, 2}) {
		t.Errorf("apart: %v", got) // ω and −ω are the same
	}
	if got := f.pick(2, 0.1); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("two: %v", got)
	}
}

func TestSampleSizeMatchesTheTheorem(t *testing.T) {
	got, err := SampleSize(3, 2, 5, 0.1, 0.05)
	want := math.Ceil(8 * 4 * 25 / 0.01 * (3*math.Log(2*2*5/0.1) + math.Log(20)))
	if err != nil || math.Abs(got/want-1) > 1e-12 {
		t.Error(got, want, err)
	}
	if _, err := SampleSize(3, 2, 5, 0, 0.05); err == nil || !strings.Contains(err.Error(), "eps") {
		t.Error(err)
	}
}

// Chains stay where they are if the potential has no slope, or if the angles of rows overflow float32.
func TestChainsThatCannotClimbStay(t *testing.T) {
	s := Search{Chains: 4, Steps: 3, Width: 1, StartDeviation: 1, Step: 1, Noise: 1, Seed: 5}
	still := s.run(NewField(make([]float32, 6), 3, 2), Weightings{[]float32{1, 1, 1}, 1}, chains{0, 0, 4}, 1)
	if still.Zeta != 0 || still.Xi != 0 || still.lost() != nil {
		t.Errorf("step %v, temperature %v, %v", still.Zeta, still.Xi, still.lost())
	}
	far := NewField([]float32{3e38, 3e38, -3e38, 1, 1, 1}, 3, 2)
	s.Width = 1e-3
	beyond := s.run(far, Weightings{[]float32{1, 1, 1}, 1}, chains{0, 0, 2}, 1)
	if err := beyond.lost(); err == nil || !strings.Contains(err.Error(), "overflow float32") || beyond.Zeta != 0 {
		t.Errorf("step %v, %v", beyond.Zeta, err)
	}
	one := s.run(NewField(normals(6, 1, 1), 3, 2), Weightings{[]float32{1, -1, 1}, 1}, chains{0, 0, 2}, 1)
	if all := join(still, new(searchResult), one); all.Zeta != one.Zeta || math.Abs(all.Xi/one.Xi-1) > 1e-12 {
		t.Errorf("step %v of a share, %v of all; temperature %v and %v", one.Zeta, all.Zeta, one.Xi, all.Xi)
	}
	x := []float32{3e38, -3e38, 3e38, 1}
	if _, err := Learn(Rows{x, 1, []int32{0, 1, 0, 1}, 2}, Options{Lambda: 1, Frequencies: 1, Take: 1, Rate: 1, Search: s}, 1,
		nil); err == nil || !strings.Contains(err.Error(), "scale the rows") {
		t.Error(err)
	}
}
