package align

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/blas"
)

// What rows in several places do in a round, beside Learn, which has them all: the pieces
// exchange sums, a direction, censuses and multipliers, and nothing of a row.
func TestPartitionsPlayTheSameGame(t *testing.T) {
	const n, classes, take = 900, 3, 2
	x, _, _ := rings(n, 11)
	class := make([]int32, n)
	for i := range class {
		class[i] = int32(math.Hypot(float64(x[2*i]), float64(x[2*i+1]))*2) % classes
	}
	o := small(8)
	o.Take, o.Apart = take, 0
	want, err := Learn(x, 2, class, classes, o, 1, nil)
	if err != nil {
		t.Fatal(err)
	}

	cuts := []int{0, 350, 351, n}
	var parts []*Dual
	for p := range 3 {
		parts = append(parts, NewDual(class[cuts[p]:cuts[p+1]], classes, o.Start))
	}
	k := parts[0].K
	project := func(in Bracket) {
		for l := range k {
			in, mu := in, 0.0
			for range 3 {
				var all Census
				for _, d := range parts {
					var c Census
					alpha, y := d.Row(l)
					c.Count(alpha, y, in)
					all.Merge(&c)
				}
				in, mu, _ = all.Narrow(in)
			}
			for _, d := range parts {
				alpha, y := d.Row(l)
				Clip(alpha, y, mu)
			}
		}
	}
	project(Around(0, o.Start))
	state, err := json.Marshal(o.Game(n, k))
	if err != nil {
		t.Fatal(err)
	}
	field := NewField(x, n, 2)
	var reports []Report
	var w []float32
	for round := range 4 {
		var g Game
		if err := json.Unmarshal(state, &g); err != nil {
			t.Fatal(err)
		}
		// Search: shares of chains, on the weights of the sample's rows.
		a := make([]float32, k*n)
		for p, d := range parts {
			part := make([]float32, k*d.N)
			d.Signed(part)
			for l := range k {
				copy(a[l*n+cuts[p]:], part[l*d.N:(l+1)*d.N])
			}
		}
		found := Join(o.Search.Run(field, a, k, round, 0, 7, 1), o.Search.Run(field, a, k, round, 7, o.Search.Chains-7, 1))
		var now []float32
		taken := found.Pick(take, 0)
		for _, j := range taken {
			now = append(now, found.W[j*2:j*2+2]...)
		}
		w = append(w, now...)
		// Score.
		packed, r := blas.Pack(now, nil, len(taken), 2), 2*len(taken)
		phi := func(p int) []float32 {
			out := make([]float32, parts[p].N*r)
			packed.CosSin(out, x[cuts[p]*2:cuts[p+1]*2], parts[p].N, 1, 1)
			return out
		}
		sums, alpha := make([]float64, k*r), 0.0
		for p, d := range parts {
			d.AddSums(sums, phi(p), r, 0, d.N)
			alpha += d.Mean() * float64(d.N) / n
		}
		u, report := g.Answer(sums, r, len(taken), alpha)
		// Ascend, and project by three censuses.
		var squares float64
		for p, d := range parts {
			squares += d.Ascend(report.Eta, u, phi(p), r, 0, d.N)
		}
		in := g.Bracket(report.Eta)
		for _, d := range parts {
			if lo, hi := slices.Min(d.Alpha), slices.Max(d.Alpha); lo < in.Lo || hi > in.Hi {
				t.Errorf("weights from %v to %v, bracket %+v", lo, hi, in)
			}
		}
		project(in)
		g.Finish(&report, squares)
		reports = append(reports, report)
		if state, err = json.Marshal(&g); err != nil {
			t.Fatal(err)
		}
	}
	for i, got := range w {
		if math.Abs(float64(got-want.W[i])) > 1e-4 {
			t.Fatalf("frequency %d: %v, of all rows %v", i/2, got, want.W[i])
		}
	}
	last, all := reports[3], want.Reports[3]
	if len(want.Reports) != 4 || math.Abs(last.Upper-all.Upper) > 1e-4*all.Upper || math.Abs(last.Value-all.Value) > 1e-4 {
		t.Errorf("in three places %+v, in one %+v", last, all)
	}
	for l := range k {
		var sum float64
		for _, d := range parts {
			alpha, y := d.Row(l)
			sum += residual(alpha, y)
		}
		if math.Abs(sum) > 1e-6 {
			t.Errorf("class %d: Σ y α = %g", l, sum)
		}
	}
}
