package profile

import (
	"math"
	"slices"
)

// Statistics describe rows so that later data can be compared with them: the profile, and for each column
// its deciles or levels. They are small enough to be stored with a model, and do not depend on the order of
// the rows.
type Statistics struct {
	Profile
	// Deciles has for each column its nine deciles, in the sample of the profile, over the rows that have a
	// value; none for categories and for columns without values. It is nil if rows are longer than 4,096
	// numbers.
	Deciles [][]float32 `json:"deciles,omitempty"`
	// Points are the rows that package shapley compares predictions with.
	Points [][]float32 `json:"points,omitempty"`
	// Levels has for each categorical column the number of rows of each of its values; nil if there are
	// none.
	Levels [][]int64 `json:"levels,omitempty"`
	// Distinct is the number of different rows: exact if the sample has all of them, otherwise estimated
	// from the hashes of the sample, with a relative standard error of 1/√Sampled.
	Distinct float64 `json:"distinct"`
	// Sampled is the number of rows in the sample.
	Sampled int `json:"sampled"`
}

// Limits on the columns that Statistics describe individually.
const (
	mostColumns = 1 << 16
	// MostDeciles is the largest number of columns that have deciles and points.
	MostDeciles = 1 << 12
)

// Statistics returns the statistics of the rows added so far. If rows are longer than 65,536 numbers,
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
		column = column[:0]
		if s.category(j) {
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

// distinct returns Statistics.Distinct. The k-th smallest of n uniform hashes is about k/n of their range
// (Bar-Yossef et al. 2002).
func (s *Sum) distinct() float64 {
	k := len(s.sample.rows)
	if k < s.sampleSize() || k < 2 {
		return float64(k)
	}
	return min(float64(s.rows), float64(k-1)/math.Ldexp(float64(s.sample.rows[k-1].hash), -64))
}
