package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/shapley"
)

// Effect is the total effect of a column j on the scores f of a model,
//
//	Share = E‖f(x) − f(x′)‖² / 2 E‖f(x) − E f‖²,   x′ is x with column j of another row
//
// the estimator of Jansen (1999, Computer Physics Communications 117, 35) of the total-effect index
// of Sobol'. If columns are independent, it is the share of the variance that the other columns do
// not explain. If they are dependent, x′ may be unlike any row of the data, shares may exceed 1,
// and the effect of two redundant columns may go to either. All outputs have the same weight:
// targets are in units of half their range, and scores of classes range from −1 to 1.
type Effect struct {
	Column string `json:"column"`
	// ≥ 0; the sum over all columns is 1 for a sum of functions of one column each, otherwise more
	Share  float64 `json:"share"`
	StdErr float64 `json:"std_err"` // of Share, over the sample of rows
}

// EffectsReport has the effects of all columns, the largest first.
type EffectsReport struct {
	Rows    int      `json:"rows"`  // number of predicted rows
	Draws   int      `json:"draws"` // other rows for each of them
	Columns []Effect `json:"columns"`
}

const (
	// MaxEffectRows is the largest number of rows that are predicted, and MaxEffectColumns the
	// largest number of columns.
	MaxEffectRows    = 1000
	MaxEffectColumns = 4096
	// minEffectRows is the least number of rows that are predicted.
	minEffectRows = 100
	// mostDraws is the largest number of other rows for each row.
	mostDraws = 8
	// predictions is the approximate number of predictions in total.
	predictions = 1 << 18
)

// EffectsOf measures the effects of columns on the scores of a model. x has n rows of the model's
// inputs, row-major, as for Applier.Scores. The rows must be in random order, because only the
// first ones are used. The result does not depend on threads.
func EffectsOf(ctx context.Context, m *models.Model, x []float32, n, threads int) (*EffectsReport, error) {
	columns := m.Columns()
	d, _ := m.Map.Dims()
	if len(columns) > MaxEffectColumns {
		return nil, fmt.Errorf("effects: rows have %d columns; effects are measured of at most %d", len(columns),
			MaxEffectColumns)
	}
	n = min(n, MaxEffectRows, max(minEffectRows, predictions/len(columns)))
	if n < 2 {
		return nil, errors.New("effects: two rows are needed, of which one has the values of the other")
	}
	r := &EffectsReport{Rows: n, Draws: min(mostDraws, n-1, max(1, predictions/(n*len(columns))))}
	k := m.Linear.K
	scores := slices.Clone((&models.Applier{Model: m}).Scores(slices.Clone(x[:n*d]), n))
	if !models.Finite(scores) {
		return nil, errors.New("effects: scores of the rows are not finite")
	}
	variance := spread(scores, n, k)
	if slices.Equal(scores[k:], scores[:(n-1)*k]) { // all rows have equal scores
		return nil, fmt.Errorf("effects: the model predicts the same for all of %d rows", n)
	}
	r.Columns = make([]Effect, len(columns))
	parallel.Ranges(len(columns), 1, max(1, threads), func(lo, hi int) {
		c := &swappedColumn{Applier: models.Applier{Model: m}, x: x, scores: scores, n: n, d: d, k: k}
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			mean, deviation := c.effect(columns[i], r.Draws)
			r.Columns[i] = Effect{columns[i].Name, mean / variance, deviation / math.Sqrt(float64(n)) / variance}
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, e := range r.Columns {
		if e.Share-e.Share != 0 {
			return nil, fmt.Errorf("effects: scores of rows with other values of %q are not finite", e.Column)
		}
	}
	slices.SortStableFunc(r.Columns, func(a, b Effect) int { return cmp.Compare(b.Share, a.Share) })
	return r, nil
}

// spread returns the sum of the variances of k scores over n rows.
func spread(scores []float32, n, k int) (sum float64) {
	for c := range k {
		var mean, squares float64
		for i := range n {
			mean += float64(scores[i*k+c]) / float64(n)
		}
		for i := range n {
			e := float64(scores[i*k+c]) - mean
			squares += float64(e * e)
		}
		sum += squares / float64(n)
	}
	return sum
}

// swappedColumn predicts rows in which one column has the values of other rows.
type swappedColumn struct {
	models.Applier
	x       []float32
	scores  []float32 // of the original rows
	n, d, k int
	block   []float32
}

// effect returns the mean and standard deviation over the rows of half the squared change of the scores.
func (c *swappedColumn) effect(of shapley.Column, draws int) (mean, deviation float64) {
	change := make([]float64, c.n)
	for draw := range draws {
		shift := 1 + draw*(c.n-1)/draws
		c.block = append(c.block[:0], c.x[:c.n*c.d]...)
		for i := range c.n {
			other := (i + shift) % c.n
			copy(c.block[i*c.d+of.From:i*c.d+of.To], c.x[other*c.d+of.From:])
		}
		now := c.Scores(c.block, c.n)
		for i := range change {
			for o, s := range now[i*c.k : (i+1)*c.k] {
				e := float64(s) - float64(c.scores[i*c.k+o])
				change[i] += float64(e*e) / float64(2*draws)
			}
		}
	}
	for _, v := range change {
		mean += v / float64(c.n)
	}
	for _, v := range change {
		deviation += float64((v - mean) * (v - mean))
	}
	return mean, math.Sqrt(deviation / float64(c.n-1))
}
