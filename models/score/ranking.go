package score

import (
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/wire"
)

// MaxRanked is the largest number of classes whose scores are ranked.
const MaxRanked = 100

// MinTopClasses is the smallest number of classes for which Ranking counts whether the class of a row is among
// the first few.
const MinTopClasses = 10

// topped has the values of "few" for MinTopClasses.
var topped = [...]int{3, 5}

// Ranking counts how a classifier orders rows. For two classes it counts the Margin, and the probability of
// the positive class if there is one. For up to MaxRanked classes it counts the probability of each class
// (or its score, without probabilities), for rows of the class against other rows. It prefers probabilities
// because a softmax does not change if a number is added to all scores of a row. Create it with NewRanking.
// It is not safe for concurrent use.
type Ranking struct {
	k         int
	positive  int                // of two classes
	ranks     []ranks            // two classes: one or two; more classes: one for each, up to MaxRanked
	classRows []int64            // ranked rows of each class, if there are ranks
	notFinite int64              // rows with scores that are not finite
	weight    int64              // number of rows, each as often as it counts
	top       [len(topped)]int64 // the same for the rows whose class is among the first few
}

// Margin is the score by which a row is assigned to class 0 or 1 of two: half the difference between its
// score and the other, rounded once. It equals the score where the other score is its negative, as with
// ridge. The row is assigned to the class if Margin is above 0, unless probabilities decide.
func Margin(scores []float32, class int) float32 {
	return float32(float64(scores[class])/2 - float64(scores[1-class])/2)
}

// NewRanking returns an empty Ranking for classes 0, …, k−1. cells is the approximate number of cells in all,
// at most MaxCells. Of two classes, positive (0 or 1) is ranked; with probabilities, its probability is counted
// too, in as many cells. NewRanking panics unless 2 ≤ k ≤ schema.MaxClasses and there are cells for every
// class.
func NewRanking(k, positive, cells int, probabilities bool) *Ranking {
	if k < 2 || k > schema.MaxClasses || positive < 0 || positive > 1 {
		panic("score: number of classes out of range")
	}
	r := &Ranking{k: k, positive: positive}
	switch {
	case k == 2:
		r.ranks = []ranks{*newRanks(cells)}
		if probabilities {
			r.ranks = append(r.ranks, *newRanks(cells))
		}
	case k <= MaxRanked:
		for range k {
			r.ranks = append(r.ranks, *newRanks(cells / k))
		}
	}
	if len(r.ranks) > 0 {
		r.classRows = make([]int64, k)
	}
	return r
}

// Add counts a row of class truth, or Unseen, often times. order has the probabilities of the row, or its
// scores if it has none: the first few classes are those with the largest numbers in order; of equal ones,
// those with the larger score, then the first. Add panics if truth is neither a class nor Unseen, or if a
// length is not k.
func (r *Ranking) Add(truth int, scores, order []float32, often int64) {
	if truth < Unseen || truth >= r.k || len(scores) != r.k || len(order) != r.k {
		panic("score: class out of range, or scores of other classes")
	}
	r.weight += often
	if !exact.AllFinite(scores) {
		r.notFinite++
		return
	}
	if truth == Unseen {
		return
	}
	if r.classRows != nil {
		r.classRows[truth]++
	}
	if r.k == 2 {
		kind := 0
		if truth == r.positive {
			kind = 1
		}
		r.ranks[0].Add(Margin(scores, r.positive), kind, often)
		if len(r.ranks) > 1 {
			r.ranks[1].Add(order[r.positive], kind, often)
		}
		return
	}
	for c := range r.ranks {
		kind := 0
		if c == truth {
			kind = 1
		}
		r.ranks[c].Add(order[c], kind, often)
	}
	if r.k < MinTopClasses {
		return
	}
	before := 0
	for c, v := range order {
		if truthScore := order[truth]; v > truthScore || v == truthScore &&
			(scores[c] > scores[truth] || scores[c] == scores[truth] && c < truth) {
			before++
		}
	}
	for i, few := range topped {
		if before < few {
			r.top[i] += often
		}
	}
}

// RankingReport says how well scores order the rows. Rows of unseen classes, or with scores that are not
// finite, are not ranked.
type RankingReport struct {
	Rows      int64 `json:"rows"`                 // number of ranked rows
	NotFinite int64 `json:"not_finite,omitempty"` // rows that were not ranked because of their scores
	// Positive is the class that is ranked, of two. For more classes the scores below are means over
	// Classes.
	Positive string `json:"positive,omitempty"`
	// AUC is the area under the ROC curve, and AUCLow to AUCHigh its 95% interval, for two classes. They
	// are nil without rows of both. If there are more different scores than cells, AUC is within Slack of
	// the area, and the interval is wider by that.
	AUC     *float64 `json:"auc,omitempty"`
	AUCLow  *float64 `json:"auc_low,omitempty"`
	AUCHigh *float64 `json:"auc_high,omitempty"`
	Slack   float64  `json:"auc_slack,omitempty"`
	// AveragePrecision is between PrecisionLow and PrecisionHigh if there are more different scores than
	// cells.
	AveragePrecision *float64 `json:"average_precision,omitempty"`
	PrecisionLow     *float64 `json:"average_precision_low,omitempty"`
	PrecisionHigh    *float64 `json:"average_precision_high,omitempty"`
	// Threshold, for two classes, is the threshold with the largest balanced accuracy on these rows,
	// BestBalanced; of several, the largest. It is chosen on these rows, so on others the balanced accuracy
	// is likely smaller.
	Threshold    *float64 `json:"best_threshold,omitempty"`
	BestBalanced *float64 `json:"best_balanced_accuracy,omitempty"`
	// Classes are set for more than two classes: those with ranked rows, unless all rows are of one class.
	Classes []RankedClass `json:"classes,omitempty"`
	// Top has, for 10 classes or more, the shares of all rows whose class is among the first few.
	Top []TopAccuracy `json:"top,omitempty"`
}

// RankedClass is a class against all others.
type RankedClass struct {
	Class            string  `json:"class"`
	Rows             int64   `json:"rows"` // rows of the class
	AUC              float64 `json:"auc"`
	AveragePrecision float64 `json:"average_precision"`
}

// TopAccuracy is the share of rows whose class is among the first K, with its 95% interval
// (WilsonInterval).
type TopAccuracy struct {
	K        int     `json:"k"`
	Accuracy float64 `json:"accuracy"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// Report returns the scores, with intervals for effective rows of equal weights. names are the classes in
// order. The report is nil if nothing is counted for that many classes.
func (r *Ranking) Report(names []string, effective float64) *RankingReport {
	if len(r.ranks) == 0 && r.k < MinTopClasses {
		return nil
	}
	effective /= float64(max(r.weight, 1)) // as a share of what was counted
	report := &RankingReport{NotFinite: r.notFinite}
	for _, n := range r.classRows {
		report.Rows += n
	}
	var area, slack, mean, low, high float64
	isExact, counted := true, 0
	ranks := r.ranks
	if r.k == 2 {
		report.Positive, ranks = names[r.positive], ranks[:1]
	}
	for c := range ranks {
		class := &ranks[c]
		if class.rows[0] == 0 || class.rows[1] == 0 {
			continue
		}
		a, s := class.auc()
		m, l, h := class.averagePrecision()
		area += a
		slack += s
		mean += m
		low += l
		high += h
		isExact = isExact && class.exact()
		counted++
		if r.k > 2 {
			report.Classes = append(report.Classes, RankedClass{names[c], r.classRows[c], a, m})
		}
	}
	if counted > 0 {
		for _, v := range []*float64{&area, &slack, &mean, &low, &high} {
			*v /= float64(counted)
		}
		report.AUC, report.AveragePrecision, report.Slack = &area, &mean, slack
		if !isExact {
			report.PrecisionLow, report.PrecisionHigh = &low, &high
		}
	}
	if counted > 0 && r.k == 2 {
		first, last := ranks[0].areaInterval(effective)
		report.AUCLow, report.AUCHigh = &first, &last
		threshold, best := r.ranks[len(r.ranks)-1].bestThreshold(ByBalanced)
		report.Threshold, report.BestBalanced = &threshold, &best
	}
	if r.k >= MinTopClasses && r.weight > 0 {
		for i, few := range topped {
			t := TopAccuracy{K: few, Accuracy: ratio(r.top[i], r.weight)}
			t.Low, t.High = WilsonInterval(scaled(r.top[i], effective), scaled(r.weight, effective))
			report.Top = append(report.Top, t)
		}
	}
	return report
}

// Code implements wire.Coded.
func (r *Ranking) Code(c *wire.Coder) {
	r.k = c.Int(r.k, schema.MaxClasses)
	r.positive = c.Int(r.positive, 1)
	lists := c.Int(len(r.ranks), MaxRanked)
	c.Check(r.k == 2 && (lists == 1 || lists == 2) || r.k > 2 && r.k <= MaxRanked && lists == r.k ||
		r.k > MaxRanked && lists == 0)
	c.Counts(&r.weight, &r.notFinite, &r.top[0], &r.top[1])
	c.Check(max(r.top[0], r.top[1]) <= r.weight)
	if c.Reading() {
		r.ranks, r.classRows = make([]ranks, lists), nil
	}
	wire.Each(c, &r.classRows, MaxRanked, func(n *int64) { c.Counts(n) })
	c.Check(len(r.classRows) == 0 && lists == 0 || len(r.classRows) == r.k)
	for i := range r.ranks {
		ranks := &r.ranks[i]
		ranks.Code(c)
		c.Check(ranks.ranked() <= r.weight && ranks.ranked() == r.ranks[0].ranked() &&
			ranks.most() == r.ranks[0].most())
	}
}
