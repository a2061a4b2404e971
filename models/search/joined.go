package search

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/landmarks"
	"github.com/bochner-ml/bochner/features/preprocess"
)

// Joined holds the options of a kernel of fixed width together with additional features. Package search and its
// callers use it; it has no name and no options except features.
type Joined struct {
	Kernel   kernel.Options
	Features int `flag:"features,common"` // of all parts together, at most
	// Metric are steps before Kernel. They do not apply to Pair and PiecewiseLinear.
	Metric []features.Recipe
	// Pair returns the recipe of out features of two columns; nil for none. Pair and Kernel each get half of the
	// features that PiecewiseLinear leaves.
	Pair            func(out int, seed uint64) features.Recipe
	PiecewiseLinear *preprocess.Bins // piecewise-linear columns; nil for none
	// Landmarks replace random features of Kernel, whose recipe becomes their field Of; nil for random features.
	Landmarks *landmarks.Recipe
}

var _ kernel.Options = (*Joined)(nil)

// Validate returns an error if there are too few features.
func (o *Joined) Validate() error {
	if o.main() < leastMain {
		return errors.New("search: too few features for a kernel with additional ones")
	}
	return o.Kernel.Validate()
}

// leastMain is the smallest number of features of a kernel with additional ones. Kernels have a multiple of it,
// as maps need.
const leastMain = 16

// main returns the number of features of Kernel.
func (o *Joined) main() int {
	n := o.Features
	if o.PiecewiseLinear != nil {
		_, out := o.PiecewiseLinear.Dims()
		n -= out
	}
	if o.Pair != nil {
		n /= 2
	}
	return n / leastMain * leastMain
}

// Size returns the size of the features.
func (o *Joined) Size(in int) kernel.Size {
	s := o.Kernel.Size(in)
	s.Features = o.Features
	return s
}

// Choose makes the recipe, with at most Features features.
func (o *Joined) Choose(d *kernel.Data) (*kernel.Choice, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	k, err := kernel.With(o.Kernel, "features", strconv.Itoa(o.main()))
	if err != nil {
		return nil, err
	}
	c, err := k.Choose(d)
	if err != nil {
		return nil, err
	}
	draw := c.Draw
	c.Recipe = o.join(c.Recipe, o.main(), d.Seed)
	if o.Landmarks != nil {
		c.Wide, c.Draw, c.Summary = true, nil, fmt.Sprintf("%s, %d landmarks", c.Summary, o.landmarks(o.main()))
		return c, nil
	}
	c.Draw = func(out int, seed uint64) features.Recipe {
		options := *o
		options.Features = out
		return options.join(draw(options.main(), seed), options.main(), seed)
	}
	return c, nil
}

// landmarks returns the number of landmarks, given the number of features of Kernel.
func (o *Joined) landmarks(features int) int { return min(features, o.Landmarks.Out) }

// join returns the recipe of a kernel with out features, joined with the additional ones.
func (o *Joined) join(main features.Recipe, out int, seed uint64) features.Recipe {
	if o.Landmarks != nil {
		at := *o.Landmarks
		at.Of, at.Out = main, o.landmarks(out)
		main = at
	}
	if len(o.Metric) > 0 {
		main = features.Chain{Steps: append(o.Metric[:len(o.Metric):len(o.Metric)], main)}
	}
	parts := []features.Recipe{main}
	if o.Pair != nil {
		parts = append(parts, o.Pair(out, seed))
	}
	if o.PiecewiseLinear != nil {
		parts = append(parts, *o.PiecewiseLinear)
	}
	return preprocess.Join{Parts: parts}
}

// joinedOf returns the additional features of a candidate for a fold. Kernel and Features are not set.
func (r *runner) joinedOf(e *trialled, fold int) (*Joined, error) {
	o := &Joined{}
	if e.metric != nil {
		o.Metric = []features.Recipe{e.metric[fold].recipe}
	}
	if e.PiecewiseLinear {
		o.PiecewiseLinear = r.views[e.View].piecewise()
	}
	if e.Pair > 0 {
		p, d := e.pairs[fold], r.views[e.View].d
		median, err := p.rows.median(kernel.Euclidean)
		if err != nil {
			return nil, err
		}
		width := float64(e.Pair * median)
		o.Pair = func(out int, seed uint64) features.Recipe { return p.recipe(d, out, width, seed) }
	}
	return o, nil
}

// addJoined adds the kernels of the additional features to the kernel matrix.
func (t *foldTrial) addJoined() error {
	e, m := t.e, t.e.matrix
	if e.Pair > 0 {
		p := e.pairs[t.fold]
		median, err := p.rows.median(kernel.Euclidean)
		if err != nil {
			return err
		}
		matrix := newKernelMatrix(fourier.GaussianAt, p.rows.distances(kernel.Euclidean, m.radialRows, t.threads),
			float64(e.Pair*median), grow(&t.memory.pair, len(m.K)))
		for i, v := range matrix.K {
			m.K[i] += v
		}
	}
	if !e.PiecewiseLinear {
		return nil
	}
	v := t.views[e.View]
	piecewise := v.piecewise()
	made, err := piecewise.New()
	if err != nil {
		return err
	}
	_, out := piecewise.Dims()
	phi := make([]float32, m.N*out)
	made.Apply(phi, m.gather(v.x, v.d), m.N)
	m.addProducts(phi, out, t.threads)
	return nil
}
