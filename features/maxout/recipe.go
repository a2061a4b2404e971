package maxout

import (
	"cmp"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/rowio"
)

// maxOut is the largest number of units of a recipe.
const maxOut = 1 << 24

// maxValues limits the memory of the projections and of the indices: 2²⁸ numbers, 1 GiB. A recipe of a few
// bytes can ask for any number, and nothing else in a model limits them.
const maxValues = 1 << 28

// Maxout is the recipe of random maxout features
//
//	φ(x)_ℓ = h_ℓ(x)/√m,   h_ℓ(x) = max_j ⟨w_ℓj, x⟩,   ℓ < m = Out, j < q = Q
//
// with projections w from N(0, I) (Mroueh, Rennie & Goel 2015, Definition 1).
type Maxout struct {
	In   int `json:"in"`  // row length d
	Out  int `json:"out"` // number of units m
	Q    int `json:"q"`   // projections per unit, 1 to MaxQ; 1 is a linear random projection
	Pool int `json:"pool,omitempty"`
	// Bound is the bound of the grid in units of h, > 0. Values beyond it take more time but are as
	// accurate, up to features.MaxSteps steps. Features in float32 do not depend on it.
	Bound float64 `json:"bound"`
	Seed  uint64  `json:"seed"`
}

func init() {
	features.Register("maxout", features.Decode[Maxout])
	kernel.Register(kernel.Family{
		Name: "maxout", Summary: "maxima of linear projections", Hashes: true,
		New: func() kernel.Options { return &Options{Q: defaultQ, Features: kernel.DefaultFeatures} },
	})
}

var (
	projection = stream.PurposeOf("maxout/projection")
	unit       = stream.PurposeOf("maxout/unit")
)

// New draws the map.
func (r Maxout) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return newMap(r), nil
}

// Validate implements features.Recipe.
func (r Maxout) Validate() error {
	fail := func(format string, a ...any) error { return fmt.Errorf("maxout: "+format, a...) }
	switch {
	case r.In < 1 || r.In > rowio.MaxDim:
		return fail("in must be 1 to %d (have %d)", rowio.MaxDim, r.In)
	case r.Out < 1 || r.Out > maxOut:
		return fail("out must be 1 to %d (have %d)", maxOut, r.Out)
	case r.Q < 1 || r.Q > MaxQ:
		return fail("q must be 1 to %d (have %d)", MaxQ, r.Q)
	case r.Pool != 0 && r.Pool < r.Q:
		return fail("pool must be at least q = %d projections, or 0 to give every unit its own (have %d)", r.Q, r.Pool)
	case r.Pool == 0 && r.Out > maxValues/r.In/r.Q:
		return fail("%d units of %d projections of %d values take %.1f GiB; the limit is %d: use fewer units or a pool",
			r.Out, r.Q, r.In, 4*float64(r.Out)*float64(r.Q)*float64(r.In)/(1<<30), 4*maxValues>>30)
	case r.Pool > maxValues/r.In:
		return fail("a pool of %d projections of %d values takes %.1f GiB; the limit is %d: use a smaller pool",
			r.Pool, r.In, 4*float64(r.Pool)*float64(r.In)/(1<<30), 4*maxValues>>30)
	case r.Pool != 0 && r.Out > maxValues/r.Q:
		return fail("%d units of %d indices exceed the limit of %d GiB; use fewer units", r.Out, r.Q, 4*maxValues>>30)
	// Then 127/bound and bound/127 are normal float32 numbers.
	case !(r.Bound >= 0x1p-118 && r.Bound <= 0x1p126):
		return fail("bound must be a number > 0 within float32 (have %v)", r.Bound)
	}
	return nil
}

// Dims implements features.Recipe.
func (r Maxout) Dims() (in, out int) { return r.In, r.Out }

// projections returns the number of projections.
func (r Maxout) projections() int {
	if r.Pool != 0 {
		return r.Pool
	}
	return r.Out * r.Q
}

// Projections returns projections first … first+n−1 (n×in, row-major): unit ℓ has Q projections from ℓ·Q on
// or, with a pool, the projections of Indices. It fails if the recipe is invalid or the range exceeds its
// projections.
func (r Maxout) Projections(first, n int) ([]float32, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if all := r.projections(); first < 0 || n < 0 || first > all-n {
		return nil, fmt.Errorf("maxout: %d projections from %d; the recipe has %d", n, first, all)
	}
	w := make([]float32, n*r.In)
	each(n, max(1, (1<<14)/r.In), func(lo, hi int) {
		for p := lo; p < hi; p++ {
			s := stream.New(r.Seed, projection, uint64(first+p))
			row := w[p*r.In : (p+1)*r.In]
			for i := range row {
				row[i] = float32(s.Normal())
			}
		}
	})
	return w, nil
}

// Indices returns the Q distinct projections of the pool that unit ℓ uses, in the
// order of its codes. It panics unless the recipe is valid, has a pool, and 0 ≤ ℓ < Out.
func (r Maxout) Indices(l int) []int {
	if r.Validate() != nil || r.Pool == 0 || l < 0 || l >= r.Out {
		panic("maxout: Indices: invalid recipe or unit, or no pool")
	}
	index := make([]int, r.Q)
	r.indices(index, l)
	return index
}

// indices stores the indices of unit ℓ: the j-th is number Below(Pool−j), in increasing order, among those
// not yet chosen.
func (r Maxout) indices(index []int, l int) {
	s := stream.New(r.Seed, unit, uint64(l))
	var sorted [MaxQ]int // those chosen so far
	for j := range index {
		p := int(s.Below(uint64(r.Pool - j)))
		i := 0
		for ; i < j && sorted[i] <= p; i++ {
			p++
		}
		copy(sorted[i+1:j+1], sorted[i:j])
		sorted[i] = p
		index[j] = p
	}
}

// Options are the options of the maxout kernel. The zero value means kernel.DefaultFeatures units with 4
// projections each and no pool.
type Options struct {
	Q        int `flag:"q" help:"Projections per unit of the maxout kernel."`
	Pool     int `flag:"pool" help:"Number of projections that the units of the maxout kernel share; 0 gives each unit its own."`
	Features int `flag:"features,common" help:"Number of random features. More features are more accurate and slower."`
}

const defaultQ = 4

func (o *Options) withDefaults() Options {
	return Options{Q: cmp.Or(o.Q, defaultQ), Pool: o.Pool, Features: kernel.Count(o.Features)}
}

// Validate implements kernel.Options.
func (o *Options) Validate() error {
	v := o.withDefaults()
	if v.Features < 1 {
		return option.Errorf("features", "must be at least 1 (have %d)", v.Features)
	}
	return Maxout{In: 1, Out: v.Features, Q: v.Q, Pool: v.Pool, Bound: 1}.Validate()
}

// Size returns the size of the features.
func (o *Options) Size(in int) kernel.Size {
	v := o.withDefaults()
	s := kernel.Size{Features: v.Features, Map: 4 * int64(v.Features) * int64(v.Q) * int64(in), Sampled: true}
	if v.Pool > 0 {
		s.Map = 4 * (int64(v.Pool)*int64(in) + int64(v.Features)*int64(v.Q))
	}
	return s
}

// Choose makes the recipe, with a bound of the features measured on a sample.
func (o *Options) Choose(d *kernel.Data) (*kernel.Choice, error) {
	v := o.withDefaults()
	r := Maxout{In: d.In, Out: v.Features, Q: v.Q, Pool: v.Pool, Bound: 1, Seed: d.Seed}
	bound, reach, err := chooseBound(r, d)
	if err != nil {
		return nil, err
	}
	drawn := func(out int, seed uint64) features.Recipe {
		return Maxout{In: d.In, Out: out, Q: v.Q, Pool: v.Pool, Bound: bound, Seed: seed}
	}
	return &kernel.Choice{Recipe: drawn(v.Features, d.Seed), Summary: fmt.Sprintf("maxout kernel, q = %d", v.Q),
		Reach: reach, Draw: drawn}, nil
}

// chooseBound returns a bound from the largest feature of the sample, and how far the features of all rows
// may exceed it. The recipe r must have bound 1.
func chooseBound(r Maxout, d *kernel.Data) (bound, reach float64, err error) {
	m, err := r.New()
	if err != nil {
		return 0, 0, &option.Error{Option: "features", Err: err}
	}
	// With bound 1 features are up to 127 steps.
	if bound, err = d.Bound(m, nil); err != nil {
		return 0, 0, fmt.Errorf("maxout: %w", err)
	}
	bound /= 127 * m.(features.Gridded).Step()
	if math.IsInf(d.Norm, 1) {
		return bound, kernel.RangeSlack, nil
	}
	bound, reach = d.Reach(bound, r.longestProjection()*d.Norm)
	return bound, reach, nil
}

// longestProjection returns a bound on ‖w‖ of the projections w ~ N(0, I) that holds except with
// probability e⁻³⁰: ‖w‖² ≤ d + 2√(dx) + 2x with probability 1 − e⁻ˣ (Laurent and Massart 2000, Lemma
// 1).
func (r Maxout) longestProjection() float64 {
	d, x := float64(r.In), 30+math.Log(float64(r.Out)*float64(max(r.Q, 1)))
	return math.Sqrt(d + 2*math.Sqrt(d*x) + 2*x)
}
