package align

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
		r.packed = blas.Pack(r.s.w[len(r.s.w)-r.s.now*r.l.Dim:], nil, r.s.now, r.l.Dim)
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
	at        int     // number of rows taken so far
	partial   partial
	phi       []float32 // features of a block, reused
}

// Worker implements iterative.Round.
func (r *Round) Worker(partition int, carried []byte) (iterative.Worker, error) {
	if partition < 0 || partition >= r.l.Partitions {
		panic("align: Worker: no such partition")
	}
	r.once.Do(r.prepare)
	d, class, err := decodeDual(r.l, carried)
	if err != nil {
		return nil, fmt.Errorf("align: partition %d: dual weights: %w", partition, err)
	}
	if r.s.phase == begin && carried != nil {
		return nil, fmt.Errorf("align: partition %d: dual weights exist before the first round", partition)
	}
	w := &worker{Round: r, partition: partition, dual: d, class: class}
	if r.s.phase == score {
		w.partial.sums = make([]float64, r.s.game.K*2*r.s.now)
	}
	return w, nil
}

// Take implements iterative.Worker. It ignores held-out rows. In phase begin the error names a
// label that is not a class; later it says that there are more rows than before. It panics if the
// rows have another length than the learner's.
func (w *worker) Take(b iterative.Block) error {
	b.Check("align", w.l.Dim)
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
	w.packed.CosSin(blas.Grow(&w.phi, b.N*2*w.s.now), b.Phi, b.N, 1, 1)
	switch w.s.phase {
	case score:
		w.dual.addSums(w.partial.sums, w.phi, first)
	case ascend:
		w.partial.number += w.dual.ascend(w.s.report.Eta, w.s.u, w.phi, first)
	default:
		panic("align: Take in a round without rows")
	}
	return nil
}

// End implements iterative.Worker. It returns a partial and the dual weights of the partition, both encoded.
func (w *worker) End() (partial, carried []byte, err error) {
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
		w.partial.chains = w.l.Search.run(w.field, w.s.sample(w.l).Weightings(), chains{w.s.game.Rounds, first, count}, 1)
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
	return w.partial.encode(w.l.Dim), encodeDual(w.l, w.dual, w.class), nil
}

// clip ends a projection: it applies clipRows to each weighting with its multiplier.
func clip(d *Dual, mu []float64) {
	for k := range d.K {
		alpha, y := d.Row(k)
		clipRows(alpha, y, mu[k])
	}
}

// Update implements iterative.Round. When a round of the game ends, the report has values besides
// the number of rows: Objective is the upper bound of the game's value if it is proven, Dual is the
// lower bound, and Detail is the Report as JSON.
func (r *Round) Update(next func() ([]byte, error)) ([]byte, iterative.Report, error) {
	sum, err := r.collect(next)
	if err != nil {
		return nil, iterative.Report{}, err
	}
	report := iterative.Report{Round: r.s.round, Rows: sum.rows}
	s := *r.s
	s.round++
	s.alpha, s.brackets, s.mu = slices.Clone(s.alpha), slices.Clone(s.brackets), slices.Clone(s.mu)
	s.u = nil
	switch r.s.phase {
	case begin:
		if err := sum.checkClasses(r.l.Classes); err != nil {
			return nil, report, err
		}
		s.game.N = sum.rows
		s.narrow(sum.census, r.l)
	case narrow:
		s.narrow(sum.census, r.l)
	case search:
		s.take(sum.chains, r.l)
	case score:
		s.answer(sum)
	case ascend:
		s.game.finish(&s.report, sum.number)
		s.last = s.report
		r.once.Do(r.prepare)
		phi := make([]float32, len(r.l.Class)*2*s.now)
		r.packed.CosSin(phi, r.l.X, len(r.l.Class), 1, 1)
		s.sample(r.l).ascend(s.report.Eta, r.s.u, phi, 0)
		s.done = 0
		s.narrow(sum.census, r.l)
		report.Dual = &s.last.Lower
		if s.last.Proven {
			report.Objective = s.last.Upper
		}
		report.Detail = json.RawMessage(text(s.last))
	}
	report.Words = s.words(r.l)
	return s.encode(r.l), report, nil
}

// checkClasses returns an error unless there are rows of at least two classes.
func (f *partial) checkClasses(classes int) error {
	if f.rows == 0 {
		return errors.New("align: no rows")
	}
	for _, c := range f.census {
		if c.Positive == f.rows || classes == 2 && c.Positive == 0 {
			return errors.New("align: all rows are of one class; at least two classes are needed")
		}
	}
	return nil
}

// take adds frequencies that the chains have found. The next phase is score.
func (s *state) take(chains *searchResult, l *Learner) {
	taken := chains.pick(min(l.Take, l.Frequencies-len(s.w)/l.Dim), l.Apart/l.Search.Width)
	s.w = slices.Clone(s.w)
	for _, j := range taken {
		s.w = append(s.w, chains.W[j*l.Dim:(j+1)*l.Dim]...)
	}
	s.now, s.phase = len(taken), score
	s.report = Report{Zeta: chains.Zeta, Xi: chains.Xi}
}

// answer answers the dual weights with weights of the features that were taken. The next phase is ascend.
func (s *state) answer(sum *partial) {
	zeta, xi := s.report.Zeta, s.report.Xi
	s.u, s.report = s.game.answer(sum.sums, 2*s.now, s.now, sum.number/float64(s.game.N))
	s.report.Zeta, s.report.Xi = zeta, xi
	most := float64(s.report.Eta * s.game.Bound) // by which a dual weight moves
	s.setBrackets(around(-most, 1+most))
	s.phase = ascend
}

// narrow uses one census per weighting, over all rows, to narrow the brackets. The last census of a
// projection also ends it: the next phase is search, or rest if all frequencies were found.
func (s *state) narrow(census []census, l *Learner) {
	for k := range census {
		in, mu, _ := census[k].narrow(s.bracket(k))
		s.brackets[2*k], s.brackets[2*k+1], s.mu[k] = in.Lo, in.Hi, mu
	}
	s.phase = narrow
	s.done++
	if s.done == censuses {
		s.done, s.phase = 0, search
		clip(s.sample(l), s.mu)
		if len(s.w) >= l.Frequencies*l.Dim {
			s.phase = rest
		}
	}
}

// words describes the progress of the game, with the bounds of its value after the last complete round.
func (s *state) words(l *Learner) string {
	text := fmt.Sprintf("%d of %d frequencies", len(s.w)/l.Dim, l.Frequencies)
	if s.game.Rounds == 0 {
		return text
	}
	text += fmt.Sprintf("; the value of the game is at least %.6g", s.last.Lower)
	if s.last.Proven {
		text += fmt.Sprintf(" and at most %.6g", s.last.Upper)
	}
	return text
}

// collect adds up the partial results in the order of the partitions. It returns an error if
// partitions are missing, or if their rows are not as many as before.
func (r *Round) collect(next func() ([]byte, error)) (*partial, error) {
	sums, counts := 0, 0
	switch r.s.phase {
	case begin, narrow, ascend:
		counts = r.s.game.K
	case score:
		sums = r.s.game.K * 2 * r.s.now
	}
	all := &partial{sums: make([]float64, sums), census: make([]census, counts)}
	var shares []*searchResult
	count := 0
	err := iterative.EachPartial(next, func(partition int, data []byte) error {
		count++
		if count > r.l.Partitions {
			return fmt.Errorf("align: more than %d partitions", r.l.Partitions)
		}
		chains := 0
		if r.s.phase == search {
			_, chains = r.share(partition)
		}
		f, err := decodePartial(data, r.l.Dim, sums, counts, chains)
		if err != nil {
			return fmt.Errorf("align: round %d: partition %d: partial result: %w", r.s.round, partition, err)
		}
		all.rows += f.rows
		all.number += f.number
		for i, v := range f.sums {
			all.sums[i] += v
		}
		for i := range f.census {
			all.census[i].Merge(&f.census[i])
		}
		if chains > 0 {
			shares = append(shares, f.chains)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case count != r.l.Partitions:
		return nil, fmt.Errorf("align: round %d: partial results of %d of %d partitions", r.s.round, count, r.l.Partitions)
	case r.s.phase != begin && all.rows != r.s.game.N:
		return nil, fmt.Errorf("align: round %d: %d rows, but earlier rounds had %d", r.s.round, all.rows, r.s.game.N)
	}
	all.chains = join(shares...)
	return all, nil
}
