package command

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// laterRoom is the room for targets of later days, in ranges of the first ones. The grid has 65,536
// steps: with three ranges on it they are still far finer than what a model predicts to.
const laterRoom = 1

func retrainCommand() *cobra.Command {
	var o pipelines.RetrainOptions
	flags := newTrainingFlags(&o.Train)
	cmd := newCommand("retrain", &o, func(cmd *cobra.Command, _ []string) (_ io.WriterTo, err error) {
		if err := refuse(cmd, notRetrained, "cannot be used with retrain"); err != nil {
			return nil, err
		}
		r := o
		if r.Day, err = dayOf(o.Day, time.Now()); err != nil {
			return nil, err
		}
		if r.Train, err = flags.chosen(cmd); err != nil {
			return nil, err
		}
		if len(o.Train.Data.Data) != 1 {
			return nil, exit.Usage("--data: give one pattern of the files of a day, such as 'data/dt=YYYY-MM-DD/*'")
		}
		if !cmd.Flags().Changed("target_room") && r.Train.Iterative() == nil {
			r.Train.Room = laterRoom
		}
		r.Data, r.Settings, r.Command, r.Log = o.Train.Data.Data[0], settings(cmd), commandOf(cmd), o.Train.Job.Log
		return pipelines.Retrain(cmd.Context(), r)
	}, flags.flags()...)
	fs := cmd.Flags()
	for _, name := range notRetrained {
		fs.Lookup(name).Hidden = true
	}
	room := fs.Lookup("target_room")
	room.Usage = "For a regression: how far the grid of targets reaches beyond those of the days from which the recipe " +
		"is drawn, on either side, as a multiple of their range. A later day with targets beyond the grid is refused."
	room.DefValue = strconv.Itoa(laterRoom)
	fs.Lookup("data").Usage = "Files of a day: a pattern with YYYY, MM and DD, such as 'data/dt=YYYY-MM-DD/*'."
	showOnly(cmd, "models data label day sums_dir keep_sums window held_out gate paired_gate max_drift redraw kernel "+
		"features width seed lambda max_bad_fraction runner config json")
	return cmd
}

// notRetrained are flags of jobs that retrain does not take: its jobs continue by themselves.
var notRetrained = []string{"work", "resume"}

// dayOf reads a day.
func dayOf(text string, now time.Time) (string, error) {
	switch now = now.UTC(); text {
	case "":
		return "", exit.Usage("no day to work for: name it with --day, such as --day %s", now.Format(time.DateOnly))
	case "today":
		return now.Format(time.DateOnly), nil
	case "yesterday":
		return now.AddDate(0, 0, -1).Format(time.DateOnly), nil
	}
	return text, nil
}

// placeFlags are those flags that do not change the models of a retraining.
var placeFlags = strings.Fields("models sums_dir keep_sums day window held_out gate paired_gate max_drift redraw by " +
	"data config json quiet verbose report")

// settings is the text of all flags that the recipe depends on.
func settings(cmd *cobra.Command) string {
	var words []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if title := titleOf(f); title != "Job" && title != otherGroup && !slices.Contains(placeFlags, f.Name) {
			words = append(words, fmt.Sprintf("--%s=%s", f.Name, f.Value))
		}
	})
	slices.Sort(words)
	return strings.Join(words, " ")
}

// commandOf names a retraining for the history: its day and its configuration.
func commandOf(cmd *cobra.Command) string {
	words := []string{cmd.CommandPath()}
	for _, name := range []string{"config", "day"} {
		if f := cmd.Flags().Lookup(name); f.Changed {
			words = append(words, fmt.Sprintf("--%s=%s", name, f.Value))
		}
	}
	return strings.Join(words, " ")
}
