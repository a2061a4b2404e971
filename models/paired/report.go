package paired

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/models/score"
	"gonum.org/v1/gonum/stat/distuv"
)

// Comparison compares two models by one metric.
type Comparison struct {
	Metric     Metric  `json:"metric"`
	Champion   float64 `json:"champion"`
	Challenger float64 `json:"challenger"`
	Difference float64 `json:"difference"` // challenger − champion
	// Low and High are the ends of the 95% interval of the difference; nil if there are too few rows.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// P is the two-sided p-value of the hypothesis that the scores are equal; 1 if there are too few rows.
	P    float64 `json:"p"`
	Test string  `json:"test"` // "mcnemar", exact; "t", corrected for skewness; or "groups", by sums over groups
	// TooFew is the reason why there is no test and no interval; "" if there are enough rows.
	TooFew string `json:"too_few,omitempty"`
	// Rough is the reason why P and the interval are only approximate, so that Judge does not decide; "" if they are
	// accurate.
	Rough string `json:"rough,omitempty"`
	// Pairs are the counts behind the metric Error.
	Pairs *Pairs `json:"pairs,omitempty"`
	// Detectable is the improvement that "better at 95%" would show with probability 80% on as many rows,
	// if models differ as much as here; nil if no improvement is large enough.
	Detectable *float64 `json:"detectable,omitempty"`
}

// oneSided is the confidence of each end of a 95% interval.
const oneSided = 0.975

// rounding is the largest difference, relative to the scores, that is taken as 0. Losses are rounded to
// float32, whose steps are 2²⁰ times as large.
const rounding = 0x1p-44

// Report compares the models by all metrics; RMSE follows MSE. unit is the unit in which errors of numbers
// were added, such as half the range of the targets. The report is in the original units.
func (s *Sum) Report(unit float64) (all []Comparison) {
	for _, m := range s.metrics {
		all = append(all, s.compare(m, unit))
		if m == MSE {
			all = append(all, s.compare(RMSE, unit))
		}
	}
	return all
}

// compare compares the models by a metric of the sum, or by RMSE if it has MSE.
func (s *Sum) compare(m Metric, unit float64) Comparison {
	c := Comparison{Metric: m, P: 1, Test: "t", TooFew: s.tooFew(m, score.MinMeanRows)}
	var low, high, detectable float64
	if s.clusters != nil {
		c.Test = "groups"
	}
	switch l := s.lossesOf(m); {
	case s.exactPairs(m):
		p := s.pairs
		c.Test, c.Pairs = "mcnemar", &p
		c.Champion, c.Challenger = share(p.Both+p.Champion, p.Rows), share(p.Both+p.Challenger, p.Rows)
		c.Difference, c.P = p.difference(), p.p()
		low, high = p.bounds(oneSided)
		detectable = leastDetectable(p.Rows, p.Discordance(), 0.95, 0.8)
	case m == RMSE:
		a, b := l.means()
		c.Champion, c.Challenger = unit*math.Sqrt(a), unit*math.Sqrt(b)
		d := l.difference(1)
		c.Difference = c.Challenger - c.Champion
		c.P, c.Rough = s.p(d)
		detectable = detectableMean(d) * unit * unit / (c.Champion + c.Challenger)
		low, high = c.Champion*(l.ratio(1-oneSided)-1), c.Champion*(l.ratio(oneSided)-1)
	default:
		scale := m.scale(unit)
		a, b := l.means()
		d := l.difference(1)
		c.Champion, c.Challenger, c.Difference = scale*a, scale*b, scale*d.Mean
		c.P, c.Rough = s.p(d)
		low, high = d.Bounds(oneSided)
		low, high, detectable = scale*low, scale*high, scale*detectableMean(d)
		if m == Error {
			p := s.pairs
			c.Pairs = &p
		}
	}
	for _, v := range []*float64{&c.Difference, &low, &high} {
		if math.Abs(*v) <= rounding*max(c.Champion, c.Challenger) {
			*v = 0
		}
	}
	if exact.Finite(low) && exact.Finite(high) {
		c.Low, c.High = &low, &high
	}
	if detectable > 0 && !math.IsInf(detectable, 0) {
		c.Detectable = &detectable
	}
	return c
}

// lossesOf returns the losses of a metric; of MSE for RMSE.
func (s *Sum) lossesOf(m Metric) *losses {
	if m == RMSE {
		m = MSE
	}
	i := slices.Index(s.metrics, m)
	if s.clusters != nil {
		return clusterLosses(s.clusters, i)
	}
	return &s.losses[i]
}

// scale returns the factor from units of the losses to units of the metric.
func (m Metric) scale(unit float64) float64 {
	switch m {
	case MSE:
		return unit * unit
	case MAE:
		return unit
	}
	return 1
}

// ratio returns an upper bound, with the given confidence, of the ratio of the challenger's root mean loss
// to the champion's: the r at which the hypothesis of a larger ratio has the p-value 1 − confidence. It is
// NaN for too few rows, and +Inf if there is no such r.
func (l *losses) ratio(confidence float64) float64 {
	a, b := l.means()
	if l.effective() < score.MinMeanRows || !(a > 0) {
		return math.NaN()
	}
	below := func(r float64) bool { // the p-value falls with r
		d := l.difference(r * r)
		return d.PBelow(0) <= 1-confidence
	}
	high := 2*math.Sqrt(b/a) + 1
	for !below(high) {
		high *= 2
		if high > 1e9 {
			return math.Inf(1)
		}
	}
	return score.Bisect(0, high, below)
}

// Verdict is the decision whether a condition holds, with the reason.
type Verdict struct {
	Condition string  `json:"condition"`
	Holds     bool    `json:"holds"`
	P         float64 `json:"p"` // p-value of the opposite of the condition
	Why       string  `json:"why,omitempty"`
}

// Complete returns the condition with its metric filled in, or an error if the sum does not have the metric.
func (s *Sum) Complete(c Condition) (Condition, error) {
	if c.Metric == "" {
		c.Metric = RMSE
		if slices.Contains(s.metrics, Error) {
			c.Metric = Error
		}
	}
	have := slices.Clone(s.metrics)
	if i := slices.Index(have, MSE); i >= 0 {
		have = slices.Insert(have, i+1, RMSE)
	}
	if !slices.Contains(have, c.Metric) {
		var names []string
		for _, m := range have {
			names = append(names, string(m))
		}
		return c, fmt.Errorf("paired: %q: these models are not compared by %s; have %s", c, c.Metric,
			strings.Join(names, ", "))
	}
	if err := c.check(); err != nil {
		return c, fmt.Errorf("paired: %q: %w", c, err)
	}
	return c, nil
}

// Decide decides a condition that Complete has returned. The condition does not hold if there are too few rows to
// decide, or if their losses are too skewed.
func (s *Sum) Decide(c Condition, unit float64) Verdict {
	v := Verdict{Condition: c.String(), P: 1}
	amount, ratio := c.Amount, 1.0
	if c.Percent {
		amount /= 100
	}
	if c.Better {
		amount = -amount
	}
	if c.Percent && c.Metric != Error {
		ratio, amount = 1+amount, 0
	}
	if c.Metric == RMSE {
		ratio *= ratio
	}
	d := s.lossesOf(c.Metric).difference(ratio)
	switch {
	case c.Metric != Error && s.notFinite > 0:
		v.Why = fmt.Sprintf("%d rows have infinite or extreme predictions", s.notFinite)
		return v
	case s.exactPairs(c.Metric):
		v.P = s.pairs.pBelow(amount)
	default:
		v.Why = cmp.Or(s.tooFewFor(c), s.skewed(d.Skew, d.Effective))
		if v.Why != "" {
			return v
		}
		// The correction for skewness is too optimistic if large differences occur on both sides but the
		// sample has only one of them.
		plain, margin := d, amount/c.Metric.scale(unit)
		plain.Skew = 0
		v.P = max(d.PBelow(margin), plain.PBelow(margin))
		if c.Metric == Error && d.StdErr == 0 {
			v.P = s.pairs.scaled(d.Effective).pBelow(amount) // rows without a difference so far may still differ
		}
	}
	v.Holds = v.P <= c.significance()
	if !v.Holds {
		v.Why = fmt.Sprintf("the rows do not show it: p is %.2g, want at most %.4g", v.P, c.significance())
	}
	return v
}

// p returns the p-value of a mean difference, and why it is rough. The skewness of few rows is uncertain itself: if p
// is rough, it is the larger of those with and without the correction.
func (s *Sum) p(d score.Mean) (p float64, rough string) {
	p, rough = d.P(), s.skewed(math.Abs(d.Skew), d.Effective)
	if rough != "" {
		d.Skew = 0
		p = max(p, d.P())
	}
	return p, rough
}

// maxSkew is the largest skewness of a mean at which its test keeps its level. The more skewed the
// differences, the more often a sample without a difference lacks the few large ones.
// TestGatesKeepTheirLevelForSkewedLosses measures the levels.
const maxSkew = 0.15

// skewed returns the reason why a mean difference cannot be judged: a few of its rows or groups decide it. It
// returns "" otherwise.
func (s *Sum) skewed(skew, effective float64) string {
	if skew <= maxSkew || effective < score.MinMeanRows {
		return ""
	}
	want := 100 * math.Ceil(effective*skew*skew/(maxSkew*maxSkew)/100)
	return fmt.Sprintf("too few %[1]ss make up the difference (skewness %.2[2]g, want at most %[3]g); try %.0[4]f "+
		"%[1]ss or more",
		s.counts(), skew, maxSkew, want)
}

// leastShare is a share of all rows. Rows of a kind with at least this share must occur among the rows by
// which a loss is judged, however bad their losses are.
const leastShare = 0.01

// leastRows returns the least number of rows to judge a condition on a loss. With these, rows of a kind
// that is leastShare of all are absent, or too few to show as skewness, with a probability of at most
// the significance level.
func (c Condition) leastRows() float64 {
	return math.Ceil(-math.Log(c.significance()) / (0.6 * leastShare))
}

// tooFewFor returns the reason why there are too few rows or groups to judge a condition; "" if there are enough. The
// error rate needs fewer, because errors are bounded.
func (s *Sum) tooFewFor(c Condition) string {
	switch least := c.leastRows(); {
	case c.Metric == Error:
		return s.tooFew(c.Metric, score.MinMeanRows)
	case s.clusters == nil:
		return s.tooFew(c.Metric, least)
	case float64(s.rows) < least:
		return fmt.Sprintf("only %d rows, want %g", s.rows, least)
	}
	return s.tooFew(c.Metric, score.MinMeanRows)
}

// counts names what the tests count: rows or groups.
func (s *Sum) counts() string {
	if s.clusters != nil {
		return "group"
	}
	return "row"
}

// tooFew returns the reason why there are too few rows or groups for a test by the metric; "" if there are at least
// least.
func (s *Sum) tooFew(m Metric, least float64) string {
	l := s.lossesOf(m)
	n, rows := l.effective(), l.rows
	if s.exactPairs(m) || n >= least {
		return ""
	}
	what, equal := s.counts(), "weights"
	if s.clusters != nil {
		equal = "size"
	}
	counted := func(n int64) string {
		if n == 1 {
			return "1 " + what
		}
		return fmt.Sprintf("%d %ss", n, what)
	}
	if n < float64(rows)*(1-1e-9) {
		return fmt.Sprintf("these %s are only as certain as %d of equal %s, want %g", counted(rows), int64(n), equal, least)
	}
	return fmt.Sprintf("only %s, want %g", counted(rows), least)
}

// detectableMean returns the improvement of a mean that a test at 95% shows with probability 80%.
func detectableMean(d score.Mean) float64 {
	if d.Effective < score.MinMeanRows {
		return math.Inf(1)
	}
	return d.StdErr * (distuv.UnitNormal.Quantile(0.95) + distuv.UnitNormal.Quantile(0.8))
}
