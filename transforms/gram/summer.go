package gram

import (
	"fmt"
	"runtime"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/transforms"
)

// SpecOf returns the Spec of a pass that sums rows by a recipe, for labels of the given number of classes. It
// has no values of λ.
func SpecOf(r *sums.Recipe, classes int) Spec {
	return Spec{
		Recipe: r.Features, Outputs: r.Shape(classes).Outputs, FoldPlan: r.Rule.FoldPlan(), Components: r.Rule.Components,
		Weights: r.Rule.Weights, Steps: r.Rule.Steps, Frequent: r.Rule.Frequent,
	}
}

// Accumulator sums rows from any source: call NewAccumulator, then Add, then Parts. The Pass must not have
// Pass.Copies. An Accumulator is not safe for concurrent use.
type Accumulator struct {
	pass           *Pass
	shape          ridge.Shape
	stripe         ridge.Stripe
	folds          []*foldSum // segment by segment; nil for a fold without a part in the stripe
	assigner       *profile.Assigner
	encoder        *preprocess.TargetEncoder
	segments       *bySegment // nil if all rows are summed together
	all            perSet
	hashes         []uint64
	listsRowHashes bool // list the hashes of the rows

	notFrequent []int       // scratch: indices of the rows of a block that are not counted separately
	restBlock   rowio.Block // scratch: these rows
}

// perSet holds what is collected about the rows of a set of folds, in addition to their sums.
type perSet struct {
	copies    *profile.CopyCounter // nil if no rows are counted separately
	rowHashes []byte               // see TakeRowHashes
}

// NewAccumulator returns an Accumulator without rows, for one stripe of the sums.
func NewAccumulator(t transforms.Task, stripe int, p *Pass) (*Accumulator, error) {
	p.Spec.validate()
	m, err := t.Worker.Gridded(p.Spec.Recipe)
	if err != nil {
		return nil, err
	}
	s := &Accumulator{pass: p, assigner: p.Assigner(), listsRowHashes: p.Spec.RowHashes && stripe == 0}
	if s.encoder, err = transforms.TargetEncoder(p.Spec.Recipe); err != nil {
		return nil, err
	}
	_, dim := m.Dims()
	s.shape = p.Shape(dim)
	shape, grid := s.shape, features.NewGrid(dim, p.Spec.Steps)
	cut := ridge.CutStripes(shape, p.Spec.NumSums(), t.Scan.Stripes)
	if len(cut) != max(1, t.Scan.Stripes) || p.Spec.Rows && len(cut) > p.Spec.Folds {
		return nil, fmt.Errorf("gram: %d stripes of sums that have %d", t.Scan.Stripes, len(cut))
	}
	s.stripe = cut[stripe]
	if len(cut) > 1 {
		runtime.GC() // free the sums of an earlier stripe before this one is allocated
	}
	for fold := range p.Spec.NumSums() {
		var f *foldSum
		switch first, end := s.stripe.Part(shape, fold); {
		case first == end: // this stripe has nothing of the fold
		case p.Spec.Random != nil:
			f = newFoldSum(t, p, m, nil, grid) // see beginAudit
		case p.Spec.Rows:
			f = newFoldSum(t, p, m, nil, grid)
			f.gridRows, f.counts = ridge.NewGridRows(shape), true
		default:
			f = newFoldSum(t, p, m, ridge.NewPartSum(shape, first, end), grid)
			f.counts = first == 0
		}
		s.folds = append(s.folds, f)
	}
	if len(p.Spec.Segments) > 0 {
		s.segments = newBySegment(p, stripe == 0)
	}
	s.startCopyCounts()
	return s, nil
}

// startCopyCounts starts counting frequent rows separately, from 0, if the pass asks for it.
func (s *Accumulator) startCopyCounts() {
	f := s.pass.Spec.Frequent
	if f == nil {
		return
	}
	for _, set := range s.sets() {
		set.copies = profile.NewCopyCounter(f, s.pass.Seed, s.pass.Target.Labels())
	}
}

// sets returns the perSet of each set of folds.
func (s *Accumulator) sets() (all []*perSet) {
	if s.segments == nil {
		return []*perSet{&s.all}
	}
	for i := range s.segments.rows {
		all = append(all, &s.segments.rows[i].perSet)
	}
	return all
}

// Add adds the rows of a block, which may be changed.
func (s *Accumulator) Add(b *rowio.Block) error { return s.add(profile.ShardStart{}, b) }

// add adds rows of a shard that begins at the place at.
func (s *Accumulator) add(at profile.ShardStart, b *rowio.Block) error {
	if s.segments == nil {
		return s.addTo(0, &s.all, at, b)
	}
	return s.segments.each(b, func(segment int, counts *segmentRows, b *rowio.Block) error {
		return s.addTo(segment*s.pass.Spec.Folds, &counts.perSet, at, b)
	})
}

// addTo adds rows of a shard to the set of folds that begins with fold first.
func (s *Accumulator) addTo(first int, set *perSet, at profile.ShardStart, b *rowio.Block) (err error) {
	if s.listsRowHashes {
		set.rowHashes = s.assigner.AppendRowHashes(set.rowHashes, b)
	}
	if len(s.folds) == 1 && s.encoder == nil && set.copies == nil {
		s.folds[0].rows.Add(b, 0, b.N)
		return nil
	}
	if set.copies != nil {
		s.hashes, s.notFrequent = set.copies.Hashes(s.hashes[:0], s.notFrequent[:0], b)
		b = selectRows(&s.restBlock, b, s.notFrequent)
	} else if s.hashes, err = s.assigner.Hashes(s.hashes[:0], at, b); err != nil {
		return err
	}
	s.encoder.Block(b, s.hashes)
	for i, h := range s.hashes {
		if f := s.folds[first+s.pass.Spec.SumOf(h)]; f != nil {
			f.rows.Add(b, i, i+1)
		}
	}
	return nil
}

// TakeRowHashes returns the hashes of the rows that were added since the last call, from
// profile.Assigner.AppendRowHashes. It returns nil if the pass does not list rows.
func (s *Accumulator) TakeRowHashes() []byte {
	hashes := s.all.rowHashes
	s.all.rowHashes = nil
	return hashes
}

// flush adds all collected rows to the sums. It returns the number of features beyond the grid since the last call.
func (s *Accumulator) flush() (saturated int64) {
	for _, f := range s.folds {
		if f == nil {
			continue
		}
		f.rows.Flush()
		saturated += f.saturated
		f.saturated = 0
	}
	return saturated
}

// part returns the numbers of a part of the stripe.
func (s *Accumulator) part(key int) []float64 {
	n := s.shape.NumParts()
	return s.folds[key/n].sum.Part(key % n)
}

// each calls f with all parts of the stripe, by their keys.
func (s *Accumulator) each(f func(key int, values []float64)) {
	for key := s.stripe.First; key < s.stripe.End; key++ {
		f(key, s.part(key))
	}
}

// Parts calls emit with the parts of the sums of all folds and their keys, and returns the
// separately counted rows. The Accumulator must not be used afterwards.
func (s *Accumulator) Parts(emit func(key int, values []float64)) (copies []profile.FrequentRow) {
	s.flush()
	s.each(emit)
	s.folds = nil
	if s.all.copies == nil {
		return nil
	}
	return s.all.copies.Rows()
}
