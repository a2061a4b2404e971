package gram

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*foldFn)(nil)))
}

// Pass is a pass that sums what a solve needs.
type Pass struct {
	transforms.Pass
	Fold Spec `json:"fold"`
}

// Spec is the state of a Pass.
type Spec struct {
	Recipe  features.Sealed `json:"recipe"`
	Outputs int             `json:"outputs"`
	ridge.FoldPlan
	Choice
	// Components, if not 0, are solved for instead; rows need no labels.
	Components int `json:"components,omitempty"`
	// Weights is the grid of the weights of rows; nil if they have none.
	Weights *profile.WeightGrid `json:"weights,omitempty"`
	// Apart names frequent rows whose copies a pass counts apart from all folds: see Report.Copies.
	// They are assigned to folds when sums are solved, because parts of the data are summed by
	// themselves. It is nil if copies are assigned by Pass.Copies, or not at all.
	Apart *profile.Frequency `json:"apart,omitempty"`
	Listing
	// Levels have the names of the levels whose rows each set of folds is of, if rows of different levels
	// are summed apart. A last set without names is of the rows of all other levels.
	Levels [][]string `json:"levels,omitempty"`
	// Alone says that no pass over the data follows, so that no trials are made for one.
	Alone bool `json:"alone,omitempty"`
	// Rows says to carry the rows to the solve in place of their sums, because they are few: see
	// ridge.StoresRows.
	Rows bool `json:"rows,omitempty"`
	// Steps of the grid of the features, from 0 to their bound: 127 are 8 bits.
	Steps int `json:"steps"`
	// Random has the random numbers of an Audit; nil in other passes.
	Random []uint64 `json:"random,omitempty"`
}

// Choice says which values of λ are tried.
type Choice struct {
	Lambda  []float64 `json:"lambda,omitempty"`  // the path to solve for
	Smaller []float64 `json:"smaller,omitempty"` // as ridge.Options.Smaller
	// All says to try all of Lambda on all folds, as ridge.Options.All.
	All bool `json:"all,omitempty"`
	// Start is where the choice of λ begins, as ridge.Options.Start.
	Start float64 `json:"start,omitempty"`
	// Again says that rows are summed again on a finer grid if λ is as small as the rounding of features
	// is equivalent to: then FitReport.Coarse may be set.
	Again bool `json:"again,omitempty"`
	// Spread says which spreads are computed: all, or only that of the rows of the weights, or none.
	Spread Spreads `json:"spread,omitempty"`
}

// Spreads says which spreads a solve computes.
type Spreads string

const (
	AllSpreads Spreads = ""     // of all rows, and for targets also of the rows outside of the first fold
	OneSpread  Spreads = "one"  // of all rows
	NoSpread   Spreads = "none" // none
)

// Listing says what reports tell of each row.
type Listing struct {
	// Contents says to report the hashes of the rows, and Positions also their positions: see Report.
	Contents  bool `json:"contents,omitempty"`
	Positions bool `json:"positions,omitempty"`
}

// Sums reads all rows of a Pass once, maps them to features, and stores the ridge sums of all folds
// of each lane, part by part, in the directory of the State. It returns the stored parts
// (KV<int, []byte>, keyed by partKey; each a line of JSON), and a JSON Report for each shard.
//
// In several stripes (Scan.Stripes), each element of a lane has only the parts of a ridge.Stripe.
//
// The sums themselves do not pass through the runner: a lane has D²/2 numbers for each
// fold, and a runner would copy, encode and hold them several times.
func Sums(s beam.Scope, sc transforms.Scan, st State) (parts, reports beam.PCollection) {
	s = s.Scope("gram.Sums")
	return sc.Apply2(s, &foldFn{Splittable: transforms.Splittable{Fn: transforms.Fn{Scan: sc}}, Dir: st.Dir})
}

type foldFn struct {
	transforms.Splittable
	Dir string // where the parts are stored
}

func (f *foldFn) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, element int, emit func(int, []byte),
	report func([]byte)) error {
	return transforms.RunLane(ctx, f.Fn, element, rt, func(l *transforms.Lane, p *Pass) error {
		sums, err := newLaneSums(l, p, f.Dir)
		if err != nil {
			return err
		}
		l.Saver, l.Request.Lines = sums, p.Fold.Positions
		add := func(at profile.FoldPlace, b *rows.Block) error { return sums.add(ctx, at, b) }
		if err := l.Each(ctx, &p.Pass, p.Target.Label(), add, sums.done); err != nil {
			return err
		}
		return sums.finish(ctx, emit, report)
	})
}

// Sums returns the number of sums: one for each fold, of each level.
func (s *Spec) Sums() int { return s.Folds * max(1, len(s.Levels)) }

// Shape returns the shape of the ridge sums of a pass over D features.
func (p *Pass) Shape(dim int) ridge.Shape {
	return ridge.Shape{
		Dim: dim, Outputs: p.Fold.Outputs, Regression: p.Target != nil && p.Target.Grid != nil,
		Weighted: p.Fold.Weights != nil,
	}
}

// grid returns the grids of the targets; nil if there are none.
func (p *Pass) grid() linear.Grids {
	if p.Target == nil {
		return nil
	}
	return p.Target.Grid
}
