package stretch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/agop"
	"github.com/bochner-ml/bochner/models/pca"
)

// Distances describe how far the learned metric of a model stretches distances along columns. This is not
// the importance of columns: a long distance may hardly change a prediction, if few rows are that far
// apart. Importance is the effect on predictions (models.Model.Explain, bochner inspect --data).
type Distances struct {
	// Columns are the columns of the data, the most stretched first. A share is the column's part of the
	// mean squared distance between two random rows in the metric, without products of columns. Shares sum
	// to 1.
	Columns []Share `json:"columns"`
	// Directions are the longest directions of a full metric: combinations of numbers.
	Directions []Direction `json:"directions,omitempty"`
}

// Share is a name with its share of a total.
type Share struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
}

// Direction is a unit vector of coefficients of numbers.
type Direction struct {
	Share    float64   `json:"share"` // of the trace of the metric
	Loadings []Loading `json:"parts"` // the largest coefficients, the largest first
}

// Loading is the coefficient of a number.
type Loading struct {
	Name   string  `json:"name"` // of a column, or column=level
	Weight float64 `json:"weight"`
}

const (
	directions    = 3    // most Directions of Distances
	maxLoadings   = 6    // most Loadings of a Direction
	maxDirections = 1024 // most numbers for which directions are computed, in quadratic time
)

// Describe returns the Distances of the model's recipe; nil if it has no metric. Numbers are assumed to have
// variance 1, as after standardisation, and levels of a category to be equally frequent. All levels of a
// category count as one column, and so do all numbers of a time. The files of the recipe must be available,
// as they are while the model is loaded.
func Describe(m *models.Manifest) (*Distances, error) {
	r, err := m.Recipe.Open()
	if err != nil {
		return nil, err
	}
	metric, err := agop.MetricOf(r)
	if metric == nil || err != nil {
		return nil, err
	}
	rows := &input{names: m.Input.Columns}
	if len(m.Input.Options) > 0 {
		if err := json.Unmarshal(m.Input.Options, rows); err != nil {
			return nil, fmt.Errorf("%s: input options: %w", models.ManifestFile, err)
		}
	}
	numbers := rows.numbers(metric)
	diagonal := metric.Diagonal()
	var total float64
	sums := map[string]float64{}
	var order []string
	for j, n := range numbers {
		if _, seen := sums[n.column]; !seen {
			order = append(order, n.column)
		}
		sums[n.column] += float64(diagonal[j] * n.variance)
		total += float64(diagonal[j] * n.variance)
	}
	if !(total > 0) {
		return nil, errors.New("stretch: the metric of the recipe is 0")
	}
	result := &Distances{}
	for _, name := range order {
		result.Columns = append(result.Columns, Share{name, sums[name] / total})
	}
	slices.SortStableFunc(result.Columns, func(a, b Share) int { return cmp.Compare(b.Share, a.Share) })
	if metric.A != nil && metric.Dim <= maxDirections {
		result.Directions, err = directionsOf(metric, diagonal, numbers)
	}
	return result, err
}

// directionsOf returns the directions of a full metric, whose M has that diagonal.
func directionsOf(metric *agop.Metric, diagonal []float64, numbers []number) ([]Direction, error) {
	d := metric.Dim
	vectors, values, err := pca.Top(metric.Outer(), d, min(directions, d), 1, 1)
	if err != nil {
		return nil, err
	}
	var trace float64
	for _, v := range diagonal {
		trace += v
	}
	var list []Direction
	for k, value := range values {
		v := vectors[k*d : (k+1)*d]
		at := make([]int, d)
		for j := range at {
			at[j] = j
		}
		slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(math.Abs(v[b]), math.Abs(v[a])) })
		sign := 1.0
		if v[at[0]] < 0 {
			sign = -1 // make the largest coefficient positive
		}
		direction := Direction{Share: value / trace}
		for _, j := range at[:min(maxLoadings, d)] {
			direction.Loadings = append(direction.Loadings, Loading{numbers[j].name, sign * v[j]})
		}
		list = append(list, direction)
	}
	return list, nil
}

// number describes one of the numbers between the preprocessing and the features of a recipe.
type number struct {
	name, column string
	variance     float64
}

// input describes the rows of a model.
type input struct {
	Table *schema.Table `json:"table"` // nil for plain numbers
	names []string
}

// numbers describes the inputs of a metric.
func (m *input) numbers(metric *agop.Metric) []number {
	return m.after(metric.Before, metric.Dim)
}

// after describes the dim outputs of the steps.
func (m *input) after(steps []features.Recipe, dim int) []number {
	if n := len(steps); n > 0 {
		switch r := steps[n-1].(type) {
		case preprocess.BinLevels:
			before, _ := r.Dims()
			return withLevels(m.after(steps[:n-1], before), r)
		case preprocess.Differences:
			list := m.after(steps[:n-1], r.In)
			for _, p := range r.Pairs {
				name := fmt.Sprintf("|%s − %s|", list[p.First].name, list[p.Second].name)
				list = append(list, number{name, name, differenceVariance})
			}
			return list
		}
	}
	return m.numbersAfter(steps, dim)
}

// differenceVariance is the variance of |x − z| for independent normal numbers of variance 1.
const differenceVariance = 2 - 4/math.Pi

// withLevels describes the outputs of step r, given its inputs.
func withLevels(before []number, r preprocess.BinLevels) []number {
	_, dim := r.Dims()
	list := make([]number, dim)
	nth := map[int]int{} // next level of each column
	for j := range list {
		c, levels := r.Origin(j)
		list[j] = before[c]
		switch {
		case levels > 0:
			nth[c]++
			p := 1 / float64(levels)
			list[j].name = fmt.Sprintf("%s=#%d", before[c].name, nth[c])
			list[j].variance = float64(r.Weight) * float64(r.Weight) * float64(p*(1-p))
		case r.Replaces(c):
			list[j].variance = 0
		}
	}
	return list
}

// numbersAfter describes the dim outputs of the steps.
func (m *input) numbersAfter(steps []features.Recipe, dim int) []number {
	list := make([]number, dim)
	encoding, typed := preprocess.Columns{}, false
	if len(steps) > 0 {
		encoding, typed = steps[0].(preprocess.Columns)
	}
	switch {
	case typed && m.Table != nil:
		names, owners := encoding.Names(m.Table), m.Table.Owners()
		sources := encoding.Sources()
		if len(names) != len(list) {
			break
		}
		for j := range list {
			list[j] = number{names[j], owners[sources[j].Slot], sources[j].Variance}
		}
		return list
	case len(m.names) == len(list) && columnwise(steps):
		for j, name := range m.names {
			list[j] = number{name, name, 1}
		}
		return list
	}
	what := "number"
	if columnwise(steps) {
		what = "column"
	}
	for j := range list {
		name := fmt.Sprintf("%s %d", what, j+1)
		list[j] = number{name, name, 1}
	}
	return list
}

// columnwise reports whether output j of the steps depends only on input j, for all j.
func columnwise(steps []features.Recipe) bool {
	for _, s := range steps {
		m, err := s.New()
		if err != nil {
			return false
		}
		if by, ok := m.(features.Columnwise); !ok || by.Part(0, 1) == nil {
			return false
		}
	}
	return true
}
