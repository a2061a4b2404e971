package discriminant

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/models/score"
)

func shapeOf(v score.CalibrationCurve, d Discriminant) Shape {
	return Shapes([]score.CalibrationCurve{v}, []Discriminant{d})[0]
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
	return New(own-others, variance, (own+others)/2, n[1], n[0])
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
			got, want := Shape{1, 0}.Curve(d), platt.Curves[1]
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
	d, v := New(1.4, 0.2, -0.3, 40, 160), score.CalibrationCurve{Slope: 3, Offset: -0.4}
	shape := shapeOf(v, d)
	if got := shape.Curve(d); math.Abs(got.Slope-3) > 1e-12 || math.Abs(got.Offset+0.4) > 1e-12 {
		t.Errorf("%+v is another curve than %+v", got, v)
	}
	moved := shape.Curve(New(2.8, 0.8, 1.4, 80, 120))
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
				d := New(distance, variance, 0.2, n[0], n[1])
				for _, v := range []score.CalibrationCurve{{}, {Slope: -3}, {Slope: 1e12}, {Slope: 5, Offset: -40}} {
					shape := shapeOf(v, d)
					curve := Shape{max(min(shape.Slope, 2), 0.5), 0}.Curve(d)
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
