package profile

import (
	"math"
	"slices"
)

// Statistics are what later data is compared with: the profile of rows, and of each column the
// deciles or the levels. They are small enough to be stored with a model, and a function of the
// rows alone.
type Statistics struct {
	Profile
	// Deciles has for each column its nine deciles, in the sample of the profile, over the rows
	// that have a value; none for categories, and for columns without values. It is nil if rows
	// are longer than 4,096 numbers.
	Deciles [][]float32 `json:"deciles,omitempty"`
	// Points are those of package shapley, with which predictions are compared to explain them.
	Points [][]float32 `json:"points,omitempty"`
	// Levels has for each column that is a category the number of rows of each of its values; nil
	// if there are no categories.
	Levels [][]int64 `json:"levels,omitempty"`
	// Distinct is the number of rows of different content: exact if the sample has all of them,
	// and otherwise estimated from the hashes of the sample, to a standard error of one in the root
	// of its rows.
	Distinct float64 `json:"distinct"`
	// Sampled is the number of rows in the sample.
	Sampled int `json:"sampled"`
}

// Limits on the columns that Statistics describe one by one.
const (
	mostColumns = 1 << 16
	// MostDeciles is the largest number of columns that have deciles and points.
	MostDeciles = 1 << 12
)

// Statistics returns the statistics of the rows added so far. Of rows longer than 65,536 numbers
// columns are left out.
func (s *Sum) Statistics() *Statistics {
	t := &Statistics{Profile: s.Result(), Distinct: s.distinct(), Sampled: len(s.sample.rows)}
	if t.Dim > mostColumns {
		t.Columns = nil
		return t
	}
	for j := range s.counts {
		t.Levels = append(t.Levels, slices.Clone(s.counts[j]))
	}
	if t.Dim > MostDeciles {
		return t
	}
	x, n, d := s.Sample()
	t.Deciles = make([][]float32, d)
	column := make([]float32, 0, n)
	for j := range t.Deciles {
		if column = column[:0]; s.category(j) {
			continue
		}
		for i := range n {
			if v := x[i*d+j]; v == v {
				column = append(column, v)
			}
		}
		slices.Sort(column)
		for q := 1; q < 10 && len(column) > 0; q++ {
			t.Deciles[j] = append(t.Deciles[j], column[(q*(len(column)-1)+5)/10])
		}
	}
	return t
}

// distinct returns the number of rows of different content, as Statistics have it. The k-th
// smallest of n uniform hashes is about k/n of their range (Bar-Yossef et al. 2002).
func (s *Sum) distinct() float64 {
	k := len(s.sample.rows)
	if k < s.sampleSize() || k < 2 {
		return float64(k)
	}
	return min(float64(s.rows), float64(k-1)/math.Ldexp(float64(s.sample.rows[k-1].hash), -64))
}
