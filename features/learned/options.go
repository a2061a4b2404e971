package learned

import (
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
)

// Options are the options of the kernel "learned". The zero value learns the frequencies of
// kernel.DefaultFeatures features. The search for them starts from frequencies of the Gaussian
// kernel whose width is the median distance of two rows.
type Options struct {
	Frequencies string       `flag:"frequencies" placeholder:"DIR" help:"Directory with the features that bochner align learned, for --kernel learned or harmonic. It includes the preprocessing."`
	Width       kernel.Width `flag:"width,common" placeholder:"NUMBER"`
	Gamma       float64      `flag:"gamma" help:"Alternative to --width: γ in exp(-γ‖x-z‖²) (gaussian) or exp(-γ‖x-z‖₁) (laplace)."`
	Features    int          `flag:"features,common" help:"Number of random features. More features are more accurate and slower."`
	Form        fourier.Form `flag:"form"`
}

var _ kernel.LearnedKernel = (*Options)(nil)

// Directory returns the directory of frequencies that were found earlier, or "" if they are still
// to be found.
func (o *Options) Directory() string { return o.Frequencies }

// Start returns the options of the Gaussian kernel whose frequencies the search starts from.
func (o *Options) Start() kernel.Options {
	return &fourier.GaussianOptions{Width: o.Width, Gamma: o.Gamma, Features: o.Features, Form: o.Form}
}

// Count returns the number of frequencies: half the number of features in the paired form.
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

// Size returns the number of features and the memory that they need, in bytes.
func (o *Options) Size(in int) kernel.Size { return o.Start().Size(in) }

// Choose chooses the Gaussian kernel of Start for the data.
func (o *Options) Choose(d *kernel.Data) (*kernel.Choice, error) { return o.Start().Choose(d) }
