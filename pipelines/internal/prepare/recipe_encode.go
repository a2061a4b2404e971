package prepare

import (
	"slices"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/profile"
)

// Encoding says how typed columns become numbers.
type Encoding struct {
	preprocess.ColumnOptions
	Labels *preprocess.Targets // sums of labels, if preprocess.NeedsTargets
	Counts *preprocess.Targets // counts of levels in rows that are not held out; nil for the profile's counts
}

// encode makes the encoding of a table's columns the first step, and sets the statistics of the resulting
// numbers.
func (sc *Scaling) encode(s dataset.Schema, o Encoding, p *profile.Profile, sum *profile.Sum) error {
	t, slots := s.Table, make([]preprocess.ColumnStatistics, len(p.Columns))
	for j, c := range p.Columns {
		slots[j] = preprocess.ColumnStatistics{
			Rows: p.Rows, Missing: c.Missing, Share: sum.MissingShare(j),
			Mean: c.Mean, Variance: float64(c.Dev * c.Dev), Low: c.Min, High: c.Max, Levels: sum.Levels(j),
		}
	}
	at := 0
	for i := range t.Columns {
		if v, ok := t.Columns[i].FillNumber(); ok {
			if s.Centre != nil {
				v -= s.Centre[at]
			}
			fill := float32(v)
			slots[at].Fill = &fill
		}
		at += t.Columns[i].Width()
	}
	r, numbers, err := preprocess.ChooseColumns(t, slots, o.ColumnOptions, o.Labels, o.Counts)
	if err != nil {
		return refusal(err)
	}
	sc.grow(len(numbers))
	for _, c := range numbers {
		sc.column(c.Mean, c.Variance, c.Low, c.High)
		sc.unscaled = append(sc.unscaled, c.Unscaled)
	}
	sc.Steps, sc.Dim, sc.encoded = append(sc.Steps, r), len(numbers), 1
	return nil
}

// hot reports whether some columns are encoded one-hot.
func (sc *Scaling) hot() bool {
	if sc.encoded == 0 {
		return false
	}
	r, ok := sc.Steps[0].(preprocess.Columns)
	return ok && slices.ContainsFunc(r.Slots, func(s preprocess.Slot) bool { return s.OneHot != nil })
}
