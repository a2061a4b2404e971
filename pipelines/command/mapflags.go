package command

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines"
)

// mapFlags are the flags of every job that takes rows to the features of a kernel.
type mapFlags struct {
	data  dataFlags
	jobs  jobFlags
	opts  pipelines.MapOptions
	scale string
	// skeleton is the name of a file.
	skeleton string
}

func (f *mapFlags) register(fs *pflag.FlagSet) {
	f.data.register(fs)
	fs.StringVar(&f.opts.Task, "task", "auto", "What the labels are: classification, regression, or auto: up to 100 different whole numbers and any text are classes, other numbers are targets.")
	fs.StringVar(&f.scale, "scale", "auto", "How to prepare rows, a chain of: a number to divide by, standard, minmax, unit, none; of images crop:SIZE, gray, whiten, hog, patchpca:SIZE:STRIDE:KEEP. auto divides images by 255, standardises CSV and TSV, and leaves LIBSVM as it is.")
	k := &f.opts.Kernel
	fs.StringVar(&k.Name, "kernel", "gaussian", "Kernel: "+strings.Join(pipelines.Kernels(), ", ")+".")
	fs.StringVar(&k.Width, "width", "median", "Width σ of the kernel in units of the scaled rows: a number, median (distance of two rows), or scale (scikit-learn's gamma=\"scale\").")
	fs.Float64Var(&k.Gamma, "gamma", 0, "Instead of --width: γ of exp(-γ‖x-z‖²) (gaussian) or exp(-γ‖x-z‖₁) (laplace).")
	fs.Float64Var(&k.Nu, "nu", 1.5, "Smoothness ν of the Matérn kernel.")
	fs.IntVar(&k.Features, "features", pipelines.DefaultFeatures, "Number of random features.")
	fs.StringVar(&k.Draw, "draw", "iid", "How the frequencies of the gaussian kernel are drawn: iid, orthogonal (less error), structured (faster on long rows).")
	fs.IntVar(&k.Q, "q", 4, "Projections of a unit of the maxout kernel.")
	fs.IntVar(&k.Pool, "pool", 0, "Projections that the units of the maxout kernel share; 0 for projections of their own.")
	fs.StringVar(&f.skeleton, "skeleton", "", "YAML or JSON file of the computation skeleton whose kernel --kernel skeleton is.")
	fs.BoolVar(&k.Hybrid, "hybrid", false, "Draw the hybrid baseline of a skeleton: random features down to the lowest layer, Fourier features there.")
	fs.StringVar(&k.Frequencies, "frequencies", "", "Directory with the features of --kernel learned or harmonic that bochner align has found. They hold how rows are prepared.")
	fs.StringVar(&k.Form, "form", "paired", "Form of the features: paired (cos and sin of each frequency) or offset (cos with a random phase).")
	fs.Uint64Var(&f.opts.Seed, "seed", 1, "Seed of the features, the folds and the sample.")
}

// maxSkeleton bounds the size of a skeleton file.
const maxSkeleton = 64 << 20

// options returns what the flags say.
func (f *mapFlags) options(cmd *cobra.Command) (o pipelines.MapOptions, err error) {
	if f.skeleton != "" {
		if f.opts.Kernel.Skeleton, err = storage.ReadFile(cmd.Context(), f.skeleton, maxSkeleton); err != nil {
			return o, err
		}
	}
	f.opts.Data, f.opts.MaxBadFraction = f.data.opts, f.data.maxBad
	f.opts.Scale = strings.Split(f.scale, ",")
	f.opts.Job = f.jobs.job(cmd)
	return f.opts, nil
}
