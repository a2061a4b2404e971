// Package score measures how good predictions are. Its counts and sums are exact, so scores do not depend
// on the order of the rows or on how they were cut, and the counts of several workers can be merged.
//
// Classes counts the predictions of a classifier and Ranking how its scores order rows; Targets sums the
// errors of a regression; Slices does either for each value of a column. Trials and LogLosses compare
// several fits on the same rows. A Calibration turns scores into probabilities, fitted to rows that the
// model was not trained on, and Reliability measures how good these are. A Mean has p-values and confidence
// bounds that hold for skewed values too, such as losses.
package score

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/wire"
)

// Unseen stands for the true class of a row whose label is not in the model's vocabulary. Every prediction
// for such a row is wrong.
const Unseen = -1

// maxConfusion is the largest number of classes for which confusions are counted pair by pair, in at most 8
// MiB. With more classes, only the number of rows is counted for which a class was true, predicted, and
// both.
const maxConfusion = 1000

// Classes counts the predictions of a classifier with k classes. Create it with
// NewClasses. It is not safe for concurrent use.
type Classes struct {
	k      int
	pairs  []int64  // (k+1)×k, truth by prediction, the last row for Unseen; nil if k > maxConfusion
	totals []totals // of each class, if there are no pairs
	unseen int64    // rows of unseen classes, if there are no pairs
}

// totals counts the rows of one class.
type totals struct{ truth, predicted, hits int64 }

// NewClasses returns an empty count for classes 0, …, k−1. It panics unless
// 1 ≤ k ≤ schema.MaxClasses.
func NewClasses(k int) *Classes {
	if k < 1 || k > schema.MaxClasses {
		panic("score: number of classes out of range")
	}
	c := &Classes{k: k}
	if k <= maxConfusion {
		c.pairs = make([]int64, (k+1)*k)
	} else {
		c.totals = make([]totals, k)
	}
	return c
}

// Add counts a number of equal rows. It panics if predicted is not a class, or if truth is neither a class
// nor Unseen.
func (c *Classes) Add(truth, predicted int, rows int64) {
	if truth < Unseen || truth >= c.k || predicted < 0 || predicted >= c.k {
		panic("score: class out of range")
	}
	if c.pairs != nil {
		if truth == Unseen {
			truth = c.k
		}
		c.pairs[truth*c.k+predicted] += rows
		return
	}
	c.totals[predicted].predicted += rows
	if truth == Unseen {
		c.unseen += rows
		return
	}
	c.totals[truth].truth += rows
	if truth == predicted {
		c.totals[truth].hits += rows
	}
}

// Rows returns how many rows were counted.
func (c *Classes) Rows() int64 {
	each, n := c.sums()
	for _, t := range each {
		n += t.truth
	}
	return n
}

// Like reports whether c and d count the same number of classes.
func (c *Classes) Like(d *Classes) bool { return c.k == d.k }

// scaled returns the counts multiplied by share and rounded.
func (c *Classes) scaled(share float64) *Classes {
	d := NewClasses(c.k)
	for i, n := range c.pairs {
		d.pairs[i] = scaled(n, share)
	}
	for i, t := range c.totals {
		d.totals[i] = totals{scaled(t.truth, share), scaled(t.predicted, share), scaled(t.hits, share)}
	}
	d.unseen = scaled(c.unseen, share)
	return d
}

func scaled(n int64, share float64) int64 { return int64(math.RoundToEven(float64(n) * share)) }

// WeightedReport returns the scores of rows with weights. c counts each row once, weighted as often as its
// weight on a grid says. Counts in the report are of rows, rates are by weight, and intervals are for
// effective rows of equal weights (see profile.Weights).
func (c *Classes) WeightedReport(names []string, weighted *Classes, effective float64) ClassReport {
	r, by := c.Report(names), weighted.Report(names)
	r.Accuracy, r.Error, r.ClassAverages = by.Accuracy, by.Error, by.ClassAverages
	for i := range r.Classes {
		s, t := &r.Classes[i], by.Classes[i]
		s.Precision, s.Recall, s.F1 = t.Precision, t.Recall, t.F1
	}
	scaled := weighted.scaled(effective / float64(max(by.Rows, 1))).Report(names)
	r.ErrorLow, r.ErrorHigh = min(scaled.ErrorLow, r.Error), max(scaled.ErrorHigh, r.Error)
	r.BalancedLow = min(scaled.BalancedLow, r.BalancedAccuracy)
	r.BalancedHigh = max(scaled.BalancedHigh, r.BalancedAccuracy)
	return r
}

// sums returns the totals of each class and the rows of unseen classes.
func (c *Classes) sums() (each []totals, unseen int64) {
	if c.pairs == nil {
		return c.totals, c.unseen
	}
	each = make([]totals, c.k)
	for t := range c.k + 1 {
		for p, n := range c.pairs[t*c.k : (t+1)*c.k] {
			each[p].predicted += n
			if t == c.k {
				unseen += n
				continue
			}
			each[t].truth += n
			if t == p {
				each[t].hits += n
			}
		}
	}
	return each, unseen
}

// ClassReport has the scores of a classifier. Rates are in [0, 1]; a rate with divisor 0 is 0.
type ClassReport struct {
	Rows     int64   `json:"rows"`
	Errors   int64   `json:"errors"`
	Unseen   int64   `json:"unseen,omitempty"` // number of Errors on rows whose class the model does not know
	Accuracy float64 `json:"accuracy"`
	Error    float64 `json:"error"`
	// ErrorLow and ErrorHigh are the ends of the 95% interval of Error (WilsonInterval).
	ErrorLow  float64 `json:"error_low"`
	ErrorHigh float64 `json:"error_high"`
	ClassAverages
	Classes []ClassScore `json:"classes"`
	// Ranking is set by the caller if scores were ranked; Report leaves it nil.
	Ranking *RankingReport `json:"ranking,omitempty"`
	// Confusion counts rows by true class, then by predicted class. It is set for up to
	// 30 classes.
	Confusion [][]int64 `json:"confusion,omitempty"`
	// Worst lists the pairs of classes that are confused most often, worst first. It replaces Confusion
	// from 31 to 1,000 classes.
	Worst []ConfusedPair `json:"worst,omitempty"`
}

// ClassAverages are averages of scores over classes, with equal weights.
type ClassAverages struct {
	// BalancedAccuracy is the mean recall of the classes that have rows, and BalancedLow and
	// BalancedHigh are the ends of its 95% interval.
	BalancedAccuracy float64 `json:"balanced_accuracy"`
	BalancedLow      float64 `json:"balanced_accuracy_low"`
	BalancedHigh     float64 `json:"balanced_accuracy_high"`
	// The macro averages are of all classes that are true or predicted for at least one row.
	MacroPrecision float64 `json:"macro_precision"`
	MacroRecall    float64 `json:"macro_recall"`
	MacroF1        float64 `json:"macro_f1"`
}

// ClassScore is the score of one class.
type ClassScore struct {
	Class     string  `json:"class"`
	Rows      int64   `json:"rows"`      // rows of this class
	Predicted int64   `json:"predicted"` // rows predicted to be of this class
	Hits      int64   `json:"hits"`      // both
	Precision float64 `json:"precision"` // Hits/Predicted
	Recall    float64 `json:"recall"`    // Hits/Rows
	F1        float64 `json:"f1"`        // 2·Hits/(Rows+Predicted)
}

// ConfusedPair is the number of rows of class Truth that were predicted as class Predicted.
type ConfusedPair struct {
	Truth     string `json:"truth"`
	Predicted string `json:"predicted"`
	Rows      int64  `json:"rows"`
}

const (
	maxShown = 30 // largest number of classes with a reported confusion matrix
	maxWorst = 20 // number of pairs reported for more classes
)

// Report returns the scores. names are the classes in order. It panics if there are not k names.
func (c *Classes) Report(names []string) ClassReport {
	if len(names) != c.k {
		panic("score: not one name for each class")
	}
	each, unseen := c.sums()
	r := ClassReport{Rows: unseen, Errors: unseen, Unseen: unseen, Classes: make([]ClassScore, c.k)}
	present := int64(0)
	for i, t := range each {
		s := ClassScore{
			Class: names[i], Rows: t.truth, Predicted: t.predicted, Hits: t.hits,
			Precision: ratio(t.hits, t.predicted),
			Recall:    ratio(t.hits, t.truth),
			F1:        ratio(2*t.hits, t.truth+t.predicted),
		}
		r.Classes[i] = s
		r.Rows += t.truth
		r.Errors += t.truth - t.hits
		if t.truth+t.predicted > 0 {
			present++
			r.MacroPrecision += s.Precision
			r.MacroRecall += s.Recall
			r.MacroF1 += s.F1
		}
	}
	if present > 0 {
		r.MacroPrecision /= float64(present)
		r.MacroRecall /= float64(present)
		r.MacroF1 /= float64(present)
	}
	r.Accuracy, r.Error = ratio(r.Rows-r.Errors, r.Rows), ratio(r.Errors, r.Rows)
	r.ErrorLow, r.ErrorHigh = WilsonInterval(r.Errors, r.Rows)
	r.BalancedAccuracy, r.BalancedLow, r.BalancedHigh = balancedAccuracy(each)
	switch {
	case c.k <= maxShown:
		for t := range c.k {
			r.Confusion = append(r.Confusion, slices.Clone(c.pairs[t*c.k:(t+1)*c.k]))
		}
	case c.pairs != nil:
		r.Worst = c.worst(names)
	}
	return r
}

// worst returns the pairs that are confused most often, worst first; equal ones are in the order of the
// classes.
func (c *Classes) worst(names []string) []ConfusedPair {
	var at []int
	for i, n := range c.pairs[:c.k*c.k] {
		if n > 0 && i/c.k != i%c.k {
			at = append(at, i)
		}
	}
	slices.SortStableFunc(at, func(i, j int) int { return cmp.Compare(c.pairs[j], c.pairs[i]) })
	var w []ConfusedPair
	for _, i := range at[:min(maxWorst, len(at))] {
		w = append(w, ConfusedPair{names[i/c.k], names[i%c.k], c.pairs[i]})
	}
	return w
}

// borrowed is a number of rows with the mean recall that is added to each class when the variance of its
// recall is estimated. With few rows many recalls are 1, which does not mean that they are certain.
const borrowed = 2

// balancedAccuracy returns the mean recall of the classes that have rows and its 95% interval: the score interval
// of the rate of independent rows whose number gives the same variance. Without rows the mean is 0, and the
// interval is 0 to 1.
func balancedAccuracy(each []totals) (mean, low, high float64) {
	var k, hits, rows float64
	for _, t := range each {
		if t.truth > 0 {
			k++
			hits += float64(t.hits)
			rows += float64(t.truth)
			mean += ratio(t.hits, t.truth)
		}
	}
	if k == 0 {
		return 0, 0, 1
	}
	mean /= k
	var variance, inverse float64 // variance of the mean and Σ 1/rows, both times k²
	for _, t := range each {
		if t.truth > 0 {
			n := float64(t.truth)
			p := (float64(t.hits) + float64(borrowed*(hits/rows))) / (n + borrowed)
			variance += float64(p*(1-p)) / n
			inverse += 1 / n
		}
	}
	effective := float64(k*k) / inverse
	if variance > 0 && mean > 0 && mean < 1 {
		effective = float64(mean*(1-mean)) * float64(k*k) / variance
	}
	low, high = intervalOf(mean, effective)
	return mean, low, high
}

func ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Code implements wire.Coded.
func (c *Classes) Code(w *wire.Coder) {
	k := w.Int(c.k, schema.MaxClasses)
	if w.Check(k >= 1 && w.Left() >= 16*k) && w.Reading() {
		*c = *NewClasses(k)
	}
	c.codeCounts(w)
}

// codeCounts codes the counts.
func (c *Classes) codeCounts(w *wire.Coder) {
	var sum int64
	count := func(fields ...*int64) {
		w.Counts(fields...)
		for _, n := range fields {
			sum += *n
			w.Check(sum >= 0)
		}
	}
	for i := range c.pairs {
		count(&c.pairs[i])
	}
	for i := range c.totals {
		t := &c.totals[i]
		count(&t.truth, &t.predicted, &t.hits)
		w.Check(t.hits <= min(t.truth, t.predicted))
	}
	if c.totals != nil {
		count(&c.unseen)
		w.Check(c.consistent())
	}
}

// consistent reports whether there are as many predictions as rows.
func (c *Classes) consistent() bool {
	n := c.unseen
	for _, t := range c.totals {
		n += t.truth - t.predicted
	}
	return n == 0
}
