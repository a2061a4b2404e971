package score

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
)

// KeptBytes is about the memory of the rows that Kept keeps.
const KeptBytes = 8 << 20

// MostKept returns how many rows of so many scores Kept keeps.
func MostKept(scores int) int { return max(1, KeptBytes/(4*scores+keptRowBytes)) }

const keptRowBytes = 56 // of a row apart from its scores

// KeptRowBytes returns the memory of that many rows of so many scores.
func KeptRowBytes(scores int, rows int64) int64 { return rows * int64(4*scores+keptRowBytes) }

// Kept keeps rows of held-out scores of several fits of a classifier, from which curves of probabilities
// are fitted and judged. Of more than MostKept rows it keeps the ones with the least hashes, so what
// is kept does not depend on the order or the cut of the rows. Create it with NewKept. It is not safe
// for concurrent use.
type Kept struct {
	outputs, fits int
	all           int64 // rows that were added
	rows          []keptRow
}

type keptRow struct {
	order   uint64 // by which rows are kept
	group   uint64 // whose rows are in the same half
	class   int32
	repeats int64
	scores  []float32 // of all fits, one after the other
}

// NewKept returns no rows.
func NewKept(outputs, fits int) *Kept { return &Kept{outputs: outputs, fits: fits} }

// Add adds a row of a class with the scores of all fits, one fit after the other, that counts as often
// as repeats says. Rows that depend on each other have the same hash.
func (k *Kept) Add(hash uint64, class int, scores []float32, repeats int64) {
	k.all++
	// Rows of a group have the same hash; which of them are kept must not depend on their classes.
	order := mix(hash)
	for _, s := range scores {
		order = mix(order ^ uint64(math.Float32bits(s)))
	}
	k.rows = append(k.rows, keptRow{order, hash, int32(class), repeats, slices.Clone(scores)})
	if len(k.rows) >= 2*MostKept(k.fits*k.outputs) {
		k.trim()
	}
}

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood 2014).
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// trim sorts the rows, and drops those that are too many.
func (k *Kept) trim() {
	slices.SortFunc(k.rows, func(a, b keptRow) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.group, b.group), cmp.Compare(a.class, b.class),
			cmp.Compare(a.repeats, b.repeats))
	})
	if most := MostKept(k.fits * k.outputs); len(k.rows) > most {
		clear(k.rows[most:])
		k.rows = k.rows[:most]
	}
}

// Merge adds the rows of l, of the same fits.
func (k *Kept) Merge(l *Kept) {
	k.all += l.all
	k.rows = append(k.rows, l.rows...)
	k.trim()
}

// Code codes the outputs, the fits, and the rows in their order.
func (k *Kept) Code(c *wire.Coder) {
	if !c.Reading() {
		k.trim()
	}
	k.outputs, k.fits = c.Int(k.outputs, MaxOutputs), c.Int(k.fits, math.MaxInt32)
	c.Counts(&k.all)
	n := k.outputs * k.fits
	c.Check(k.outputs >= 2 && k.fits >= 1)
	wire.Each(c, &k.rows, MostKept(max(1, n)), func(r *keptRow) {
		c.Uint64(&r.order, &r.group)
		r.class = int32(c.Int(int(r.class), max(0, k.outputs-1)))
		c.Counts(&r.repeats)
		if c.Reading() {
			if c.Check(c.Left() >= 4*n); c.Reading() {
				r.scores = make([]float32, n)
			}
		}
		for i := range r.scores {
			c.Float32(&r.scores[i])
		}
	})
	c.Check(int64(len(k.rows)) <= k.all)
}

// Rows returns how many rows are kept, and how many were added.
func (k *Kept) Rows() (kept, all int64) {
	if most := MostKept(k.fits * k.outputs); len(k.rows) > most {
		k.trim()
	}
	return int64(len(k.rows)), k.all
}

// Judgement is what probabilities of a fit are worth on the kept rows of the two halves into which
// groups of rows are divided: those of a half are given by the curves that are fitted to the other.
type Judgement struct {
	Errors  int64   // rows that get another class than their own, the most probable one
	Error   float64 // their share by weight
	LogLoss float64 // mean of −log p of the row's class, p at least LeastProbability; +Inf if a score is not finite
}

// half returns the half that a row is in.
func (r *keptRow) half() int { return int(mix(r.group) & 1) }

// scoresOf returns the scores of a row by a fit.
func (k *Kept) scoresOf(r *keptRow, fit int) []float32 {
	return r.scores[fit*k.outputs : (fit+1)*k.outputs]
}

// Counts returns the counts of the scores of a fit, of the rows for which of returns true.
func (k *Kept) counts(fit int, of func(*keptRow) bool) *CalibrationCounts {
	c := NewCalibrationCounts(k.outputs)
	for i := range k.rows {
		r := &k.rows[i]
		if row := k.scoresOf(r, fit); of(r) && finite(row) {
			_ = c.Add(row, []int32{r.class}, []int64{r.repeats}) // fails for NaN only
		}
	}
	return c
}

func finite(scores []float32) bool {
	for _, s := range scores {
		if s-s != 0 {
			return false
		}
	}
	return true
}

// Counts returns the counts of the finite scores of a fit.
func (k *Kept) Counts(fit int) *CalibrationCounts {
	k.Rows()
	return k.counts(fit, func(*keptRow) bool { return true })
}

// Judge judges the probabilities of a fit by curves of that method. Classes are decided with those
// weights, if there are any.
func (k *Kept) Judge(fit int, method string, weights []float64) (j Judgement) {
	k.Rows()
	var curves [2]*Calibration // by which the rows of a half are judged
	for h := range curves {
		curves[h] = k.counts(fit, func(r *keptRow) bool { return r.half() != h }).fit(method)
	}
	var class [1]int32
	var total, wrong int64
	var loss exact.Sum
	p := make([]float32, k.outputs)
	for i := range k.rows {
		r := &k.rows[i]
		row := k.scoresOf(r, fit)
		total += r.repeats
		if !finite(row) {
			j.LogLoss = math.Inf(1)
			j.Errors, wrong = j.Errors+1, wrong+r.repeats
			continue
		}
		curves[r.half()].Apply(p, row, 1)
		if Likeliest(class[:], weights, p, row, 1, k.outputs); class[0] != r.class {
			j.Errors, wrong = j.Errors+1, wrong+r.repeats
		}
		l, _ := ProbabilityLosses(p, int(r.class))
		loss.AddProduct(float32(r.repeats), l)
	}
	if j.Error = ratio(wrong, total); j.LogLoss == 0 {
		j.LogLoss = exact.Mean(total, &loss)
	}
	return j
}
