package tuning

import (
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// percent returns a fraction as a percentage with two digits.
func percent(share float64) string { return fmt.Sprintf("%.2g%%", 100*share) }

// Sizes returns the trials without their times, for the registry.
func (r *SizeResult) Sizes() (all []registry.Size) {
	for _, t := range r.Trials {
		all = append(all, registry.Size{Features: t.Features, Chosen: t.Features == r.Features, Lambda: t.Lambda,
			Loss: t.Loss,
			Gain: t.Gain, StdErr: t.StdErr})
	}
	return all
}

// Write prints the trials for the user. If root is true it prints the square roots of the losses.
func (r *SizeResult) Write(w io.Writer, root bool) {
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
