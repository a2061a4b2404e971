package command

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/prepare"
	"github.com/bochner-ml/bochner/pipelines/recipe"
)

// mapFlags are the flags of every job that takes rows to the features of a kernel.
type mapFlags struct {
	data  dataFlags
	jobs  jobFlags
	opts  prepare.Spec
	scale string
	// skeleton is the name of a file.
	skeleton string
}

func (f *mapFlags) register(fs *pflag.FlagSet) {
	f.data.register(fs)
	fs.StringVar(&f.opts.Task, "task", "auto", "Task: classification, regression or auto. With auto, text and up to 100 distinct whole numbers are classes; other numbers are targets.")
	fs.StringVar(&f.scale, "scale", "auto", "Preprocessing steps, separated by commas: a number to divide by, standard, minmax, unit, none; for images also crop:SIZE, gray, whiten, hog, patchpca:SIZE:STRIDE:KEEP. auto divides images by 255, standardises CSV and TSV, and leaves LIBSVM unchanged.")
	k := &f.opts.Kernel
	fs.StringVar(&k.Name, "kernel", "gaussian", "Kernel: "+strings.Join(recipe.Kernels(), ", ")+".")
	fs.StringVar(&k.Width, "width", "median", "Kernel width σ, in units of the scaled rows: a number, median (the median distance between rows) or scale (scikit-learn's gamma=\"scale\").")
	fs.Float64Var(&k.Gamma, "gamma", 0, "Alternative to --width: γ in exp(-γ‖x-z‖²) (gaussian) or exp(-γ‖x-z‖₁) (laplace).")
	fs.Float64Var(&k.Nu, "nu", 1.5, "Smoothness ν of the Matérn kernel.")
	fs.IntVar(&k.Features, "features", recipe.DefaultFeatures, "Number of random features. More features are more accurate and slower.")
	fs.StringVar(&k.Draw, "draw", "iid", "How frequencies of the gaussian kernel are drawn: iid, orthogonal (smaller error), structured (faster for long rows).")
	fs.IntVar(&k.Q, "q", 4, "Projections per unit of the maxout kernel.")
	fs.IntVar(&k.Pool, "pool", 0, "Number of projections that the units of the maxout kernel share; 0 gives each unit its own.")
	fs.StringVar(&f.skeleton, "skeleton", "", "YAML or JSON file with the computation skeleton of --kernel skeleton.")
	fs.BoolVar(&k.Hybrid, "hybrid", false, "Use the hybrid baseline for a skeleton: Fourier features in the lowest layer, random features above it.")
	fs.StringVar(&k.Frequencies, "frequencies", "", "Directory with the features that bochner align learned, for --kernel learned or harmonic. It includes the preprocessing.")
	fs.StringVar(&k.Form, "form", "paired", "Form of the features: paired (cosine and sine of each frequency) or offset (cosine with a random phase).")
	fs.Uint64Var(&f.opts.Seed, "seed", 1, "Random seed of features, folds and samples.")
}

// maxSkeleton bounds the size of a skeleton file.
const maxSkeleton = 64 << 20

// options returns what the flags say.
func (f *mapFlags) options(cmd *cobra.Command) (o prepare.Spec, err error) {
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
