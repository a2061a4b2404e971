package score

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/loss"
)

// ReliabilityReport measures the quality of probabilities.
type ReliabilityReport struct {
	Rows    int64   `json:"rows"`
	LogLoss float64 `json:"log_loss"` // mean of −log p of the row's class, with p at least MinProbability
	// LogLossInterval has the ends of the 95% interval of LogLoss, for independent rows like these; nil for
	// fewer than MinMeanRows rows.
	LogLossInterval *[2]float64 `json:"log_loss_interval,omitempty"`

	Floor   float64 `json:"log_loss_floor"`
	Floored int64   `json:"log_loss_floored"` // rows with p below MinProbability
	Brier   float64 `json:"brier"`            // mean of Σ (p_c − 1 if c is the class)²
	// ECE is the expected calibration error: the mean over rows of the difference between confidence and
	// accuracy in the row's bin (Naeini, Cooper and Hauskrecht 2015).
	ECE  float64          `json:"ece"`
	Bins []ReliabilityBin `json:"bins"`
}

// ReliabilityBin has the rows whose predicted class has a probability above Low and up to High.
type ReliabilityBin struct {
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Rows       int64   `json:"rows"`
	Confidence float64 `json:"confidence"` // mean probability of the predicted class; 0 without rows
	Accuracy   float64 `json:"accuracy"`   // share of rows that are of the predicted class
	// AccuracyLow and AccuracyHigh are the ends of the 95% interval of Accuracy (WilsonInterval).
	AccuracyLow  float64 `json:"accuracy_low"`
	AccuracyHigh float64 `json:"accuracy_high"`
}

// Reliability accumulates rows of probabilities with their classes. Create it with NewReliability. Its sums
// are exact, so results do not depend on the order or split of rows.
type Reliability struct {
	outputs        int
	rows           []int64     // of each bin
	weight, right  []int64     // of each bin: of all rows, and of rows that are classified correctly
	confidence     []exact.Sum // of each bin
	logLoss, brier exact.Sum
	powers         [2]exact.Sum // Σ of squares and of cubes of the log losses
	floored        int64        // rows whose class has a probability below MinProbability
}

// maxBins is the largest number of bins. 10 and 15 are customary.
const maxBins = 1000

// MinProbability replaces smaller probabilities in logarithms.
const MinProbability = 1e-7

// NewReliability returns the reliability of no rows. It panics unless outputs ≥ 2 and 1 ≤ bins ≤ 1,000.
func NewReliability(outputs, bins int) *Reliability {
	if outputs < 2 || bins < 1 || bins > maxBins {
		panic("score: reliability without outputs or bins")
	}
	counts := func() []int64 { return make([]int64, bins) }
	return &Reliability{outputs: outputs, rows: counts(), weight: counts(), right: counts(),
		confidence: make([]exact.Sum, bins)}
}

// Add adds a row of probabilities with its class (or Unseen) and its predicted class, which must have the
// largest probability. The row counts repeats times. Add panics if lengths or classes do not fit. It returns an
// error, and adds nothing, if a value is not a probability or the predicted class is not the most probable.
func (r *Reliability) Add(p []float32, class, predicted int, repeats int64) error {
	if len(p) != r.outputs || class < Unseen || class >= r.outputs || predicted < 0 || predicted >= r.outputs {
		panic("score: probabilities and classes do not fit")
	}
	for o, v := range p {
		switch {
		case !(v >= 0 && v <= 1):
			return fmt.Errorf("score: output %d: %g is not a probability", o, v)
		case v > p[predicted]:
			return fmt.Errorf("score: class %d is predicted with the probability %g, another has %g", predicted,
				p[predicted], v)
		}
	}
	w := float32(repeats)
	logLoss, brier := ProbabilityLosses(p, class)
	r.brier.AddProduct(w, brier)
	r.logLoss.AddProduct(w, logLoss)
	r.powers[0].AddWeightedProduct(w, logLoss, logLoss)
	r.powers[1].AddWeightedProduct(w, logLoss*logLoss, logLoss)
	if class == Unseen || float64(p[class]) < MinProbability {
		r.floored++
	}
	bin := r.bin(p[predicted])
	r.rows[bin]++
	r.weight[bin] += repeats
	if predicted == class {
		r.right[bin] += repeats
	}
	r.confidence[bin].AddProduct(w, p[predicted])
	return nil
}

// ProbabilityLosses returns the log loss and the Brier score of a row with the given probabilities and
// class, which may be Unseen. The log loss is −log p of the class, with p at least MinProbability; the
// Brier score is Σ (p_c − 1 if c is the class)².
func ProbabilityLosses(p []float32, class int) (logLoss, brier float32) {
	square, probability := 0.0, 0.0
	if class == Unseen {
		square = 1
	} else {
		probability = float64(p[class])
	}
	for c, v := range p {
		d := float64(v)
		if c == class {
			d--
		}
		square += float64(d * d)
	}
	return float32(-loss.Log(max(probability, MinProbability))), float32(square)
}

// bin returns the bin i of a confidence, which is above i/n and at most (i+1)/n.
func (r *Reliability) bin(p float32) int {
	n := len(r.rows)
	i := min(int(float64(p)*float64(n)), n-1)
	if i > 0 && float64(p) <= float64(i)/float64(n) {
		i--
	}
	return i
}

// Report returns the measures. Means are by weight. Intervals are for effective times as many rows as were
// counted.
func (r *Reliability) Report(effective float64) ReliabilityReport {
	scaled := func(n int64) int64 { return int64(math.RoundToEven(float64(n) * effective)) }
	n, all := len(r.rows), int64(0)
	for _, m := range r.weight {
		all += m
	}
	t := ReliabilityReport{Floor: MinProbability, Floored: r.floored}
	if all > 0 {
		t.LogLoss, t.Brier = exact.Mean(all, &r.logLoss), exact.Mean(all, &r.brier)
		square, cube := exact.Mean(all, &r.powers[0]), exact.Mean(all, &r.powers[1])
		t.LogLossInterval = meanInterval(t.LogLoss, square, cube, effective*float64(all))
	}
	for i, m := range r.weight {
		b := ReliabilityBin{Low: float64(i) / float64(n), High: float64(i+1) / float64(n), Rows: r.rows[i]}
		t.Rows += b.Rows
		if m > 0 {
			b.Confidence = exact.Mean(m, &r.confidence[i])
			b.Accuracy = float64(r.right[i]) / float64(m)
			b.AccuracyLow, b.AccuracyHigh = WilsonInterval(scaled(r.right[i]), scaled(m))
			t.ECE += float64(float64(m) / float64(all) * max(b.Accuracy-b.Confidence, b.Confidence-b.Accuracy))
		}
		t.Bins = append(t.Bins, b)
	}
	return t
}

// Code implements wire.Coded.
func (r *Reliability) Code(c *wire.Coder) {
	outputs, bins := c.Int(r.outputs, maxOutputs), c.Int(len(r.rows), maxBins)
	if c.Check(outputs >= 2 && bins >= 1) && c.Reading() {
		*r = *NewReliability(outputs, bins)
	}
	for i := range r.rows {
		c.Counts(&r.rows[i], &r.weight[i], &r.right[i])
		c.Part(&r.confidence[i])
		c.Check(r.right[i] <= r.weight[i] && (r.rows[i] > 0 || r.weight[i] == 0) && r.confidence[i].Sign() >= 0)
	}
	c.Part(&r.logLoss, &r.brier, &r.powers[0], &r.powers[1])
	c.Counts(&r.floored)
	c.Check(r.logLoss.Sign() >= 0 && r.brier.Sign() >= 0)
}
