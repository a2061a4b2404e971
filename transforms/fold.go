package transforms

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/ridge"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*foldFn)(nil)))
}

// FoldRidge reads all rows once, takes them to their features, and returns the
// parts of the ridge sums of all folds (KV<int, Part>, the key is that of
// PartKey), and a JSON FoldReport for each shard.
func FoldRidge(s beam.Scope, sc Scan) (parts, reports beam.PCollection) {
	s = s.Scope("transforms.FoldRidge")
	return sc.apply2(s, &foldFn{Scan: sc})
}

// PartKey numbers the parts of all folds.
func PartKey(shape ridge.Shape, fold, part int) int { return fold*ridge.NumParts(shape) + part }

type foldFn struct{ Scan Scan }

func (f *foldFn) ProcessElement(ctx context.Context, lane int, emit func(int, Part), report func([]byte)) error {
	p, err := loadPass(ctx, f.Scan.Pass)
	if err != nil {
		return asFault(Internal, err)
	}
	m, err := openGridded(ctx, p.Fold.Recipe)
	if err != nil {
		return asFault(Internal, err)
	}
	folds := make([]*folder, p.Fold.Folds)
	for i := range folds {
		folds[i] = newFolder(p, m, f.Scan.Threads)
	}
	dealer := p.dealer()
	var hashes []uint64
	var reports []FoldReport
	err = f.Scan.each(ctx, p, lane, p.Target.Label(), func(s dataset.Shard, b *rows.Block) error {
		if len(folds) == 1 {
			folds[0].addRows(b, 0, b.N)
			return nil
		}
		if hashes, err = dealer.Hashes(hashes[:0], place(s), b); err != nil {
			return err
		}
		for i, h := range hashes {
			folds[p.Fold.of(h)].addRows(b, i, i+1)
		}
		return nil
	}, func(r dataset.Report) error {
		reports = append(reports, FoldReport{Report: r})
		return nil
	})
	if err != nil {
		return asFault(Internal, err)
	}
	for i, fold := range folds {
		fold.flush()
		if len(reports) > 0 {
			reports[0].Saturated += fold.saturated
		}
		shape := fold.sum.Shape()
		for k := range ridge.NumParts(shape) {
			emit(PartKey(shape, i, k), Part{Values: fold.sum.Part(k)})
		}
		folds[i] = nil
	}
	for _, r := range reports {
		line, err := json.Marshal(r)
		if err != nil {
			return asFault(Internal, err)
		}
		report(line)
	}
	return nil
}

// of returns the fold of a row by the hash that its folds.Dealer gives it.
func (f *Fold) of(hash uint64) int {
	return min(int(hash%uint64(max(f.Cut, f.Folds))), f.Folds-1)
}

// FoldReport is the dataset.Report of a shard, with the features that the grid of
// the sums does not reach to. Rows of several shards meet in a block, so the
// first report of a lane counts for all of them.
type FoldReport struct {
	dataset.Report
	Saturated int64 `json:"saturated,omitempty"`
}

// folder gathers the rows of one fold until a block is full, and adds its
// features to the fold's sum.
type folder struct {
	pass    *Pass
	m       features.Gridded
	threads int

	sum   *ridge.Sum
	rows  rows.Block
	class []int32
	bytes *features.Grid

	saturated int64
}

func newFolder(p *Pass, m features.Gridded, threads int) *folder {
	_, out := m.Dims()
	return &folder{
		pass: p, m: m, threads: threads,
		sum:   ridge.NewSum(p.Shape(out)),
		bytes: features.NewGrid(out, p.Fold.Steps),
	}
}

// Shape returns the shape of the ridge sums of a pass over D features.
func (p *Pass) Shape(dim int) ridge.Shape {
	return ridge.Shape{Dim: dim, Outputs: p.Fold.Outputs, Regression: p.Target != nil && p.Target.Grid != nil}
}

// addRows adds the rows from first up to end of a block.
func (f *folder) addRows(b *rows.Block, first, end int) {
	if f.rows.D != b.D {
		f.flush()
		f.rows.Reset(b.D)
		f.rows.Reserve()
	}
	limit := rows.Rows(b.D)
	for first < end {
		n := min(end-first, limit-f.rows.N)
		f.rows.X = append(f.rows.X, b.X[first*b.D:(first+n)*b.D]...)
		if f.pass.Fold.Components == 0 {
			f.rows.Y = append(f.rows.Y, b.Y[first:first+n]...)
		}
		f.rows.N += n
		first += n
		if f.rows.N == limit {
			f.flush()
		}
	}
}

func (f *folder) flush() {
	n := f.rows.N
	if n == 0 {
		return
	}
	stop := clock(mapping)
	f.saturated += f.m.Quantize(f.bytes, f.rows.X, n, f.threads)
	stop()
	defer clock(adding)()
	f.class = grow(f.class, n)
	if t := f.pass.Target; t != nil && t.Grid != nil {
		for i, y := range f.rows.Y {
			f.class[i] = t.Grid.Quantize(y)
		}
		f.sum.AddTargets(f.bytes, f.class, f.threads)
	} else {
		clear(f.class) // rows without labels are all of one class
		for i, y := range f.rows.Y {
			f.class[i] = int32(y)
		}
		f.sum.AddClasses(f.bytes, f.class, f.threads)
	}
	f.rows.Reset(f.rows.D)
}
