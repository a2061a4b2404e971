package gram

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/folds"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/weight"
	"github.com/bochner-ml/bochner/transforms"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*foldFn)(nil)))
}

// Pass is a pass that sums what a solve needs.
type Pass struct {
	transforms.Pass
	Fold Fold `json:"fold"`
}

// Fold is the state of a Pass.
type Fold struct {
	Recipe  features.Sealed `json:"recipe"`
	Outputs int             `json:"outputs"`
	Folds   int             `json:"folds"`             // at least 1
	Lambda  []float64       `json:"lambda,omitempty"`  // the path to solve for
	Smaller []float64       `json:"smaller,omitempty"` // as ridge.Options.Smaller
	// All says to try all of Lambda on all folds, as ridge.Options.All.
	All bool `json:"all,omitempty"`
	// HeldOut says to solve also for the rows of all folds except the first.
	HeldOut bool `json:"held,omitempty"`
	// Cut is the number of parts into which rows are cut, if it is more than Folds: the
	// last fold then has all remaining parts. Folds are not validated then, unless First
	// is set.
	Cut int `json:"cut,omitempty"`
	// First uses only the first fold for validation, because the recipe was found on rows
	// of all others.
	First bool `json:"first,omitempty"`
	// Components, if not 0, are solved for instead; rows need no labels.
	Components int `json:"components,omitempty"`
	// Weights is the grid of the weights of rows; nil if they have none.
	Weights *weight.Grid `json:"weights,omitempty"`
	// Apart names frequent rows whose copies a pass counts apart from all folds: see Report.Copies.
	// They are assigned to folds when sums are solved, because parts of the data are summed by
	// themselves. It is nil if copies are assigned by Pass.Copies, or not at all.
	Apart *folds.Frequency `json:"apart,omitempty"`
	// Contents says to report the hashes of the rows: see Report.Contents.
	Contents bool `json:"contents,omitempty"`
	// Alone says that no pass over the data follows, so that no trials are made for one.
	Alone bool `json:"alone,omitempty"`
	// Steps of the grid of the features, from 0 to their bound: 127 are 8 bits.
	Steps int `json:"steps"`
}

// Sums reads all rows of a Pass once, maps them to features, and returns the parts of the
// ridge sums of all folds (KV<int, Part>, keyed by partKey), and a JSON Report for each
// shard.
func Sums(s beam.Scope, sc transforms.Scan) (parts, reports beam.PCollection) {
	s = s.Scope("gram.Sums")
	return sc.Apply2(s, &foldFn{transforms.Fn{Scan: sc}})
}

// partKey numbers the parts of all folds.
func partKey(shape ridge.Shape, fold, part int) int { return fold*ridge.NumParts(shape) + part }

type foldFn struct{ transforms.Fn }

func (f *foldFn) ProcessElement(ctx context.Context, lane int, emit func(int, Part), report func([]byte)) error {
	return transforms.RunLane(ctx, f.Fn, lane, func(l *transforms.Lane, p *Pass) error {
		return f.sum(ctx, l, p, emit, report)
	})
}

func (f *foldFn) sum(ctx context.Context, l *transforms.Lane, p *Pass, emit func(int, Part), report func([]byte)) error {
	m, err := f.Worker.Gridded(p.Fold.Recipe)
	if err != nil {
		return err
	}
	parts := make([]*folder, p.Fold.Folds)
	for i := range parts {
		parts[i] = newFolder(l, p, m)
	}
	assigner := p.Assigner()
	recoder, err := transforms.Recoder(p.Fold.Recipe)
	if err != nil {
		return err
	}
	var hashes []uint64
	var reports []Report
	var apart *folds.Apart
	var rest []int
	var split rows.Block
	if f := p.Fold.Apart; f != nil {
		apart = folds.NewApart(f, p.Seed, p.Target.Labels())
	}
	var contents []byte
	err = l.Each(ctx, &p.Pass, p.Target.Label(), func(at folds.Place, b *rows.Block) error {
		if p.Fold.Contents {
			contents = appendContents(contents, p.Target, b)
		}
		if len(parts) == 1 && recoder == nil && apart == nil {
			parts[0].rows.Add(b, 0, b.N)
			return nil
		}
		if apart != nil {
			hashes, rest = apart.Hashes(hashes[:0], rest[:0], b)
			b = only(&split, b, rest)
		} else if hashes, err = assigner.Hashes(hashes[:0], at, b); err != nil {
			return err
		}
		recoder.Block(b, hashes)
		for i, h := range hashes {
			parts[p.Fold.of(h)].rows.Add(b, i, i+1)
		}
		return nil
	}, func(r dataset.Report) error {
		reports = append(reports, Report{Report: r})
		return nil
	})
	if err != nil {
		return err
	}
	if len(reports) > 0 {
		reports[0].Contents = contents
	}
	if apart != nil && len(reports) > 0 {
		reports[0].Copies = folds.AppendContents(nil, apart.Contents())
	}
	for i, fold := range parts {
		fold.rows.Flush()
		if len(reports) > 0 {
			reports[0].Saturated += fold.saturated
		}
		shape := fold.sum.Shape()
		for k := range ridge.NumParts(shape) {
			emit(partKey(shape, i, k), Part{Values: fold.sum.Part(k)})
		}
		parts[i] = nil
	}
	for _, r := range reports {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		report(line)
	}
	return nil
}

// of returns the fold of a row by the hash that its folds.Assigner gives it.
func (f *Fold) of(hash uint64) int {
	return min(int(hash%uint64(max(f.Cut, f.Folds))), f.Folds-1)
}

// Report is the dataset.Report of a shard, with the number of features outside the grid
// of the sums. Rows of several shards share a block, so the first report of a lane counts
// for all of them.
type Report struct {
	dataset.Report
	Saturated int64 `json:"saturated,omitempty"`
	// Copies are the rows counted apart, as folds.AppendContents encodes them.
	Copies []byte `json:"copies,omitempty"`
	// Contents are the SHA-256 of the rows with their labels and weights, one after the other.
	Contents []byte `json:"contents,omitempty"`
}

// only returns the rows of b with those indices, in to unless they are all.
func only(to, b *rows.Block, rest []int) *rows.Block {
	if len(rest) == b.N {
		return b
	}
	to.Reset(b.D)
	k := len(b.Y) / b.N
	for _, i := range rest {
		to.X, to.Y = append(to.X, b.Row(i)...), append(to.Y, b.Y[i*k:(i+1)*k]...)
		if len(b.Weights) > 0 {
			to.Weights = append(to.Weights, b.Weights[i])
		}
		to.N++
	}
	return to
}

// folder collects the rows of one fold until a block is full, and adds its features to
// the fold's sum.
type folder struct {
	lane *transforms.Lane
	pass *Pass
	m    features.Gridded

	sum   *ridge.Sum
	rows  ridge.Collector
	bytes *features.Grid

	saturated int64
}

func newFolder(l *transforms.Lane, p *Pass, m features.Gridded) *folder {
	_, out := m.Dims()
	f := &folder{
		lane: l, pass: p, m: m,
		sum:   ridge.NewSum(p.Shape(out)),
		bytes: features.NewGrid(out, p.Fold.Steps),
	}
	f.rows = ridge.Collector{Weights: p.Fold.Weights, Unlabeled: p.Fold.Components > 0, Full: f.add}
	return f
}

// Shape returns the shape of the ridge sums of a pass over D features.
func (p *Pass) Shape(dim int) ridge.Shape {
	return ridge.Shape{
		Dim: dim, Outputs: p.Fold.Outputs, Regression: p.Target != nil && p.Target.Grid != nil,
		Weighted: p.Fold.Weights != nil,
	}
}

// add adds a block of rows with weights on the grid, if there is one.
func (f *folder) add(b *rows.Block, weights []int64) {
	stop := f.lane.Clock(transforms.MapTime)
	saturated := f.m.Quantize(f.bytes, b.X, b.N, f.lane.Scan.Threads)
	stop()
	f.saturated += saturated
	f.lane.Add(transforms.FeaturesSaturated, saturated)
	defer f.lane.Clock(transforms.FoldTime)()
	f.sum.Add(f.bytes, b.Y, f.pass.grid(), weights, f.lane.Scan.Threads)
}

// grid returns the grids of the targets; nil if there are none.
func (p *Pass) grid() linear.Grids {
	if p.Target == nil {
		return nil
	}
	return p.Target.Grid
}
