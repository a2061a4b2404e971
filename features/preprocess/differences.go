package preprocess

import (
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
)

// Differences is the recipe of rows with distances of two columns appended:
//
//	x ↦ (x | |A·x_i − B·x_j + C| for each of the Pairs)
//
// A, B and C undo the scaling of the columns.
type Differences struct {
	In    int          `json:"in"` // row length
	Pairs []Difference `json:"pairs"`
}

// Difference is |A·x_First − B·x_Second + C|.
type Difference struct {
	First  int     `json:"first"` // index of a column, from 0
	Second int     `json:"second"`
	A      float32 `json:"a"`
	B      float32 `json:"b"`
	C      float32 `json:"c"`
}

func init() { features.Register("differences", features.Decode[Differences]) }

// Validate returns an error that names the invalid field and pair.
func (r Differences) Validate() error {
	if err := checkDim("Differences", r.In); err != nil {
		return err
	}
	if len(r.Pairs) < 1 || len(r.Pairs) > rowio.MaxDim-r.In {
		return errors.New("differences: too few or too many pairs")
	}
	for i, p := range r.Pairs {
		if p.First < 0 || p.First >= r.In || p.Second < 0 || p.Second >= r.In || p.First == p.Second {
			return fmt.Errorf("differences: pair %d: columns %d and %d; give two of 0 to %d", i+1, p.First, p.Second, r.In-1)
		}
		for _, v := range []float32{p.A, p.B, p.C} {
			if !exact.Finite(v) {
				return fmt.Errorf("differences: pair %d: a, b and c must be finite", i+1)
			}
		}
	}
	return nil
}

// Dims returns the row length without and with the differences.
func (r Differences) Dims() (in, out int) { return r.In, r.In + len(r.Pairs) }

// New returns the map.
func (r Differences) New() (features.Map, error) { return differences{r}, r.Validate() }

// differences is the map of Differences.
type differences struct{ Differences }

// Apply maps the n rows of x and stores the results in dst. It panics if a slice is too short.
func (m differences) Apply(dst, x []float32, n int) {
	in, out := m.Dims()
	if n < 0 || len(x) < n*in || len(dst) < n*out {
		panic("preprocess: differences: Apply: slice too short")
	}
	for i := range n {
		row, to := x[i*in:(i+1)*in], dst[i*out:(i+1)*out]
		copy(to, row)
		for k, p := range m.Pairs {
			d := float32(p.A*row[p.First]) - float32(p.B*row[p.Second])
			to[in+k] = float32(math.Abs(float64(d + p.C)))
		}
	}
}
