package ridge

import (
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/models/ridge/discriminant"
)

// discriminantsOf returns the discriminants of some rows under the weights of fit, from each score.
func discriminantsOf(s *sample, rows []int, fit *Solution) (all []discriminant.Discriminant) {
	k, n := s.shape.Outputs, float64(len(rows))
	scores := make([][]float64, k)
	for _, i := range rows {
		for c := range k {
			v := float64(fit.Intercept[c])
			for j, x := range s.phi(i) {
				v += float64(fit.Weights[c*s.shape.Dim+j]) * x
			}
			scores[c] = append(scores[c], v)
		}
	}
	var mean float64
	own, others, members, variance := make([]float64, k), make([]float64, k), make([]float64, k), make([]float64, k)
	for c := range k {
		for at, i := range rows {
			if int(s.class[i]) == c {
				members[c]++
				own[c] += scores[c][at]
			} else {
				others[c] += scores[c][at]
			}
		}
		own[c], others[c] = own[c]/max(members[c], 1), others[c]/max(n-members[c], 1)
		for at, i := range rows {
			m := others[c]
			if int(s.class[i]) == c {
				m = own[c]
			}
			variance[c] += (scores[c][at] - m) * (scores[c][at] - m) / n
		}
		if members[c] > 0 && members[c] < n {
			mean += members[c] / n * (own[c] - others[c])
		}
	}
	for c, m := range members {
		distance := mean
		if few := min(m, n-m); few > 0 {
			distance = (few*(own[c]-others[c]) + mean) / (few + 1)
		}
		centre := others[c] + distance/2
		if m > n-m {
			centre = own[c] - distance/2
		}
		all = append(all, discriminant.New(distance, variance[c], centre, m, n-m))
	}
	return all
}

// The discriminants from sums match the scores of the rows of fold 0, under weights that were
// fitted without these rows: for classes with many rows, few and none, on any number of threads.
func TestDiscriminantsOfSumsMatchTheRows(t *testing.T) {
	for _, shape := range shapes() {
		for _, kept := range []int{1 << 30, 1, 0} { // rows of class 0 in fold 0
			s := draw(shape, 400, 3, 1)
			for i, c := range s.class {
				if s.fold[i] == 0 && c == 0 {
					if kept--; kept < 0 {
						s.class[i] = 1 % int32(shape.Outputs)
					}
				}
			}
			o := s.options(1e-3)
			o.FitWithoutFirst, o.Validation = true, NoFold
			fit, err := Solve(o)
			if err != nil {
				t.Fatal(err)
			}
			got := fit.WithoutFirst.Discriminants
			if shape.Regression {
				if got != nil {
					t.Error("targets have discriminants")
				}
				continue
			}
			held, _ := s.split(0)
			want := discriminantsOf(s, held, fit.WithoutFirst)
			if fit.WithoutFirst.FirstRows != int64(len(held)) || len(got) != len(want) {
				t.Fatalf("%d of %d rows, %d discriminants", fit.WithoutFirst.FirstRows, len(held), len(got))
			}
			for c, w := range want {
				g := got[c]
				for _, d := range []float64{g.Slope/w.Slope - 1, g.Centre - w.Centre, g.Prior - w.Prior} {
					if w.Slope > 0 && !(math.Abs(d) < 1e-4) { // weights are float32
						t.Errorf("%+v, class %d: %+v, want %+v", shape, c, g, w)
					}
				}
			}
			o.Threads = 1
			if one, err := Solve(o); err != nil || !slices.Equal(one.WithoutFirst.Discriminants, got) {
				t.Errorf("other discriminants on one thread, %v", err)
			}
		}
	}
}
