package profile

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// Options say what a Sum collects. Sums that are merged must have equal options.
type Options struct {
	// Sample is the number of rows in the sample, up to 1<<20; 0 means 1,000. If rows are long the sample
	// is smaller: at most 4 Mi values (16 MiB), but at least 50 rows (or Sample, if that is less).
	Sample int
	// Long keeps the sample at its requested size even if rows are long.
	Long bool
}

// Sum is the state of a pass that computes a profile. It takes 184 bytes for each column, 8 for
// each level of a category, the sample (4 bytes for each nonzero value and about 3 for each run of
// them) and the table of labels. Create it with New or NewTable. It is not safe for concurrent use.
type Sum struct {
	opts    Options
	rows    int64
	columns []column  // as many as in the longest row so far
	norm2   float64   // the largest squared norm of a row
	counts  [][]int64 // rows of each level, for categorical columns; see NewTable
	sample  sample
	labels  schema.LabelCounts
	targets []Range // ranges of several labels
	weights weighted
}

// column has the statistics of one column. Only nonzero and missing values are recorded; all other rows are
// zeros. So zeros that a sparse file omits, or that precede a new column, need no correction.
type column struct {
	sum, squares exact.Sum
	nonzero      int64   // number of nonzero values, without missing ones
	missing      int64   // number of NaN
	min, max     float32 // of the nonzero values
}

// New returns an empty Sum. It panics if the options are out of range.
func New(opts Options) *Sum {
	if opts.Sample == 0 {
		opts.Sample = usualSample
	}
	if opts.Sample < 0 || opts.Sample > maxSample {
		panic("profile: size of the sample out of range")
	}
	return &Sum{opts: opts}
}

// AddBlock adds the rows of b. hashes are their content hashes (rowio.Hash, with one seed for all of the
// data), which choose the sample. Columns that b lacks and other blocks have count as zeros. NaN is a
// missing value: it is counted and may be in the sample, but is in no moment. Labels in b.Y are ignored.
// AddBlock panics unless there is one hash for each row and no value is infinite.
//
// Where rows have weights, all blocks must have them. Moments are then weighted, and rows of weight 0 are
// left out. Ranges, counts and the sample do not depend on weights.
func (s *Sum) AddBlock(b *rowio.Block, hashes []uint64) {
	switch {
	case len(hashes) != b.N:
		panic("profile: want one hash for each row")
	case b.D < 0 || b.D > rowio.MaxDim:
		panic("profile: length of rows out of range")
	case len(b.X) < b.N*b.D:
		panic("profile: block too short")
	case b.N == 0:
		return
	}
	s.grow(b.D)
	limit := s.sampleSize()
	for i, h := range hashes {
		row, w := b.Row(i), float32(1)
		if len(b.Weights) > 0 {
			w = float32(b.Weights[i])
			if w == 0 {
				continue
			}
			s.weights.rows.Add(b.Weights[i])
			s.weights.total.Add(w)
			if len(b.Y) == b.N { // labels of several targets are not counted
				s.labels.AddWeight(int(b.Y[i]), w)
			}
		}
		s.rows++
		if s.counts != nil {
			s.norm2 = max(s.norm2, s.addTyped(row, w))
		} else {
			s.norm2 = max(s.norm2, s.addRow(row, w))
		}
		s.sample.offer(h, row, limit)
	}
}

// addRow adds a row of the given weight to the columns. It returns the squared norm of the row, summed in
// float64 in the order of the columns.
func (s *Sum) addRow(row []float32, w float32) (norm2 float64) {
	columns := s.columns[:len(row)]
	for j := 0; j < len(row); j++ {
		// Images and sparse data have long runs of zeros.
		if j&7 == 0 {
			for j+8 <= len(row) && zeros((*[8]float32)(row[j:])) {
				j += 8
			}
			if j == len(row) {
				break
			}
		}
		x := row[j]
		if x == 0 {
			continue
		}
		c := &columns[j]
		if math.IsNaN(float64(x)) {
			c.missing++
			s.addMissing(j, w)
			continue
		}
		c.add(x, w)
		norm2 += float64(float64(x) * float64(x)) // the product is exact
	}
	return norm2
}

// add adds a value that is neither zero nor NaN, of a row of the given weight.
func (c *column) add(x, w float32) {
	if c.nonzero == 0 {
		c.min, c.max = x, x
	}
	c.nonzero++
	if x < c.min {
		c.min = x
	}
	if x > c.max {
		c.max = x
	}
	if w != 1 {
		c.sum.AddProduct(w, x)
		c.squares.AddWeightedSquare(w, x)
		return
	}
	c.sum.Add(x)
	c.squares.AddSquare(x)
}

// zeros reports whether all values are 0 or −0.
func zeros(v *[8]float32) bool {
	return (math.Float32bits(v[0])|math.Float32bits(v[1])|math.Float32bits(v[2])|math.Float32bits(v[3])|
		math.Float32bits(v[4])|math.Float32bits(v[5])|math.Float32bits(v[6])|math.Float32bits(v[7]))<<1 == 0
}

// grow makes room for rows of length d. Longer rows make the sample smaller.
func (s *Sum) grow(d int) {
	if d > len(s.columns) {
		if d > cap(s.columns) {
			// Grow by more than needed, so that slowly growing rows are not copied each time, but not by
			// much, because old and new columns are in memory together.
			columns := make([]column, len(s.columns), max(d, min(cap(s.columns)+cap(s.columns)/8, rowio.MaxDim)))
			copy(columns, s.columns)
			s.columns = columns
		}
		s.columns = s.columns[:d]
		if rows, limit := s.sample.rows, s.sampleSize(); len(rows) > limit {
			clear(rows[limit:]) // release the dropped rows
			s.sample.rows = rows[:limit]
		}
	}
}

// AddLabel counts the label of one row, as written in the file, and returns its index. Where rows have
// weights, the row's Y must be that index.
func (s *Sum) AddLabel(label []byte) int { return s.labels.Add(label) }

// Range is the range of a target.
type Range struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// AddTargets widens the ranges of several targets by the labels of the rows of b.
func (s *Sum) AddTargets(b *rowio.Block) {
	for i := range b.N {
		for c, y := range b.Labels(i) {
			s.widen(c, Range{y, y})
		}
	}
}

// widen makes the range of a target include another range.
func (s *Sum) widen(target int, by Range) {
	if target == len(s.targets) {
		s.targets = append(s.targets, by)
	}
	r := &s.targets[target]
	r.Min, r.Max = min(r.Min, by.Min), max(r.Max, by.Max)
}

// Labels returns the labels counted so far, which the caller must not change.
func (s *Sum) Labels() *schema.LabelCounts { return &s.labels }

// Merge adds the rows of t, which is not changed. It panics if their options or categories differ.
func (s *Sum) Merge(t *Sum) {
	if s.opts != t.opts {
		panic("profile: merge of sums with different options")
	}
	s.grow(len(t.columns))
	s.mergeCounts(t)
	s.weights.rows.Merge(&t.weights.rows)
	s.weights.total.Merge(&t.weights.total)
	for j := range t.weights.missing {
		s.weights.grow(j)
		s.weights.missing[j].Merge(&t.weights.missing[j])
	}
	for j := range t.columns {
		c, d := &s.columns[j], &t.columns[j]
		c.missing += d.missing
		if d.nonzero == 0 {
			continue
		}
		if c.nonzero == 0 {
			missing := c.missing
			*c = *d
			c.missing = missing
			continue
		}
		c.sum.Merge(&d.sum)
		c.squares.Merge(&d.squares)
		c.nonzero += d.nonzero
		c.min, c.max = min(c.min, d.min), max(c.max, d.max)
	}
	s.rows += t.rows
	s.norm2 = max(s.norm2, t.norm2)
	s.sample.merge(&t.sample, s.sampleSize())
	s.labels.Merge(&t.labels)
	for c, r := range t.targets {
		s.widen(c, r)
	}
}

// Profile describes a data set. Every number in it is finite.
type Profile struct {
	Rows    int64    `json:"rows"`
	Dim     int      `json:"dim"` // length of the longest row
	Columns []Column `json:"columns"`
	VarAll  float64  `json:"var_all"`  // variance over all values of numeric columns, without missing ones
	MaxNorm float64  `json:"max_norm"` // largest Euclidean norm of a row
	// Weights is nil if rows have none. Otherwise means and deviations are weighted.
	Weights *Weights `json:"weights,omitempty"`
	// Labels is nil if rows have no label or several.
	Labels *schema.LabelSummary `json:"labels,omitempty"`
	// Targets has the range of each of several labels.
	Targets []Range `json:"targets,omitempty"`
}

// Column describes one column over all rows that have a value in it, zeros included. For a category only
// Missing is set; see Sum.Levels.
type Column struct {
	Min     float32 `json:"min"`
	Max     float32 `json:"max"`
	Mean    float64 `json:"mean"`
	Dev     float64 `json:"dev"` // population standard deviation, with divisor Rows − Missing
	Nonzero int64   `json:"nonzero"`
	Missing int64   `json:"missing,omitempty"`
}

// Rows returns the number of rows added so far.
func (s *Sum) Rows() int64 { return s.rows }

// Result returns the profile of the rows added so far. Means and variances are computed exactly and rounded once.
func (s *Sum) Result() Profile {
	p := Profile{
		Rows:    s.rows,
		Dim:     len(s.columns),
		Columns: make([]Column, len(s.columns)),
		MaxNorm: math.Sqrt(s.norm2),
	}
	var sum, squares exact.Sum
	values := int64(0)
	var all exact.Sum // the weights of the values
	for j := range s.columns {
		c := &s.columns[j]
		p.Columns[j].Missing = c.missing
		present := s.rows - c.missing
		if s.category(j) {
			continue
		}
		values += present
		if s.weights.any() {
			all.Merge(s.weights.present(j))
		}
		if c.nonzero == 0 {
			continue
		}
		mean, variance := s.moments(j, present)
		// Only damaged sums have a variance below zero.
		q := Column{Min: c.min, Max: c.max, Mean: mean, Dev: math.Sqrt(max(variance, 0)), Nonzero: c.nonzero,
			Missing: c.missing}
		if c.nonzero < present {
			q.Min, q.Max = min(q.Min, 0), max(q.Max, 0)
		}
		p.Columns[j] = q
		sum.Merge(&c.sum)
		squares.Merge(&c.squares)
	}
	_, variance := exact.Moments(values, &sum, &squares)
	p.Weights = s.weights.rows.Result()
	if p.Weights != nil {
		_, variance = exact.WeightedMoments(&all, &sum, &squares)
	}
	p.VarAll = max(variance, 0)
	if l := s.labels.Summary(); l.Rows > 0 {
		p.Labels = &l
	}
	p.Targets = slices.Clone(s.targets)
	return p
}
