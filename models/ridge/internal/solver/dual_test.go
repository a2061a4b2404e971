package solver

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// sample is rows of d features with k targets.
type sample struct {
	d, k int
	z, y [][]float64
}

func draw(n, d, k int, seed uint64) *sample {
	r := rand.New(rand.NewPCG(seed, 0))
	s := &sample{d: d, k: k}
	fill := func(n int) (v []float64) {
		for range n {
			v = append(v, math.Round(100*r.NormFloat64()))
		}
		return v
	}
	for range n {
		s.z, s.y = append(s.z, fill(d)), append(s.y, fill(k))
	}
	return s
}

// sums returns the sum of each feature and of each target.
func (s *sample) sums() (columns, targets []float64) {
	columns, targets = make([]float64, s.d), make([]float64, s.k)
	for i := range s.z {
		for j, v := range s.z[i] {
			columns[j] += v
		}
		for c, v := range s.y[i] {
			targets[c] += v
		}
	}
	return columns, targets
}

// points returns the rows from first up to end.
func (s *sample) points(first, end int) (p Points) {
	for i := first; i < end; i++ {
		for _, v := range s.z[i] {
			p.Z = append(p.Z, int16(v))
		}
		p.Q = append(p.Q, s.y[i]...)
	}
	return p
}

// A row of weight w gives the solution of w copies of the row.
func TestWeightedRowsEqualCopies(t *testing.T) {
	const d, k, mu = 1100, 2, 3e4
	s := draw(12, d, k, 3)
	twice := &sample{d: d, k: k}
	var folds, copied []Points
	for f := range 3 {
		p := s.points(4*f, 4*f+4)
		p.Weights = []float64{1, 3, 2, 1}
		folds = append(folds, p)
		for i := 4 * f; i < 4*f+4; i++ {
			for range int(p.Weights[i%4]) {
				twice.z, twice.y = append(twice.z, s.z[i]), append(twice.y, s.y[i])
			}
		}
		copied = append(copied, twice.points(7*f, 7*f+7))
	}
	columns, targets := twice.sums()
	mean, target, ridge, each := make([]float64, d), make([]float64, k), make([]float64, d), []float64{1, 1}
	for j := range mean {
		mean[j], ridge[j] = columns[j]/21, 1
	}
	for c := range target {
		target[c] = targets[c] / 21
	}
	a, b := NewDual(folds, 127, mean, target, ridge, 1), NewDual(copied, 127, mean, target, ridge, 3)
	for fold := range 3 {
		v, w := make([]float64, d*k), make([]float64, d*k)
		got, _, ok := a.Solve(v, each, mu, fold, 1)
		want, _, too := b.Solve(w, each, mu, fold, 2)
		if !ok || !too || differ(got, want, 1e-9) {
			t.Errorf("fold %d: %+v, copies give %+v", fold, got, want)
		}
		for i := range v {
			if math.Abs(v[i]-w[i]) > 1e-9 {
				t.Fatalf("fold %d: weight %d is %g, want %g", fold, i, v[i], w[i])
			}
		}
	}
}

// The weights of the dual problem solve the normal equations of the rows of the other folds, and the held-out
// errors follow from them, also with a fold without rows, and whether or not all features are penalised
// equally.
func TestSolutionMatchesTheNormalEquations(t *testing.T) {
	for _, each := range []bool{false, true} {
		t.Run(fmt.Sprintf("each=%v", each), func(t *testing.T) { testSolution(t, each) })
	}
}

// differ reports whether two fits differ by more than a part of them.
func differ(a, b Fit, part float64) bool {
	far := func(x, y float64) bool { return !(math.Abs(x-y) <= part*y) }
	return far(a.HeldOut, b.HeldOut) || far(a.Train, b.Train) || far(a.Squares, b.Squares)
}

func testSolution(t *testing.T, penalised bool) {
	const d, k, mu = 50, 2, 3e4
	s := draw(30, d, k, 2)
	cuts := []int{0, 9, 9, 20, 30}
	mean, target, ridge, each := make([]float64, d), make([]float64, k), make([]float64, d), []float64{1, 0.25}
	columns, targets := s.sums()
	for j := range mean {
		if mean[j], ridge[j] = columns[j]/30, 1; penalised {
			ridge[j] += float64(j % 3)
		}
	}
	for c := range target {
		target[c] = targets[c] / 30
	}
	var points []Points
	for f := range 4 {
		points = append(points, s.points(cuts[f], cuts[f+1]))
	}
	p := NewDual(points, 27720, mean, target, ridge, 2)
	for fold := range 4 {
		v := make([]float64, d*k)
		fit, _, ok := p.Solve(v, each, mu, fold, 1)
		if !ok {
			t.Fatalf("fold %d: not positive definite", fold)
		}
		var z, y [][]float64
		for i := range s.z {
			if i < cuts[fold] || i >= cuts[fold+1] {
				z, y = append(z, s.z[i]), append(y, s.y[i])
			}
		}
		var want Fit
		for c := range k {
			for j := range d {
				want.Squares += each[c] * v[j*k+c] * v[j*k+c]
			}
			// The gradient of Σ(y − b − vᵀz)² + μ Σ ridge v² is 0.
			gradient, b := make([]float64, d), 0.0
			for i := range z {
				e := y[i][c]
				for j, x := range z[i] {
					e -= x * v[j*k+c]
				}
				b += e / float64(len(z))
			}
			for i := range z {
				e := y[i][c] - b
				for j, x := range z[i] {
					e -= x * v[j*k+c]
				}
				for j, x := range z[i] {
					gradient[j] += x * e
				}
				want.Train += each[c] * e * e
			}
			for j, g := range gradient {
				if g -= mu * ridge[j] * v[j*k+c]; math.Abs(g) > 1e-4 {
					t.Fatalf("fold %d: gradient %g of weight %d", fold, g, j)
				}
			}
			for i := cuts[fold]; i < cuts[fold+1]; i++ {
				e := s.y[i][c] - b
				for j, x := range s.z[i] {
					e -= x * v[j*k+c]
				}
				want.HeldOut += each[c] * e * e
			}
		}
		if differ(fit, want, 1e-8) {
			t.Errorf("fold %d: %+v, want %+v", fold, fit, want)
		}
		if p.Plain() == penalised {
			t.Errorf("plain: %v", p.Plain())
		}
		if again, _, ok := p.Solve(nil, each, mu, fold, 3); p.Plain() && (!ok || again != fit) {
			t.Errorf("fold %d: %+v without weights, %+v with them", fold, again, fit)
		}
	}
}
