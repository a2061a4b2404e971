package days

import (
	"cmp"
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/pipelines/internal/ask"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

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
