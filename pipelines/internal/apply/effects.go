package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/shapley"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/results"
)

const (
	// maxEffectRows is the largest number of rows that are predicted, and maxEffectColumns the
	// largest number of columns.
	maxEffectRows    = 1000
	maxEffectColumns = 4096
	// minEffectRows is the least number of rows that are predicted.
	minEffectRows = 100
	// maxDraws is the largest number of other rows for each row.
	maxDraws = 8
	// predictions is the approximate number of predictions in total.
	predictions = 1 << 18
)

// effectsOf measures the effects of columns on the scores of a model. x has n rows of the model's
// inputs, row-major, as for models.Applier.Scores. The rows must be in random order, because only the
// first ones are used. The result does not depend on threads.
func effectsOf(ctx context.Context, m *models.Model, x []float32, n, threads int) (*results.EffectsReport, error) {
	columns := m.Columns()
	d, _ := m.Map.Dims()
	if len(columns) > maxEffectColumns {
		return nil, fmt.Errorf("effects: rows have %d columns; effects are measured of at most %d", len(columns),
			maxEffectColumns)
	}
	n = min(n, maxEffectRows, max(minEffectRows, predictions/len(columns)))
	if n < 2 {
		return nil, errors.New("effects: two rows are needed, of which one has the values of the other")
	}
	r := &results.EffectsReport{Rows: n, Draws: min(maxDraws, n-1, max(1, predictions/(n*len(columns))))}
	k := m.Linear.K
	scores := slices.Clone((&models.Applier{Model: m}).Scores(slices.Clone(x[:n*d]), n))
	if !exact.AllFinite(scores) {
		return nil, errors.New("effects: scores of the rows are not finite")
	}
	variance := spread(scores, n, k)
	if slices.Equal(scores[k:], scores[:(n-1)*k]) { // all rows have equal scores
		return nil, fmt.Errorf("effects: the model predicts the same for all of %d rows", n)
	}
	r.Columns = make([]results.Effect, len(columns))
	parallel.Ranges(len(columns), 1, max(1, threads), func(lo, hi int) {
		c := &swappedColumn{Applier: models.Applier{Model: m}, x: x, scores: scores, n: n, d: d, k: k}
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			mean, deviation := c.effect(columns[i], r.Draws)
			r.Columns[i] = results.Effect{Column: columns[i].Name, Share: mean / variance,
				StdErr: deviation / math.Sqrt(float64(n)) / variance}
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, e := range r.Columns {
		if !exact.Finite(e.Share) {
			return nil, fmt.Errorf("effects: scores of rows with other values of %q are not finite", e.Column)
		}
	}
	slices.SortStableFunc(r.Columns, func(a, b results.Effect) int { return cmp.Compare(b.Share, a.Share) })
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
func (c *swappedColumn) effect(column shapley.Column, draws int) (mean, deviation float64) {
	change := make([]float64, c.n)
	for draw := range draws {
		shift := 1 + draw*(c.n-1)/draws
		c.block = append(c.block[:0], c.x[:c.n*c.d]...)
		for i := range c.n {
			other := (i + shift) % c.n
			copy(c.block[i*c.d+column.From:i*c.d+column.To], c.x[other*c.d+column.From:])
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

const (
	maxDependenceRows    = 300
	maxDependenceValues  = 11
	maxDependenceOutputs = 4
)

// dependenceOf measures how predictions depend on each of the named columns. x has n rows as for effectsOf. The
// outputs are the probability of the positive class of two, of the first of several classes, or the first
// target. For a model without probabilities they are scores.
func dependenceOf(ctx context.Context, m *models.Model, x []float32, n int,
	names []string) (all []results.Dependence, err error) {
	n = min(n, maxDependenceRows)
	d, _ := m.Map.Dims()
	columns := m.Columns()
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		i := slices.IndexFunc(columns, func(c shapley.Column) bool { return c.Name == name })
		if i < 0 {
			continue
		}
		if dep := dependenceOn(m, x[:n*d], n, d, columns[i]); len(dep.X) > 1 {
			all = append(all, dep)
		}
	}
	return all, nil
}

// dependenceOn returns the mean prediction over the n rows of x for several values of a column: each replaces the
// value of the column in all rows.
func dependenceOn(m *models.Model, x []float32, n, d int, column shapley.Column) results.Dependence {
	outputs, names := outputsOf(m)
	dep := results.Dependence{Column: column.Name, Outputs: names, Mean: make([][]float64, len(names)),
		StdErr: make([][]float64, len(names))}
	donors, numeric := donorsOf(m, x, n, d, column)
	dep.Numeric = numeric
	a := models.Applier{Model: m}
	for _, row := range donors {
		block := slices.Clone(x)
		for i := range n {
			copy(block[i*d+column.From:i*d+column.To], x[row*d+column.From:row*d+column.To])
		}
		output, k := a.Apply(block, n), m.Linear.K
		at := func(i, c int) float64 {
			switch {
			case output.Targets != nil:
				return output.Targets[i*k+c]
			case output.Probabilities != nil:
				return float64(output.Probabilities[i*k+c])
			}
			return float64(output.Scores[i*k+c])
		}
		for o, c := range outputs {
			var mean, squares float64
			for i := range n {
				mean += at(i, c) / float64(n)
			}
			for i := range n {
				squares += float64((at(i, c) - mean) * (at(i, c) - mean))
			}
			dep.Mean[o] = append(dep.Mean[o], mean)
			dep.StdErr[o] = append(dep.StdErr[o], math.Sqrt(squares/float64(max(1, n-1))/float64(n)))
		}
		value, text := valueOf(m, x[row*d:(row+1)*d], column)
		dep.X, dep.Values = append(dep.X, value), append(dep.Values, text)
	}
	return dep
}

// outputsOf returns the outputs that are shown, with their names.
func outputsOf(m *models.Model) (outputs []int, names []string) {
	k, v := m.Linear.K, m.Manifest.Vocabulary
	switch {
	case v == nil && k == 1:
		return []int{0}, []string{"prediction"}
	case v == nil:
		return []int{0}, []string{report.Word(m.Outputs()[0], 30)}
	case k == 2:
		c := m.Manifest.PositiveClass()
		return []int{c}, []string{report.Word(v.Classes[c], 30)}
	}
	for c := range min(k, maxDependenceOutputs) {
		outputs, names = append(outputs, c), append(names, report.Word(v.Classes[c], 30))
	}
	return outputs, names
}

// donorsOf returns rows with distinct values of a column: the most frequent values of a category,
// and quantiles of numbers.
func donorsOf(m *models.Model, x []float32, n, d int, column shapley.Column) (rows []int, numeric bool) {
	c := fieldOf(m, column)
	numeric = column.To == column.From+1 && (c == nil || c.Type == schema.Number)
	var order []int
	for i := range n {
		if v := x[i*d+column.From]; !math.IsNaN(float64(v)) {
			order = append(order, i)
		}
	}
	at := func(i int) float32 { return x[i*d+column.From] }
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(at(i), at(j)) })
	if len(order) == 0 {
		return nil, numeric
	}
	if c != nil && c.Type != schema.Number && c.Type != schema.Time {
		count := map[float32]int{}
		for _, i := range order {
			count[at(i)]++
			if count[at(i)] == 1 {
				rows = append(rows, i)
			}
		}
		slices.SortStableFunc(rows, func(i, j int) int { return count[at(j)] - count[at(i)] })
		return rows[:min(len(rows), maxDependenceValues)], false
	}
	for q := range maxDependenceValues {
		i := order[q*(len(order)-1)/(maxDependenceValues-1)]
		if last := len(rows) - 1; last < 0 || at(i) != at(rows[last]) {
			rows = append(rows, i)
		}
	}
	return rows, numeric
}

// fieldOf returns the typed column of the table, nil for plain numbers.
func fieldOf(m *models.Model, column shapley.Column) *schema.Column {
	if t := m.Table(); t != nil {
		slot := 0
		for i := range t.Columns {
			if slot == column.From {
				return &t.Columns[i]
			}
			slot += t.Columns[i].Width()
		}
	}
	return nil
}

// valueOf returns the value of a column of a row as a number, and as text.
func valueOf(m *models.Model, row []float32, column shapley.Column) (float64, string) {
	v, c := float64(row[column.From]), fieldOf(m, column)
	switch {
	case math.IsNaN(v):
		return v, "(missing)"
	case c == nil || c.Type == schema.Number:
		if centre := m.Centre(); column.From < len(centre) {
			v += centre[column.From]
		}
		return v, fmt.Sprintf("%.6g", v)
	case c.Type == schema.Boolean:
		return v, fmt.Sprint(v != 0)
	case c.Type == schema.Time:
		return v, strings.TrimSpace(schema.Month(row[column.From:]))
	case int(v) < len(c.Levels):
		return v, report.Word(c.Levels[int(v)], 40)
	}
	return v, "(other)"
}

// ValueOf formats the value of the named column in a row. row may have only the first numbers of a
// row; the result is "" if the column is not among them.
func ValueOf(m *models.Model, row []float32, name string) string {
	for _, c := range m.Columns() {
		if c.Name == name && c.To <= len(row) {
			_, text := valueOf(m, row, c)
			return text
		}
	}
	return ""
}

// EffectsPicture returns a chart of the columns with the largest effects.
func EffectsPicture(r *results.EffectsReport) picture.Bars {
	b := picture.Bars{Title: "Effects of columns on predictions", X: "share of the variance of predictions, %",
		Y: "column"}
	for _, e := range r.Columns[:min(len(r.Columns), report.MaxBars)] {
		share, half := 100*e.Share, 100*1.96*e.StdErr
		b.AddInterval(report.Word(e.Column, 40), share, max(0, share-half), share+half)
	}
	return b
}
