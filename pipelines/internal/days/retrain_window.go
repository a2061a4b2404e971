package days

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/pipelines/internal/ask"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// Window says what a model is trained on: as text 90d, or "" for all days; or auto, which is chosen
// every night, of at most so many days in auto up to 365d.
type Window struct {
	Auto bool
	Days int // the last days, to the day of the run; 0 is all
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
	if *w = (Window{Auto: auto}); days == "" {
		return nil
	}
	days, bound := strings.CutPrefix(days, " up to ")
	n, err := strconv.Atoi(strings.TrimSuffix(days, "d"))
	if w.Days = n; err != nil || n < 1 || auto != bound {
		return fmt.Errorf("%q is not a number of days such as 90d, auto, or auto up to 365d", text)
	}
	return nil
}

// ChosenWindow is the choice of a window.
type ChosenWindow struct {
	Partitions int `json:"partitions"` // the last ones, that the model is trained on
	Of         int `json:"of"`
	// Days is the number of --window that takes the same partitions.
	Days int `json:"days"`
	// Chosen has the score of a window that is chosen every night, and All that of all partitions.
	Chosen *ask.Forgetting `json:"chosen"`
	All    *ask.Forgetting `json:"all"`
}

// String returns the choice in words.
func (w *ChosenWindow) String() string {
	return fmt.Sprintf("last %s of %d (--window %dd), by the errors of %s forward in time (R² %.4f; all days %.4f)",
		report.Counted(w.Partitions, "day"), w.Of, w.Days, report.Counted(w.Of-1, "day"), w.Chosen.R2, w.All.R2)
}

// choose returns the partitions to train on, the last of those given if the window is to be chosen.
func (n *night) choose(ctx context.Context, train []Partition) ([]Partition, error) {
	if !n.Window.Auto || len(train) == 0 {
		return train, nil
	}
	var places []string
	for _, p := range train {
		places = append(places, n.index.place(p.name()))
	}
	w := &ChosenWindow{Of: len(train)}
	err := n.timed("window", func() (err error) {
		w.Chosen, w.All, err = n.ChooseWindow(ctx, places, n.index.Errors)
		return err
	})
	if why, err := unfit(err); err != nil {
		return nil, err
	} else if why != "" {
		n.note("the window takes all days, because it cannot be chosen: %s", why)
		return train, nil
	}
	w.Partitions = cmp.Or(w.Chosen.Window, w.Of)
	train = train[w.Of-w.Partitions:]
	for w.Days = 1; n.since(w.Days) > train[0].Day; {
		w.Days++
	}
	if n.report.Window = w; n.Log != nil {
		fmt.Fprintf(n.Log, "window    %s\n", w)
	}
	return train, nil
}

// outside tells whether a day is before the window that was chosen for the champion.
func (n *night) outside(day string) bool {
	return n.Window.Auto && n.lineage != nil && len(n.lineage.Parts) > 0 && day < n.lineage.Parts[0].Name
}
