package profile

import (
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/rowio"
)

// WeightGrid turns weights of rows and of classes into whole numbers, so that weighted sums are sums of
// integers: exact, and the same in any order.
//
// If all weights are multiples of a number and not too large (counts; 0.5, 1 and 1.5; 0 and 1), they are exact: the
// sums equal the sums of a table in which rows are repeated. Other weights are rounded to 8 significant bits, that is
// by up to 1/256 of a weight; weights below the mean are rounded to multiples of Unit, that is by up to 1/256 of the
// mean, and by more with over 2²¹ rows. Weights of up to 16 classes have 12 significant bits, of more classes 8.
//
// Rounded weights are the weights of another, equally good sample. Unlike rounding of features, this adds
// nothing to λ. 8 bits move a fit by less than a hundredth of its standard error.
type WeightGrid struct {
	// Unit is the weight of a row that is 1 on the grid.
	Unit float64 `json:"unit"`
	// Exact says that weights of rows are multiples of Unit, or rounded to multiples of it.
	Exact bool `json:"exact"`
	// Classes has the weight of each class; nil if all are 1.
	Classes []float64 `json:"classes,omitempty"`
	// Total is at least the sum of all weights on the grid.
	Total int64 `json:"total"`
	// One is the factor of class weights on the grid, if Exact is set.
	One float64 `json:"one"`
}

// Numbers of significant bits, and limits on sums on the grid.
const (
	rowBits    = 8
	classBits  = 12
	fewClasses = 16

	MaxExact  = 1 << 16 // largest exact weight of a row
	maxTotal  = 1 << 31 // largest sum of exact weights: sums of 8-bit features and targets stay exact
	maxSum    = 1 << 29 // largest sum of rounded weights
	maxClass  = 1 << 38 // largest sum of weights of rows times classes, where there are no targets
	maxWeight = 1 << 32 // above the largest weight of a row in a blas.Weighted
	scoreBits = 37      // bits of the sum of all weights in scores
)

// NewScoringGrid returns the grid of the weights of rows in scores, which is finer than NewWeightGrid's. Weights are
// exact unless their sum is above 2³⁷ times their unit; then they are rounded by up to 2⁻³⁷ of the sum. Either way
// they have at most 24 significant bits, like float32. It returns nil if all weights are equal.
func NewScoringGrid(w *Weights) *WeightGrid {
	if w.Equal() {
		return nil
	}
	unit := w.Unit
	if w.Sum/unit > 1<<scoreBits {
		unit = math.Ldexp(1, floorLog2(w.Sum)+1-scoreBits)
	}
	return &WeightGrid{Unit: unit, Exact: true, One: 1, Total: int64(math.Ceil(w.Sum/unit)) + w.Rows}
}

// NewWeightGrid returns the grid for weights of rows and of classes. classes may be nil; otherwise byClass has the
// sum of the weights of the rows of each class. It returns nil if rows have equal weights and classes have none.
func NewWeightGrid(w *Weights, classes, byClass []float64) *WeightGrid {
	if !slices.ContainsFunc(classes, func(x float64) bool { return x != 1 }) {
		classes, byClass = nil, []float64{w.Sum}
	}
	if w.Equal() && classes == nil {
		return nil
	}
	g := &WeightGrid{Classes: classes, One: 1}
	g.Exact = w.Max/w.Unit <= MaxExact && w.Sum/w.Unit <= maxTotal
	if g.Exact {
		g.Unit = w.Unit
		g.scaleClasses(w, byClass)
		for c, sum := range byClass {
			g.Total += int64(math.Ceil(sum / w.Unit * float64(g.class(c))))
		}
		return g
	}
	var sum float64
	for c, s := range byClass {
		if classes != nil {
			s *= classes[c]
		}
		sum += s
	}
	// The mean weight gets 8 bits, unless there are very many rows.
	bits := rowBits
	for bits > 1 && float64(w.Rows)*math.Ldexp(1, bits) > maxSum {
		bits--
	}
	g.Unit = math.Ldexp(1, floorLog2(sum/float64(w.Rows))-bits+1)
	g.Total = int64(math.Ceil(sum/g.Unit*(1+0x1p-8))) + w.Rows
	return g
}

// scaleClasses sets One: the mean weight of a class gets classBits, fewer if sums or the weight of a row would be too
// large, or more if the smallest weight of a class would be rounded by more than 3%.
func (g *WeightGrid) scaleClasses(w *Weights, byClass []float64) {
	if g.Classes == nil {
		return
	}
	var sum, all float64
	for c, s := range byClass {
		sum += float64(s * g.Classes[c])
		all += s
	}
	one := func(bits int) float64 { return math.Ldexp(1, bits-1-floorLog2(sum/all)) }
	lightest, heaviest := slices.Min(g.Classes), slices.Max(g.Classes)
	fits := func(bits int) bool {
		return w.Sum/w.Unit*math.Ldexp(1, bits) <= maxClass && w.Max/w.Unit*heaviest*one(bits) < maxWeight/2
	}
	bits := g.classBits()
	for bits > 2 && !fits(bits) {
		bits--
	}
	for lightest*one(bits) < 16 && fits(bits+1) {
		bits++
	}
	g.One = one(bits)
}

// MaxWeight returns the largest weight that a row of any class can have.
func (g *WeightGrid) MaxWeight() float64 {
	heaviest := 1.0 // weight of a class, on the grid if Exact is set
	for c, weight := range g.Classes {
		if g.Exact {
			weight = float64(g.class(c))
		}
		heaviest = max(heaviest, weight)
	}
	if g.Exact {
		return g.Unit * min(MaxExact, math.Floor((maxWeight-1)/heaviest))
	}
	return g.Unit * (maxWeight / 2) / heaviest
}

// CheckClasses returns an error if a class has too small a share of the weight to count on the grid of rows with
// weights w.
func (g *WeightGrid) CheckClasses(w *Weights, names []string) error {
	if g == nil || g.Classes == nil {
		return nil
	}
	for c, weight := range g.Classes {
		mean := weight * g.One
		if !g.Exact {
			mean = weight * w.Sum / float64(w.Rows) / g.Unit
		}
		if mean < 1 || g.Exact && w.Max/w.Unit*float64(g.class(c)) >= maxWeight {
			return option.Errorf("class_weight", "gives class %q a weight that differs too much from the mean of all "+
				"rows for exact sums; use weights that differ less, or another learner", names[c])
		}
	}
	return nil
}

func (g *WeightGrid) classBits() int {
	if len(g.Classes) > fewClasses {
		return rowBits
	}
	return classBits
}

// class returns the weight of a class on the grid, by which the weights of its rows are multiplied if Exact is set.
func (g *WeightGrid) class(c int) int64 {
	if g.Classes == nil {
		return 1
	}
	return max(1, significant(g.Classes[c]*g.One, g.classBits()))
}

// AppendWeights appends to dst the weights on the grid of the rows of b from first up to end. Where classes have
// weights, b.Y must hold the classes.
func (g *WeightGrid) AppendWeights(dst []int64, b *rowio.Block, first, end int) []int64 {
	for i := first; i < end; i++ {
		w, c := 1.0, 0
		if len(b.Weights) > 0 {
			w = float64(float32(b.Weights[i]))
		}
		if g.Classes != nil {
			c = int(b.Y[i])
		}
		switch {
		case g.Exact:
			dst = append(dst, int64(math.RoundToEven(w/g.Unit))*g.class(c))
		case g.Classes != nil:
			dst = append(dst, significant(w*g.Classes[c]/g.Unit, rowBits))
		default:
			dst = append(dst, significant(w/g.Unit, rowBits))
		}
	}
	return dst
}

// AppendRepeats appends to dst how often each row of b counts: its weight on the grid, or 1 if g is nil.
func (g *WeightGrid) AppendRepeats(dst []int64, b *rowio.Block) []int64 {
	if g != nil {
		return g.AppendWeights(dst, b, 0, b.N)
	}
	for range b.N {
		dst = append(dst, 1)
	}
	return dst
}

// Class returns the weight of class c as the grid represents it: rounded if Exact is set.
func (g *WeightGrid) Class(c int) float64 {
	switch {
	case g == nil || g.Classes == nil:
		return 1
	case g.Exact:
		return float64(g.class(c)) / g.One
	}
	return g.Classes[c]
}

// Rows returns the number of rows in a part of the data, given its rows and its sum of weights on the grid
// without class weights. With exact weights, a row counts as often as its weight says.
func (g *WeightGrid) Rows(rows int64, sum float64) int64 {
	if g == nil || !g.Exact {
		return rows
	}
	return int64(sum / g.One)
}

// For returns the grid for other rows with weights w: a copy of g with the Total that they need. byClass has the sum
// of the weights of the rows of each class; it may be nil where classes have no weights. It returns g itself if g or w
// is nil.
func (g *WeightGrid) For(w *Weights, byClass []float64) *WeightGrid {
	if g == nil || w == nil {
		return g
	}
	sum := w.Sum
	if g.Classes != nil {
		sum = 0
		for c, s := range byClass {
			sum += float64(s * g.Class(c))
		}
	}
	grid := *g
	grid.Total = int64(math.Ceil(float64(sum/g.Unit)*g.One*(1+0x1p-8))) + w.Rows
	return &grid
}

// Validate returns an error if a number is out of range, as in a damaged file.
func (g *WeightGrid) Validate() error {
	if g == nil {
		return nil
	}
	if !(g.Unit > 0) || math.IsInf(g.Unit, 0) || !(g.One > 0) || math.IsInf(g.One, 0) || g.Total < 1 || g.Total > 1<<52 {
		return fmt.Errorf("profile: grid of unit %g, one %g and total %d", g.Unit, g.One, g.Total)
	}
	for c, w := range g.Classes {
		if !(w > 0) || math.IsInf(w, 0) {
			return fmt.Errorf("profile: class %d has weight %g, want a number above 0", c, w)
		}
	}
	return nil
}

// significant returns v ≥ 0 rounded to the given number of significant bits.
func significant(v float64, bits int) int64 {
	if e := floorLog2(v) + 1 - bits; e > 0 {
		return int64(math.RoundToEven(math.Ldexp(v, -e))) << e
	}
	return int64(math.RoundToEven(v))
}

// floorLog2 returns ⌊log₂ v⌋ for v > 0.
func floorLog2(v float64) int {
	_, e := math.Frexp(v)
	return e - 1
}
