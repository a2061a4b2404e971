package score

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
)

// Limits of Worst.
const (
	maxWorstRows   = 100
	maxWorstValues = 256 // values of a row that are kept
)

// WorstRow is a row with its prediction.
type WorstRow struct {
	Loss             float64
	Truth, Predicted float64   // classes or targets
	Values           []float32 // the first values of the row
}

// Worst keeps the rows with the largest losses, whatever the order of the rows. The zero value keeps none.
type Worst struct {
	limit int
	rows  []WorstRow // the worst first
}

// NewWorst returns an empty list for at most limit rows.
func NewWorst(limit int) *Worst { return &Worst{limit: min(limit, maxWorstRows)} }

// Rows returns the rows, the worst first.
func (w *Worst) Rows() []WorstRow { return w.rows }

// Add adds a row and copies its values. A row whose loss is NaN is left out.
func (w *Worst) Add(loss, truth, predicted float64, values []float32) {
	if math.IsNaN(loss) || w.limit == 0 {
		return
	}
	r := WorstRow{loss, truth, predicted, values[:min(len(values), maxWorstValues)]}
	at, _ := slices.BinarySearchFunc(w.rows, r, compareWorst)
	if at == w.limit {
		return
	}
	r.Values = slices.Clone(r.Values)
	w.rows = slices.Insert(w.rows[:min(len(w.rows), w.limit-1)], at, r)
}

// compareWorst orders rows by loss, the largest first, and equal ones by all else.
func compareWorst(a, b WorstRow) int {
	return cmp.Or(cmp.Compare(b.Loss, a.Loss), cmp.Compare(a.Truth, b.Truth), cmp.Compare(a.Predicted, b.Predicted),
		slices.Compare(a.Values, b.Values))
}

// Merge adds the rows of v.
func (w *Worst) Merge(v *Worst) {
	for _, r := range v.rows {
		w.Add(r.Loss, r.Truth, r.Predicted, r.Values)
	}
}

// Code implements wire.Coded.
func (w *Worst) Code(c *wire.Coder) {
	if wire.Merged(c, new(Worst), w.Merge) {
		return
	}
	w.limit = c.Int(w.limit, maxWorstRows)
	wire.Each(c, &w.rows, w.limit, func(r *WorstRow) {
		for _, v := range []*float64{&r.Loss, &r.Truth, &r.Predicted} {
			bits := math.Float64bits(*v)
			c.Uint64(&bits)
			*v = math.Float64frombits(bits)
		}
		wire.Each(c, &r.Values, min(maxWorstValues, rowio.MaxDim), func(v *float32) {
			bits := c.Uvarint(uint64(math.Float32bits(*v)), math.MaxUint32) // any bits: missing values are NaN
			*v = math.Float32frombits(uint32(bits))
		})
	})
	c.Check(slices.IsSortedFunc(w.rows, compareWorst))
}
