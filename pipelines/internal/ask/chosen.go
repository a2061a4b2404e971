package ask

import (
	"cmp"
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/pipelines/internal/parts"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// ChosenWindow says how many of the last dates to train on.
type ChosenWindow struct {
	Dates int `json:"dates"` // number of dates to train on
	Of    int `json:"of"`    // number of all dates
	Days  int `json:"days"`  // the same window for retrain --window
	// Chosen has the score of windows that are chosen anew on each date, and All the score of training
	// on all dates.
	Chosen *Forgetting `json:"chosen"`
	All    *Forgetting `json:"all"`
}

// ChooseWindow chooses a window by sums of one recipe that have dates. The caller sets Days.
// o.Known must not be nil.
func ChooseWindow(ctx context.Context, o Options, terms []parts.Term) (*ChosenWindow, error) {
	o.Question = "window"
	d, err := open(ctx, o, terms)
	if err != nil {
		return nil, err
	}
	w := &ChosenWindow{Of: len(d.steps())}
	w.All, w.Chosen, _ = d.forgetting()
	w.Dates = cmp.Or(w.Chosen.Window, w.Of)
	return w, d.err
}

// String returns the choice in words.
func (w *ChosenWindow) String() string {
	return fmt.Sprintf("last %s of %d (--window %dd), by the errors of %s forward in time (R² %.4f; all days %.4f)",
		report.Counted(w.Dates, "day"), w.Of, w.Days, report.Counted(w.Of-1, "day"), w.Chosen.R2, w.All.R2)
}
