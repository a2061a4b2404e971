package prepare

import (
	"slices"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/profile"
)

// Encoding says how columns of typed tables become numbers.
type Encoding struct {
	preprocess.ColumnOptions
	Labels *preprocess.Targets // if preprocess.NeedsTargets
	Counts *preprocess.Targets // of the rows that are not held out, as preprocess.ChooseColumns has them
}

// encode makes the encoding of a table's columns the first step. The statistics describe the
// numbers that it makes.
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
		return refused(err)
	}
	sc.grow(len(numbers))
	for _, c := range numbers {
		sc.column(c.Mean, c.Variance, c.Low, c.High)
		sc.unscaled = append(sc.unscaled, c.Unscaled)
	}
	sc.Steps, sc.Dim, sc.encoded = append(sc.Steps, r), len(numbers), 1
	return nil
}

// hot reports whether rows have one-hot levels.
func (sc *Scaling) hot() bool {
	if sc.encoded == 0 {
		return false
	}
	r, ok := sc.Steps[0].(preprocess.Columns)
	return ok && slices.ContainsFunc(r.Slots, func(s preprocess.Slot) bool { return s.OneHot != nil })
}
