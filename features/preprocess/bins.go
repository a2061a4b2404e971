package preprocess

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
)

// maxBinFeatures is the largest number of features of a recipe.
const maxBinFeatures = 1 << 20

// Bins is the recipe of features of single columns, in the order of Columns. If a column has the cuts c_1 <
// … < c_k, its features are Weight times
//
//	1 if c_i ≤ x < c_{i+1}, else 0,   0 ≤ i ≤ k, c_0 = −∞, c_{k+1} = ∞      (bins; k+1 features)
//	1 if x ≥ c_1, else 0                                                    (bins, k = 1: one feature)
//	h_i(x),   1 ≤ i ≤ k                                                     (piecewise-linear; k features)
//
// where h_i is 1 at c_i, 0 at the other cuts, linear between them and constant beyond them (piecewise-linear
// columns). The features of a column sum to Weight, unless it has a single cut. The features of NaN are NaN.
//
// The kernel of intervals is Weight² times the number of columns in which both rows are in the same interval.
type Bins struct {
	In              int         `json:"in"` // row length
	Columns         []BinColumn `json:"columns"`
	Weight          float32     `json:"weight"` // > 0
	PiecewiseLinear bool        `json:"piecewise_linear,omitempty"`
}

// BinColumn is a column of the rows with its cuts. The same column may occur several times.
type BinColumn struct {
	Index int             `json:"index"` // from 0
	Cuts  features.Floats `json:"cuts"`  // strictly ascending; at least one, if PiecewiseLinear two
}

func init() { features.Register("bins", features.Decode[Bins]) }

// size returns the number of features of a column.
func (r *Bins) size(c BinColumn) int {
	if r.PiecewiseLinear || len(c.Cuts) == 1 {
		return len(c.Cuts)
	}
	return len(c.Cuts) + 1
}

// Validate returns an error that names the invalid field and column.
func (r Bins) Validate() error {
	if r.In < 1 || r.In > rowio.MaxDim {
		return fmt.Errorf("bins: in must be 1 to %d (have %d)", rowio.MaxDim, r.In)
	}
	if !(r.Weight >= 0x1p-60 && r.Weight <= 0x1p60) {
		return fmt.Errorf("bins: weight must be a number > 0 within float32 (have %v)", r.Weight)
	}
	least, out := 1, 0
	if r.PiecewiseLinear {
		least = 2
	}
	for i, c := range r.Columns {
		if c.Index < 0 || c.Index >= r.In {
			return fmt.Errorf("bins: columns: item %d: index must be 0 to %d (have %d)", i+1, r.In-1, c.Index)
		}
		if len(c.Cuts) < least {
			return fmt.Errorf("bins: columns: item %d: %d cuts, want at least %d", i+1, len(c.Cuts), least)
		}
		for k, v := range c.Cuts {
			if !exact.Finite(v) || k > 0 && !(v > c.Cuts[k-1]) {
				return fmt.Errorf("bins: columns: item %d: cut %d must be finite and above the one before it (have %v)",
					i+1, k+1, v)
			}
		}
		out += r.size(c)
	}
	if out < 1 || out > maxBinFeatures {
		return fmt.Errorf("bins: the number of features must be 1 to %d (have %d)", maxBinFeatures, out)
	}
	return nil
}

// Dims implements features.Recipe.
func (r Bins) Dims() (in, out int) {
	for _, c := range r.Columns {
		out += r.size(c)
	}
	return r.In, out
}

// Origin returns the column of feature j, and the number of features of that column.
func (r Bins) Origin(j int) (column, size int) {
	for _, c := range r.Columns {
		size = r.size(c)
		if j < size {
			return c.Index, size
		}
		j -= size
	}
	panic("bins: Origin: no such feature")
}

// New returns the map. It is Ranged.
func (r Bins) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	r.Columns = slices.Clone(r.Columns)
	for i := range r.Columns {
		r.Columns[i].Cuts = slices.Clone(r.Columns[i].Cuts)
	}
	_, out := r.Dims()
	m := &binMap{Bins: r, out: out, centre: make([]float64, out), half: make([]float64, out)}
	for i := range m.half {
		m.half[i] = float64(r.Weight)
	}
	return m, nil
}

// binMap is the map of Bins. It is immutable and safe for concurrent use.
type binMap struct {
	Bins
	out          int
	centre, half []float64
}

var _ features.Ranged = (*binMap)(nil)

// Dims implements features.Map.
func (m *binMap) Dims() (in, out int) { return m.In, m.out }

// Apply stores the features of the n rows of x in dst. It panics if a slice is too short.
func (m *binMap) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.In || len(dst) < n*m.out {
		panic("bins: Apply: slice too short")
	}
	clear(dst[:n*m.out])
	for i := range n {
		row, to := x[i*m.In:(i+1)*m.In], dst[i*m.out:(i+1)*m.out]
		for _, c := range m.Columns {
			size := m.size(c)
			m.column(to[:size], row[c.Index], c.Cuts)
			to = to[size:]
		}
	}
}

// column stores the features of one value in to, which must be zero.
func (m *binMap) column(to []float32, v float32, cuts []float32) {
	if math.IsNaN(float64(v)) {
		for i := range to {
			to[i] = v
		}
		return
	}
	below := sort.Search(len(cuts), func(i int) bool { return cuts[i] > v }) // number of cuts ≤ v
	switch {
	case m.PiecewiseLinear && below == 0:
		to[0] = m.Weight
	case m.PiecewiseLinear && below == len(cuts):
		to[below-1] = m.Weight
	case m.PiecewiseLinear:
		a, b := float64(cuts[below-1]), float64(cuts[below])
		right := (float64(v) - a) / (b - a)
		to[below-1] = float32((1 - right) * float64(m.Weight))
		to[below] = float32(right * float64(m.Weight))
	case len(cuts) == 1:
		if below == 1 {
			to[0] = m.Weight
		}
	default:
		to[below] = m.Weight
	}
}

// Quantize stores the features of n ≤ features.MaxRows rows of x on the grid. Only NaN is out of bounds; it
// becomes 0 and is counted. It panics if x is too short.
func (m *binMap) Quantize(dst *features.Grid, x []float32, n, threads int) (saturated int64) {
	return features.OnGrid(m, dst, x, n, threads, m.Weight)
}

// Ranges returns ranges from −Weight to Weight.
func (m *binMap) Ranges() (centre, half []float64) { return m.centre, m.half }

// Step returns Weight/127 if PiecewiseLinear, and 0 for intervals, whose features are points of every grid.
func (m *binMap) Step() float64 {
	if m.PiecewiseLinear {
		return float64(m.Weight) / features.ByteSteps
	}
	return 0
}

// Wide returns false.
func (m *binMap) Wide() bool { return false }
