package ridge

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
	"github.com/bochner-ml/bochner/models/score"
)

// discriminantsOf returns the discriminants of some rows under the weights of fit, from each score.
func discriminantsOf(s *sample, rows []int, fit *Solution) (all []Discriminant) {
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
		all = append(all, separated(distance, variance[c], centre, m, n-m))
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
			o.Plan.FitWithoutFirst, o.Plan.Validation = true, NoFold
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

// separated returns the discriminant of a class whose mean scores have that distance, variance and centre.
func separated(distance, variance, centre, members, others float64) Discriminant {
	return newDiscriminant(solver.Separation{Distance: distance, Variance: variance, Centre: centre, Members: members,
		Others: others})
}

func shapeOf(v score.CalibrationCurve, d Discriminant) CurveShape {
	return CurveShapes([]score.CalibrationCurve{v}, []Discriminant{d})[0]
}

// drawScores returns normal scores of n rows, three in ten of them of class 1, with means 2·half
// apart.
func drawScores(r *rand.Rand, n int, half, spread float64) (scores []float32, class []int32) {
	for i := range n {
		c, sign := int32(0), -1.0
		if i%10 < 3 {
			c, sign = 1, 1
		}
		s := sign*half + spread*r.NormFloat64() - 0.2
		scores, class = append(scores, float32(-s), float32(s)), append(class, c)
	}
	return scores, class
}

// momentsOf returns the discriminant of class 1 by its score, from the definition.
func momentsOf(scores []float32, class []int32) Discriminant {
	var n, sum [2]float64
	for i, c := range class {
		n[c]++
		sum[c] += float64(scores[2*i+1])
	}
	own, others, variance := sum[1]/n[1], sum[0]/n[0], 0.0
	for i, c := range class {
		d := float64(scores[2*i+1]) - sum[c]/n[c]
		variance += d * d / float64(len(class))
	}
	return separated(own-others, variance, (own+others)/2, n[1], n[0])
}

// The discriminant of normal scores of equal variance is the sigmoid with the largest likelihood, which Platt's
// method finds, so that the shape of the curve is 1 and 0.
func TestDiscriminantOfNormalScoresIsPlattsCurve(t *testing.T) {
	for _, half := range []float64{0, 0.1, 0.5, 0.8} {
		scores, class := drawScores(rand.New(rand.NewPCG(1, 2)), 200_000, half, 0.4)
		counts := score.NewCalibrationCounts(2)
		for i, y := range class {
			counts.Add(scores[2*i:2*i+2], int(y), 1)
		}
		platt := counts.Fit(score.Platt)
		d := momentsOf(scores, class)
		for s := -2.0; s <= 2; s += 0.25 {
			got, want := CurveShape{1, 0}.Curve(d), platt.Curves[1]
			if p, q := got.At(s), want.At(s); math.Abs(p-q) > 0.01 {
				t.Errorf("means %g: at %g probability %.4f, by Platt's method %.4f", half, s, p, q)
			}
		}
		if shape := shapeOf(platt.Curves[1], d); half > 0.1 && math.Abs(shape.Slope-1)+math.Abs(shape.Offset) > 0.05 {
			t.Errorf("means %g: shape %+v", half, shape)
		}
	}
}

// On the rows that gave its shape a curve equals the discriminant. Scores in another unit, from another zero or
// with other shares of the classes give the same odds, except for the shares.
func TestCurveFollowsTheDiscriminant(t *testing.T) {
	d, v := separated(1.4, 0.2, -0.3, 40, 160), score.CalibrationCurve{Slope: 3, Offset: -0.4}
	shape := shapeOf(v, d)
	if got := shape.Curve(d); math.Abs(got.Slope-3) > 1e-12 || math.Abs(got.Offset+0.4) > 1e-12 {
		t.Errorf("%+v is another curve than %+v", got, v)
	}
	moved := shape.Curve(separated(2.8, 0.8, 1.4, 80, 120))
	for _, s := range []float64{-1, 0, 0.7} {
		odds, was := moved.Slope*(2*s+2)+moved.Offset, v.Slope*s+v.Offset
		if prior := math.Log(81./121) - math.Log(41./161); math.Abs(odds-was-prior) > 1e-9 {
			t.Errorf("at %g log odds %g, were %g, shares add %g", s, odds, was, prior)
		}
	}
}

// For any number and position of rows a curve is finite and valid, and does not reach 0 or 1 at the means.
func TestDegenerateDiscriminantsHaveProbabilities(t *testing.T) {
	for _, distance := range []float64{-1, 0, 1e-300, 1e-9, 1.9} {
		for _, variance := range []float64{0, 1e-300, 1e-12, 0.1, 1e9} {
			for _, n := range [][2]float64{{0, 5}, {1, 1}, {1, 1e6}, {1e6, 0}} {
				d := separated(distance, variance, 0.2, n[0], n[1])
				for _, v := range []score.CalibrationCurve{{}, {Slope: -3}, {Slope: 1e12}, {Slope: 5, Offset: -40}} {
					shape := shapeOf(v, d)
					curve := CurveShape{max(min(shape.Slope, 2), 0.5), 0}.Curve(d)
					c := score.Calibration{Method: score.Platt, Curves: []score.CalibrationCurve{curve, curve}}
					if err := c.Validate(); err != nil || !shape.Valid() {
						t.Fatalf("%g, %g, %v: %+v, %v", distance, variance, n, shape, err)
					}
					for _, s := range []float64{0.2 - distance/2, 0.2, 0.2 + distance/2} {
						if p := curve.At(s); !(p > 0 && p <= 1 && float32(1-p) >= 0 && d.Slope >= 0) {
							t.Errorf("%g, %g, %v: probability %g at %g", distance, variance, n, p, s)
						}
					}
				}
			}
		}
	}
}
