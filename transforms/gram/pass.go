package gram

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { beam.RegisterDoFn(reflect.TypeFor[*sumsFn]()) }

// Pass is a pass over the data that computes the sums for a solve.
type Pass struct {
	transforms.Pass
	Spec Spec `json:"spec"`
}

// Recipes returns the recipe.
func (p *Pass) Recipes() []*features.Sealed { return []*features.Sealed{&p.Spec.Recipe} }

// Spec describes the sums of a Pass, and how Solve uses them. Solve reads the sums of one set of folds only,
// so a pass with Segments is not solved, and neither is one with Random. SolveOptions and PassFollows are for
// models with labels. Rows excludes Components, Segments, Frequent and Random.
type Spec struct {
	Recipe  features.Sealed `json:"recipe"`
	Outputs int             `json:"outputs"`
	ridge.FoldPlan
	SolveOptions
	// Components is the number of principal components to compute; rows then need no labels. 0
	// means a model with labels.
	Components int `json:"components,omitempty"`
	// Weights is the grid of the weights of rows; nil if they have none.
	Weights *profile.WeightGrid `json:"weights,omitempty"`
	// Frequent describes frequent rows. The pass does not add their copies to a fold but counts them
	// separately (ShardReport.Copies), because readers sum independently; the solve
	// assigns the copies to folds. It is nil if Pass.Copies assigns them, or if nothing does.
	Frequent *profile.FrequentHashes `json:"frequent,omitempty"`
	Listing
	// Segments is not empty if the rows of different segments of a column are summed separately, each
	// in a set of folds of its own. Segments[i] has the names of the segments in set i. If the last set
	// has no names, it has the rows of all other segments.
	Segments [][]string `json:"segments,omitempty"`
	// PassFollows is true if a later pass scores the rows of the first fold, so that the solve checks their classes
	// and stores trials.
	PassFollows bool `json:"pass_follows,omitempty"`
	// Rows is true to store the few rows instead of their sums; see ridge.StoresRows.
	Rows bool `json:"rows,omitempty"`
	// Steps is the number of steps of the features' grid from 0 to their bound: 127 for 8 bits.
	Steps int `json:"steps"`
	// Random holds the random numbers of an Audit; nil in other passes.
	Random []uint64 `json:"random,omitempty"`
}

// SolveOptions has the values of λ that a solve tries, and chooses what it returns.
type SolveOptions struct {
	ridge.LambdaSearch
	// MayRefine is true if rows can be summed again on a finer grid. FitReport.Coarse is then set if the
	// best λ is not larger than FitReport.Floor, the λ that is equivalent to rounding the features.
	MayRefine bool `json:"may_refine,omitempty"`
	// Sketch selects the sketches to compute.
	Sketch Sketches `json:"sketch,omitempty"`
}

// Sketches selects the sketches (ridge.Sketch) that a solve computes.
type Sketches string

const (
	allSketches Sketches = ""     // of all rows, and for targets also of the rows outside of the first fold
	OneSketch   Sketches = "one"  // of all rows
	NoSketch    Sketches = "none" // none
)

// Listing chooses what reports contain about each row.
type Listing struct {
	// RowHashes is true to report the hashes of the rows, and Positions to report their positions in
	// the files; see ShardReport.
	RowHashes bool `json:"contents,omitempty"`
	Positions bool `json:"positions,omitempty"`
}

// Sums reads all rows of a Pass once, maps them to features, and stores the ridge sums of all folds
// of each reader, part by part, in the directory of the State. It returns the stored runs of parts
// (KV<int, []byte>, keyed by their first part, fold·NumParts + part; each a line of JSON), and a JSON ShardReport for
// each shard.
//
// If there are several stripes (transforms.Scan.Stripes), each element of a reader sums only the parts of one
// ridge.Stripe.
//
// The sums themselves do not pass through the runner: a reader has D²/2 numbers for each
// fold, and a runner would copy, encode and hold them several times.
func Sums(s beam.Scope, sc transforms.Scan, st State) (runs, reports beam.PCollection) {
	s = s.Scope("gram.Sums")
	return sc.Apply2(s, &sumsFn{Splittable: transforms.Splittable{Fn: transforms.Fn{Scan: sc}}, Dir: st.Dir})
}

type sumsFn struct {
	transforms.Splittable
	Dir string // where the parts are stored
}

func (f *sumsFn) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, element int, emit func(int, []byte),
	report func([]byte)) error {
	return transforms.RunReader(ctx, f.Fn, element, rt, func(r *transforms.Reader, p *Pass) error {
		sums, err := newReaderSums(r, p, f.Dir)
		if err != nil {
			return err
		}
		r.Saver, r.Request.Lines = sums, p.Spec.Positions
		add := func(at profile.ShardStart, b *rowio.Block) error { return sums.add(ctx, at, b) }
		if err := r.Each(ctx, &p.Pass, p.Target.Label(), add, sums.done); err != nil {
			return err
		}
		return sums.finish(ctx, emit, report)
	})
}

// validate panics if options exclude each other.
func (s *Spec) validate() {
	if s.Rows && (s.Components > 0 || s.Segments != nil || s.Frequent != nil || s.Random != nil) {
		panic("gram: rows are stored, but not for an embedding, by segment, by frequency or in an audit")
	}
}

// NumSums returns the number of sums: one for each fold, of each segment.
func (s *Spec) NumSums() int { return s.Folds * max(1, len(s.Segments)) }

// Shape returns the shape of the ridge sums of a pass over D features.
func (p *Pass) Shape(dim int) ridge.Shape {
	return ridge.Shape{
		Dim: dim, Outputs: p.Spec.Outputs, Regression: p.Target != nil && p.Target.Grid != nil,
		Weighted: p.Spec.Weights != nil,
	}
}

// grid returns the grids of the targets; nil if there are none.
func (p *Pass) grid() linear.Grids {
	if p.Target == nil {
		return nil
	}
	return p.Target.Grid
}
