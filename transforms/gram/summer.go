package gram

import (
	"github.com/bochner-ml/bochner/features/columns"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/folds"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/transforms"
)

// FoldOf returns the Fold that sums rows by a recipe, with that many classes, without values of λ.
func FoldOf(r *sums.Recipe, classes int) Fold {
	return Fold{
		Recipe: r.Recipe, Outputs: r.Shape(classes).Outputs, Folds: r.Rule.Folds, Cut: r.Rule.Cut, First: r.Rule.First, Components: r.Rule.Components,
		Weights: r.Rule.Weights, Steps: r.Rule.Steps, Apart: r.Rule.Frequent,
	}
}

// Summer sums rows that come from anywhere, by a Pass that counts no copies (Pass.Copies). It is
// not safe for concurrent use.
type Summer struct {
	pass     *Pass
	folds    []*folder
	assigner *folds.Assigner
	recoder  *columns.Recoder
	apart    *folds.Apart
	hashes   []uint64
	rest     []int
	split    rows.Block
}

// NewSummer returns a Summer of no rows, which counts its work on the lane.
func NewSummer(l *transforms.Lane, p *Pass) (*Summer, error) {
	m, err := l.Worker.Gridded(p.Fold.Recipe)
	if err != nil {
		return nil, err
	}
	s := &Summer{pass: p, assigner: p.Assigner()}
	if s.recoder, err = transforms.Recoder(p.Fold.Recipe); err != nil {
		return nil, err
	}
	for range p.Fold.Folds {
		s.folds = append(s.folds, newFolder(l, p, m))
	}
	s.countApart()
	return s, nil
}

// countApart begins to count rows apart, if the pass says so.
func (s *Summer) countApart() {
	if f := s.pass.Fold.Apart; f != nil {
		s.apart = folds.NewApart(f, s.pass.Seed, s.pass.Target.Labels())
	}
}

// Add adds the rows of a block, which may be changed.
func (s *Summer) Add(b *rows.Block) error { return s.add(folds.Place{}, b) }

// add adds rows of a shard that begins there.
func (s *Summer) add(at folds.Place, b *rows.Block) (err error) {
	if len(s.folds) == 1 && s.recoder == nil && s.apart == nil {
		s.folds[0].rows.Add(b, 0, b.N)
		return nil
	}
	if s.apart != nil {
		s.hashes, s.rest = s.apart.Hashes(s.hashes[:0], s.rest[:0], b)
		b = only(&s.split, b, s.rest)
	} else if s.hashes, err = s.assigner.Hashes(s.hashes[:0], at, b); err != nil {
		return err
	}
	s.recoder.Block(b, s.hashes)
	for i, h := range s.hashes {
		s.folds[s.pass.Fold.of(h)].rows.Add(b, i, i+1)
	}
	return nil
}

// flush adds all rows that were collected to the sums. It returns the number of features beyond the
// grid since the last time.
func (s *Summer) flush() (saturated int64) {
	for _, f := range s.folds {
		f.rows.Flush()
		saturated += f.saturated
		f.saturated = 0
	}
	return saturated
}

// Parts calls emit with the parts of the sums of all folds, by their keys, and returns the rows
// that are counted apart. The Summer must not be used afterwards.
func (s *Summer) Parts(emit func(key int, values []float64)) (copies []folds.Content) {
	s.flush()
	for i, fold := range s.folds {
		shape := fold.sum.Shape()
		for k := range ridge.NumParts(shape) {
			emit(partKey(shape, i, k), fold.sum.Part(k))
		}
		s.folds[i] = nil
	}
	if s.apart == nil {
		return nil
	}
	return s.apart.Contents()
}
