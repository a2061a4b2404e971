package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/features/synthetic"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/twosample"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/plan"
)

// jobCommand returns the command of a job that takes only its options.
func jobCommand[O any, R io.WriterTo](name string, o *O, job func(context.Context, O) (R, error)) *cobra.Command {
	return newCommand(name, o, func(cmd *cobra.Command, _ []string) (io.WriterTo, error) {
		return job(cmd.Context(), *o)
	})
}

func alignCommand() *cobra.Command {
	o := options.NewAlign()
	kernels := newKernels("learned")
	cmd := newCommand("align", &o, func(cmd *cobra.Command, _ []string) (_ io.WriterTo, err error) {
		if o.Kernel, err = kernels.chosen(); err != nil {
			return nil, err
		}
		return pipelines.Align(cmd.Context(), o)
	}, kernels.flags()...)
	cmd.Flags().Lookup("kernel").Usage = "Kernel: learned or harmonic."
	showAlso(cmd, "align chains steps take align_rate sample")
	return cmd
}

func embedCommand() *cobra.Command {
	var o struct {
		options.Embed
		Plan bool `flag:"plan,common" group:"Job" help:"Read up to 64 MB of the data, print rows, columns, passes and a bound on the memory that the job uses, and exit."`
	}
	o.Embed = options.NewEmbed()
	kernels := newKernels("gaussian")
	return newCommand("embed", &o, func(cmd *cobra.Command, _ []string) (_ io.WriterTo, err error) {
		if o.Kernel, err = kernels.chosen(); err != nil {
			return nil, err
		}
		if o.Plan {
			return plan.Embedding(cmd.Context(), options.Train{Prepare: o.Prepare, Model: o.Model}, o.LearnerOptions)
		}
		return pipelines.Embed(cmd.Context(), o.Embed)
	}, kernels.flags()...)
}

func featurizeCommand() *cobra.Command {
	o := options.NewFeaturize()
	kernels := newKernels("gaussian")
	return newCommand("featurize", &o, func(cmd *cobra.Command, _ []string) (_ io.WriterTo, err error) {
		if o.Kernel, err = kernels.chosen(); err != nil {
			return nil, err
		}
		return pipelines.Featurize(cmd.Context(), o)
	}, kernels.flags()...)
}

func generateCommand() *cobra.Command {
	o := options.NewGenerate()
	cmd := newCommand("generate", &o, func(cmd *cobra.Command, args []string) (io.WriterTo, error) {
		o.Set = args[0]
		return pipelines.Generate(cmd.Context(), o)
	})
	var sets strings.Builder
	for _, s := range synthetic.Sets {
		writeEntry(&sets, s.Name, s.About, 16, unknownWidth)
	}
	cmd.Long = strings.Replace(cmd.Long, "{sets}", strings.TrimSuffix(sets.String(), "\n"), 1)
	cmd.Args = oneArgument("a data set", synthetic.Names())
	return cmd
}

func evaluateCommand() *cobra.Command {
	return jobCommand("evaluate", new(options.Evaluate), pipelines.Evaluate)
}

func reportCommand() *cobra.Command {
	var o options.Report
	cmd := newCommand("report", &o, func(cmd *cobra.Command, args []string) (io.WriterTo, error) {
		o.Model = args[0]
		return pipelines.Report(cmd.Context(), o)
	})
	cmd.Args = cobra.ExactArgs(1)
	return cmd
}

func compareCommand() *cobra.Command {
	return jobCommand("compare", new(options.CompareModels), pipelines.CompareModels)
}

func testCommand() *cobra.Command {
	o := options.NewTwoSample()
	kernels := newKernels("gaussian", "features", strconv.Itoa(twosample.Features))
	cmd := newCommand("test", &o, func(cmd *cobra.Command, args []string) (_ io.WriterTo, err error) {
		if o.Recipe != "" {
			if err := fixedByRecipe(cmd, "min_p"); err != nil {
				return nil, err
			}
		}
		if o.Kernel, err = kernels.chosen(); err != nil {
			return nil, err
		}
		o.A, o.B = args[0], args[1]
		return pipelines.TwoSample(cmd.Context(), o)
	}, kernels.flags()...)
	cmd.Args = cobra.ExactArgs(2)
	return cmd
}

func verifyCommand() *cobra.Command {
	var o struct {
		options.VerifyOptimum
		Forgotten options.VerifyForgotten `group:"Model and output" omit:"Model,Data,MaxBadFraction,Job"`
		Audit     bool                    `flag:"audit,common" group:"Model and output" help:"Compare the sums of --sums with the rows of --data, and the weights of --model with the sums. One of the two may be missing."`
	}
	return newCommand("verify", &o, func(cmd *cobra.Command, _ []string) (io.WriterTo, error) {
		f := o.Forgotten
		if f.Certificate == "" && f.IDs != "" {
			return nil, exit.Usagef("--ids names the rows of a certificate of forget: name its file with --certificate")
		}
		switch {
		case o.Audit && f.Certificate != "":
			return nil, exit.Usagef("--audit and --certificate cannot be used together: verify one after the other")
		case o.Audit:
			return pipelines.AuditSums(cmd.Context(), options.AuditSums{SumDirs: f.SumDirs, Model: o.Model, Data: o.Data,
				MaxBadFraction: o.MaxBadFraction, Job: o.Job})
		case f.Certificate == "":
			return pipelines.VerifyOptimum(cmd.Context(), o.VerifyOptimum)
		}
		f.Model, f.Data, f.MaxBadFraction, f.Job = o.Model, o.Data, o.MaxBadFraction, o.Job
		remove, err := takeIDs(cmd, &f.ForgottenRows)
		if err != nil {
			return nil, err
		}
		result, err := pipelines.VerifyForgotten(cmd.Context(), f)
		return result, errors.Join(err, remove())
	})
}

func inspectCommand() *cobra.Command {
	var o struct {
		Model      string `flag:"model,common" group:"Model and output" placeholder:"DIR" help:"Directory of a model, or an alias such as DIR@champion."`
		Importance string `flag:"importance" group:"Model and output" placeholder:"FILE" help:"File for a plot of the importance of columns, their effects on predictions for the rows of --data: .png or .svg."`
		options.InspectData
	}
	return newCommand("inspect", &o, func(cmd *cobra.Command, _ []string) (io.WriterTo, error) {
		ctx, rows := cmd.Context(), len(o.Data.Files) > 0
		switch {
		case o.Model == "" && !rows:
			return nil, exit.Usagef("inspect takes --data, --model or both")
		case o.Importance != "" && (o.Model == "" || !rows):
			return nil, exit.Usagef("--importance needs --model and --data: it draws effects on predictions")
		case o.Model == "":
			return pipelines.InspectData(ctx, o.InspectData)
		}
		tables := append(namesOf(&o.Types), "columns", "drop", "weight_column", "id_column", "time_column", "write_schema")
		if err := refuse(cmd, tables, "cannot be used with --model: a model has its columns and their types"); err != nil {
			return nil, err
		}
		return pipelines.InspectModel(ctx, options.InspectModel{Model: o.Model, Data: o.Data, EffectsPlot: o.Importance,
			MaxBadFraction: o.MaxBadFraction, Job: o.Job})
	})
}

func explainCommand() *cobra.Command {
	o := options.NewExplain()
	return jobCommand("explain", &o, pipelines.Explain)
}

func exportCommand() *cobra.Command {
	return jobCommand("export", new(options.Export), pipelines.Export)
}

func sumCommand() *cobra.Command {
	var o struct {
		options.Sum
		Of              []string `flag:"of,common" group:"Model and output" list:"commas" placeholder:"DIRS" help:"Patterns of directories of sums to add up."`
		options.SumDirs `group:"Model and output" omit:"Sums"`
	}
	return newCommand("sum", &o, func(cmd *cobra.Command, _ []string) (io.WriterTo, error) {
		switch {
		case len(o.Of) == 0 && (len(o.Without) > 0 || o.Last != "" || o.Where != ""):
			return nil, exit.Usagef("--where, --without and --last choose among the sums of --of")
		case len(o.Of) == 0:
			return pipelines.Sum(cmd.Context(), o.Sum)
		case o.Recipe != "" || len(o.Data.Files)+len(o.By) > 0:
			return nil, exit.Usagef("--of adds up sums, which have their recipe: leave out --recipe, --data and --by")
		}
		o.Sums = o.Of
		return pipelines.AddSums(cmd.Context(), options.AddSums{SumDirs: o.SumDirs, Out: o.Out, Job: o.Job})
	})
}

func fitCommand() *cobra.Command {
	var o struct {
		options.Fit
		Plan bool `flag:"plan,common" group:"Job" help:"Read the manifests of the sums, print a bound on the memory that the fit uses and an estimate of its time, and exit."`
	}
	return newCommand("fit", &o, func(cmd *cobra.Command, _ []string) (io.WriterTo, error) {
		if o.Plan {
			return plan.Fit(cmd.Context(), o.Fit)
		}
		return pipelines.Fit(cmd.Context(), o.Fit)
	})
}

func forgetCommand() *cobra.Command {
	var o options.Forget
	return newCommand("forget", &o, func(cmd *cobra.Command, _ []string) (io.WriterTo, error) {
		remove, err := takeIDs(cmd, &o.ForgottenRows)
		if err != nil {
			return nil, err
		}
		result, err := pipelines.Forget(cmd.Context(), o)
		return result, errors.Join(err, remove())
	})
}

// takeIDs replaces - in --ids by a temporary file with the content of standard input; remove deletes the file.
func takeIDs(cmd *cobra.Command, o *options.ForgottenRows) (remove func() error, err error) {
	if o.IDs != standardInput {
		return func() error { return nil }, nil
	}
	if o.Data.As != "" {
		return nil, exit.Usagef("--data and --ids cannot both be standard input: give one of them as a file")
	}
	o.IDs, remove, err = spoolStdin(cmd.Context(), cmd.InOrStdin())
	return remove, err
}

func askCommand() *cobra.Command {
	o := options.NewAsk()
	cmd := newCommand("ask", &o, func(cmd *cobra.Command, args []string) (io.WriterTo, error) {
		o.Question = options.Question(args[0])
		return pipelines.Ask(cmd.Context(), o)
	})
	cmd.ValidArgs = option.Names(pipelines.Questions()...)
	cmd.Args = oneArgument("a question", cmd.ValidArgs)
	return cmd
}

func pruneCommand() *cobra.Command {
	return jobCommand("prune", new(options.PruneSums), pipelines.PruneSums)
}

func versionCommand() *cobra.Command {
	return newCommand("version", &struct{}{}, func(*cobra.Command, []string) (io.WriterTo, error) {
		return versionReport(engine.Build()), nil
	})
}

// versionReport is the output of `bochner version`.
type versionReport engine.BuildInfo

// WriteTo writes the report for people.
func (v versionReport) WriteTo(w io.Writer) (int64, error) {
	commit := ""
	if v.Commit != "" {
		commit = ", commit " + v.Commit
		if v.Modified {
			commit += " with changes"
		}
	}
	n, err := fmt.Fprintf(w, "bochner %s%s\n%s, %s/%s, kernels for %s\n", v.Version, commit, v.Go, v.OS, v.Arch, v.CPU)
	return int64(n), err
}

func serveCommand() *cobra.Command {
	o := options.NewServe()
	return newCommand("serve", &o, func(cmd *cobra.Command, _ []string) (io.WriterTo, error) {
		if l, ok := cmd.ErrOrStderr().(*jsonLog); ok {
			slog.SetDefault(slog.New(l.handler))
		}
		if isSet(cmd, "quiet") {
			slog.SetDefault(slog.New(slog.DiscardHandler))
		}
		look := make(chan os.Signal, 1)
		signal.Notify(look, syscall.SIGHUP)
		defer signal.Stop(look)
		o.Refresh = look
		return nil, pipelines.Serve(cmd.Context(), o)
	})
}
