package linear

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
)

// Data holds labelled rows in memory. Exactly one of Class and Target is set.
type Data struct {
	Map features.Map // from rows to features
	X   []float32    // row-major, with as many numbers per row as Map takes

	Class   []int32   // the class of each row, 0 to K−1
	Target  []float64 // row-major, Targets numbers for each row
	Targets int       // for Target; 0 means 1

	// Weights holds a weight for each row, or is nil if all are 1. A row of weight 3 counts as three rows,
	// and a row of weight 0 is not used. See package profile.
	Weights []float64

	// Groups names the group of each row, or is nil if rows are independent. The rows of a group are held
	// out together.
	Groups []string
}

// targets returns the number of targets of a row.
func (d *Data) targets() int { return max(d.Targets, 1) }

// Validate returns the number of rows and of outputs: the classes, or the targets. It fails if lengths do
// not fit each other, if there are no rows or fewer than two classes, if a number is not finite (NaN is a
// missing value if the map takes it), or if a weight is out of range. Its errors number rows and values from 0,
// as the slices do.
func (d *Data) Validate() (n, outputs int, err error) {
	if d.Map == nil {
		return 0, 0, errors.New("linear: no map; features/identity.Recipe takes rows as they are")
	}
	in, _ := d.Map.Dims()
	n, outputs = len(d.X)/in, 1
	switch {
	case (d.Class == nil) == (d.Target == nil):
		return 0, 0, fmt.Errorf("linear: set exactly one of Class and Target (have %d and %d labels)", len(d.Class),
			len(d.Target))
	case n == 0:
		return 0, 0, errors.New("linear: no rows to learn from")
	case d.Targets < 0 || d.Class != nil && d.Targets != 0:
		return 0, 0, fmt.Errorf("linear: %d targets of a row; want at least one, and none where rows have classes", d.Targets)
	case len(d.X) != n*in || len(d.Class) != n && len(d.Target) != n*d.targets():
		return 0, 0, fmt.Errorf("linear: %d values are %d rows of %d, with %d labels", len(d.X), n, in,
			len(d.Class)+len(d.Target))
	}
	if d.Target != nil {
		outputs = d.targets()
	}
	missing := features.TakesMissing(d.Map)
	for i, v := range d.X {
		if !exact.Finite(v) && !(missing && math.IsNaN(float64(v))) {
			return 0, 0, fmt.Errorf("linear: row %d: value %d is %g", i/in, i%in, v)
		}
	}
	for i, y := range d.Target {
		if !exact.Finite(y) {
			return 0, 0, fmt.Errorf("linear: row %d: the target is %g", i/outputs, y)
		}
	}
	for i, c := range d.Class {
		if c < 0 || int(c) > n {
			return 0, 0, fmt.Errorf("linear: row %d: class %d of %d rows; number the classes 0, 1, 2, …", i, c, n)
		}
		outputs = max(outputs, int(c)+1)
	}
	if err := d.validateWeights(n); err != nil {
		return 0, 0, err
	}
	if d.Groups != nil && len(d.Groups) != n {
		return 0, 0, fmt.Errorf("linear: %d groups for %d rows", len(d.Groups), n)
	}
	if d.Class != nil && outputs < 2 {
		return 0, 0, fmt.Errorf("linear: all %d rows are of one class; two classes are needed", n)
	}
	return n, outputs, nil
}

// validateWeights checks the weights of n rows.
func (d *Data) validateWeights(n int) error {
	if d.Weights == nil {
		return nil
	}
	if len(d.Weights) != n {
		return fmt.Errorf("linear: %d weights for %d rows", len(d.Weights), n)
	}
	positive := false
	for i, w := range d.Weights {
		if reason := rowio.CheckWeight(w); reason != "" {
			return fmt.Errorf("linear: row %d: %s", i, reason)
		}
		positive = positive || w > 0
	}
	if !positive {
		return fmt.Errorf("linear: all %d rows have weight 0", n)
	}
	return nil
}

// Weight returns the weight of row i.
func (d *Data) Weight(i int) float64 {
	if d.Weights == nil {
		return 1
	}
	return float64(float32(d.Weights[i]))
}

// Names returns the names of the classes, which are their numbers; nil for a regression.
func (d *Data) Names(outputs int) []string {
	if d.Class == nil {
		return nil
	}
	names := make([]string, outputs)
	for c := range names {
		names[c] = strconv.Itoa(c)
	}
	return names
}

// Weighed returns the weights of the rows with a weight above 0, and their sum in each class; in a
// regression, their sum over all rows.
func (d *Data) Weighed(outputs int) (*profile.Weights, []float64) {
	var all profile.WeightSum
	each := make([]exact.Sum, 1)
	if d.Class != nil {
		each = make([]exact.Sum, outputs)
	}
	for i := range d.Rows() {
		w := d.Weight(i)
		if w == 0 {
			continue
		}
		all.Add(w)
		c := 0
		if d.Class != nil {
			c = int(d.Class[i])
		}
		each[c].Add(float32(w))
	}
	sums := make([]float64, len(each))
	for c := range each {
		sums[c] = each[c].Float64()
	}
	return all.Result(), sums
}

// Rows returns the number of rows.
func (d *Data) Rows() int { return len(d.Class) + len(d.Target)/d.targets() }

// Row returns row i, which shares the memory of X.
func (d *Data) Row(i int) []float32 {
	in, _ := d.Map.Dims()
	return d.X[i*in : (i+1)*in]
}

// AppendLabel appends the class or the targets of row i to dst.
func (d *Data) AppendLabel(dst []float64, i int) []float64 {
	if d.Target != nil {
		k := d.targets()
		return append(dst, d.Target[i*k:(i+1)*k]...)
	}
	return append(dst, float64(d.Class[i]))
}

// Grids returns a grid over the range of each target, ignoring rows of weight 0. It fails if a range does
// not fit in float64.
func (d *Data) Grids() (Grids, error) {
	all := make(Grids, d.targets())
	for c := range all {
		g := &all[c]
		*g = TargetGrid{Low: math.Inf(1), High: math.Inf(-1)}
		for i := range d.Rows() {
			if y := d.Target[i*len(all)+c]; d.Weight(i) > 0 {
				g.Low, g.High = min(g.Low, y), max(g.High, y)
			}
		}
	}
	return all, all.Validate()
}

// Machine is a kernel machine: a linear model on the features of a map. It is safe for concurrent use.
type Machine struct {
	Map    features.Map
	Linear *Model
	// Grid converts scores to targets (Grids.Unscaled); nil for classes.
	Grid Grids

	scratch blas.Buffers[float32]
}

// block is the number of rows that are mapped together.
const block = 256

// Scores stores in dst (n×K) the scores of the n rows of x. It panics if a slice is too
// short.
func (m *Machine) Scores(dst, x []float32, n int) {
	in, out := m.Map.Dims()
	phi := m.scratch.Take(min(n, block) * out)
	defer m.scratch.Put(phi)
	for lo := 0; lo < n; lo += block {
		count := min(block, n-lo)
		m.Map.Apply((*phi)[:count*out], x[lo*in:], count)
		m.Linear.Scores(dst[lo*m.Linear.K:], (*phi)[:count*out], count)
	}
}

// Classes stores in dst the class of each of the n rows of x: the one with the largest
// score, the first of several. It panics if a slice is too short.
func (m *Machine) Classes(dst []int32, x []float32, n int) {
	scores := make([]float32, n*m.Linear.K)
	m.Scores(scores, x, n)
	m.Linear.Classes(dst, scores, n)
}

// Targets stores in dst (n×K) the predicted targets of the n rows of x. It panics if a slice is too short,
// or if the machine predicts classes.
func (m *Machine) Targets(dst []float64, x []float32, n int) {
	scores := make([]float32, n*m.Linear.K)
	m.Scores(scores, x, n)
	m.Grid.Unscaled(dst, scores)
}

// FoldHashes returns for each row the hash whose remainder modulo k is its fold: by content, or by Groups.
// They are the same as in training on a file of the rows, unless it has few different rows. It fails if
// there are fewer groups than folds.
func (d *Data) FoldHashes(seed uint64, k int) (hashes []uint64, err error) {
	in, _ := d.Map.Dims()
	b := &rowio.Block{N: d.Rows(), D: in, X: d.X}
	var rule *profile.FoldRule
	if d.Groups != nil && k > 1 {
		for _, group := range d.Groups {
			b.Keys = append(b.Keys, schema.GroupKey([]byte(group)))
		}
		counts := new(profile.FoldKeys)
		used := &rowio.Block{} // rows of weight 0 are ignored
		for i, key := range b.Keys {
			if d.Weight(i) > 0 {
				used.Keys = append(used.Keys, key)
			}
		}
		counts.AddBlock(used, make([]uint64, len(used.Keys)))
		if rule, err = counts.Rule(profile.ByGroup, []string{"group"}, k, 0, seed); err != nil {
			return nil, fmt.Errorf("linear: %w", err)
		}
	}
	return profile.NewAssigner(seed, rule, nil, profile.FoldLabels{}).Hashes(nil, profile.ShardStart{}, b)
}
