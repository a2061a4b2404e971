package shapley

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
)

// Column is a column of the data: the numbers From … To−1 of a row.
type Column struct {
	Name     string
	From, To int
}

// ColumnsOf returns the columns of rows of dim numbers, by the table or, if it is nil, by the names.
func ColumnsOf(names []string, table *schema.Table, dim int) (all []Column) {
	if table != nil {
		names = table.Owners() // the numbers of a time share a name
	}
	for j := range dim {
		name := fmt.Sprint("column ", j+1)
		if j < len(names) {
			name = names[j]
		}
		if last := len(all) - 1; j > 0 && j < len(names) && all[last].Name == name {
			all[last].To++
			continue
		}
		all = append(all, Column{name, j, j + 1})
	}
	return all
}

// Distribution are the values of a column in the background, To−From numbers each, with their probabilities.
type Distribution struct {
	X []float32
	P []float64
}

// maxLevels is the largest number of levels of a category in a background; the most frequent are used.
const maxLevels = 1000

// add adds a value with probability p. It is merged with the last one if both are equal.
func (v *Distribution) add(p float64, x ...float32) {
	if n := len(v.P); n > 0 && slices.Equal(v.X[(n-1)*len(x):], x) {
		v.P[n-1] += p
		return
	}
	v.X, v.P = append(v.X, x...), append(v.P, p)
}

// ReadBackground returns the background in a model's file profile.json.
func ReadBackground(data []byte, columns []Column) ([]Distribution, error) {
	var stored struct {
		Rows *profile.Statistics `json:"rows"`
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, err
	}
	if stored.Rows == nil || stored.Rows.Dim > columns[len(columns)-1].To {
		return nil, errors.New("does not describe the rows of the model")
	}
	return background(stored.Rows, columns)
}

// background returns the background of training rows with those statistics: for numbers, the values of
// s.Points with equal probabilities; for categories, the levels with their frequencies; missing
// values with theirs.
func background(s *profile.Statistics, columns []Column) ([]Distribution, error) {
	points := s.Points
	all := make([]Distribution, len(columns))
	for g, c := range columns {
		if c.From >= s.Dim { // beyond the end of sparse training rows
			all[g].add(1, make([]float32, c.To-c.From)...)
			continue
		}
		if c.To > len(s.Columns) || c.To > len(points) {
			return nil, fmt.Errorf("shapley: the model has no training values of column %q; models of more "+
				"than %d numbers do not keep them", c.Name, profile.MaxDeciles)
		}
		present := 1.0
		if s.Rows > 0 {
			present -= float64(s.Columns[c.From].Missing) / float64(s.Rows)
		}
		v, category := &all[g], c.From < len(s.Levels) && s.Levels[c.From] != nil
		if !(present >= 0 && present <= 1) || category && c.To-c.From > 1 {
			return nil, fmt.Errorf("shapley: damaged statistics of column %q", c.Name)
		}
		if category {
			v.levels(s.Levels[c.From], present)
		} else {
			slots := points[c.From:c.To]
			for i := range slots[0] {
				value := make([]float32, len(slots))
				for k, p := range slots {
					if len(p) != len(slots[0]) {
						return nil, fmt.Errorf("shapley: damaged statistics of column %q", c.Name)
					}
					value[k] = p[i]
				}
				v.add(present/float64(len(slots[0])), value...)
			}
		}
		if len(v.P) == 0 { // no training row has a value
			present = 0
		}
		if present < 1 {
			v.add(1-present, slices.Repeat([]float32{float32(math.NaN())}, c.To-c.From)...)
		}
		var sum float64
		for _, p := range v.P {
			sum += p
		}
		for i := range v.P {
			v.P[i] /= sum
		}
	}
	return all, nil
}

// levels adds the most frequent levels, with total probability present.
func (v *Distribution) levels(counts []int64, present float64) {
	order := make([]int, 0, len(counts))
	for level, n := range counts {
		if n > 0 {
			order = append(order, level)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(counts[b], counts[a]) })
	order = order[:min(len(order), maxLevels)]
	var sum float64
	for _, level := range order {
		sum += float64(counts[level])
	}
	for _, level := range order {
		v.add(present*float64(counts[level])/sum, float32(level))
	}
}

// maxPoints is the largest number of points for a number of a row.
const maxPoints = 32

// BackgroundPoints returns up to 32 values of each number of a row, spread like its values in the sample: the i-th of
// n is the quantile (i+½)/n. Missing values are left out, and categories have no points. A column may have
// several numbers; first has for each number the first number of its column. The points of its numbers come
// from the same rows, at quantiles of its first number. Points returns nil if rows are longer than 4,096
// numbers.
func BackgroundPoints(s *profile.Sum, first []int) [][]float32 {
	x, n, d := s.Sample()
	if d > profile.MaxDeciles || d > len(first) {
		return nil
	}
	points := make([][]float32, d)
	type entry struct { // rows of the sample are far apart in memory
		value float32
		row   int
	}
	var ranked []entry
	var rows []int
	for j := range points {
		if s.Levels(j) != nil {
			continue
		}
		if f := first[j]; f == j {
			ranked = ranked[:0]
			for i := range n {
				missing := false
				for k := j; k < d && first[k] == j; k++ {
					missing = missing || math.IsNaN(float64(x[i*d+k]))
				}
				if !missing {
					ranked = append(ranked, entry{x[i*d+j], i})
				}
			}
			slices.SortFunc(ranked, func(a, b entry) int { return cmp.Or(cmp.Compare(a.value, b.value), a.row-b.row) })
			size := min(len(ranked), maxPoints)
			rows = rows[:0]
			for q := range size {
				rows = append(rows, ranked[(2*q+1)*len(ranked)/(2*size)].row)
			}
		}
		for _, i := range rows {
			points[j] = append(points[j], x[i*d+j])
		}
	}
	return points
}
