package profile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
)

const (
	usualSample  = 1000    // Options.Sample if it is 0
	maxSample    = 1 << 20 // largest Options.Sample
	minSample    = 50      // least number of rows in a sample, however long they are
	sampleValues = 4 << 20 // most values in a larger sample
)

// sampleSize returns the number of rows of the sample, which falls as rows grow longer. The sample is a
// prefix of all distinct rows in a fixed order. So it can be cut when a longer row appears, and is the same
// as if that length had been known from the start.
func (s *Sum) sampleSize() int {
	if s.opts.Long {
		return s.opts.Sample
	}
	return sampleRows(s.opts.Sample, len(s.columns))
}

// SampleSize returns the number of rows in the sample of a Sum with default Options, for rows of that length.
func SampleSize(dim int) int { return sampleRows(usualSample, dim) }

func sampleRows(most, dim int) int {
	return max(min(most, sampleValues/max(1, dim)), min(most, minSample))
}

// sample holds the first of all distinct rows, ordered by hash, then content, with the number of copies of
// each. The numbers are exact: a row that is among the first at the end always was.
type sample struct {
	rows    []sampled // ascending and distinct
	scratch []byte
}

type sampled struct {
	hash    uint64
	content []byte // as appendContent writes it; never changed
	copies  int64
}

func compareSampled(a, b sampled) int {
	if c := cmp.Compare(a.hash, b.hash); c != 0 {
		return c
	}
	return bytes.Compare(a.content, b.content)
}

// offer adds the row if it is among the first limit rows.
func (s *sample) offer(hash uint64, row []float32, limit int) {
	if n := len(s.rows); n >= limit && hash > s.rows[n-1].hash {
		return
	}
	s.scratch = appendContent(s.scratch[:0], row)
	i, found := slices.BinarySearchFunc(s.rows, sampled{hash: hash, content: s.scratch}, compareSampled)
	if found {
		s.rows[i].copies++
	}
	if found || i >= limit {
		return
	}
	if len(s.rows) == limit {
		s.rows = s.rows[:limit-1]
	}
	s.rows = slices.Insert(s.rows, i, sampled{hash, bytes.Clone(s.scratch), 1})
}

// merge adds the rows of t, and keeps the first limit rows of both.
func (s *sample) merge(t *sample, limit int) {
	out := make([]sampled, 0, min(limit, len(s.rows)+len(t.rows)))
	a, b := s.rows, t.rows
	for len(out) < limit && len(a)+len(b) > 0 {
		c := -1
		if len(a) == 0 {
			c = 1
		} else if len(b) > 0 {
			c = compareSampled(a[0], b[0])
		}
		if c <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out = append(out, b[0])
		}
		if c == 0 {
			out[len(out)-1].copies += b[0].copies
		}
		if c >= 0 {
			b = b[1:]
		}
	}
	s.rows = out
}

// appendContent appends the nonzero values of a row as runs: the number of zeros before the run, the number
// of its values (both uvarint), and the values (little-endian). −0 counts as 0, and trailing zeros are not
// recorded, so rows with equal hashed content have equal bytes however they were padded.
func appendContent(b []byte, row []float32) []byte {
	for i, end := 0, 0; ; end = i {
		for i < len(row) && row[i] == 0 {
			i++
		}
		if i == len(row) {
			return b
		}
		start := i
		for i < len(row) && row[i] != 0 {
			i++
		}
		b = binary.AppendUvarint(b, uint64(start-end))
		b = binary.AppendUvarint(b, uint64(i-start))
		for _, x := range row[start:i] {
			v := math.Float32bits(x)
			if math.IsNaN(float64(x)) {
				v = missing
			}
			b = binary.LittleEndian.AppendUint32(b, v)
		}
	}
}

// missing is the bits of NaN in the content of a row.
const missing = 0x7fc00000

// uvarint reads a number that binary.AppendUvarint wrote, and rejects longer forms of the same number.
func uvarint(b []byte) (v uint64, rest []byte, ok bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

// readContent stores the values of content in row, which must be zero. It reports whether content is what
// appendContent writes for a row of finite or missing values that is not longer than row.
func readContent(row []float32, content []byte) bool {
	i := 0
	for first := true; len(content) > 0; first = false {
		skip, rest, ok := uvarint(content)
		if !ok || skip == 0 && !first || skip > uint64(len(row)-i) {
			return false
		}
		i += int(skip)
		n, rest, ok := uvarint(rest)
		if !ok || n == 0 || n > uint64(len(row)-i) || n > uint64(len(rest)/4) {
			return false
		}
		for range n {
			bits := binary.LittleEndian.Uint32(rest)
			x := math.Float32frombits(bits)
			if x == 0 || !exact.Finite(x) && bits != missing {
				return false
			}
			row[i], rest = x, rest[4:]
			i++
		}
		content = rest
	}
	return true
}

// repeats reports whether a row of the sample has copies.
func (s *sample) repeats() bool {
	return slices.ContainsFunc(s.rows, func(r sampled) bool { return r.copies > 1 })
}

// Copies returns how often each row of the Sample occurs; nil if each occurs once.
func (s *Sum) Copies() (n []int64) {
	if !s.sample.repeats() {
		return nil
	}
	for _, r := range s.sample.rows {
		n = append(n, r.copies)
	}
	return n
}

// Sample returns the sample as n rows of d columns, ordered by hash: the first of all
// distinct rows in that order. The caller owns the rows.
func (s *Sum) Sample() (x []float32, n, d int) {
	n, d = len(s.sample.rows), len(s.columns)
	x = make([]float32, n*d)
	for i, r := range s.sample.rows {
		if !readContent(x[i*d:(i+1)*d], r.content) {
			panic("profile: damaged row in the sample")
		}
	}
	return x, n, d
}

// Statistics describe rows so that later data can be compared with them: the profile, and for each column its deciles
// or levels. They are small enough to be stored with a model, and do not depend on the order of the rows.
type Statistics struct {
	Profile
	// Deciles holds for each column its nine deciles, in the sample of the profile, over the rows that have a value;
	// none for categories and for columns without values. It is nil if rows are longer than 4,096 numbers.
	Deciles [][]float32 `json:"deciles,omitempty"`
	// Points are the rows that package shapley compares predictions with.
	Points [][]float32 `json:"points,omitempty"`
	// Levels holds for each categorical column the number of rows of each of its values; nil if there are none.
	Levels [][]int64 `json:"levels,omitempty"`
	// Distinct is the number of different rows: exact if the sample has all of them, otherwise estimated
	// from the hashes of the sample, with a relative standard error of 1/√Sampled.
	Distinct float64 `json:"distinct"`
	// Sampled is the number of rows in the sample.
	Sampled int `json:"sampled"`
}

// Limits on the columns that Statistics describe individually.
const (
	maxColumns = 1 << 16
	// MaxDeciles is the largest number of columns that have deciles and points.
	MaxDeciles = 1 << 12
)

// Statistics returns the statistics of the rows added so far. If rows are longer than 65,536 numbers,
// columns are left out.
func (s *Sum) Statistics() *Statistics {
	t := &Statistics{Profile: s.Result(), Distinct: s.distinct(), Sampled: len(s.sample.rows)}
	if t.Dim > maxColumns {
		t.Columns = nil
		return t
	}
	for j := range s.counts {
		t.Levels = append(t.Levels, slices.Clone(s.counts[j]))
	}
	if t.Dim > MaxDeciles {
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
			if v := x[i*d+j]; !math.IsNaN(float64(v)) {
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
