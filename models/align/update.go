package align

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/models/iterative"
)

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
		if sum.rows == 0 {
			return nil, report, errors.New("align: no rows")
		}
		for _, c := range sum.census {
			if c.Positive == sum.rows || r.l.Classes == 2 && c.Positive == 0 {
				return nil, report, errors.New("align: all rows are of one class; at least two classes are needed")
			}
		}
		s.game.N = sum.rows
		s.narrow(sum.census, r.l)
	case narrow:
		s.narrow(sum.census, r.l)
	case search:
		taken := sum.chains.pick(min(r.l.Take, r.l.Frequencies-len(s.w)/r.l.Dim), r.l.Apart/r.l.Search.Width)
		s.w = slices.Clone(s.w)
		for _, j := range taken {
			s.w = append(s.w, sum.chains.W[j*r.l.Dim:(j+1)*r.l.Dim]...)
		}
		s.now, s.phase = len(taken), score
		s.report = Report{Zeta: sum.chains.Zeta, Xi: sum.chains.Xi}
	case score:
		zeta, xi := s.report.Zeta, s.report.Xi
		s.u, s.report = s.game.answer(sum.sums, 2*s.now, s.now, sum.number/float64(s.game.N))
		s.report.Zeta, s.report.Xi = zeta, xi
		s.setBrackets(s.game.bracket(s.report.Eta))
		s.phase = ascend
	case ascend:
		s.game.finish(&s.report, sum.number)
		s.last = s.report
		r.once.Do(r.prepare)
		phi := make([]float32, len(r.l.Class)*2*s.now)
		r.packed.CosSin(phi, r.l.X, len(r.l.Class), 1, 1)
		s.sample(r.l).ascend(s.report.Eta, r.s.u, phi, 2*s.now, 0, len(r.l.Class))
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

// narrow uses one census per weighting, over all rows, to narrow the brackets. The last census of a
// projection also ends it: the next phase is search, or rest if all frequencies were found.
func (s *state) narrow(census []census, l *Learner) {
	for k := range census {
		in, mu, _ := census[k].narrow(s.bracket(k))
		s.brackets[2*k], s.brackets[2*k+1], s.mu[k] = in.Lo, in.Hi, mu
	}
	s.phase = narrow
	if s.done++; s.done == censuses {
		s.done, s.phase = 0, search
		clip(s.sample(l), s.mu)
		if len(s.w) >= l.Frequencies*l.Dim {
			s.phase = rest
		}
	}
}

// words describes the progress of the game, with the bounds of its value after the last complete
// round.
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
		if count++; count > r.l.Partitions {
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
