package pipelines

import (
	"context"
	"io"
	"math"
	"strings"

	"github.com/bochner-ml/bochner/features/synthetic"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Generate writes a CSV file of sample data, complete or not at all.
func Generate(ctx context.Context, o options.Generate) (*results.Generate, error) {
	set, ok := synthetic.Find(o.Set)
	switch {
	case !ok:
		return nil, exit.Usagef("unknown data set %q%s; have %s", o.Set, option.DidYouMean(o.Set, synthetic.Names()),
			strings.Join(synthetic.Names(), ", "))
	case o.Rows < 1:
		return nil, exit.Usagef("--rows must be at least 1 (have %d)", o.Rows)
	case o.Out == "":
		return nil, exit.Usagef("--out is missing: name the file to create")
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
	return &results.Generate{Out: o.Out, Rows: o.Rows}, nil
}
