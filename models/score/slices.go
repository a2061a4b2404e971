package score

import (
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/wire"
)

// Limits of Slices.
const (
	// MaxSlices is the largest number of values of a column that are distinguished.
	MaxSlices = 512
	// maxSliceText is the length, in bytes, to which values are cut.
	maxSliceText = 256

	sliceCells  = 1 << 12 // for the ranks of a slice
	shownSlices = 50      // number of values in a report; the others are summed
)

// Slices scores rows separately for each value of a column, up to MaxSlices values. Create it with
// NewSlices. It is not safe for concurrent use.
type Slices struct {
	classes int // 0 for a regression
	Keyed[string, *slice]
}

// slice has the counts for the rows with one value.
type slice struct {
	rows   int64
	weight int64   // number of rows, each as often as it counts
	square wide    // Σ of the squares of how often each row counts
	hits   Classes // with totals of each class alone; none of a regression
	ranks  ranks   // by the Margin of two classes
	scored int64   // rows with probabilities
	loss   exact.Sum
	errors Targets // of a regression
}

// NewSlices returns empty Slices of a classifier with a number of classes, or of a regression if classes is
// 0. It panics unless 0 ≤ classes ≤ schema.MaxClasses.
func NewSlices(classes int) *Slices {
	if classes < 0 || classes > schema.MaxClasses {
		panic("score: number of classes out of range")
	}
	return &Slices{classes, NewKeyed(MaxSlices, CodeSliceKey, func() *slice {
		return &slice{hits: Classes{k: classes, totals: make([]totals, classes)}, ranks: *newRanks(sliceCells),
			errors: *newTargets(sliceCells)}
	})}
}

// SliceKey returns the key of a value: its first 256 bytes.
func SliceKey(value string) string { return value[:min(len(value), maxSliceText)] }

// CodeSliceKey codes a SliceKey.
func CodeSliceKey(c *wire.Coder, key *string) { c.Text(key, maxSliceText) }

// slice returns the slice of a value, or nil if there are too many, and counts a row there rows times.
func (s *Slices) slice(value string, rows int64) *slice {
	p := s.Tally(SliceKey(value))
	if p != nil {
		p.rows++
		p.weight += rows
		p.square.add(rows, rows)
	}
	return p
}

// AddClass counts a row with that value, as Classes.Add does, with its scores, and its probabilities unless
// they are empty. Rows whose scores are not finite have neither rank nor log loss. The row counts rows
// times: once, fewer than 2²⁴ times, or a number with at most 24 significant bits.
func (s *Slices) AddClass(value string, truth, predicted int, scores, probabilities []float32, rows int64) {
	p := s.slice(value, rows)
	if p == nil {
		return
	}
	p.hits.Add(truth, predicted, rows)
	ranked := exact.AllFinite(scores)
	if ranked && len(probabilities) > 0 {
		logLoss, _ := ProbabilityLosses(probabilities, truth)
		p.scored += rows
		p.loss.AddWeighted64(float32(rows), float64(logLoss))
	}
	if ranked && s.classes == 2 && truth != Unseen {
		p.ranks.Add(Margin(scores, 1), truth, rows)
	}
}

// AddTarget adds a row with that value, as Targets.Add does.
func (s *Slices) AddTarget(value string, truth, predicted float64, rows int64) {
	if p := s.slice(value, rows); p != nil {
		p.errors.Add(truth, predicted, rows)
	}
}

// SliceReport has the scores for the values of a column.
type SliceReport struct {
	Column string       `json:"column"`
	Target string       `json:"target,omitempty"`   // the predicted target, if there are several
	Values int          `json:"values"`             // number of different values; 0 if Many
	Many   bool         `json:"too_many,omitempty"` // more than MaxSlices values, so none has scores
	Slices []SliceScore `json:"slices,omitempty"`   // the values with the most rows first
	// Others has the scores of all values beyond the 50 with the most rows.
	Others *SliceScore `json:"others,omitempty"`
}

// SliceScore has the scores of the rows with one value. Low and High fields are the ends of 95% intervals;
// fields are nil where they are not defined.
type SliceScore struct {
	Value string `json:"value"` // empty for Others
	Rows  int64  `json:"rows"`  // number of rows, without weights; rates and means are by weight
	ClassSlice
	TargetSlice
}

// ClassSlice has the scores of a classifier; see ClassReport, RankingReport and ReliabilityReport.
type ClassSlice struct {
	Error            *float64 `json:"error,omitempty"`
	ErrorLow         *float64 `json:"error_low,omitempty"`
	ErrorHigh        *float64 `json:"error_high,omitempty"`
	BalancedAccuracy *float64 `json:"balanced_accuracy,omitempty"`
	BalancedLow      *float64 `json:"balanced_accuracy_low,omitempty"`
	BalancedHigh     *float64 `json:"balanced_accuracy_high,omitempty"`
	AUC              *float64 `json:"auc,omitempty"`
	AUCLow           *float64 `json:"auc_low,omitempty"`
	AUCHigh          *float64 `json:"auc_high,omitempty"`
	LogLoss          *float64 `json:"log_loss,omitempty"`
}

// TargetSlice has the scores of a regression; see TargetReport. The interval is MAE ± 1.96 standard errors,
// which assumes many rows.
type TargetSlice struct {
	MAE     *float64 `json:"mae,omitempty"`
	MAELow  *float64 `json:"mae_low,omitempty"`
	MAEHigh *float64 `json:"mae_high,omitempty"`
	RMSE    *float64 `json:"rmse,omitempty"`
	P90     *float64 `json:"p90_error,omitempty"`
	R2      *float64 `json:"r2,omitempty"`
}

// Report returns the scores of the column's values.
func (s *Slices) Report(column string) SliceReport {
	r := SliceReport{Column: column, Values: len(s.Parts), Many: s.Many}
	others := s.Empty()
	for i, value := range s.Largest(func(p *slice) int64 { return p.rows }) {
		if i < shownSlices {
			r.Slices = append(r.Slices, s.score(value, s.Parts[value]))
		} else {
			wire.Merge(others, s.Parts[value])
		}
	}
	if others.rows > 0 {
		o := s.score("", others)
		r.Others = &o
	}
	return r
}

// effective returns the number of rows of equal weights that n counted rows are as precise as. All counted
// rows are as precise as (Σw)²/Σw² of them (Kish 1965).
func (p *slice) effective(n int64) int64 {
	if p.weight == p.rows || n == 0 {
		return n
	}
	return max(1, int64(math.RoundToEven(float64(n)*(float64(p.weight)/p.square.float()))))
}

// score returns the scores of the rows with a value, with 95% intervals. Weighted rows count as the number of rows of
// equal weight that give intervals of the same width (slice.effective).
func (s *Slices) score(value string, p *slice) SliceScore {
	r := SliceScore{Value: value, Rows: p.rows}
	if p.weight == 0 {
		return r // of weight 0
	}
	if s.classes == 0 {
		t := p.errors.Report()
		if t.Rows == 0 {
			return r
		}
		// The mean of |r|² equals the mean of r².
		spread := math.Sqrt(max(0, float64(t.RMSE*t.RMSE)-float64(t.MAE*t.MAE)) / float64(p.effective(p.errors.n)))
		low, high := max(0, t.MAE-float64(z*spread)), t.MAE+float64(z*spread)
		r.MAE, r.MAELow, r.MAEHigh, r.RMSE, r.P90, r.R2 = &t.MAE, &low, &high, &t.RMSE, &t.P90, t.R2
		return r
	}
	hits := int64(0)
	for _, t := range p.hits.totals {
		hits += t.hits
	}
	e := ratio(p.weight-hits, p.weight)
	wrong := p.effective(p.weight - hits)
	low, high := WilsonInterval(wrong, max(wrong, p.effective(p.weight)))
	r.Error, r.ErrorLow, r.ErrorHigh = &e, &low, &high
	each := make([]totals, s.classes)
	for c, t := range p.hits.totals {
		hit := p.effective(t.hits)
		each[c] = totals{truth: max(hit, p.effective(t.truth)), hits: hit}
	}
	b, _, _ := balancedAccuracy(p.hits.totals)
	_, bLow, bHigh := balancedAccuracy(each)
	bLow, bHigh = min(b, bLow), max(b, bHigh) // rounding of the counts may have moved the ends
	r.BalancedAccuracy, r.BalancedLow, r.BalancedHigh = &b, &bLow, &bHigh
	if n := p.ranks.rows; n[0] > 0 && n[1] > 0 {
		a, _ := p.ranks.auc()
		share := 1.0
		if p.weight != p.rows {
			share = float64(p.weight) / p.square.float()
		}
		aLow, aHigh := p.ranks.areaInterval(share)
		r.AUC, r.AUCLow, r.AUCHigh = &a, &aLow, &aHigh
	}
	if p.scored > 0 {
		l := exact.Mean(p.scored, &p.loss)
		r.LogLoss = &l
	}
	return r
}

// Code implements wire.Coded.
func (s *Slices) Code(c *wire.Coder) {
	s.classes = c.Int(s.classes, schema.MaxClasses)
	if c.Reading() {
		*s = *NewSlices(s.classes)
	}
	s.Keyed.Code(c)
}

// Code implements wire.Coded.
func (p *slice) Code(c *wire.Coder) {
	c.Counts(&p.rows, &p.weight)
	p.square.Code(c)
	c.Counts(&p.scored)
	p.hits.codeCounts(c)
	c.Part(&p.loss)
	p.ranks.Code(c)
	p.errors.Code(c)
	c.Check(p.rows >= 1 && (p.weight == 0) == (p.square == wide{}) && p.scored <= p.weight && p.loss.Sign() >= 0 &&
		(p.scored > 0 || p.loss.IsZero()) && p.ranks.most() == sliceCells && p.errors.errors.most() == sliceCells &&
		p.hits.Rows() <= p.weight && p.ranks.ranked() <= p.weight && p.errors.n <= p.weight)
}
