package linear

import (
	"github.com/bochner-ml/bochner/features/kernel"
)

// Options are the options of the linear kernel, which has none.
type Options struct{}

// Validate returns nil.
func (*Options) Validate() error { return nil }

// Size returns the size of the features: as many as columns.
func (*Options) Size(in int) kernel.Size { return kernel.Size{Features: in} }

// Choose makes the recipe, with the ranges of the columns.
func (*Options) Choose(d *kernel.Data) (*kernel.Choice, error) {
	low, high, err := d.Ranges()
	if err != nil {
		return nil, err
	}
	return &kernel.Choice{Recipe: Identity{In: d.In, Low: low, High: high}, Summary: "linear kernel", Wide: true}, nil
}
