// Package recipe makes the recipe of features for a data set, from the options of a kernel,
// a chain of scalings, and what a profile found.
package recipe

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/bandwidth"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// Recipe is the recipe that was chosen for a data set.
type Recipe struct {
	Sealed features.Sealed
	Dim    int     // number of features
	Width  float64 // of the kernel; 0 for one without
	Name   string  // for people: "gaussian kernel, width 7"
	Reach  float64 // how many times the bound of the grid features may be; 0 is once
	// files are what the recipe needs beside itself, for the directory of a model.
	Files []storage.File
	// origin is that of learned features which were not found in this job; else nil.
	Origin *Origin

	Family  family
	Scaling *scaling
	Mapping Mapping
}

// Of returns the recipe of another map of the same kernel on the same data.
func (r Recipe) Of(change func(*Mapping)) features.Recipe {
	m := r.Mapping
	change(&m)
	return features.Chain{Steps: append(r.Scaling.Steps[:len(r.Scaling.Steps):len(r.Scaling.Steps)], r.Family.Recipe(m))}
}

// Choose makes the recipe of scalings and kernel, with the statistics that
// the profile found.
func Choose(k KernelOptions, chain []string, seed uint64, schema dataset.Schema, p *profile.Profile, sum *profile.Sum) (r Recipe, err error) {
	r.Family = Families[k.Name]
	if r.Scaling, err = chooseScale(chain, schema, p, sum); err != nil {
		return r, err
	}
	if r.Mapping, err = k.Mapping(); err != nil {
		return r, err
	}
	dim := r.Scaling.Dim
	if r.Mapping.Skeleton != nil && r.Mapping.In != dim {
		return r, exit.Refuse("pipelines: the skeleton takes rows of %d numbers, the data have %d", r.Mapping.In, dim)
	}
	r.Mapping.In, r.Mapping.Seed = dim, seed
	if r.Family.Fixed {
		r.Mapping.Features = dim
	}
	r.Name = k.Name + " kernel"
	if s := r.Mapping.Skeleton; s != nil {
		c, err := s.Complexity()
		if err != nil {
			return r, &exit.UsageError{Err: err}
		}
		r.Name += fmt.Sprintf(" of complexity %.4g", c)
	}
	if k.Name == "maxout" {
		r.Name += fmt.Sprintf(", q = %d", k.Q)
	}
	if r.Family.widths {
		if err := r.chooseWidth(k); err != nil {
			return r, err
		}
	}
	if r.Family.Bounded {
		if err := r.chooseBound(p.Rows, sum); err != nil {
			return r, err
		}
	}
	if r.Family.Ranged {
		if err := r.chooseRanges(); err != nil {
			return r, err
		}
	}
	whole := r.Of(func(*Mapping) {})
	if r.Sealed, err = features.Seal(whole); err != nil {
		return r, &exit.UsageError{Err: err}
	}
	_, r.Dim, err = features.Dims(whole)
	return r, err
}

// chooseWidth finds the width of the kernel in units of the scaled rows.
func (r *Recipe) chooseWidth(k KernelOptions) (err error) {
	how := ""
	switch {
	case k.Gamma != 0:
		how = fmt.Sprintf(" (γ = %g)", k.Gamma)
		if r.Width, err = bandwidth.FromGamma(k.Gamma, r.Family.distance); err != nil {
			return &exit.UsageError{Err: err}
		}
	case k.Width == "median":
		how = " (median distance)"
		x, n, err := r.Scaling.Sample()
		if err != nil {
			return err
		}
		if r.Width, err = bandwidth.Median(x, n, r.Scaling.Dim, r.Family.distance); err != nil {
			return &exit.DataError{Err: err}
		}
	case k.Width == "scale":
		how = " (scale)"
		if !r.Scaling.known {
			return exit.Usage("--width scale takes statistics of the columns, which a step of --scale has mixed; give median or a number")
		}
		if r.Width, err = bandwidth.Scale(r.Scaling.Dim, r.Scaling.varianceAll()); err != nil {
			return &exit.DataError{Err: err}
		}
	default:
		if r.Width, err = k.number(); err != nil {
			return err
		}
	}
	r.Mapping.width = r.Width
	if k.Name == "matern" {
		r.Name += fmt.Sprintf(", nu %g", k.Nu)
	}
	r.Name += fmt.Sprintf(", width %.4g%s", r.Width, how)
	if k.Draw != "iid" {
		r.Name += ", " + k.Draw
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
func (r *Recipe) chooseBound(rows int64, sum *profile.Sum) error {
	x, n, d := sum.Sample()
	n = min(n, boundRows)
	m, err := r.Of(func(*Mapping) {}).New()
	if err != nil {
		return &exit.UsageError{Err: err}
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
		return exit.Refuse("pipelines: all features of the sample are zero: there is nothing to learn from")
	}
	// With bound 1 the features reach to 127 steps.
	r.Mapping.bound = headroom * float64(largest) / (127 * g.Step())
	r.Reach = beyond
	if norm, known := r.Scaling.norm(); known {
		r.Reach = r.Family.most(r.Mapping) * norm / r.Mapping.bound
		// All features must be on the grid, and their sums exact.
		if most := min(blas.MaxSteps, math.Sqrt((1<<53)/float64(rows))) / blas.MostByte; r.Reach > most {
			r.Mapping.bound *= r.Reach / most
			r.Reach = most
		}
	}
	return nil
}

// chooseRanges finds the ranges of the scaled columns: those of all rows, where each
// column is scaled by itself.
func (r *Recipe) chooseRanges() error {
	low, high, err := r.Scaling.ranges()
	if err != nil {
		return err
	}
	r.Mapping.low, r.Mapping.high = low, high
	return nil
}

// Origin tells from which rows learned features were found.
type Origin struct {
	Held int    // parts the rows were cut into, the first of which was not looked at; 0 for none
	Seed uint64 // of the parts
	Rows string // a digest of the rows, whatever the seed; "" of older versions

	Fingerprint string // of the rows by that seed
}
