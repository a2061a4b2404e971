package command

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
)

// notRetrained are flags of train that retrain does not take.
var notRetrained = []string{"model", "recipe", "plan", "timings", "work", "resume"}

// laterRoom is the room for targets of later days, in ranges of the first ones. The grid has 65,536
// steps: with three ranges on it they are still far finer than what a model predicts to.
const laterRoom = 1

func retrainCommand() *cobra.Command {
	var (
		o      pipelines.RetrainOptions
		day    string
		window string
		keep   string
		gates  []string
		paired []string
	)
	cmd := trainingCommand(func(cmd *cobra.Command, t training.Options, asJSON bool) (err error) {
		if err := refuse(cmd, notRetrained, "cannot be used with retrain"); err != nil {
			return err
		}
		if o.Day, err = dayOf(day, time.Now()); err != nil {
			return err
		}
		if o.Window, err = daysOf("window", window); err != nil {
			return err
		}
		if o.Prune, o.KeepDays, err = keptSums(keep); err != nil {
			return err
		}
		if len(t.Data.Data) != 1 {
			return exit.Usage("--data: give one pattern of the files of a day, such as 'data/dt=YYYY-MM-DD/*'")
		}
		if !cmd.Flags().Changed("target_room") && t.Iterative() == nil {
			t.Room = laterRoom
		}
		o.Data, o.Train = t.Data.Data[0], t
		o.Gate, o.PairedGate = strings.Join(gates, ","), strings.Join(paired, ",")
		o.Settings, o.Command, o.Log = settings(cmd), commandOf(cmd), t.Job.Log
		report, err := pipelines.Retrain(cmd.Context(), o)
		if report == nil {
			return err
		}
		return errors.Join(err, show(cmd, asJSON, report))
	})
	cmd.Use = "retrain --config FILE --day DAY"
	cmd.Short = "Retrain the champion on the data of a day"
	cmd.Long = `Retrain does what a scheduled retraining has to do for a day. It lists the partitions of
--data, which are the files of a day; sums each that has no sums yet; refuses by name
what cannot be read, is a copy, or does not look like the rows of the recipe; adds the
sums of the window of days and fits a model; compares it with the champion of --models
on rows that neither has seen; and makes it champion if it passes the gates, or leaves
the champion.

From the list of files (on gs://, their generations) it notices partitions that came
late, were replaced or were withdrawn, and the model follows: its bytes are those of a
training on what is there now. The newest partition judges, and is trained on the next
day. If there is no champion, or if the rows have drifted from those of the recipe by
more than --redraw, a new recipe is drawn by training on the partitions that are alike.
Iterative learners are trained on these every night.

The flags of train say how. Put all of them into a file, and let a scheduler run

  bochner retrain --config retrain.yaml --day 2026-11-20

A retry for the same day continues where the run was stopped, and a day that is done is
not done again. Two runs at the same time do no harm: the second ends. The report is
also in MODELS/reports, and what happened to the champion in bochner models history.

Exit codes: 0 the new model is champion; 4 it did not pass the gates, and the champion
stays; 8 the data of the day was refused, or too few days are alike; 9 there is no new
data; 10 another run is at work or was faster; 5 and 1 try again; 2 flags, 3 data or
places, 6 a damaged model.`
	cmd.Example = `  bochner retrain --config retrain.yaml --day 2026-11-20
  bochner retrain --models models --data 'data/dt=YYYY-MM-DD/*.csv' --label y --features 1024 \
      --window 90d --gate 'accuracy>=0.9' --day yesterday`
	fs := cmd.Flags()
	for _, name := range notRetrained {
		fs.Lookup(name).Hidden = true
	}
	roomFlag := fs.Lookup("target_room")
	roomFlag.Usage, roomFlag.DefValue = "For a regression: how far the grid of targets reaches beyond those of the days from which the recipe is drawn, on either side, as a multiple of their range. A later day with targets beyond the grid is refused.", strconv.Itoa(laterRoom)
	fs.Lookup("data").Usage = "Files of a day: a pattern with YYYY, MM and DD, such as 'data/dt=YYYY-MM-DD/*'."
	fs.StringVar(&o.Models, "models", "", "Directory of models.")
	fs.StringVar(&day, "day", "", "Day to work for, such as 2026-11-20; or today or yesterday, in UTC.")
	fs.StringVar(&o.Sums, "sums_dir", "", "Directory of the sums of partitions. The default is that of --models with -sums at the end.")
	fs.StringVar(&keep, "keep_sums", "all", "Which sums stay after a run: all; needed, those of the partitions that are there and of champion, challenger and previous champion; or a number of days such as 400d, which is needed and the last days.")
	fs.StringVar(&window, "window", "", "Days of data that a model is trained on, such as 90d. The default is all.")
	fs.StringVar(&o.HeldOut, "held_out", "", "Files of labelled rows that judge, which must be in no partition. The default is the newest partition that neither model has seen.")
	fs.StringArrayVar(&gates, "gate", nil, "Condition on a score of the new model, such as accuracy>=0.95 (see evaluate). Several are separated by commas, or given one by one.")
	fs.StringArrayVar(&paired, "paired_gate", []string{"not worse by 1 % at 95 %"}, "Condition on the difference from the champion, in words (see compare). Several are separated by commas, or given one by one.")
	fs.Float64Var(&o.MaxDrift, "max_drift", 0, "Largest drift of a partition from the rows of the recipe, or without one from most others; a partition beyond it is not trained on. 0 means no bound.")
	fs.Float64Var(&o.Redraw, "redraw", 0, "Drift of all rows from those of the recipe beyond which the recipe is drawn anew. 0 never does.")
	fs.StringVar(&o.By, "by", "", "Who does this, for the history. The default is the user and the machine.")
	return cmd
}

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

// daysOf reads a number of days such as 90d; the empty text is 0.
func daysOf(flag, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(text, "d"))
	if err != nil || n < 1 {
		return 0, exit.Usage("--%s: %q is not a number of days; write it as 90d", flag, text)
	}
	return n, nil
}

// keptSums reads which sums are kept.
func keptSums(text string) (prune bool, days int, err error) {
	switch text {
	case "all":
		return false, 0, nil
	case "needed":
		return true, 0, nil
	}
	days, err = daysOf("keep_sums", text)
	return true, days, err
}

// placeFlags are those flags that do not change the models of a retraining.
var placeFlags = strings.Fields("models sums_dir keep_sums day window held_out gate paired_gate max_drift redraw by data config json quiet verbose")

// settings is the text of all flags that the recipe depends on.
func settings(cmd *cobra.Command) string {
	var words []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if title := TitleOf(cmd, f); title != "Job" && title != OtherGroup && !slices.Contains(placeFlags, f.Name) {
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
