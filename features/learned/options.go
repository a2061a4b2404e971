package learned

import (
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
)

// Options are the options of the kernel of learned frequencies. The zero value learns
// frequencies for kernel.DefaultFeatures features, beginning with frequencies of a Gaussian kernel of the median width.
type Options struct {
	Frequencies string       `flag:"frequencies" placeholder:"DIR" help:"Directory with the features that bochner align learned, for --kernel learned or harmonic. It includes the preprocessing."`
	Width       kernel.Width `flag:"width,common" placeholder:"NUMBER"`
	Gamma       float64      `flag:"gamma" help:"Alternative to --width: γ in exp(-γ‖x-z‖²) (gaussian) or exp(-γ‖x-z‖₁) (laplace)."`
	Features    int          `flag:"features,common" help:"Number of random features. More features are more accurate and slower."`
	Form        fourier.Form `flag:"form"`
}

var _ kernel.LearnedKernel = (*Options)(nil)

// Directory returns the directory of frequencies that were found earlier, "" to search for them.
func (o *Options) Directory() string { return o.Frequencies }

// Start returns the options of the Gaussian kernel that the search starts from.
func (o *Options) Start() kernel.Options {
	return &fourier.GaussianOptions{Width: o.Width, Gamma: o.Gamma, Features: o.Features, Form: o.Form}
}

// Count returns the number of frequencies of the features.
func (o *Options) Count() int {
	out := kernel.Count(o.Features)
	if o.Form == fourier.Paired {
		return out / 2
	}
	return out
}

// Validate returns an error that names the invalid option.
func (o *Options) Validate() error {
	if o.Frequencies != "" {
		return nil // the directory determines the rest
	}
	return o.Start().Validate()
}

// Size returns the size of the features.
func (o *Options) Size(in int) kernel.Size { return o.Start().Size(in) }

// Choose chooses the kernel that the search starts from.
func (o *Options) Choose(d *kernel.Data) (*kernel.Choice, error) { return o.Start().Choose(d) }
