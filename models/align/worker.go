package align

import (
	"fmt"
	"sync"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/iterative"
)

// Round is one phase of the game, a round of package iterative. It implements iterative.Round.
type Round struct {
	l *Learner
	s *state

	// Workers share the following, which prepare sets once: the sample for the search, or the
	// frequencies of this round of the game for score and ascend.
	once   sync.Once
	field  *Field
	packed *blas.Weights
}

// prepare packs what the workers of the phase share.
func (r *Round) prepare() {
	switch r.s.phase {
	case search:
		r.field = NewField(r.l.X, len(r.l.Class), r.l.Dim)
	case score, ascend:
		r.packed = blas.Pack(r.s.current(r.l.Dim), nil, r.s.now, r.l.Dim)
	}
}

// Reads implements iterative.Round: workers read rows in the phases begin, score and ascend.
func (r *Round) Reads() bool { return r.s.phase == begin || r.s.phase == score || r.s.phase == ascend }

// Done implements iterative.Round. It reports whether all frequencies were found and the dual
// weights have taken their step for them. Further rounds find no more frequencies.
func (r *Round) Done() bool {
	return r.s.phase == rest || r.s.phase == narrow && len(r.s.w) >= r.l.Frequencies*r.l.Dim
}

// share returns the range of chains that the worker of a partition runs.
func (r *Round) share(partition int) (first, count int) {
	first = r.l.Search.Chains * partition / r.l.Partitions
	return first, r.l.Search.Chains*(partition+1)/r.l.Partitions - first
}

// worker is the iterative.Worker of one partition in one phase.
type worker struct {
	*Round
	partition int
	dual      *Dual   // of the partition's rows
	class     []int32 // of the partition's rows
	at        int     // number of rows folded so far
	partial   partial
	phi       []float32 // features of a block, reused
}

// Worker implements iterative.Round.
func (r *Round) Worker(partition int, own []byte) (iterative.Worker, error) {
	if partition < 0 || partition >= r.l.Partitions {
		panic("align: Worker: no such partition")
	}
	r.once.Do(r.prepare)
	d, class, err := decodeDual(r.l, own)
	if err != nil {
		return nil, fmt.Errorf("align: partition %d: dual weights: %w", partition, err)
	}
	if r.s.phase == begin && own != nil {
		return nil, fmt.Errorf("align: partition %d: dual weights exist before the first round", partition)
	}
	w := &worker{Round: r, partition: partition, dual: d, class: class}
	if r.s.phase == score {
		w.partial.sums = make([]float64, r.s.game.K*2*r.s.now)
	}
	return w, nil
}

// Fold implements iterative.Worker. It ignores held-out rows. In phase begin the error names a
// label that is not a class; later it says that there are more rows than before. It panics if the
// rows have another length than the learner's.
func (w *worker) Fold(b iterative.Block) error {
	if b.D != w.l.Dim || b.N < 0 || len(b.Phi) < b.N*b.D || len(b.Y) != b.N {
		panic("align: block of another shape")
	}
	if b.HeldOut {
		return nil
	}
	first := w.at
	w.at += b.N
	if w.s.phase == begin {
		for i, y := range b.Y {
			c := int32(y)
			if c < 0 || int(c) >= w.l.Classes || float32(c) != y {
				return fmt.Errorf("align: partition %d: row %d: class %v; have %d classes", w.partition, first+i, y, w.l.Classes)
			}
			w.class = append(w.class, c)
		}
		return nil
	}
	if w.at > w.dual.N {
		return fmt.Errorf("align: partition %d: more than the %d rows of earlier rounds", w.partition, w.dual.N)
	}
	r := 2 * w.s.now
	w.phi = grown(&w.phi, b.N*r)
	w.packed.CosSin(w.phi, b.Phi, b.N, 1, 1)
	switch w.s.phase {
	case score:
		w.dual.addSums(w.partial.sums, w.phi, r, first, b.N)
	case ascend:
		w.partial.number += w.dual.ascend(w.s.report.Eta, w.s.u, w.phi, r, first, b.N)
	default:
		panic("align: Fold in a round without rows")
	}
	return nil
}

// End implements iterative.Worker. It returns a partial and the dual weights of the partition, both
// encoded.
func (w *worker) End() (foundBytes, own []byte, err error) {
	if w.s.phase == begin {
		w.dual = newDual(w.class, w.l.Classes, w.l.Options.Start)
	} else if w.Reads() && w.at != w.dual.N {
		return nil, nil, fmt.Errorf("align: partition %d: %d rows, but earlier rounds had %d", w.partition, w.at, w.dual.N)
	}
	w.partial.rows = int64(w.dual.N)
	switch w.s.phase {
	case begin, narrow, ascend:
		w.partial.census = make([]census, w.dual.K)
		for k := range w.partial.census {
			alpha, y := w.dual.Row(k)
			w.partial.census[k].count(alpha, y, w.s.bracket(k))
		}
	case search:
		clip(w.dual, w.s.mu)
		first, count := w.share(w.partition)
		a := make([]float32, len(w.s.alpha))
		w.s.sample(w.l).Signed(a)
		w.partial.chains = w.l.Search.run(w.field, a, w.s.game.K, w.s.game.Rounds, first, count, 1)
		err = w.partial.chains.lost()
	case score:
		for _, v := range w.dual.Alpha {
			w.partial.number += v
		}
		err = finite(w.partial.sums)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("align: partition %d: %w", w.partition, err)
	}
	return w.partial.encode(w.l.Dim), encodeDual(w.dual, w.class), nil
}

// clip ends a projection: it applies clipRows to each weighting with its multiplier.
func clip(d *Dual, mu []float64) {
	for k := range d.K {
		alpha, y := d.Row(k)
		clipRows(alpha, y, mu[k])
	}
}
