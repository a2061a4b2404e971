// Package gram holds the pass that sums the Gram matrices of features, and the solve that makes a
// model of the sums. Sums reads all rows once and stores the ridge sums of each lane, fold by fold,
// in files of parts. Merge adds the parts of all lanes, Index writes the list of the merged parts,
// and Solve chooses λ and computes the weights on one worker. A State names the files between these
// steps. For few rows, lanes store the rows themselves instead of sums (Spec.Rows).
//
// A Summer sums rows from any source without Beam. An Audit checks stored sums against the rows.
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

// Pass is a pass that computes the sums that a solve needs.
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
	// Components, if not 0, is the number of principal components to compute, for which rows need no labels.
	Components int `json:"components,omitempty"`
	// Weights is the grid of the weights of rows; nil if they have none.
	Weights *profile.WeightGrid `json:"weights,omitempty"`
	// Apart describes frequent rows. The pass does not add their copies to a fold but counts them
	// separately (Report.Copies), because parts of the data are summed independently; the solve
	// assigns the copies to folds. It is nil if Pass.Copies assigns them, or if nothing does.
	Apart *profile.Frequency `json:"apart,omitempty"`
	Listing
	// Levels is used if rows of different levels are summed separately. It holds, for each set of
	// folds, the names of its levels. A last set without names has the rows of all other levels.
	Levels [][]string `json:"levels,omitempty"`
	// Alone says that no pass over the data follows, so that the solve makes no trials for one.
	Alone bool `json:"alone,omitempty"`
	// Rows says to store the rows for the solve instead of their sums, because they are few; see ridge.StoresRows.
	Rows bool `json:"rows,omitempty"`
	// Steps of the grid of the features, from 0 to their bound: 127 are 8 bits.
	Steps int `json:"steps"`
	// Random holds the random numbers of an Audit; nil in other passes.
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
	// Again says that rows can be summed again on a finer grid. FitReport.Coarse is then set if the
	// best λ is not larger than the λ that is equivalent to rounding the features.
	Again bool `json:"again,omitempty"`
	// Spread says which spreads are computed.
	Spread Spreads `json:"spread,omitempty"`
}

// Spreads says which spreads a solve computes.
type Spreads string

const (
	AllSpreads Spreads = ""     // of all rows, and for targets also of the rows outside of the first fold
	OneSpread  Spreads = "one"  // of all rows
	NoSpread   Spreads = "none" // none
)

// Listing says what reports contain about each row.
type Listing struct {
	// Contents says to report the hashes of the rows, and Positions also their positions; see Report.
	Contents  bool `json:"contents,omitempty"`
	Positions bool `json:"positions,omitempty"`
}

// Sums reads all rows of a Pass once, maps them to features, and stores the ridge sums of all folds
// of each lane, part by part, in the directory of the State. It returns the stored parts
// (KV<int, []byte>, keyed by partKey; each a line of JSON), and a JSON Report for each shard.
//
// If there are several stripes (Scan.Stripes), each element of a lane sums only the parts of one ridge.Stripe.
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
