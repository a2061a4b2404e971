package score

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/loss"
)

// Calibration maps scores to probabilities. It is plain data, as in a manifest.
type Calibration struct {
	Method Method             `json:"method"` // Platt or Isotonic
	Curves []CalibrationCurve `json:"curves"` // one for each output
}

// CalibrationCurve maps the scores of an output to the probability of its class: by the sigmoid 1/(1 +
// exp(−(Slope·s + Offset))) or, if Score is set, by linear interpolation between the points (Score,
// Probability). Both ascend, and beyond the ends the curve is constant.
type CalibrationCurve struct {
	Slope       float64   `json:"slope,omitempty"`
	Offset      float64   `json:"offset,omitempty"`
	Score       []float64 `json:"score,omitempty"`
	Probability []float64 `json:"probability,omitempty"`
}

// maxOutputs is the largest number of outputs.
const maxOutputs = loss.MaxOutputs

// Validate returns an error that names the invalid curve.
func (c *Calibration) Validate() error {
	if c.Method != Platt && c.Method != Isotonic {
		return fmt.Errorf("score: unknown method %.40q; have %s, %s", c.Method, Platt, Isotonic)
	}
	if len(c.Curves) < 2 || len(c.Curves) > maxOutputs {
		return fmt.Errorf("score: the number of curves must be 2 to %d (have %d)", maxOutputs, len(c.Curves))
	}
	for o := range c.Curves {
		if err := c.Curves[o].validate(c.Method); err != nil {
			return fmt.Errorf("score: curve %d: %w", o, err)
		}
	}
	return nil
}

func (v *CalibrationCurve) validate(method Method) error {
	points := len(v.Score)
	switch {
	case points != len(v.Probability):
		return fmt.Errorf("%d scores and %d probabilities", points, len(v.Probability))
	case method == Platt && points > 0:
		return errors.New("a sigmoid with points")
	case method == Isotonic && (points < 1 || points > CalibrationCells || v.Slope != 0 || v.Offset != 0):
		return fmt.Errorf("the number of points must be 1 to %d, without a sigmoid (have %d)", CalibrationCells, points)
	case math.IsNaN(v.Slope) || math.IsInf(v.Slope, 0) || math.IsNaN(v.Offset) || math.IsInf(v.Offset, 0):
		return fmt.Errorf("slope %g and offset %g", v.Slope, v.Offset)
	}
	for i, s := range v.Score {
		p := v.Probability[i]
		if !(p >= 0 && p <= 1) || math.IsNaN(s) || math.IsInf(s, 0) ||
			i > 0 && !(s > v.Score[i-1] && p >= v.Probability[i-1]) {
			return fmt.Errorf("point %d is (%g, %g): scores must ascend, and probabilities, within 0 and 1", i, s, p)
		}
	}
	return nil
}

// At returns the probability at a score.
func (v *CalibrationCurve) At(score float64) float64 {
	n := len(v.Score)
	if n == 0 {
		return loss.Sigmoid(float64(v.Slope*score) + v.Offset)
	}
	i := sort.SearchFloat64s(v.Score, score)
	switch {
	case i == 0:
		return v.Probability[0]
	case i == n:
		return v.Probability[n-1]
	}
	// Halve, so that no difference overflows.
	at, low, high := float64(score/2), float64(v.Score[i-1]/2), float64(v.Score[i]/2)
	if !(high > low) {
		return v.Probability[i]
	}
	t := (at - low) / (high - low)
	return v.Probability[i-1] + float64(min(max(t, 0), 1)*(v.Probability[i]-v.Probability[i-1]))
}

// Apply stores in dst the probabilities of n rows of scores. Both are row-major with a value for each
// curve. The probabilities are the values of the curves divided by their sum, or 1/k each if all are 0. dst
// may be scores. Apply panics if a slice is too short.
func (c *Calibration) Apply(dst, scores []float32, n int) {
	shares(dst, scores, nil, n, len(c.Curves), func(p []float64, row []float32) {
		for o, s := range row {
			p[o] = c.Curves[o].At(float64(s))
		}
	})
}

// LogisticProbabilities is Apply with the sigmoid 1/(1 + exp(−s)) for each of k outputs. weights are the
// class weights that the scores were fitted with, all 1 if nil. Each sigmoid is divided by its weight, so
// that probabilities hold for rows as they come (Saerens, Latinne and Decaestecker 2002, eq. 2.4, with
// priors in the ratio of the weights).
func LogisticProbabilities(dst, scores []float32, weights []float64, n, k int) {
	shares(dst, scores, weights, n, k, func(p []float64, row []float32) {
		for o, s := range row {
			p[o] = loss.Sigmoid(float64(s))
		}
	})
}

// SoftmaxProbabilities is LogisticProbabilities with exp(s) instead of the sigmoid.
func SoftmaxProbabilities(dst, scores []float32, weights []float64, n, k int) {
	shares(dst, scores, weights, n, k, func(p []float64, row []float32) {
		top := float64(slices.Max(row))
		for o, s := range row {
			p[o] = blas.Exp(float64(s) - top)
		}
	})
}

// Likeliest stores in dst for each of n rows the class with the largest probability, times its weight if
// weights is not nil. Of several, it is the one with the largest score; of several of those, the first.
// Probabilities and scores are row-major with k numbers per row. It panics if a slice is too short.
//
// The class with the largest score need not be the most probable one, because curves of classes may cross.
// Isotonic curves have steps, and often give equal probabilities.
func Likeliest(dst []int32, weights []float64, probabilities, scores []float32, n, k int) {
	if len(dst) < n || len(probabilities) < n*k || len(scores) < n*k {
		panic("score: probabilities: slice too short")
	}
	for i := range n {
		chance, score := probabilities[i*k:(i+1)*k], scores[i*k:(i+1)*k]
		best, most := 0, -1.0
		for c, v := range chance {
			value := float64(v)
			if weights != nil {
				value *= weights[c]
			}
			if value > most || value == most && score[c] > score[best] {
				best, most = c, value
			}
		}
		dst[i] = int32(best)
	}
}

var scratch blas.Buffers[float64]

// shares calls weigh for each row of k scores, and stores in dst its results divided by the class weights,
// if there are any, and by their sum.
func shares(dst, scores []float32, weights []float64, n, k int, weigh func(p []float64, row []float32)) {
	if len(dst) < n*k || len(scores) < n*k {
		panic("score: Apply: slice too short")
	}
	held := scratch.Take(k)
	defer scratch.Put(held)
	p := *held
	for i := range n {
		weigh(p, scores[i*k:(i+1)*k])
		for o, w := range weights {
			p[o] /= w
		}
		var sum float64
		for _, v := range p {
			sum += v
		}
		for o, v := range p {
			if sum > 0 {
				dst[i*k+o] = float32(v / sum)
			} else {
				dst[i*k+o] = float32(1 / float64(k))
			}
		}
	}
}
