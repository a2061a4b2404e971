package maxout

import (
	"cmp"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/option"
)

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

// Validate returns an error that names the invalid option.
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
// probability e⁻³⁰: ‖w‖² ≤ d + 2√(dx) + 2x with probability 1 − e⁻ˣ (Laurent and Massart 2000, Lemma 1).
func (r Maxout) longestProjection() float64 {
	d, x := float64(r.In), 30+math.Log(float64(r.Out)*float64(max(r.Q, 1)))
	return math.Sqrt(d + 2*math.Sqrt(d*x) + 2*x)
}
