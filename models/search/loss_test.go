package search

import (
	"math"
	"testing"

	"github.com/bochner-ml/bochner/models/loss"
)

func TestLossesOfClassesMatchTheBestFactor(t *testing.T) {
	l := &labels{y: []float64{0, 1, 1, 2}, outputs: 3, weights: []float64{1, 2, 1, 0.5}}
	scores := []float32{0.9, -1, -1, -0.8, 0.7, -0.9, 0.2, 0.1, -1, -1, -0.5, 0.4}
	j := l.judge([]int{0, 1, 2, 3}, scores)
	least := math.Inf(1)
	for _, beta := range loss.SoftmaxFactors {
		var sum float64
		for i, y := range l.y {
			var all float64
			for c := range 3 {
				all += math.Exp(beta * float64(scores[i*3+c]))
			}
			sum -= l.weights[i] * math.Log(math.Exp(beta*float64(scores[i*3+int(y)]))/all)
		}
		least = min(least, sum/4.5)
	}
	if math.Abs(j.mean()-least) > 1e-9 || j.wrong != 1 || j.weight != 4.5 {
		t.Errorf("loss %v, want %v; wrong %v of %v, want 1 of 4.5", j.mean(), least, j.wrong, j.weight)
	}
}

func TestSimplestIsWithinHalfAStandardErrorOfTheBest(t *testing.T) {
	entryOf := func(c Candidate, loss ...float64) *trialled {
		return &trialled{Candidate: c, judged: &judged{loss: loss, weight: float64(len(loss))}}
	}
	r := &runner{pilot: &Pilot{N: fewRows}, standard: &trialled{}}
	best := entryOf(Candidate{Metric: fullMetric, Rounds: 1, Width: 1}, 1, 1, 1, 1)
	close := entryOf(Candidate{Metric: diagonalMetric, Rounds: 1, Width: 1}, 0.8, 1.3, 0.8, 1.2)
	far := entryOf(Candidate{Width: 1}, 1.3, 1.31, 1.3, 1.29)
	if got := r.simplest([]*trialled{best, close, far}); got != close {
		t.Errorf("chose %v", got.Candidate)
	}
	by, se := worse(close.judged, best.judged)
	// Differences −0.2, 0.3, −0.2, 0.2: mean 0.025, variance with divisor 3 0.0692.
	if math.Abs(by-0.025) > 1e-12 || math.Abs(se-math.Sqrt(0.0691666666/4)) > 1e-6 {
		t.Errorf("worse by %v ± %v", by, se)
	}
	other := entryOf(Candidate{Width: 2}, 1, 1, 1, 1)
	r.standard = entryOf(Candidate{Width: 1}, 0.8, 1.3, 0.8, 1.2)
	if got := r.simplest([]*trialled{other, r.standard}); got != other {
		t.Errorf("with many rows a width is as simple as another, chose %v", got.Candidate)
	}
	r.pilot.N = fewRows - 1
	if got := r.simplest([]*trialled{other, r.standard}); got != r.standard {
		t.Errorf("with few rows the default is kept, chose %v", got.Candidate)
	}
}
