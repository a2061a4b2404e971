package options

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// RetrainData holds the options of a retraining that concern its days: data, sums, window, held-out rows and drift.
type RetrainData struct {
	// Directory of models.
	Models string `flag:"models,common" group:"Model and output" placeholder:"DIR"`

	// Directory of the sums of partitions. The default is --models followed by -sums.
	Sums string `flag:"sums_dir,common" group:"Retraining" placeholder:"DIR"`
	Data string // pattern of the files of a day, such as data/dt=YYYY-MM-DD/*.csv

	// Use only files of --data whose name=value directories meet this condition, such as 'country in
	// (DE, FR) and dt!=2026-11-09'.
	Where string `flag:"where" group:"Data" placeholder:"CONDITION"`

	// Day to retrain for, such as 2026-11-20, today or yesterday (UTC).
	Day string `flag:"day,common" group:"Retraining" placeholder:"DAY"`

	// Days of data that a model is trained on, such as 90d; auto chooses the number of days every
	// night by the errors on earlier days; auto up to 365d sets the largest number. The default is
	// all.
	Window Window `flag:"window,common" group:"Retraining" placeholder:"DAYS"`

	// Files of labelled rows, outside all partitions, to compare models on. The default is the newest
	// partition that neither model has seen.
	HeldOut string `flag:"held_out,common" group:"Retraining" placeholder:"FILES"`

	// Largest drift of a partition from the rows of the recipe (without one: from most other
	// partitions). Partitions beyond it are not trained on. 0 means no bound.
	//
	// The drift is in a column or in the features of the model.
	MaxDrift float64 `flag:"max_drift,common" group:"Model and output"`

	// Draw a new recipe if all rows have drifted further than this from its rows; 0 means never.
	Redraw float64 `flag:"redraw,common" group:"Retraining"`

	// Sums to keep after a run: all; needed (for present partitions, champion, challenger and previous
	// champion); or a number of days such as 400d (needed, and all of the last 400 days).
	KeepSums KeptSums `flag:"keep_sums,common" group:"Retraining" placeholder:"DAYS"`

	// Settings holds all other settings that the models depend on. It is hashed into their names.
	Settings string

	Author
	Log io.Writer        // notes; nil discards them
	Now func() time.Time // nil is time.Now
}

// Author describes who retrains, for the history.
type Author struct {
	Program string // version
	Command string
	// Who does this, for the history. The default is the user and the machine.
	By string `flag:"who" group:"Model and output" placeholder:"TEXT"`
}

// Window is the number of last days on which a model is trained. Its text is 90d, "" for all days, or auto,
// with which the number is chosen every night; auto up to 365d bounds it.
type Window struct {
	Auto bool
	Days int // number of days up to the day of the run; 0 means all
}

// MarshalText returns a number of days, auto, or "" for all days.
func (w Window) MarshalText() ([]byte, error) {
	days := ""
	if w.Days > 0 {
		days = fmt.Sprintf("%dd", w.Days)
	}
	if w.Auto {
		days = strings.TrimSuffix("auto up to "+days, " up to ")
	}
	return []byte(days), nil
}

// UnmarshalText reads what MarshalText writes.
func (w *Window) UnmarshalText(text []byte) error {
	days, auto := strings.CutPrefix(string(text), "auto")
	*w = Window{Auto: auto}
	if days == "" {
		return nil
	}
	days, bound := strings.CutPrefix(days, " up to ")
	n, err := strconv.Atoi(strings.TrimSuffix(days, "d"))
	w.Days = n
	if err != nil || n < 1 || auto != bound {
		return fmt.Errorf("%q is not a number of days such as 90d, auto, or auto up to 365d", text)
	}
	return nil
}

// KeptSums selects the sums that a retraining keeps. Its text is all, the zero value; needed; or 90d, for needed
// sums and all of the last 90 days.
type KeptSums struct {
	Prune bool // remove sums that are not needed
	Days  int  // but keep all of this many last days
}

// MarshalText returns all, needed or a number of days, such as 90d.
func (k KeptSums) MarshalText() ([]byte, error) {
	switch {
	case !k.Prune:
		return []byte("all"), nil
	case k.Days == 0:
		return []byte("needed"), nil
	}
	return fmt.Appendf(nil, "%dd", k.Days), nil
}

// UnmarshalText reads what MarshalText writes.
func (k *KeptSums) UnmarshalText(text []byte) error {
	days, err := strconv.Atoi(strings.TrimSuffix(string(text), "d"))
	switch {
	case string(text) == "all":
		*k = KeptSums{}
	case string(text) == "needed":
		*k = KeptSums{Prune: true}
	case err != nil || days < 1:
		return fmt.Errorf("%q is not all, needed or a number of days such as 90d", text)
	default:
		*k = KeptSums{true, days}
	}
	return nil
}

// NoGate as a PairedGate promotes a new model whatever its difference from the champion.
const NoGate = "none"

// Retrain holds the options of pipelines.Retrain: data, training, and when a new model becomes champion.
type Retrain struct {
	RetrainData

	// Train holds the options of the training runs, except for the data and the model.
	Train Train `group:"" omit:"Recipe,Model,Intervals"`

	// Condition on a score of the new model, such as accuracy>=0.95 (see evaluate). Several are
	// separated by commas, or given one by one.
	Gate string `flag:"gate,common" group:"Model and output" list:"joined" placeholder:"CONDITION"`

	// Condition on the difference from the champion, in words (see compare), or none. Several are
	// separated by commas, or given one by one.
	//
	// "" is the default, NoGate no condition.
	PairedGate string `flag:"paired_gate,common" group:"Retraining" list:"joined" default:"not worse by 1% at 95%" placeholder:"CONDITION"`
}

// NewRetrain returns the defaults of the command for ridge. For an iterative learner, which has no grid of
// targets, Train.Room must be 0.
func NewRetrain() Retrain {
	o := defaults[Retrain]()
	o.Train = NewTrain()
	o.Train.Room = 1 // the grid has 65,536 steps: over three ranges they are far finer than the errors of models
	return o
}
