package skeleton

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/option"
)

// maxOut is the largest number of features of a recipe.
const maxOut = 1 << 24

// Compositional is the recipe of random features for the kernel of a skeleton,
// by Algorithm 1 of Daniely, Frostig, Gupta and Singer (2017).
//
// Out counts different features: features are drawn until there would be one too many, or a limit is
// reached (see the package comment). A feature drawn c times in M draws has weight √(c/M), so inner
// products are means over all M draws.
type Compositional struct {
	Skeleton Skeleton `json:"skeleton"`
	Out      int      `json:"out"` // number of features D, all different
	Sampler  Sampler  `json:"sampler,omitempty"`
	Seed     uint64   `json:"seed"`
	// Bound is the bound of the features for the grid, if it was found on rows. 0 means the largest
	// magnitude for any row in the base spaces.
	Bound float64 `json:"bound,omitempty"`
}

func init() {
	features.Register("skeleton", features.Decode[Compositional])
	kernel.Register(kernel.Family{
		Name: "skeleton", Summary: "kernel of a computation skeleton",
		New: func() kernel.Options { return &Options{Features: kernel.DefaultFeatures} },
	})
}

// Limits on the work of drawing, in visited nodes.
const (
	maxVisits = 1 << 20 // mean of one draw
	maxWork   = 1 << 33 // mean of all draws
)

// prepare checks the recipe, and returns the largest number of draws for it.
func (r Compositional) prepare() (g *graph, book *codebook, limit int64, err error) {
	fail := func(format string, a ...any) (*graph, *codebook, int64, error) {
		return nil, nil, 0, fmt.Errorf("skeleton: Compositional: %s", fmt.Sprintf(format, a...))
	}
	switch {
	case r.Out < 1 || r.Out > maxOut:
		return fail("out must be 1 to %d (have %d)", maxOut, r.Out)
	case r.Sampler != RFS && r.Sampler != Hybrid:
		return fail("unknown sampler %q; have hybrid, or none for Algorithm 1", r.Sampler)
	case r.Bound != 0 && !float32Normal(r.Bound):
		return fail("bound must be a number > 0 within float32 (have %v)", r.Bound)
	}
	if g, err = r.Skeleton.compile(); err != nil {
		return nil, nil, 0, err
	}
	if book, err = newCodebook(g, r.Sampler); err != nil {
		return nil, nil, 0, err
	}
	visits := g.expect(1, func(int32) float64 { return 1 })
	if !(visits <= maxVisits && visits*float64(r.Out) <= maxWork) {
		return fail("a draw visits %.3g nodes in the mean, and %d features are to be drawn; take activations of smaller "+
			"slope at 1, or fewer features", visits, r.Out)
	}
	if n := book.values(g) * float64(r.Out); !(n <= maxStored) {
		return fail("the frequencies of %d features take %.3g numbers, more than %d; take fewer features", r.Out,
			n, maxStored)
	}
	limit = max(leastDraws, drawsEach*int64(r.Out))
	return g, book, min(limit, int64(maxWork/visits)), nil
}

// values returns the mean number of numbers of the factors of a draw.
func (b *codebook) values(g *graph) float64 {
	e := make([]float64, len(g.nodes))
	for _, v := range g.order {
		if i := b.leafOf[v]; i >= 0 {
			if l := &b.leaves[i]; l.kind.continuum() {
				e[v] = float64(l.n)
			}
			continue
		}
		var sum float64
		for _, u := range g.edgesOf(v) {
			sum += e[u]
		}
		if slope := g.duals[g.nodes[v].dual].slope; slope > 0 {
			e[v] = slope * sum / float64(len(g.edgesOf(v)))
		}
	}
	return e[g.output]
}

// Validate returns an error that names the wrong node, layer or field.
func (r Compositional) Validate() error {
	_, _, _, err := r.prepare()
	return err
}

// Dims implements features.Recipe.
func (r Compositional) Dims() (in, out int) {
	in, _ = r.Skeleton.checkRow()
	return in, r.Out
}

// New draws the map, a *Map. It fails as Validate does, if the skeleton has fewer different features than
// Out, if the limit of draws is reached first, and if the features take more memory than the limits.
func (r Compositional) New() (features.Map, error) {
	g, book, limit, err := r.prepare()
	if err != nil {
		return nil, err
	}
	d, err := drawDistinct(g, book, r.Seed, r.Out, limit)
	if err != nil {
		return nil, err
	}
	return newMap(book, d, float32(r.Bound))
}

// Kernel returns k_S(x, z) for any sampler. It compiles the skeleton each time: for many pairs use
// PrepareKernel. It panics if a row has another length than the skeleton's.
func (r Compositional) Kernel(x, z []float32) float64 { return r.Skeleton.kernel(x, z) }

// PrepareKernel returns Kernel for a skeleton that is compiled once.
func (r Compositional) PrepareKernel() (func(x, z []float32) float64, error) {
	g, err := r.Skeleton.compile()
	if err != nil {
		return nil, err
	}
	return g.kernel, nil
}

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
func (o *Options) Load(read func(name string, limit int64) ([]byte, error)) (kernel.Options, error) {
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

// Validate returns an error that names the invalid option, or describes the fault of the skeleton.
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
