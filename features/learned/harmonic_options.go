package learned

import (
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
)

// HarmonicOptions are the options of the kernel "harmonic". The zero value chooses a harmonic
// kernel.DefaultFeatures times. Width and Gamma do not affect the harmonics.
type HarmonicOptions struct {
	Frequencies string       `flag:"frequencies" placeholder:"DIR" help:"Directory with the features that bochner align learned, for --kernel learned or harmonic. It includes the preprocessing."`
	Width       kernel.Width `flag:"width,common" placeholder:"NUMBER"`
	Gamma       float64      `flag:"gamma" help:"Alternative to --width: γ in exp(-γ‖x-z‖²) (gaussian) or exp(-γ‖x-z‖₁) (laplace)."`
	Features    int          `flag:"features,common" help:"Number of random features. More features are more accurate and slower."`
}

var _ kernel.LearnedKernel = (*HarmonicOptions)(nil)

// Directory returns the directory of harmonics that were chosen earlier, or "" if they are still to
// be chosen.
func (o *HarmonicOptions) Directory() string { return o.Frequencies }

// Start returns the options of a Gaussian kernel with the same number of features. It stands for
// the harmonics until these are chosen, and reports show its width.
func (o *HarmonicOptions) Start() kernel.Options {
	return &fourier.GaussianOptions{Width: o.Width, Gamma: o.Gamma, Features: o.Features, Form: fourier.Offset}
}

// Count returns how many times a harmonic is chosen. A harmonic may be chosen again, so there can
// be fewer features.
func (o *HarmonicOptions) Count() int { return kernel.Count(o.Features) }

// Validate returns an error that names the invalid option.
func (o *HarmonicOptions) Validate() error {
	if o.Frequencies != "" {
		return nil // the directory determines the rest
	}
	return o.Start().Validate()
}

// Size returns the number of features and the memory that they need, in bytes.
func (o *HarmonicOptions) Size(in int) kernel.Size {
	n := int64(o.Count())
	return kernel.Size{Features: int(n), Map: 200 * n, Row: 4 * n}
}

// Choose chooses the Gaussian kernel of Start for the data.
func (o *HarmonicOptions) Choose(d *kernel.Data) (*kernel.Choice, error) { return o.Start().Choose(d) }
