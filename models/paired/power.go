package paired

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/models/score"
)

// Trial describes a planned comparison of error rates.
type Trial struct {
	// Discordance is the share of rows on which exactly one model is wrong.
	Discordance float64
	// Difference is the true difference of the error rates, challenger minus champion, from −Discordance to
	// Discordance.
	Difference float64
	// Margin is the difference to reject. It is above Difference: 0 to show that the challenger is better,
	// above 0 to show that it is not worse by that much.
	Margin float64
	// Confidence is the confidence of the test, such as 0.95; a false claim is made with
	// probability 1 − Confidence.
	Confidence float64
	// Power is the probability that the test rejects the false hypothesis, such as 0.8.
	Power float64
}

// Rows returns the number of rows that the test of error rates needs; +Inf if no number is enough.
//
// It is Connor's approximation for large numbers (1987, Biometrics 43:207), with the variance under the
// hypothesis from the expected shares (Nam 1997) and the continuity correction of the test:
//
//	nd − k = √n (z₁σ₀ + z₂σ₁),    d = margin − difference, k = ½ row, 1 for margin 0.
func (t Trial) Rows() float64 {
	d := t.Margin - t.Difference
	if !(d > 0) || !(t.Discordance >= math.Abs(t.Difference)) {
		return math.Inf(1)
	}
	z := t.spread()
	root := (z + math.Sqrt(float64(z*z)+4*d*t.correction())) / (2 * d)
	return math.Ceil(root * root)
}

func (t Trial) correction() float64 {
	if t.Margin == 0 {
		return 1
	}
	return 0.5
}

// spread returns z₁σ₀ + z₂σ₁.
func (t Trial) spread() float64 {
	champion, challenger := (t.Discordance-t.Difference)/2, (t.Discordance+t.Difference)/2
	null := math.Sqrt(nullVariance(champion, challenger, t.Margin))
	truth := math.Sqrt(t.Discordance - float64(t.Difference*t.Difference))
	return float64(distuv.UnitNormal.Quantile(t.Confidence)*null) + float64(distuv.UnitNormal.Quantile(t.Power)*truth)
}

// leastDetectable returns the smallest improvement, above 0, that a test with that many rows detects: the
// smallest for which Trial.Rows is at most rows. It is +Inf if that is more than the discordance.
func leastDetectable(rows int64, discordance, confidence, power float64) float64 {
	t := Trial{Discordance: discordance, Confidence: confidence, Power: power}
	enough := func(d float64) bool {
		t.Difference = -d
		return t.Rows() <= float64(rows)
	}
	if !enough(discordance) {
		return math.Inf(1)
	}
	return score.Bisect(0, discordance, enough)
}
