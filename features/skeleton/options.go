package skeleton

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/option"
)

// Options are the options of the kernel of a skeleton. File or Skeleton must be given. The defaults are
// kernel.DefaultFeatures features, drawn by Algorithm 1.
type Options struct {
	File     string    `flag:"skeleton" placeholder:"FILE" help:"YAML or JSON file with the computation skeleton of --kernel skeleton."`
	Skeleton *Skeleton // the content of File
	Hybrid   bool      `flag:"hybrid" help:"Use the hybrid baseline for a skeleton: Fourier features in the lowest layer, random features above it."`
	Features int       `flag:"features,common" help:"Number of random features. More features are more accurate and slower."`
}

// maxFile bounds the size of a skeleton file.
const maxFile = 64 << 20

var errNoSkeleton = &option.Error{Option: "skeleton",
	Err: errors.New("is missing: it names the file of the computation skeleton")}

// Load reads File.
func (o *Options) Load(read func(name string, most int64) ([]byte, error)) (kernel.Options, error) {
	if o.File == "" || o.Skeleton != nil {
		return o, nil
	}
	data, err := read(o.File, maxFile)
	if err != nil {
		return nil, err
	}
	loaded := *o
	if loaded.Skeleton, err = Parse(data); err != nil {
		return nil, &option.Error{Option: "skeleton", Err: fmt.Errorf("%s: %w", o.File, err)}
	}
	return &loaded, nil
}

func (o *Options) recipe(out int, seed uint64, bound float64) Compositional {
	r := Compositional{Skeleton: *o.Skeleton, Out: out, Seed: seed, Bound: bound}
	if o.Hybrid {
		r.Sampler = Hybrid
	}
	return r
}

func (o *Options) out() int { return kernel.Count(o.Features) }

// Validate returns an error that names the invalid option, or says what is wrong with the skeleton.
func (o *Options) Validate() error {
	if o.Skeleton == nil {
		return errNoSkeleton
	}
	if o.out() < 1 {
		return option.Errorf("features", "must be at least 1 (have %d)", o.Features)
	}
	return o.recipe(o.out(), 0, 0).Validate()
}

// Size returns the size of the features.
func (o *Options) Size(in int) kernel.Size {
	return kernel.Size{Features: o.out(), Map: 200 * int64(o.out())}
}

// Choose makes the recipe. The rows must have the row length of the skeleton.
func (o *Options) Choose(d *kernel.Data) (*kernel.Choice, error) {
	if o.Skeleton == nil {
		return nil, errNoSkeleton
	}
	r := o.recipe(o.out(), d.Seed, 0)
	if in, _ := r.Dims(); in != d.In {
		return nil, fmt.Errorf("skeleton: the skeleton takes rows of %d numbers, the data have %d", in, d.In)
	}
	complexity, err := o.Skeleton.complexity()
	if err != nil {
		return nil, &option.Error{Option: "skeleton", Err: err}
	}
	c := &kernel.Choice{Summary: fmt.Sprintf("skeleton kernel of complexity %.4g", complexity)}
	onSphere := func(n Node) bool { return n.Space.Sphere != "" }
	if onSphere(Node{Space: o.Skeleton.Space}) || slices.ContainsFunc(o.Skeleton.Nodes, onSphere) {
		// A product of many factors is far below its largest value on almost all rows.
		r.Bound, c.Reach = 1, kernel.RangeSlack
		m, err := r.New()
		if err != nil {
			return nil, err
		}
		if r.Bound, err = d.Bound(m, func(j int) bool { return !m.(*Map).constant(j) }); err != nil {
			return nil, fmt.Errorf("skeleton: %w; take sphere: projection, or activations of lower degree", err)
		}
	}
	c.Recipe = r
	c.Draw = func(out int, seed uint64) features.Recipe { return o.recipe(out, seed, r.Bound) }
	return c, nil
}

// Variants returns the options for each sampler.
func (o *Options) Variants() []kernel.Variant {
	algorithm, hybrid := *o, *o
	algorithm.Hybrid, hybrid.Hybrid = false, true
	return []kernel.Variant{{Name: "algorithm 1", Options: &algorithm}, {Name: "hybrid baseline", Options: &hybrid}}
}
