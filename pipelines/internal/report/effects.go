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
// of Sobol'. If columns are independent, it is the share of the variance that the other columns
// leave. Where they are not, x′ may be unlike any row of the data, and shares may be larger than 1;
// of two columns that say the same, either may have the effect. Outputs count alike: targets in
// units of half their range, classes from −1 to 1.
type Effect struct {
	Column string `json:"column"`
	// ≥ 0; the sum over all columns is 1 for a sum of functions of one column each, otherwise more
	Share  float64 `json:"share"`
	StdErr float64 `json:"std_err"` // of Share, as the rows are a sample
}

// EffectsReport has the effects of all columns, the largest first.
type EffectsReport struct {
	Rows    int      `json:"rows"`  // that were predicted
	Draws   int      `json:"draws"` // other rows for each of them
	Columns []Effect `json:"columns"`
}

const (
	// MaxEffectRows is the largest number of rows that are predicted, and MaxEffectColumns the
	// largest number of columns.
	MaxEffectRows    = 1000
	MaxEffectColumns = 4096
	// least is the number of rows that are predicted at least.
	least = 100
	// mostDraws is the largest number of other rows for each row.
	mostDraws = 8
	// predictions is about how many are made in all.
	predictions = 1 << 18
)

// EffectsOf measures the effects on the scores of a model for n rows of x (row-major, of as many
// numbers as the model's, as Applier.Scores takes them). They are in random order, and the first
// are used. The result does not depend on threads.
func EffectsOf(ctx context.Context, m *models.Model, x []float32, n, threads int) (*EffectsReport, error) {
	columns := m.Columns()
	d, _ := m.Map.Dims()
	if len(columns) > MaxEffectColumns {
		return nil, fmt.Errorf("effects: rows have %d columns; effects are measured of at most %d", len(columns),
			MaxEffectColumns)
	}
	n = min(n, MaxEffectRows, max(least, predictions/len(columns)))
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
	if slices.Equal(scores[k:], scores[:(n-1)*k]) { // each row as the one before
		return nil, fmt.Errorf("effects: the model predicts the same for all of %d rows", n)
	}
	r.Columns = make([]Effect, len(columns))
	parallel.Ranges(len(columns), 1, max(1, threads), func(lo, hi int) {
		c := &changed{Applier: models.Applier{Model: m}, x: x, scores: scores, n: n, d: d, k: k}
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			mean, deviation := c.by(columns[i], r.Draws)
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

// spread returns the variance of n rows of k scores, added over the scores.
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

// changed predicts rows with a column of other rows.
type changed struct {
	models.Applier
	x       []float32
	scores  []float32 // of the rows as they are
	n, d, k int
	block   []float32
}

// by returns the mean over the rows of half the squared change of the scores, and its standard deviation.
func (c *changed) by(of shapley.Column, draws int) (mean, deviation float64) {
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
