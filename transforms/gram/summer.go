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
	if f := p.Fold.Apart; f != nil {
		s.apart = folds.NewApart(f, p.Seed, p.Target.Labels())
	}
	return s, nil
}

// Add adds the rows of a block, which may be changed.
func (s *Summer) Add(b *rows.Block) (err error) {
	if s.apart != nil {
		s.hashes, s.rest = s.apart.Hashes(s.hashes[:0], s.rest[:0], b)
		b = only(&s.split, b, s.rest)
	} else if s.hashes, err = s.assigner.Hashes(s.hashes[:0], folds.Place{}, b); err != nil {
		return err
	}
	s.recoder.Block(b, s.hashes)
	for i, h := range s.hashes {
		s.folds[s.pass.Fold.of(h)].rows.Add(b, i, i+1)
	}
	return nil
}

// Parts calls emit with the parts of the sums of all folds, by their keys, and returns the rows
// that are counted apart. The Summer must not be used afterwards.
func (s *Summer) Parts(emit func(key int, values []float64)) (copies []folds.Content) {
	for i, fold := range s.folds {
		fold.rows.Flush()
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

// EncodePart returns the encoding of the whole numbers of a part.
func EncodePart(values []float64) []byte { return encodePart(Part{Values: values}) }

// DecodePart reads what EncodePart returns.
func DecodePart(data []byte) ([]float64, error) {
	p, err := decodePart(data)
	return p.Values, err
}
