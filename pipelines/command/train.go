package command

import (
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/plan"
)

func trainCommand() *cobra.Command {
	var o struct {
		options.Train
		Test    []string `flag:"test,common" group:"Data" placeholder:"FILES" help:"Evaluate the model on rows that no earlier step has read: the rows of these files, or a share of the rows of the data, such as 0.2. The content of a row decides whether it is held out; with --group_column whole groups are held out, with --time_split the latest rows. Can be given several times."`
		Plan    bool     `flag:"plan,common" group:"Job" help:"Read up to 64 MB of the data, print rows, columns, classes, passes and a bound on training memory, and exit."`
		Timings bool     `flag:"timings" group:"Job" help:"Print the time of each stage."`
	}
	o.Train = options.NewTrain()
	flags := newTrainingFlags(&o.Train)
	return newCommand("train", &o, func(cmd *cobra.Command, _ []string) (io.WriterTo, error) {
		if o.Model == "" && !o.Plan {
			if len(o.Data.Files) == 0 {
				return nil, exit.Usagef("--data is missing: name files, as in bochner train table.csv --label y")
			}
			o.Model = defaultModel(o.Data.Files, o.Data.As)
			if o.Model == "" {
				return nil, exit.Usagef("--model is missing: name the directory to create")
			}
		}
		if o.Recipe != "" {
			if err := fixedByRecipe(cmd, spec.TrainByRecipe+" timings test"); err != nil {
				return nil, err
			}
		}
		t, err := flags.chosen(cmd)
		if err != nil {
			return nil, err
		}
		t.Command = trainCommandLine(cmd, o.Data.As != "")
		if o.Plan {
			return plan.Training(cmd.Context(), t)
		}
		if len(o.Test) == 0 {
			result, err := pipelines.Train(cmd.Context(), t)
			if result != nil {
				result.Timings = o.Timings
			}
			return result, err
		}
		test, err := parseTest(o.Test)
		if err != nil {
			return nil, err
		}
		test.Train = t
		result, err := pipelines.TrainAndTest(cmd.Context(), test)
		if result != nil {
			result.Timings = o.Timings
		}
		return result, err
	}, flags.flags()...)
}

// defaultModel returns the name of the model for a file: houses-model, in the current directory,
// for dir/houses.csv.gz. It is "" for standard input, patterns and several files.
func defaultModel(files []string, as string) string {
	if len(files) != 1 || as != "" || strings.ContainsAny(files[0], "*?[\\") {
		return ""
	}
	name := path.Base(filepath.ToSlash(files[0]))
	if i := strings.IndexByte(name[min(1, len(name)):], '.'); i >= 0 {
		name = name[:i+1]
	}
	if name == "." || name == "/" || name == "" {
		return ""
	}
	return name + "-model"
}

// parseTest returns the options of --test: files, or a number, which is a share of the rows.
func parseTest(given []string) (t options.TrainAndTest, err error) {
	for _, text := range given {
		share, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.TestFiles = append(t.TestFiles, text)
			continue
		}
		t.TestShare = share
		if !(share > 0 && share < 1) {
			return t, exit.Usagef("--test %s: want a share of the rows above 0 and below 1; a file of this name is ./%[1]s", text)
		}
	}
	switch {
	case t.TestShare > 0 && len(given) > 1:
		return t, exit.Usagef("--test takes files or one share of the rows, not both")
	case slices.Contains(t.TestFiles, standardInput):
		return t, exit.Usagef("--test cannot read standard input: save it to a file, and name the file")
	}
	return t, nil
}

// trainingFlags are the flags of a training run that come from registries.
type trainingFlags struct {
	*kernelFlags
	learners *learnerFlags
	o        *options.Train
}

func newTrainingFlags(o *options.Train) *trainingFlags {
	return &trainingFlags{newKernels("gaussian"), newLearners(&o.Learned.Running), o}
}

func (f *trainingFlags) flags() []*option.Option {
	return append(f.kernelFlags.flags(), f.learners.flags()...)
}

// chosen returns the options with the kernel and the learner that the flags choose.
func (f *trainingFlags) chosen(cmd *cobra.Command) (o options.Train, err error) {
	o = *f.o
	if o.Recipe != "" {
		return o, nil // it determines them
	}
	if o.Kernel, err = f.kernelFlags.chosen(); err != nil {
		return o, err
	}
	o.Kernels = f.searchKernels(cmd.Flags().Changed("kernel"))
	if o.Size.Chooses() && !cmd.Flags().Changed("features") {
		o.Kernel = tuning.Unsized(o.Kernel) // without a number, sizes go up to tuning.MaxDefaultFeatures
	}
	o.Learner, err = f.learners.chosen(spec.Options{Train: o}.LearnsFeatures())
	return o, err
}

// fixedByRecipe refuses flags whose values the recipe determines: all except the flags of sum and
// those listed.
func fixedByRecipe(cmd *cobra.Command, list string) (err error) {
	free := append(spec.FreeByRecipe(list), namesOf(&jobFlags{}, &printFlags{})...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if name := optionOf(f).Name; name != "" && !slices.Contains(free, name) && err == nil {
			err = spec.FixedByRecipe(name)
		}
	})
	return err
}

// unrecorded lists the flags that do not change the weights of a model, besides the flags of jobs.
const unrecorded = "model report curve"

// trainCommandLine returns a command that trains the same model, with flags sorted by name. File
// names lack their directories, so that the result does not depend on where the files are.
func trainCommandLine(cmd *cobra.Command, fromStdin bool) string {
	var flags []*pflag.Flag
	cmd.Flags().Visit(func(f *pflag.Flag) { flags = append(flags, f) })
	slices.SortFunc(flags, func(a, b *pflag.Flag) int { return strings.Compare(a.Name, b.Name) })
	words := []string{cmd.CommandPath()}
	for _, f := range flags {
		if title := titleOf(f); title == "Job" || title == otherGroup || slices.Contains(flagNames(cmd, unrecorded), f.Name) {
			continue
		}
		o := optionOf(f)
		values := []string{o.String()}
		if many, ok := f.Value.(pflag.SliceValue); ok && f.Value.Type() == "stringArray" {
			values = many.GetSlice() // repeat the flag for each
		}
		switch o.Placeholder {
		case "FILES", "FILE", "DIR", "DIRS":
			values = withoutDirectories(values)
		}
		if fromStdin && f.Name == "data" {
			values = []string{standardInput}
		}
		for _, value := range values {
			words = append(words, quoteForShell(fmt.Sprintf("--%s=%s", f.Name, value)))
		}
	}
	return strings.Join(append(words, "--model=model"), " ")
}

// withoutDirectories returns the names of files on disk without their common directory.
func withoutDirectories(files []string) []string {
	names, common := slices.Clone(files), ""
	for i, name := range names {
		names[i] = filepath.ToSlash(name)
		if !strings.Contains(name, "://") {
			names[i] = path.Clean(names[i])
		}
		if dir, _ := path.Split(names[i]); i == 0 {
			common = dir
		}
		for !strings.HasPrefix(names[i], common) {
			common, _ = path.Split(strings.TrimSuffix(common, "/"))
		}
	}
	if strings.Contains(common, "://") {
		return files
	}
	for i := range names {
		names[i] = names[i][len(common):]
	}
	return names
}

// quoteForShell quotes a word for a shell, if necessary.
func quoteForShell(word string) string {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_=.,:/@+%", r))
	}
	if strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
