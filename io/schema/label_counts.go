package schema

import (
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
)

const (
	// MaxClasses is the largest number of different labels that are counted.
	MaxClasses = 10_000
	// MaxLabel is the maximum length of a class label in bytes.
	MaxLabel = 256
	// maxText is the length to which an example of a label is cut.
	maxText = 64
)

// LabelCounts collects the labels of a data set as written in its files. It depends only on
// the labels and their counts: parts collected over any cut of the data give the same
// result, merged in any order. The zero value is empty.
//
// Up to MaxClasses different labels of at most MaxLabel bytes are counted separately,
// because all labels must be known to decide whether they are numbers. Beyond that the
// table is dropped: such labels are not classes, and only whether they can be targets
// is recorded.
type LabelCounts struct {
	index    map[string]int // index of a label in table
	table    []labelCount
	overflow bool
	tally    labelTally  // labels after an overflow
	weights  []exact.Sum // sum of the weights for each label in table; nil if rows have no weights
}

type labelCount struct {
	label string
	n     int64
}

// labelTally summarises labels without distinguishing them.
type labelTally struct {
	rows, numbers, whole, targets int64
	min, max                      float64 // range of the targets, if any
	text                          string  // bytewise smallest label that is not a number, truncated
}

// Add counts one label. It returns the index of the label for AddWeight, −1 if labels are not
// counted separately.
func (c *LabelCounts) Add(label []byte) int {
	if i, ok := c.index[string(label)]; ok {
		c.table[i].n++
		return i
	}
	return c.add(string(label), 1)
}

// AddWeight adds the weight of a row whose label Add has counted. It may run while another
// goroutine calls Add.
func (c *LabelCounts) AddWeight(i int, w float32) {
	if i < 0 {
		return
	}
	if n := i + 1 - len(c.weights); n > 0 {
		c.weights = append(c.weights, make([]exact.Sum, n)...)
	}
	c.weights[i].Add(w)
}

// add counts n rows with a label. It returns the index of the label, or −1 if labels are too many or too long to be
// counted separately.
func (c *LabelCounts) add(label string, n int64) int {
	if !c.overflow {
		if i, ok := c.index[label]; ok {
			c.table[i].n += n
			return i
		}
		if len(c.table) < MaxClasses && len(label) <= MaxLabel {
			if c.index == nil {
				c.index = make(map[string]int)
			}
			c.index[label] = len(c.table)
			c.table = append(c.table, labelCount{label, n})
			return len(c.table) - 1
		}
		c.spill()
	}
	c.tally.add(label, n)
	return -1
}

// spill stops counting labels separately.
func (c *LabelCounts) spill() {
	c.tally = c.total()
	c.index, c.table, c.overflow = nil, nil, true
}

// total returns the tally of all labels.
func (c *LabelCounts) total() labelTally {
	t := c.tally
	for _, e := range c.table {
		t.add(e.label, e.n)
	}
	return t
}

// add counts n rows with a label, by whether it is a number, a whole number or a target.
func (t *labelTally) add(label string, n int64) {
	u := labelTally{rows: n}
	if x, ok := labelNumber([]byte(label)); ok {
		u.numbers = n
		if whole([]byte(label), x) {
			u.whole = n
		}
		if y, reason := ParseTarget([]byte(label)); reason == "" {
			u.targets, u.min, u.max = n, y, y
		}
	} else {
		u.text = label[:min(len(label), maxText)]
	}
	t.merge(&u)
}

func (t *labelTally) merge(u *labelTally) {
	if u.numbers < u.rows && (t.numbers == t.rows || u.text < t.text) {
		t.text = u.text
	}
	if u.targets > 0 {
		if t.targets == 0 {
			t.min, t.max = u.min, u.max
		}
		t.min, t.max = min(t.min, u.min), max(t.max, u.max)
	}
	t.rows += u.rows
	t.numbers += u.numbers
	t.whole += u.whole
	t.targets += u.targets
}

// Merge adds the labels of d, which is not changed.
func (c *LabelCounts) Merge(d *LabelCounts) {
	if d.overflow && !c.overflow {
		c.spill()
	}
	if c.overflow {
		t := d.total()
		c.tally.merge(&t)
		return
	}
	for k, e := range d.table {
		if i := c.add(e.label, e.n); i >= 0 && k < len(d.weights) {
			c.AddWeight(i, 0)
			c.weights[i].Merge(&d.weights[k])
		}
	}
}

// LabelSummary describes the labels. It depends only on the labels and how often each occurs.
type LabelSummary struct {
	Rows int64 `json:"rows"` // labels counted
	// Vocabulary lists the classes; nil if there are more than MaxClasses
	// different labels, or one longer than MaxLabel.
	Vocabulary *Vocabulary `json:"vocabulary,omitempty"`
	Counts     []int64     `json:"counts,omitempty"` // rows of each class
	// Weights is the sum of the weights of the rows of each class, where rows have weights.
	Weights  []float64 `json:"weights,omitempty"`
	Overflow bool      `json:"overflow,omitempty"`

	Numeric bool    `json:"numeric"`        // there are labels, and each is a finite decimal number
	Whole   bool    `json:"whole"`          // each is a whole number, written in digits from 2⁵³ on
	Targets int64   `json:"targets"`        // labels that ParseTarget accepts
	Min     float64 `json:"min"`            // smallest such target
	Max     float64 `json:"max"`            // largest such target
	Text    string  `json:"text,omitempty"` // bytewise smallest label that is not a number, truncated to 64 bytes
	// Same holds two labels that are equal as numbers but different as codes, because one has
	// leading zeros; nil if there are none.
	Same []string `json:"same,omitempty"`
}

// Summary returns what has been collected. The labels become classes here:
// numbers in canonical form by value if all are numbers, otherwise text as written.
func (c *LabelCounts) Summary() LabelSummary {
	t := c.total()
	s := LabelSummary{
		Rows:     t.rows,
		Overflow: c.overflow,
		Numeric:  t.rows > 0 && t.numbers == t.rows,
		Whole:    t.rows > 0 && t.whole == t.rows,
		Targets:  t.targets,
		Min:      t.min,
		Max:      t.max,
		Text:     t.text,
	}
	if c.overflow || t.rows == 0 {
		return s
	}
	labels := make([]string, len(c.table))
	for i, e := range c.table {
		labels[i] = e.label
	}
	s.Vocabulary = NewVocabulary(labels)
	s.Counts = make([]int64, len(s.Vocabulary.Classes))
	var weights []exact.Sum
	if len(c.weights) > 0 {
		weights = make([]exact.Sum, len(s.Counts))
	}
	for k, e := range c.table {
		i, ok := s.Vocabulary.Index([]byte(e.label))
		if !ok {
			panic("labels: a counted label is not in the vocabulary")
		}
		s.Counts[i] += e.n
		if class := s.Vocabulary.Classes[i]; s.Numeric && leadingZero(e.label) && slices.Contains(labels, class) &&
			(s.Same == nil || e.label < s.Same[0]) {
			s.Same = []string{e.label, class}
		}
		if k < len(c.weights) {
			weights[i].Merge(&c.weights[k])
		}
	}
	for i := range weights {
		s.Weights = append(s.Weights, weights[i].Float64())
	}
	return s
}

// leadingZero reports whether a label is a number with a zero before other digits, such as a code.
func leadingZero(label string) bool {
	digits := strings.TrimLeft(strings.TrimSpace(label), "+-")
	return len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9'
}

// In returns the number of labels of each class of v, and the labels, as written, that belong to no
// class. It is not ok if labels are not counted separately.
func (c *LabelCounts) In(v *Vocabulary) (counts []int64, others []string, ok bool) {
	counts = make([]int64, len(v.Classes))
	for _, e := range c.table {
		if i, known := v.Index([]byte(e.label)); known {
			counts[i] += e.n
		} else {
			others = append(others, e.label)
		}
	}
	return counts, others, !c.overflow
}

// Code implements wire.Coded.
func (c *LabelCounts) Code(w *wire.Coder) {
	if wire.Merged(w, new(LabelCounts), c.Merge) {
		return
	}
	const table, overflow, weights = 0, 1, 2
	kind := table
	switch {
	case c.overflow:
		kind = overflow
	case len(c.weights) > 0:
		kind = weights
	}
	kind = w.Byte(kind, weights)
	c.overflow = kind == overflow
	if c.overflow {
		c.tally.code(w)
		return
	}
	order := make([]int, len(c.table))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int { return strings.Compare(c.table[x].label, c.table[y].label) })
	last, total := "", int64(0)
	wire.Items(w, &order, w.Short(len(order), MaxClasses), func(i *int) {
		var e labelCount
		var sum exact.Sum
		if !w.Reading() {
			e = c.table[*i]
			if *i < len(c.weights) {
				sum = c.weights[*i]
			}
		}
		codeText(w, &e.label, MaxLabel)
		w.Counts(&e.n)
		if kind == weights {
			w.Part(&sum)
		}
		total += e.n
		w.Check(e.n > 0 && total > 0 && sum.Sign() >= 0 && (total == e.n || e.label > last))
		last = e.label
		if !w.Reading() {
			return
		}
		c.add(e.label, e.n)
		if kind == weights {
			c.weights = append(c.weights, sum)
		}
	})
	w.Check(kind == table || len(order) > 0)
}

// codeText codes a text of at most limit bytes after its length in 2 bytes.
func codeText(w *wire.Coder, text *string, limit int) {
	*text = string(w.Raw([]byte(*text), w.Short(len(*text), limit)))
}

func (t *labelTally) code(w *wire.Coder) {
	w.Counts(&t.rows, &t.numbers, &t.whole, &t.targets)
	w.Float64(&t.min, &t.max)
	codeText(w, &t.text, maxText)
	_, isNumber := labelNumber([]byte(t.text))
	negative := func(v float64) bool { return v == 0 && math.Signbit(v) }
	w.Check(t.rows > 0 && t.numbers <= t.rows && t.whole <= t.numbers && t.targets <= t.numbers &&
		!(t.numbers == t.rows && t.text != "") && !(len(t.text) < maxText && isNumber) &&
		exact.Finite(float32(t.min)) && exact.Finite(float32(t.max)) && t.min <= t.max &&
		(t.targets > 0 || t.min == 0 && t.max == 0) && !negative(t.min) && !negative(t.max))
}
