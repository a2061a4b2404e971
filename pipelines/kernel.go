package pipelines

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/bandwidth"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/profile"
)

// KernelOptions says which kernel the features approximate.
type KernelOptions struct {
	Name     string  // gaussian (default), laplace, cauchy, matern
	Width    string  // median (default), scale, or a number > 0 in units of the scaled rows
	Gamma    float64 // instead of Width: γ as scikit-learn has it; 0 for none
	Nu       float64 // of matern: smoothness ν > 0; 0 is 1.5
	Form     string  // paired (default) or offset
	Features int     // D; 0 is 4096
}

// DefaultFeatures is the number of features where none is given.
const DefaultFeatures = 4096

// family is what the command knows of a kernel: how to make its recipe.
type family struct {
	distance bandwidth.Distance // in which the median is taken, and whose γ --gamma is
	recipe   func(k KernelOptions, in int, width float64, form fourier.Form, seed uint64) features.Recipe
	gamma    bool // the field has a γ for it
}

var families = map[string]family{
	"gaussian": {bandwidth.Euclidean, func(k KernelOptions, in int, w float64, f fourier.Form, seed uint64) features.Recipe {
		return fourier.Gaussian{In: in, Out: k.Features, Width: w, Form: f, Seed: seed}
	}, true},
	"laplace": {bandwidth.L1, func(k KernelOptions, in int, w float64, f fourier.Form, seed uint64) features.Recipe {
		return fourier.Laplace{In: in, Out: k.Features, Width: w, Form: f, Seed: seed}
	}, true},
	"cauchy": {bandwidth.Euclidean, func(k KernelOptions, in int, w float64, f fourier.Form, seed uint64) features.Recipe {
		return fourier.Cauchy{In: in, Out: k.Features, Width: w, Form: f, Seed: seed}
	}, false},
	"matern": {bandwidth.Euclidean, func(k KernelOptions, in int, w float64, f fourier.Form, seed uint64) features.Recipe {
		return fourier.Matern{In: in, Out: k.Features, Width: w, Nu: k.Nu, Form: f, Seed: seed}
	}, false},
}

// Kernels lists the names of the kernels.
func Kernels() []string { return keys(families) }

func (k KernelOptions) withDefaults() KernelOptions {
	if k.Name == "" {
		k.Name = "gaussian"
	}
	if k.Width == "" {
		k.Width = "median"
	}
	if k.Nu == 0 {
		k.Nu = 1.5
	}
	if k.Form == "" {
		k.Form = "paired"
	}
	if k.Features == 0 {
		k.Features = DefaultFeatures
	}
	return k
}

// validate refuses what cannot be right whatever the data are.
func (k KernelOptions) validate() error {
	f, ok := families[k.Name]
	if !ok {
		return usage("unknown kernel %q%s; have %s", k.Name, DidYouMean(k.Name, Kernels()), strings.Join(Kernels(), ", "))
	}
	if k.Gamma != 0 {
		if !f.gamma {
			return usage("--gamma: the %s kernel has no γ; give --width", k.Name)
		}
		if _, err := bandwidth.FromGamma(k.Gamma, f.distance); err != nil {
			return &UsageError{err}
		}
	} else if _, err := k.number(); err != nil {
		return err
	}
	var form fourier.Form
	if err := form.UnmarshalText([]byte(k.Form)); err != nil {
		return usage("--form: %v", err)
	}
	if k.Features < 1 {
		return usage("--features must be at least 1 (have %d)", k.Features)
	}
	if form == fourier.Paired && k.Features%2 != 0 {
		return usage("--features must be even with --form paired, which has two for each frequency (have %d)", k.Features)
	}
	if err := features.Validate(f.recipe(k, 1, 1, form, 0)); err != nil {
		return &UsageError{err}
	}
	return nil
}

// number returns the width that is given as a number, 0 for one to be chosen.
func (k KernelOptions) number() (float64, error) {
	if k.Width == "median" || k.Width == "scale" {
		return 0, nil
	}
	w, err := strconv.ParseFloat(k.Width, 64)
	if err != nil || !(w > 0) || math.IsInf(w, 0) {
		return 0, usage("--width must be median, scale or a number > 0 (have %q)", k.Width)
	}
	return w, nil
}

// recipe is the recipe that was chosen for a data set.
type recipe struct {
	sealed features.Sealed
	dim    int // number of features
	width  float64
	name   string // for people: "gaussian, width 7"
}

// chooseRecipe makes the recipe of scalings and kernel, with the statistics that
// the profile found.
func chooseRecipe(o MapOptions, schema dataset.Schema, p *profile.Profile, sum *profile.Sum) (recipe, error) {
	k := o.Kernel
	f := families[k.Name]
	scaled, err := chooseScale(o.Scale, schema, p)
	if err != nil {
		return recipe{}, err
	}
	width, how := 0.0, ""
	switch {
	case k.Gamma != 0:
		how = fmt.Sprintf(" (γ = %g)", k.Gamma)
		if width, err = bandwidth.FromGamma(k.Gamma, f.distance); err != nil {
			return recipe{}, &UsageError{err}
		}
	case k.Width == "median":
		how = " (median distance)"
		x, n, d := sum.Sample()
		if err := scaled.apply(x, n); err != nil {
			return recipe{}, err
		}
		if width, err = bandwidth.Median(x, n, d, f.distance); err != nil {
			return recipe{}, &DataError{err}
		}
	case k.Width == "scale":
		how = " (scale)"
		if !scaled.known {
			return recipe{}, usage("--width scale takes the variance of the scaled columns, which unit has changed; give median or a number")
		}
		if width, err = bandwidth.Scale(p.Dim, scaled.varianceAll()); err != nil {
			return recipe{}, &DataError{err}
		}
	default:
		if width, err = k.number(); err != nil {
			return recipe{}, err
		}
	}
	var form fourier.Form
	if err := form.UnmarshalText([]byte(k.Form)); err != nil {
		return recipe{}, &UsageError{err}
	}
	chain := features.Chain{Steps: append(scaled.steps, f.recipe(k, p.Dim, width, form, o.Seed))}
	sealed, err := features.Seal(chain)
	if err != nil {
		return recipe{}, &UsageError{err}
	}
	name := fmt.Sprintf("%s kernel, width %.4g%s", k.Name, width, how)
	if k.Name == "matern" {
		name = fmt.Sprintf("%s kernel, nu %g, width %.4g%s", k.Name, k.Nu, width, how)
	}
	return recipe{sealed: sealed, dim: k.Features, width: width, name: name}, nil
}
