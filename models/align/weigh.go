package align

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/exact"
)

// Weigh returns the weights q (length m) of m frequencies with potentials v that maximise the
// alignment Σ_j q_j v_j in a χ²-ball around equal weights:
//
//	q_j ≥ 0,   Σ_j q_j = 1,   (1/m) Σ_j (m q_j − 1)² ≤ ρ      (Sinha & Duchi 2016, eq. 4 and 5)
//
// The frequencies are drawn from the distribution of a kernel, and v_j is the alignment of frequency j with the
// labels (see Alignment). The solution is m q_j = max(0, 1 + (v_j − τ)/γ) for some τ and γ > 0, and is exact up to
// rounding. If ρ is so large that the ball does not matter, all weight is on the largest potential, in equal shares
// if several are equal. It returns an error if v is empty or has a value that is not finite, or unless ρ ≥ 0.
func Weigh(v []float64, rho float64) ([]float64, error) {
	m := len(v)
	if m == 0 {
		return nil, errors.New("align: weigh: no potentials")
	}
	if !(rho >= 0) {
		return nil, fmt.Errorf("align: weigh: rho must be ≥ 0 (have %v)", rho)
	}
	order := make([]int, m)
	for j, x := range v {
		if !exact.Finite(x) {
			return nil, fmt.Errorf("align: weigh: potential %d is %v: %w", j, x, errBeyond)
		}
		order[j] = j
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(v[j], v[i]) })

	q := make([]float64, m)
	ties := 1
	for ties < m && v[order[ties]] == v[order[0]] {
		ties++
	}
	M := float64(m)
	if rho == 0 || ties == m {
		for j := range q {
			q[j] = 1 / M
		}
		return q, nil
	}
	// Mean of the s largest potentials, and the sum of their squared distances from it, for
	// s = 1 … m (Welford's method).
	mean, spread := make([]float64, m+1), make([]float64, m+1)
	for s := 1; s <= m; s++ {
		x := v[order[s-1]]
		mean[s] = mean[s-1] + (x-mean[s-1])/float64(s)
		spread[s] = spread[s-1] + float64((x-mean[s-1])*(x-mean[s]))
	}
	// With s positive weights, Σq = 1 gives τ = mean_s − γ(m−s)/s, and a divergence of ρ gives
	// γ² = spread_s / (m(ρ − (m−s)/s)). The largest s with positive weights only is right.
	for s := m; s > ties; s-- {
		outside := (M - float64(s)) / float64(s)
		if !(rho > outside) {
			break
		}
		gamma := math.Sqrt(spread[s] / (M * (rho - outside)))
		tau := mean[s] - float64(gamma*outside)
		if float64(v[order[s-1]]-tau) <= -gamma {
			continue // the last weight would be negative
		}
		for _, j := range order[:s] {
			q[j] = (1 + (v[j]-tau)/gamma) / M
		}
		return q, nil
	}
	for _, j := range order[:ties] {
		q[j] = 1 / float64(ties)
	}
	return q, nil
}

// Top returns the indices of the n largest weights in ascending order, and these weights scaled to
// sum 1. Of equal weights it takes the first. There are fewer than n if fewer weights are positive.
func Top(q []float64, n int) (index []int, weight []float64) {
	for j, w := range q {
		if w > 0 {
			index = append(index, j)
		}
	}
	slices.SortStableFunc(index, func(i, j int) int { return cmp.Compare(q[j], q[i]) })
	index = index[:min(n, len(index))]
	slices.Sort(index)
	var sum float64
	for _, j := range index {
		sum += q[j]
	}
	for _, j := range index {
		weight = append(weight, q[j]/sum)
	}
	return index, weight
}

// Select returns the frequencies of w (m×d, in turns) that Top or Draw chose, with their weights.
func Select(w []float32, d int, index []int, weight []float64) *learned.Frequencies {
	f := &learned.Frequencies{Count: len(index), In: d, Weight: weight}
	for _, j := range index {
		f.W = append(f.W, w[j*d:(j+1)*d]...)
	}
	return f
}

var draws = stream.PurposeOf("align/draw")

// Draw draws n frequencies independently with probabilities proportional to q. It returns the
// indices that came up, in ascending order, each with its share of the n draws as its weight.
func Draw(q []float64, n int, seed uint64) (index []int, weight []float64) {
	below := make([]float64, len(q))
	var sum float64
	last := 0 // index of the last positive weight, in case rounding takes a draw beyond the sum
	for j, w := range q {
		sum += w
		below[j] = sum
		if w > 0 {
			last = j
		}
	}
	count := make([]int, len(q))
	for i := range n {
		u := stream.New(seed, draws, uint64(i)).Uniform() * sum
		j, _ := slices.BinarySearchFunc(below, u, func(b, u float64) int {
			if b > u {
				return 1
			}
			return -1
		})
		count[min(j, last)]++
	}
	for j, c := range count {
		if c > 0 {
			index = append(index, j)
			weight = append(weight, float64(c)/float64(n))
		}
	}
	return index, weight
}

var proposal = stream.PurposeOf("align/proposal")

// Propose draws m frequencies (m×d, in turns) of the Gaussian kernel of the given width, for Weigh to choose from.
func Propose(m, d int, width float64, seed uint64) []float32 {
	w := make([]float32, m*d)
	perTurn := 1 / (2 * math.Pi * width)
	for j := range m {
		s := stream.New(seed, proposal, uint64(j))
		for i := range d {
			w[j*d+i] = float32(s.Normal() * perTurn)
		}
	}
	return w
}

// newCodes returns dual weights of 1 for two classes. For more, it projects them, so that the labels of each class
// against all others have the mean 0. Without this, waves that hardly vary over the rows have the largest potentials.
func newCodes(class []int32, classes int) *Dual {
	d := newDual(class, classes, 1)
	if classes > 2 {
		d.project()
	}
	return d
}

// Alignment returns the potentials of the m frequencies w (m×d, in turns) over the rows of the field, with dual
// weights of 1: how well each frequency agrees with the labels (Sinha & Duchi 2016, eq. 4). With more than two
// classes it is the sum over the classes, each against all others. rows are the rows of the field.
func Alignment(f *Field, w []float32, m int, rows Rows, threads int) []float64 {
	return f.potentials(w, m, newCodes(rows.Class, rows.Classes).Weightings(), threads)
}

// potentials returns the potentials of the m frequencies w (m×d, in turns), each summed over the k weightings a.
func (f *Field) potentials(w []float32, m int, a Weightings, threads int) []float64 {
	k := a.K
	cs, v := make([]float64, m*k*2), make([]float64, m)
	f.Sums(cs, w, m, a, threads)
	for j, c := range cs {
		c /= float64(f.n)
		v[j/(2*k)] += float64(c * c)
	}
	return v
}
