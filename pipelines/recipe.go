package pipelines

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/bandwidth"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/profile"
)

// recipe is the recipe that was chosen for a data set.
type recipe struct {
	sealed features.Sealed
	dim    int     // number of features
	width  float64 // of the kernel; 0 for one without
	name   string  // for people: "gaussian kernel, width 7"
	reach  float64 // how many times the bound of the grid features may be; 0 is once
	// files are what the recipe needs beside itself, for the directory of a model.
	files []storage.File
	// origin is that of learned features which were not found in this job; else nil.
	origin *origin

	family  family
	scaling *scaling
	mapping mapping
}

// of returns the recipe of another map of the same kernel on the same data.
func (r recipe) of(change func(*mapping)) features.Recipe {
	m := r.mapping
	change(&m)
	return features.Chain{Steps: append(r.scaling.steps[:len(r.scaling.steps):len(r.scaling.steps)], r.family.recipe(m))}
}

// chooseRecipe makes the recipe of scalings and kernel, with the statistics that
// the profile found.
func chooseRecipe(k KernelOptions, chain []string, seed uint64, schema dataset.Schema, p *profile.Profile, sum *profile.Sum) (r recipe, err error) {
	r.family = families[k.Name]
	if r.scaling, err = chooseScale(chain, schema, p, sum); err != nil {
		return r, err
	}
	if r.mapping, err = k.mapping(); err != nil {
		return r, err
	}
	dim := r.scaling.dim
	if r.mapping.skeleton != nil && r.mapping.in != dim {
		return r, refuse("pipelines: the skeleton takes rows of %d numbers, the data have %d", r.mapping.in, dim)
	}
	r.mapping.in, r.mapping.seed = dim, seed
	if r.family.fixed {
		r.mapping.Features = dim
	}
	r.name = k.Name + " kernel"
	if s := r.mapping.skeleton; s != nil {
		c, err := s.Complexity()
		if err != nil {
			return r, &UsageError{err}
		}
		r.name += fmt.Sprintf(" of complexity %.4g", c)
	}
	if k.Name == "maxout" {
		r.name += fmt.Sprintf(", q = %d", k.Q)
	}
	if r.family.widths {
		if err := r.chooseWidth(k); err != nil {
			return r, err
		}
	}
	if r.family.bounded {
		if err := r.chooseBound(p.Rows, sum); err != nil {
			return r, err
		}
	}
	if r.family.ranged {
		if err := r.chooseRanges(); err != nil {
			return r, err
		}
	}
	whole := r.of(func(*mapping) {})
	if r.sealed, err = features.Seal(whole); err != nil {
		return r, &UsageError{err}
	}
	_, r.dim, err = features.Dims(whole)
	return r, err
}

// chooseWidth finds the width of the kernel in units of the scaled rows.
func (r *recipe) chooseWidth(k KernelOptions) (err error) {
	how := ""
	switch {
	case k.Gamma != 0:
		how = fmt.Sprintf(" (γ = %g)", k.Gamma)
		if r.width, err = bandwidth.FromGamma(k.Gamma, r.family.distance); err != nil {
			return &UsageError{err}
		}
	case k.Width == "median":
		how = " (median distance)"
		x, n, err := r.scaling.sample()
		if err != nil {
			return err
		}
		if r.width, err = bandwidth.Median(x, n, r.scaling.dim, r.family.distance); err != nil {
			return &DataError{err}
		}
	case k.Width == "scale":
		how = " (scale)"
		if !r.scaling.known {
			return usage("--width scale takes statistics of the columns, which a step of --scale has mixed; give median or a number")
		}
		if r.width, err = bandwidth.Scale(r.scaling.dim, r.scaling.varianceAll()); err != nil {
			return &DataError{err}
		}
	default:
		if r.width, err = k.number(); err != nil {
			return err
		}
	}
	r.mapping.width = r.width
	if k.Name == "matern" {
		r.name += fmt.Sprintf(", nu %g", k.Nu)
	}
	r.name += fmt.Sprintf(", width %.4g%s", r.width, how)
	if k.Draw != "iid" {
		r.name += ", " + k.Draw
	}
	return nil
}

// headroom is by how much the bound of features is above the largest on the
// sample. Features beyond it cost time and lose nothing.
const headroom = 1.25

// boundRows is how many rows of the sample the bound is found on.
const boundRows = 256

// beyond is how far features may lie beyond the bound, or columns beyond the range of the
// sample, where nothing better is known. A row that goes further ends the job.
const beyond = 16

// chooseBound finds the largest feature of the rows of the sample, and how far those
// of all rows may be beyond it.
func (r *recipe) chooseBound(rows int64, sum *profile.Sum) error {
	x, n, d := sum.Sample()
	n = min(n, boundRows)
	m, err := r.of(func(*mapping) {}).New()
	if err != nil {
		return &UsageError{err}
	}
	g, ok := m.(features.Gridded)
	if !ok {
		panic("pipelines: a map without a grid needs no bound")
	}
	_, dim := m.Dims()
	phi := make([]float32, dim)
	var largest float32
	for i := range n {
		m.Apply(phi, x[i*d:], 1)
		for _, v := range phi {
			largest = max(largest, v, -v)
		}
	}
	if largest == 0 {
		return refuse("pipelines: all features of the sample are zero: there is nothing to learn from")
	}
	// With bound 1 the features reach to 127 steps.
	r.mapping.bound = headroom * float64(largest) / (127 * g.Step())
	r.reach = beyond
	if norm, known := r.scaling.norm(); known {
		r.reach = r.family.most(r.mapping) * norm / r.mapping.bound
		// All features must be on the grid, and their sums exact.
		if most := min(blas.MaxSteps, math.Sqrt((1<<53)/float64(rows))) / blas.MostByte; r.reach > most {
			r.mapping.bound *= r.reach / most
			r.reach = most
		}
	}
	return nil
}

// chooseRanges finds the ranges of the scaled columns: those of all rows, where each
// column is scaled by itself.
func (r *recipe) chooseRanges() error {
	low, high, err := r.scaling.ranges()
	if err != nil {
		return err
	}
	r.mapping.low, r.mapping.high = low, high
	return nil
}
