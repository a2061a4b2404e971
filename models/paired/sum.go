package paired

import (
	"encoding"
	"encoding/binary"
	"errors"
	"slices"
)

// Sum is what a pass collects of two models. Create it with NewSum. It is not safe for
// concurrent use.
type Sum struct {
	metrics   []Metric // means over rows
	weighted  bool
	rows      int64
	notFinite int64
	pairs     Pairs
	losses    []Losses // of each metric; that of Error is empty unless rows have weights
}

// NewSum returns the sum of no rows for such metrics, without RMSE and repetitions; weighted
// says that rows have weights.
func NewSum(weighted bool, metrics ...Metric) *Sum {
	return &Sum{metrics: metrics, weighted: weighted, losses: make([]Losses, len(metrics))}
}

// Add adds a row of that weight, as Losses.Add takes it and 1 unless rows have weights, with the
// loss of each metric. The loss of Error is 1 where the model is wrong and 0 where it is not. If
// another loss is not Valid the row is left out of all metrics but Error, and counted.
func (s *Sum) Add(weight int64, champion, challenger []float64) {
	s.rows++
	finite := true
	for i, m := range s.metrics {
		if m == Error {
			s.pairs.Add(champion[i] > 0, challenger[i] > 0, 1)
			if s.weighted {
				s.losses[i].Add(weight, champion[i], challenger[i])
			}
			continue
		}
		finite = finite && Valid(champion[i], challenger[i])
	}
	if !finite {
		s.notFinite++
		return
	}
	for i, m := range s.metrics {
		if m != Error {
			s.losses[i].Add(weight, champion[i], challenger[i])
		}
	}
}

// Merge adds the rows of t, a sum for the same metrics.
func (s *Sum) Merge(t *Sum) {
	if s.weighted != t.weighted || !slices.Equal(s.metrics, t.metrics) {
		panic("paired: merge of sums of different metrics")
	}
	s.rows += t.rows
	s.notFinite += t.notFinite
	s.pairs.Merge(t.pairs)
	for i := range s.losses {
		s.losses[i].Merge(&t.losses[i])
	}
}

// Rows returns how many rows were added, whatever their weights.
func (s *Sum) Rows() int64 { return s.rows }

// NotFinite returns how many rows have a loss that is not Valid, because the predictions of a
// model are not finite or far out.
func (s *Sum) NotFinite() int64 { return s.notFinite }

// Pairs returns the rows by which model is wrong, for classes.
func (s *Sum) Pairs() Pairs { return s.pairs }

var (
	_ encoding.BinaryAppender    = (*Sum)(nil)
	_ encoding.BinaryMarshaler   = (*Sum)(nil)
	_ encoding.BinaryUnmarshaler = (*Sum)(nil)
)

var errSum = errors.New("paired: damaged encoding of a sum")

// AppendBinary appends whether rows have weights and the number of metrics (a byte each), the
// index of each metric among Metrics (a byte), six counts (uint64, little-endian), and for each
// metric the number of rows and the sums. The error is always nil.
func (s *Sum) AppendBinary(b []byte) ([]byte, error) {
	weighted := byte(0)
	if s.weighted {
		weighted = 1
	}
	b = append(b, weighted, byte(len(s.metrics)))
	for _, m := range s.metrics {
		b = append(b, byte(slices.Index(Metrics(), m)))
	}
	p := s.pairs
	for _, n := range [...]int64{s.rows, s.notFinite, p.Rows, p.Both, p.Champion, p.Challenger} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	for i := range s.losses {
		l := &s.losses[i]
		b = binary.LittleEndian.AppendUint64(b, uint64(l.rows))
		for k := range l.sums {
			b, _ = l.sums[k].AppendBinary(b)
		}
	}
	return b, nil
}

// MarshalBinary returns what AppendBinary appends.
func (s *Sum) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// Decode sets s to the sum at the beginning of b and returns the rest.
func (s *Sum) Decode(b []byte) (rest []byte, err error) {
	le := binary.LittleEndian
	if len(b) < 2 || b[0] > 1 || int(b[1]) > len(Metrics()) || len(b) < 2+int(b[1])+6*8 {
		return nil, errSum
	}
	var metrics []Metric
	for _, m := range b[2 : 2+b[1]] {
		if int(m) >= len(Metrics()) || Metrics()[m] == RMSE || slices.Contains(metrics, Metrics()[m]) {
			return nil, errSum
		}
		metrics = append(metrics, Metrics()[m])
	}
	t := NewSum(b[0] == 1, metrics...)
	b = b[2+len(metrics):]
	for _, n := range [...]*int64{&t.rows, &t.notFinite, &t.pairs.Rows, &t.pairs.Both, &t.pairs.Champion, &t.pairs.Challenger} {
		if *n, b = int64(le.Uint64(b)), b[8:]; *n < 0 {
			return nil, errSum
		}
	}
	for i := range t.losses {
		if len(b) < 8 {
			return nil, errSum
		}
		l := &t.losses[i]
		l.rows, b = int64(le.Uint64(b)), b[8:]
		for k := range l.sums {
			if b, err = l.sums[k].Decode(b); err != nil || l.sums[k].Sign() < 0 || l.rows == 0 && !l.sums[k].IsZero() {
				return nil, errSum
			}
		}
		if l.rows < 0 || l.rows > t.rows || l.rows > 0 && (l.sums[0].IsZero() || l.sums[3].IsZero()) {
			return nil, errSum
		}
	}
	p := t.pairs
	if t.notFinite > t.rows || p.Rows > t.rows || p.Both > p.Rows || p.Champion > p.Rows-p.Both || p.Challenger > p.Rows-p.Both-p.Champion {
		return nil, errSum
	}
	*s = *t
	return b, nil
}

// UnmarshalBinary sets s to the sum encoded in b.
func (s *Sum) UnmarshalBinary(b []byte) error {
	rest, err := s.Decode(b)
	if err == nil && len(rest) > 0 {
		err = errSum
	}
	return err
}
