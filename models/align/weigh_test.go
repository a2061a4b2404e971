package align

import (
	"math"
	"testing"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/testing/stattest"
)

func chiSquare(q []float64) (d float64) {
	m := float64(len(q))
	for _, w := range q {
		d += (m*w - 1) * (m*w - 1) / m
	}
	return d
}

// twin solves for τ and γ by nested bisection. It uses only the form of the solution.
func twin(v []float64, rho float64) []float64 {
	m := float64(len(v))
	q := make([]float64, len(v))
	at := func(gamma float64) {
		lo, hi := -1e3, 1e3
		for range 200 {
			tau := (lo + hi) / 2
			var sum float64
			for j, x := range v {
				q[j] = max(0, 1+(x-tau)/gamma) / m
				sum += q[j]
			}
			if sum > 1 {
				lo = tau
			} else {
				hi = tau
			}
		}
	}
	lo, hi := 1e-9, 1e6
	for range 200 {
		gamma := math.Sqrt(lo * hi)
		at(gamma)
		if chiSquare(q) > rho {
			lo = gamma
		} else {
			hi = gamma
		}
	}
	return q
}

func TestWeightsMaximiseOverTheBall(t *testing.T) {
	for seed := range uint64(40) {
		m := 2 + int(seed%9)
		v := wide(normals(m, 1, seed))
		for j := range v {
			v[j] *= v[j]
		}
		for _, rho := range []float64{0, 0.1, 0.5, 1, 3, 100} {
			q, err := Weigh(v, rho)
			if err != nil {
				t.Fatal(err)
			}
			var sum, value float64
			for j, w := range q {
				if w < 0 {
					t.Errorf("weight %v", w)
				}
				sum += w
				value += w * v[j]
			}
			if math.Abs(sum-1) > 1e-12 || chiSquare(q) > rho+1e-9 {
				t.Errorf("seed %d, ρ %v: sum %v, divergence %v", seed, rho, sum, chiSquare(q))
			}
			if rho > 0 {
				var want float64
				for j, w := range twin(v, rho) {
					want += w * v[j]
				}
				if math.Abs(value-want) > 1e-6*(1+want) {
					t.Errorf("seed %d, ρ %v: value %v, twin %v", seed, rho, value, want)
				}
			}
			// No other feasible point does better.
			s := stream.New(seed, stream.PurposeOf("align/test/ball"), 0)
			for range 200 {
				p, all := make([]float64, m), 0.0
				for j := range p {
					p[j] = -math.Log(s.Uniform())
					all += p[j]
				}
				for j := range p {
					p[j] = p[j]/all - 1/float64(m)
				}
				// Move towards equal weights until the point is in the ball.
				d := 0.0
				for _, w := range p {
					d += float64(m) * w * w
				}
				shrink := min(1, math.Sqrt(rho/d))
				var other float64
				for j := range p {
					other += (shrink*p[j] + 1/float64(m)) * v[j]
				}
				if other > value+1e-9 {
					t.Fatalf("seed %d, ρ %v: %v is better than %v", seed, rho, other, value)
				}
			}
		}
	}
}

func TestTiedPotentialsHaveEqualWeights(t *testing.T) {
	q, err := Weigh([]float64{1, 3, 3, 2}, 50)
	if err != nil || q[1] != 0.5 || q[2] != 0.5 {
		t.Error(q, err)
	}
	q, err = Weigh([]float64{2, 2, 2}, 1)
	if err != nil || q[0] != 1./3 || q[2] != 1./3 {
		t.Error(q, err)
	}
	for _, rho := range []float64{-1, math.NaN()} {
		if _, err := Weigh([]float64{1}, rho); err == nil {
			t.Errorf("ρ = %v is accepted", rho)
		}
	}
	if _, err := Weigh([]float64{1, math.NaN()}, 1); err == nil {
		t.Error("NaN is accepted")
	}
}

func TestDrawsFollowTheWeights(t *testing.T) {
	q := []float64{0.5, 0, 0.2, 0.3, 0}
	for j, want := range q {
		stattest.Over(100, func(seed uint64) float64 {
			index, weight := Draw(q, 50, seed)
			for i, at := range index {
				if at == j {
					return weight[i]
				}
			}
			return 0
		}).Near(t, "weight", want, 1e-12)
	}
	index, weight := Top(q, 2)
	if len(index) != 2 || index[0] != 0 || index[1] != 3 || math.Abs(weight[0]-0.625) > 1e-12 {
		t.Error(index, weight)
	}
	if index, _ := Top(q, 5); len(index) != 3 {
		t.Error("frequencies without weight are taken:", index)
	}
}

func TestAlignmentIsThePotentialOfBalancedCodes(t *testing.T) {
	const n, d, m = 200, 3, 7
	x, w := normals(n*d, 1, 1), Propose(m, d, 2, 5)
	class := make([]int32, n)
	for i := range class {
		class[i] = int32(i*i) % 7 % 3
	}
	for _, classes := range []int{3, 2} {
		for i := range class {
			class[i] %= int32(classes)
		}
		got := Alignment(NewField(x, n, d), w, m, Rows{x, d, class, classes}, 2)
		for j := range m {
			var want float64
			for k := range classes {
				if classes == 2 && k == 0 {
					continue
				}
				own, other := 1.0, -1.0
				if classes > 2 { // the larger of the two sides has smaller weights
					rows := 0.0 // of the class
					for _, of := range class {
						if int(of) == k {
							rows++
						}
					}
					own, other = min(1, (n-rows)/rows), -min(1, rows/(n-rows))
				}
				var c, s float64
				for i, of := range class {
					y := other
					if int(of) == k {
						y = own
					}
					var turns float64
					for l := range d {
						turns += float64(w[j*d+l]) * float64(x[i*d+l])
					}
					c, s = c+y*math.Cos(2*math.Pi*turns), s+y*math.Sin(2*math.Pi*turns)
				}
				want += (c*c + s*s) / (n * n)
			}
			if math.Abs(got[j]-want) > 1e-5*(1+want) {
				t.Errorf("%d classes, frequency %d: %g, want %g", classes, j, got[j], want)
			}
		}
	}
}

func TestProposalsHaveTheVarianceOfTheKernel(t *testing.T) {
	const m, d, width = 4000, 5, 3.0
	var squares float64
	for _, v := range Propose(m, d, width, 1) {
		squares += float64(v) * float64(v)
	}
	// A coordinate has variance V = 1/(2πσ)². The mean of m·d squares has variance 2V²/(m·d).
	want := 1 / (4 * math.Pi * math.Pi * width * width)
	if got := squares / (m * d); math.Abs(got-want) > 4*want*math.Sqrt(2./(m*d)) {
		t.Errorf("variance %g, want %g", got, want)
	}
}
