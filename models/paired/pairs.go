package paired

import (
	"math"

	"github.com/bochner-ml/bochner/models/score"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Pairs counts rows by which of the two models gives them a wrong class.
type Pairs struct {
	Rows int64 `json:"rows"`
	// Both is the number of rows on which both are wrong.
	Both int64 `json:"both_wrong"`
	// Champion and Challenger count rows on which only that model is wrong.
	Champion   int64 `json:"only_champion_wrong"`
	Challenger int64 `json:"only_challenger_wrong"`
}

// Add adds a number of rows on which the same models are wrong.
func (p *Pairs) Add(champion, challenger bool, rows int64) {
	p.Rows += rows
	switch {
	case champion && challenger:
		p.Both += rows
	case champion:
		p.Champion += rows
	case challenger:
		p.Challenger += rows
	}
}

// scaled returns the counts scaled to a number of rows.
func (p Pairs) scaled(rows float64) Pairs {
	scale := func(n int64) int64 { return int64(math.Round(rows * share(n, p.Rows))) }
	return Pairs{int64(rows), scale(p.Both), scale(p.Champion), scale(p.Challenger)}
}

// difference returns the error rate of the challenger minus the champion's; 0 without rows.
func (p Pairs) difference() float64 {
	return share(p.Challenger-p.Champion, p.Rows)
}

// Discordance returns the share of the rows on which exactly one model is wrong.
func (p Pairs) Discordance() float64 { return share(p.Champion+p.Challenger, p.Rows) }

func share(n, total int64) float64 {
	if total == 0 {
		return 0
	}
	return float64(n) / float64(total)
}

// pBelow returns the p-value of the hypothesis that the error rate of the challenger is at least the
// champion's plus margin, against the alternative that it is less. The margin is from −1 to 1.
//
// For margin 0 it is the exact test of McNemar (1947): of the rows on which exactly one model is wrong, the
// challenger's are binomial with probability ½. For other margins it is the score test of Tango (1998,
// Statistics in Medicine 17:891) with a continuity correction of half a row. Without the correction the
// test rejects true hypotheses too often if few rows differ: up to 5.8% of the time at level 5%. With it,
// an enumeration of all outcomes for 30 to 100,000 rows found no level above 5%; it is typically 4.8%.
func (p Pairs) pBelow(margin float64) float64 {
	b, c := p.Champion, p.Challenger
	switch {
	case p.Rows == 0:
		return 1
	case margin == 0 && b == 0:
		return 1
	case margin == 0: // probability of c or fewer of b+c
		return mathext.RegIncBeta(float64(b), float64(c)+1, 0.5)
	}
	return distuv.UnitNormal.CDF(p.score(margin))
}

// pAbove is pBelow for the opposite hypothesis: that the difference is at most margin.
func (p Pairs) pAbove(margin float64) float64 { return p.swapped().pBelow(-margin) }

func (p Pairs) swapped() Pairs {
	p.Champion, p.Challenger = p.Challenger, p.Champion
	return p
}

// p returns the two-sided p-value of the hypothesis that the error rates are equal, by McNemar's exact
// test.
func (p Pairs) p() float64 { return min(1, 2*min(p.pBelow(0), p.pAbove(0))) }

// bounds returns a lower and an upper bound of the difference of the error rates. Each holds with the given
// confidence, between 0.5 and 1; both together with 2·confidence − 1. They are the margins at which pAbove
// and pBelow of the score test, which is also used for margin 0, are 1 − confidence.
func (p Pairs) bounds(confidence float64) (low, high float64) {
	return -p.swapped().high(confidence), p.high(confidence)
}

// high returns the upper bound.
func (p Pairs) high(confidence float64) float64 {
	if p.Rows == 0 {
		return 1
	}
	z := distuv.UnitNormal.Quantile(1 - confidence)
	// The score falls from about 0 to below z.
	return score.Bisect(p.difference(), 1, func(margin float64) bool { return !(p.score(margin) > z) })
}

// score returns the standardised difference at a margin.
func (p Pairs) score(margin float64) float64 {
	n, d := float64(p.Rows), float64(p.Challenger-p.Champion)
	over := d - n*margin + 0.5
	spread := math.Sqrt(n * nullVariance(share(p.Champion, p.Rows), share(p.Challenger, p.Rows), margin))
	if spread == 0 { // only if margin is −1 or 1
		return math.Copysign(math.Inf(1), over)
	}
	return over / spread
}

// nullVariance returns the variance of a row's difference under the hypothesis that its mean is the margin,
// by maximum likelihood, given the shares of rows on which only the champion and only the challenger is
// wrong (Tango 1998, eq. 5).
func nullVariance(champion, challenger, margin float64) float64 {
	b := (2-challenger+champion)*margin - champion - challenger
	c := -champion * margin * (1 - margin)
	if margin < 0 { // exchange the models
		return nullVariance(challenger, champion, -margin)
	}
	root := math.Sqrt(max(0, b*b-8*c))
	only := 0.0 // share of rows on which only the champion is wrong
	switch {
	case b <= 0:
		only = (root - b) / 4
	case b+root > 0:
		only = -2 * c / (b + root) // the form without cancellation
	}
	return max(0, 2*only+margin*(1-margin))
}

// Design describes a planned comparison of error rates.
type Design struct {
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
func (t Design) Rows() float64 {
	d := t.Margin - t.Difference
	if !(d > 0) || !(t.Discordance >= math.Abs(t.Difference)) {
		return math.Inf(1)
	}
	champion, challenger := (t.Discordance-t.Difference)/2, (t.Discordance+t.Difference)/2
	null := math.Sqrt(nullVariance(champion, challenger, t.Margin))
	truth := math.Sqrt(t.Discordance - float64(t.Difference*t.Difference))
	z := float64(distuv.UnitNormal.Quantile(t.Confidence)*null) + float64(distuv.UnitNormal.Quantile(t.Power)*truth)
	correction := 0.5
	if t.Margin == 0 {
		correction = 1
	}
	root := (z + math.Sqrt(float64(z*z)+4*d*correction)) / (2 * d)
	return math.Ceil(root * root)
}

// leastDetectable returns the smallest improvement, above 0, that a test with this number of rows detects: the
// smallest for which Design.Rows is at most rows. It is +Inf if that is more than the discordance.
func leastDetectable(rows int64, discordance, confidence, power float64) float64 {
	t := Design{Discordance: discordance, Confidence: confidence, Power: power}
	enough := func(d float64) bool {
		t.Difference = -d
		return t.Rows() <= float64(rows)
	}
	if !enough(discordance) {
		return math.Inf(1)
	}
	return score.Bisect(0, discordance, enough)
}
