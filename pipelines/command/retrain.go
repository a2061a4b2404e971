package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

func retrainCommand() *cobra.Command {
	o := options.NewRetrain()
	flags := newTrainingFlags(&o.Train)
	cmd := newCommand("retrain", &o, func(cmd *cobra.Command, _ []string) (_ io.WriterTo, err error) {
		if err := refuse(cmd, flagNames(cmd, notRetrained), "cannot be used with retrain"); err != nil {
			return nil, err
		}
		r := o
		if r.Day, err = parseDay(o.Day, time.Now()); err != nil {
			return nil, err
		}
		if r.Train, err = flags.chosen(cmd); err != nil {
			return nil, err
		}
		if len(o.Train.Data.Files) != 1 {
			return nil, exit.Usagef("--data: give one pattern of the files of a day, such as 'data/dt=YYYY-MM-DD/*'")
		}
		if !cmd.Flags().Changed("target_room") && r.Train.Iterative() != nil {
			r.Train.Room = 0 // it has no grid of targets
		}
		r.Data, r.Log = o.Train.Data.Files[0], o.Train.Job.Log
		r.PairedGate = cmp.Or(o.PairedGate, options.NoGate)
		r.Settings, r.Command = recipeSettings(cmd), retrainCommandLine(cmd)
		return pipelines.Retrain(cmd.Context(), r)
	}, flags.flags()...)
	fs := cmd.Flags()
	for _, name := range flagNames(cmd, notRetrained) {
		fs.Lookup(name).Hidden = true
	}
	fs.Lookup("target_room").Usage = "For a regression: how far the grid of targets reaches beyond those of the days from which the recipe " +
		"is drawn, on either side, as a multiple of their range. A later day with targets beyond the grid is refused."
	fs.Lookup("data").Usage = "Files of a day: a pattern with YYYY, MM and DD, such as 'data/dt=YYYY-MM-DD/*'."
	showOnly(cmd, "models data label day sums_dir keep_sums window held_out gate paired_gate max_drift redraw kernel "+
		"features width seed lambda max_bad_fraction runner config json")
	return cmd
}

// notRetrained lists the flags of jobs that retrain does not take: it resumes its jobs by itself.
const notRetrained = "work resume"

// parseDay returns the day that a text such as today names. Retrain checks the format of dates.
func parseDay(text string, now time.Time) (string, error) {
	switch now = now.UTC(); text {
	case "":
		return "", exit.Usagef("--day is missing: name the day, such as --day %s", now.Format(time.DateOnly))
	case "today":
		return now.Format(time.DateOnly), nil
	case "yesterday":
		return now.AddDate(0, 0, -1).Format(time.DateOnly), nil
	}
	return text, nil
}

// outsideRecipe lists the flags that do not change the recipe of a retraining.
const outsideRecipe = "models sums_dir keep_sums day window held_out gate paired_gate max_drift redraw who " +
	"data config json quiet verbose report curve"

// recipeSettings returns the flags that the recipe depends on, sorted, with their values.
func recipeSettings(cmd *cobra.Command) string {
	var words []string
	outside := flagNames(cmd, outsideRecipe)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if title := titleOf(f); title != "Job" && title != otherGroup && !slices.Contains(outside, f.Name) {
			words = append(words, fmt.Sprintf("--%s=%s", f.Name, f.Value))
		}
	})
	slices.Sort(words)
	return strings.Join(words, " ")
}

// retrainCommandLine returns the command with its day and configuration file, for the history.
func retrainCommandLine(cmd *cobra.Command) string {
	words := []string{cmd.CommandPath()}
	for _, name := range []string{"config", "day"} {
		if f := cmd.Flags().Lookup(name); f.Changed {
			words = append(words, fmt.Sprintf("--%s=%s", name, f.Value))
		}
	}
	return strings.Join(words, " ")
}
