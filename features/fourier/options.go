package fourier

import (
	"fmt"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/option"
)

// choice holds the options that the kernels share.
type choice struct {
	name     string
	distance kernel.Distance
	width    kernel.Width
	gamma    float64 // instead of width; 0 means that width counts
	features int     // 0 is kernel.DefaultFeatures
	form     Form
	draw     Draw
	// shape is the part of the summary between name and width, such as ", nu 2.5".
	shape  string
	recipe func(in, out int, width float64, seed uint64) features.Recipe
}

func (c choice) out() int { return kernel.Count(c.features) }

func (c choice) validate() error {
	if c.gamma != 0 {
		if c.width != kernel.Median {
			return option.Errorf("gamma", "cannot be used with --width: give one of them")
		}
		if _, err := kernel.FromGamma(c.gamma, c.distance); err != nil {
			return option.Errorf("gamma", "must be a number > 0 (have %v)", c.gamma)
		}
	} else if err := c.width.Validate(); err != nil {
		return err
	}
	switch out := c.out(); {
	case out < 1:
		return option.Errorf("features", "must be at least 1 (have %d)", out)
	case c.form == Paired && out%2 != 0:
		return option.Errorf("features", "must be even in the paired form, which has two for each frequency (have %d)", out)
	}
	return c.recipe(1, c.out(), 1, 0).Validate()
}

func (c choice) size(in int) kernel.Size {
	d := draw{out: c.out(), form: c.form}
	s := kernel.Size{Features: c.out(), Map: 4 * int64(in) * int64(d.frequencies()), Most: 4 * maxValues}
	s.TakesShort = c.draw != Structured
	if !s.TakesShort {
		s.Map, s.Most = 32*int64(c.out()+in), 0
	}
	return s
}

func (c choice) choose(d *kernel.Data) (*kernel.Choice, error) {
	width, how, err := c.chooseWidth(d)
	if err != nil {
		return nil, err
	}
	summary := fmt.Sprintf("%s kernel%s, %s", c.name, c.shape, how)
	if c.draw != Iid {
		summary += ", " + c.draw.String()
	}
	drawn := func(out int, seed uint64) features.Recipe { return c.recipe(d.In, out, width, seed) }
	return &kernel.Choice{Recipe: drawn(c.out(), d.Seed), Summary: summary, Width: width, Draw: drawn}, nil
}

func (c choice) chooseWidth(d *kernel.Data) (width float64, summary string, err error) {
	if c.gamma == 0 {
		return c.width.Choose(d, c.distance)
	}
	width, err = kernel.FromGamma(c.gamma, c.distance)
	return width, fmt.Sprintf("width %.4g (γ = %g)", width, c.gamma), err
}
