package skeleton

import (
	"fmt"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
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
		return fail("unknown sampler %q; have hybrid, or none for that of Algorithm 1", r.Sampler)
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
		for _, u := range g.of(v) {
			sum += e[u]
		}
		if slope := g.duals[g.nodes[v].dual].slope; slope > 0 {
			e[v] = slope * sum / float64(len(g.of(v)))
		}
	}
	return e[g.output]
}

// Validate returns an error that names the wrong node, layer or field.
func (r Compositional) Validate() error {
	_, _, _, err := r.prepare()
	return err
}

// Dims returns the row length and the number of features of a valid recipe.
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

// Kernel returns k_S(x, z), whatever the sampler. It compiles the skeleton each time: for many pairs use
// Prepare. It panics if a row has another length than the skeleton's.
func (r Compositional) Kernel(x, z []float32) float64 { return r.Skeleton.kernel(x, z) }

// Prepare returns Kernel for a skeleton that is compiled once. The function returns NaN if the skeleton is
// not valid.
func (r Compositional) Prepare() (kernel func(x, z []float32) float64) {
	g, err := r.Skeleton.compile()
	if err != nil {
		return r.Kernel
	}
	return g.kernel
}
