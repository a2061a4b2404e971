package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// Learned describes learned features and how they were learned. It has no times and no paths, so equal features
// have equal files.
type Learned struct {
	Format  int    `json:"format"`
	Program string `json:"program"` // version of the program that wrote it
	LearnedMap
	Options json.RawMessage `json:"options"`          // all options of the learner
	Lambda  float64         `json:"lambda,omitempty"` // of the game
	Game    *align.Report   `json:"game,omitempty"`   // its last round
	Sample  int             `json:"sample"`           // number of rows that the chains searched on
	// Bound is the number of sampled rows that guarantees potentials with an error of at most 0.1.
	Bound float64 `json:"sample_bound,omitempty"`
	LearnedRows
	Files []models.FileEntry `json:"files,omitempty"` // the other files of the directory
}

// write describes how the features were learned, for people.
func (f *Learned) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "learned   from %s rows", report.Groups(f.Rows))
	if f.HeldOut > 0 {
		fmt.Fprintf(b, "; %s held out of the search", report.OneIn(f.HeldOut))
	}
	fmt.Fprintln(b)
	if f.Sample > 0 {
		fmt.Fprintf(b, "sample    %s rows", report.Groups(int64(f.Sample)))
		if f.Bound > 0 {
			fmt.Fprintf(b, "; %.2g rows guarantee potentials within 0.1 everywhere, with probability 0.95", f.Bound)
		}
		fmt.Fprintln(b)
	}
	g := f.Game
	if g == nil {
		return
	}
	fmt.Fprintf(b, "game      %s, lambda %.4g\n", report.Counted(g.Round, "round"), f.Lambda)
	if g.Zeta > 0 {
		fmt.Fprintf(b, "search    step ζ %.4g, temperature ξ %.4g in the last round\n", g.Zeta, g.Xi)
	}
	fmt.Fprintf(b, "value     at least %.6g", g.Lower)
	if g.Proven {
		fmt.Fprintf(b, ", at most %.6g: the regret is at most %.4g", g.Upper, g.Upper-g.Lower)
	} else {
		fmt.Fprintf(b, "; without decreasing steps there is no upper bound")
	}
	fmt.Fprintln(b)
}

// LearnedMap describes the map of learned features.
type LearnedMap struct {
	Kernel   string          `json:"kernel"` // in words
	Recipe   features.Sealed `json:"recipe"` // of the map, with the scaling of rows
	Features int             `json:"features"`
	Width    float64         `json:"width"` // of the Gaussian kernel that the search started from
	Seed     uint64          `json:"seed,string"`
}

// LearnedRows describes the rows that features were learned from.
type LearnedRows struct {
	Classes []string `json:"classes"`
	Rows    int64    `json:"rows"` // number of rows used for learning
	// HeldOut is the number of folds, by seed and content of the rows. The first was not used, so that it can
	// measure held-out errors. 0 means that all rows were used.
	HeldOut     int    `json:"held,omitempty"`
	Fingerprint string `json:"data_fingerprint"` // equal for equal rows and seeds
	// Data is equal for equal rows, whatever the seed.
	Data string `json:"data,omitempty"`
}

// Align describes the learned features.
type Align struct {
	Out  string    `json:"out"`
	Rows RowCounts `json:"rows"`
	*Learned
	Curve   []align.Report     `json:"curve,omitempty"` // reports of the game, one per round
	Notes   []string           `json:"notes,omitempty"`
	Seconds map[string]float64 `json:"seconds"` // wall time by part of the job
}

// WriteTo prints the result for people.
func (r *Align) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "out       %s\n", r.Out)
	fmt.Fprintf(&b, "rows      %s\n", r.Rows.withList())
	fmt.Fprintf(&b, "features  %d of the %s\n", r.Features, r.Kernel)
	r.Learned.write(&b)
	writeNotes(&b, r.Notes)
	fmt.Fprintf(&b, "seconds   %.1f to profile the data, %.1f to learn the features\n", r.Seconds["profile"],
		r.Seconds["align"])
	return b.WriteTo(w)
}
