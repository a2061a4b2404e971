package command

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
)

// mapFlags are the flags of every job that maps rows to the features of a kernel.
type mapFlags struct {
	data    dataFlags
	table   tableFlags
	jobs    jobFlags
	kernels kernelFlags
	opts    prepare.Spec
	scale   string
}

// register adds the flags; kernel is the default of --kernel.
func (f *mapFlags) register(fs *pflag.FlagSet, kernel string) {
	f.data.register(fs)
	f.table.register(fs)
	for _, o := range option.List(&f.opts.Encode) {
		addOption(fs, o)
	}
	fs.StringVar(&f.opts.Task, "task", "auto", "Task: classification, regression or auto. With auto, texts are classes, and so are up to 10 distinct whole numbers, or up to 100 that count from 0 or 1; other numbers are targets.")
	fs.StringVar(&f.scale, "scale", "auto", "Preprocessing steps, separated by commas: a number to divide by, standard, minmax, unit, none; for images also crop:SIZE, gray, whiten, hog, patchpca:SIZE:STRIDE:KEEP. auto divides images by 255, standardises CSV and TSV, and leaves LIBSVM unchanged.")
	f.kernels.register(fs, kernel)
	fs.Uint64Var(&f.opts.Seed, "seed", 1, "Random seed of features, folds and samples.")
}

// options returns the options that the flags set.
func (f *mapFlags) options(cmd *cobra.Command) (o prepare.Spec, err error) {
	if f.opts.Kernel, err = f.kernels.chosen(); err != nil {
		return o, err
	}
	f.opts.Data, f.opts.MaxBadFraction = f.data.opts, f.data.maxBad
	f.table.into(&f.opts.Data)
	f.opts.Types = f.table.types
	f.opts.Scale = strings.Split(f.scale, ",")
	f.opts.Job = f.jobs.job(cmd)
	return f.opts, nil
}
