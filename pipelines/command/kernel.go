package command

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/options"
)

func kernelCommand() *cobra.Command {
	o := options.NewCompareKernel()
	kernels := newKernels("gaussian")
	cmd := newCommand("kernel", &o, func(cmd *cobra.Command, _ []string) (_ io.WriterTo, err error) {
		if o.Kernel, err = kernels.chosen(); err != nil {
			return nil, err
		}
		return pipelines.CompareKernel(cmd.Context(), o)
	}, kernels.flags()...)
	draw := cmd.Flags().Lookup("draw")
	opt := optionOf(draw)
	opt.Values = append(slices.Clone(opt.Values), "all")
	opt.Common = true
	draw.Value = allValue{opt, &o.All}
	return cmd
}

// allValue is the value of a flag that also accepts the word all, which no kernel option accepts.
type allValue struct {
	*option.Option
	all *bool
}

func (v allValue) Set(text string) error {
	*v.all = text == "all"
	if *v.all {
		return nil
	}
	return v.Option.Set(text)
}

func (v allValue) String() string {
	if v.all != nil && *v.all {
		return "all"
	}
	return v.Option.String()
}
