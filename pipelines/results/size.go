package results

import (
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// Size describes how the number of features was chosen.
type Size struct {
	Features int         `json:"features"`       // the chosen number
	Once     bool        `json:"once,omitempty"` // see SizeTrial
	Trials   []SizeTrial `json:"trials"`
	Why      string      `json:"why"` // reason for the choice, for the user
}

// Sizes returns the trials without their times, for the registry.
func (r *Size) Sizes() (all []registry.Size) {
	for _, t := range r.Trials {
		all = append(all, registry.Size{Features: t.Features, Chosen: t.Features == r.Features, Lambda: t.Lambda,
			Loss: t.Loss,
			Gain: t.Gain, StdErr: t.StdErr})
	}
	return all
}

// write prints the trials for the user. If root is true it prints the square roots of the losses.
func (r *Size) write(w io.Writer, root bool) {
	fmt.Fprintf(w, "size      %d features: %s\n", r.Features, r.Why)
	table := report.SizeTable(r.Sizes(), root)
	table.Head = append(table.Head, "seconds")
	for i, t := range r.Trials {
		table.Rows[i] = append(table.Rows[i], fmt.Sprintf("%.1f", t.Seconds))
	}
	table.Write(w)
	grid := ""
	if r.Once {
		grid = " --grid 8" // there was no time for 16
	}
	fmt.Fprintf(w, "          train with --features %d%s and the same recipe makes the same model\n",
		r.Features, grid)
	if len(r.Trials) > 1 && r.Trials[0].Loss > 0 {
		fmt.Fprintf(w,
			"          the held-out errors below are of the rows that chose the size: best of %d, hence optimistic\n",
			len(r.Trials))
	}
}

// SizeTrial describes a fit with some number of features.
type SizeTrial struct {
	Features int `json:"features"`
	// Once is true if rows are summed on 8 bits only. Otherwise they are summed again on 16 bits if
	// the chosen λ is small.
	Once   bool    `json:"once,omitempty"`
	Lambda float64 `json:"lambda"`
	// Loss is the mean squared error on the held-out rows, Folds the error on each fold, and Rows
	// the number of held-out rows. All are zero without held-out rows.
	Loss  float64   `json:"loss,omitempty"`
	Folds []float64 `json:"fold_losses,omitempty"`
	Rows  int64     `json:"held_rows,omitempty"`
	// Gain is the share by which Loss is smaller than in the trial before, and StdErr its standard
	// error. Both are 0 in the first trial.
	Gain    float64  `json:"gain,omitempty"`
	StdErr  float64  `json:"gain_std_err,omitempty"`
	Seconds float64  `json:"seconds"`
	Cost    SizeCost `json:"cost_seconds"`
}

// SizeCost is the time of a trial by stage, in seconds.
type SizeCost struct {
	Map   float64 `json:"map"`   // computing features from rows
	Sum   float64 `json:"sum"`   // adding products of features
	Solve float64 `json:"solve"` // solving, and choosing λ
	Rest  float64 `json:"rest"`  // everything else, which does not depend on the number of features
}
