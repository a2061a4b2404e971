package pipelines

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/bochner-ml/bochner/features/synthetic"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// GenerateOptions says which sample data to generate. The defaults in tags are those of the command: in Go, Rows must
// be set, and a Noise of 0 is none.
type GenerateOptions struct {
	Set string // name of a synthetic.Set
	// Number of rows.
	Rows int64 `flag:"rows,common" group:"Data" default:"2000"`
	// Random seed; another seed gives other rows of the same distribution.
	Seed uint64 `flag:"seed,common" group:"Data" default:"1"`
	// Standard deviation of the noise; below 0 is the set's own.
	Noise float64 `flag:"noise,common" group:"Data" default:"-1"`
	// File to create; it must not exist.
	Out string `flag:"out,common" group:"Model and output" placeholder:"PATH"`
}

// GenerateResult describes the file.
type GenerateResult struct {
	Out  string `json:"out"`
	Rows int64  `json:"rows"`
}

// Generate writes a CSV file of sample data, complete or not at all.
func Generate(ctx context.Context, o GenerateOptions) (*GenerateResult, error) {
	set, ok := synthetic.Find(o.Set)
	switch {
	case !ok:
		return nil, exit.Usagef("unknown data set %q%s; have %s", o.Set, option.DidYouMean(o.Set, synthetic.Names()),
			strings.Join(synthetic.Names(), ", "))
	case o.Rows < 1:
		return nil, exit.Usagef("--rows must be at least 1 (have %d)", o.Rows)
	case o.Out == "":
		return nil, exit.Usagef("no file to write: name one with --out")
	case math.IsNaN(o.Noise) || math.IsInf(o.Noise, 0):
		return nil, exit.Usagef("--noise must be a number (have %g)", o.Noise)
	}
	if o.Noise < 0 {
		o.Noise = set.Noise
	}
	if err := storage.CheckAbsent(ctx, o.Out); err != nil {
		return nil, err
	}
	err := withClaim(ctx, o.Out, func(*storage.Claim) error {
		return storage.Create(ctx, o.Out, func(w io.Writer) error {
			return set.WriteCSV(ctx, w, o.Rows, o.Seed, o.Noise)
		})
	})
	if err != nil {
		return nil, err
	}
	return &GenerateResult{o.Out, o.Rows}, nil
}

// WriteTo prints the result for people.
func (g *GenerateResult) WriteTo(w io.Writer) (int64, error) {
	n, err := fmt.Fprintf(w, "wrote %s rows to %s\n", report.Groups(g.Rows), g.Out)
	return int64(n), err
}
