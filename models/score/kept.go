package score

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/loss"
)

// keptBytes is about the most memory for the rows of a HeldOutScores.
const keptBytes = 8 << 20

// MaxHeldOutClasses is the largest number of classes of which rows are kept.
const MaxHeldOutClasses = 100

// MaxHeldOutRows returns the number of rows that HeldOutScores keeps, given the number of scores of each.
func MaxHeldOutRows(scores int) int { return max(1, keptBytes/(4*scores+keptRowBytes)) }

const keptRowBytes = 56 // of a row without its scores

// HeldOutRowBytes returns the memory of rows, given the number of scores of each.
func HeldOutRowBytes(scores int, rows int64) int64 { return rows * int64(4*scores+keptRowBytes) }

// HeldOutScores keeps held-out scores of several fits of a classifier, to fit and judge curves of probabilities. If
// there are more than MaxHeldOutRows rows, it keeps those with the smallest hashes, so the result does not depend
// on the order or the cut of the rows. Create it with NewHeldOutScores. It is not safe for concurrent use.
type HeldOutScores struct {
	outputs, fits int
	all           int64 // number of rows that were added
	rows          []keptRow
	trimmed       bool // rows are as trim leaves them
}

type keptRow struct {
	order   uint64 // rows with the smallest order are kept
	group   uint64 // rows of a group are in the same half
	class   int32
	repeats int64
	scores  []float32 // of all fits, one after the other
}

// NewHeldOutScores returns a HeldOutScores without rows.
func NewHeldOutScores(outputs, fits int) *HeldOutScores {
	return &HeldOutScores{outputs: outputs, fits: fits}
}

// Add adds a row with its class and the scores of all fits, one fit after the other. It counts repeats
// times. Rows that depend on each other must have the same hash.
func (k *HeldOutScores) Add(hash uint64, class int, scores []float32, repeats int64) {
	k.all++
	// All rows of a group have the same hash; ties must not depend on their classes.
	order := mix(hash)
	for _, s := range scores {
		order = mix(order ^ uint64(math.Float32bits(s)))
	}
	k.rows, k.trimmed = append(k.rows, keptRow{order, hash, int32(class), repeats, slices.Clone(scores)}), false
	if len(k.rows) >= 2*MaxHeldOutRows(k.fits*k.outputs) {
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

// trim sorts the rows and drops those beyond MaxHeldOutRows.
func (k *HeldOutScores) trim() {
	if k.trimmed {
		return
	}
	k.trimmed = true
	slices.SortFunc(k.rows, func(a, b keptRow) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.group, b.group), cmp.Compare(a.class, b.class),
			cmp.Compare(a.repeats, b.repeats))
	})
	if most := MaxHeldOutRows(k.fits * k.outputs); len(k.rows) > most {
		clear(k.rows[most:])
		k.rows = k.rows[:most]
	}
}

// Merge adds the rows of l, which must have the same fits.
func (k *HeldOutScores) Merge(l *HeldOutScores) {
	k.all += l.all
	k.rows, k.trimmed = append(k.rows, l.rows...), false
	k.trim()
}

// Code implements wire.Coded.
func (k *HeldOutScores) Code(c *wire.Coder) {
	if wire.Merged(c, new(HeldOutScores), k.Merge) {
		return
	}
	if !c.Reading() {
		k.trim()
	}
	k.trimmed = !c.Reading()
	k.outputs, k.fits = c.Int(k.outputs, maxOutputs), c.Int(k.fits, math.MaxInt32)
	c.Counts(&k.all)
	n := k.outputs * k.fits
	c.Check(k.outputs >= 2 && k.fits >= 1)
	wire.List(c, &k.rows, MaxHeldOutRows(max(1, n)), func(r *keptRow) {
		c.Uint64(&r.order, &r.group)
		r.class = int32(c.Int(int(r.class), max(0, k.outputs-1)))
		c.Counts(&r.repeats)
		if c.Check(c.Left() >= 4*n) && c.Reading() {
			r.scores = make([]float32, n)
		}
		for i := range r.scores {
			c.Float32(&r.scores[i])
		}
	})
	c.Check(int64(len(k.rows)) <= k.all)
}

// Rows returns the number of rows that are kept and the number that were added.
func (k *HeldOutScores) Rows() (kept, all int64) {
	k.trim()
	return int64(len(k.rows)), k.all
}

// Evaluation measures the quality of the probabilities of a fit on the kept rows. Groups of rows are divided into
// two halves; the curves that are fitted to one half give the probabilities of the other.
type Evaluation struct {
	Errors  int64   // rows whose most probable class is wrong
	Error   float64 // share of Errors by weight
	LogLoss float64 // mean of −log p of the row's class, with p at least MinProbability; +Inf if a score is not finite
}

// Half returns the half, 0 or 1, in which a held-out row is, given the hash that divides its fold. Curves that are fitted
// to one half are judged by the other, so rows that depend on each other have the same hash.
func Half(hash uint64) int { return int(mix(hash) & 1) }

// half returns the half of a row, 0 or 1.
func (r *keptRow) half() int { return Half(r.group) }

// Divided reports whether both halves have rows that count. If they do not, nothing can judge curves of these rows.
func (k *HeldOutScores) Divided() bool {
	k.trim()
	var weight [2]int64
	for i := range k.rows {
		weight[k.rows[i].half()] += k.rows[i].repeats
	}
	return weight[0] > 0 && weight[1] > 0
}

// scoresOf returns the scores that a fit gives a row.
func (k *HeldOutScores) scoresOf(r *keptRow, fit int) []float32 {
	return r.scores[fit*k.outputs : (fit+1)*k.outputs]
}

// counts counts the scores of a fit over the rows that accept selects.
func (k *HeldOutScores) counts(fit int, accept func(*keptRow) bool) *CalibrationCounts {
	c := NewCalibrationCounts(k.outputs)
	for i := range k.rows {
		if r := &k.rows[i]; accept(r) {
			c.Add(k.scoresOf(r, fit), int(r.class), r.repeats)
		}
	}
	return c
}

// Counts counts the finite scores of a fit.
func (k *HeldOutScores) Counts(fit int) *CalibrationCounts {
	k.Rows()
	return k.counts(fit, func(*keptRow) bool { return true })
}

// SharedPlatt is a method of HeldOutScores.Fit: one sigmoid for all classes, as Platt's, of maximum likelihood after
// division by the sum over classes. The class with the largest score stays the most probable one, even if
// few rows were fitted.
const SharedPlatt Method = "shared"

// Fit fits the curves of a fit by a method (Platt, Isotonic or SharedPlatt) to the rows of the halves that inHalf
// selects, or to all rows if inHalf is nil.
func (k *HeldOutScores) Fit(fit int, method Method, inHalf func(half int) bool) *Calibration {
	k.Rows()
	take := func(r *keptRow) bool { return inHalf == nil || inHalf(r.half()) }
	if method != SharedPlatt {
		return k.counts(fit, take).Fit(method)
	}
	curve := k.shared(fit, take)
	return &Calibration{Method: Platt, Curves: slices.Repeat([]CalibrationCurve{curve}, k.outputs)}
}

// sharedRows is a number of rows that is enough to fit two parameters.
const sharedRows = 4096

// A weak prior at these values keeps the sigmoid from becoming a step where scores separate the classes.
const (
	firstSlope, firstOffset = 3.0, -1.0
	priorWeight             = 0.1
)

// shared fits the sigmoid that all classes share, by Fisher scoring. Its slope is above 0.
func (k *HeldOutScores) shared(fit int, accept func(*keptRow) bool) CalibrationCurve {
	var rows []*keptRow
	for i := range k.rows {
		if r := &k.rows[i]; accept(r) && exact.AllFinite(k.scoresOf(r, fit)) && len(rows) < sharedRows {
			rows = append(rows, r)
		}
	}
	a, b, sigmoids := firstSlope, firstOffset, make([]float64, k.outputs)
	least, g, h := k.sharedLoss(rows, fit, a, b, sigmoids)
	for range 30 {
		det := float64(h[0]*h[2]) - float64(h[1]*h[1])
		da, db := (float64(h[2]*g[0])-float64(h[1]*g[1]))/det, (float64(h[0]*g[1])-float64(h[1]*g[0]))/det
		before := least
		for step := 1.0; step > 1e-3 && least == before; step /= 2 {
			na, nb := a+float64(step*da), b+float64(step*db)
			if v, ng, nh := k.sharedLoss(rows, fit, na, nb, sigmoids); v < least && na > 0 {
				least, a, b, g, h = v, na, nb, ng, nh
			}
		}
		if before-least <= 1e-9*before {
			break
		}
	}
	return CalibrationCurve{Slope: a, Offset: b}
}

// sharedLoss returns the log loss of rows with the sigmoid of a·s + b, its negative gradient in (a, b), and
// the Fisher information, all with the prior. sigmoids is scratch.
func (k *HeldOutScores) sharedLoss(rows []*keptRow, fit int, a, b float64, sigmoids []float64) (lost float64, g [2]float64,
	h [3]float64) {
	for _, r := range rows {
		scores, w := k.scoresOf(r, fit), float64(r.repeats)
		l, mean, square := rowLoss(scores, int(r.class), a, b, sigmoids)
		residual := 1 - sigmoids[r.class]
		lost += float64(w * l)
		g[0] += float64(w * (float64(residual*float64(scores[r.class])) - mean[0]))
		g[1] += float64(w * (residual - mean[1]))
		h[0] += float64(w * (square[0] - float64(mean[0]*mean[0])))
		h[1] += float64(w * (square[1] - float64(mean[0]*mean[1])))
		h[2] += float64(w * (square[2] - float64(mean[1]*mean[1])))
	}
	for i, d := range []float64{a - firstSlope, b - firstOffset} {
		lost += float64(priorWeight / 2 * float64(d*d))
		g[i] -= float64(priorWeight * d)
		h[2*i] += priorWeight
	}
	return lost, g, h
}

// rowLoss stores the sigmoids of a·s + b in sigmoids. With the shares that they have of their sum it
// returns −log of the class's share, and the means by share of v = (1 − sigmoid)·(s, 1) and of the products
// of v's elements.
func rowLoss(scores []float32, class int, a, b float64, sigmoids []float64) (l float64, mean [2]float64, square [3]float64) {
	var sum float64
	for c, s := range scores {
		sigmoids[c] = max(loss.Sigmoid(float64(a*float64(s))+b), 1e-300)
		sum += sigmoids[c]
	}
	for c, s := range scores {
		share, rest := sigmoids[c]/sum, 1-sigmoids[c]
		by := float64(rest * float64(s))
		mean[0] += float64(share * by)
		mean[1] += float64(share * rest)
		square[0] += float64(share * float64(by*by))
		square[1] += float64(share * float64(by*rest))
		square[2] += float64(share * float64(rest*rest))
	}
	return loss.Log(sum) - loss.Log(sigmoids[class]), mean, square
}

// crossed returns the curves for the rows of each half, fitted to the other half.
func (k *HeldOutScores) crossed(fit int, method Method) (curves [2]*Calibration) {
	for h := range curves {
		curves[h] = k.Fit(fit, method, func(half int) bool { return half != h })
	}
	return curves
}

// Conformal returns the conformity scores of the rows: minus the probability of the row's class, by the
// curves of the other half.
func (k *HeldOutScores) Conformal(fit int, method Method) *Conformal {
	k.Rows()
	c, curves, p := NewConformal(), k.crossed(fit, method), make([]float32, k.outputs)
	for i := range k.rows {
		r := &k.rows[i]
		if row := k.scoresOf(r, fit); exact.AllFinite(row) {
			curves[r.half()].Apply(p, row, 1)
			c.Add(-float64(p[r.class]), r.repeats)
		}
	}
	return c
}

// Evaluate judges the probabilities of a fit with curves of a method of Fit. weights, unless nil, are the
// class weights that decide the predicted class.
func (k *HeldOutScores) Evaluate(fit int, method Method, weights []float64) (j Evaluation) {
	k.Rows()
	curves := k.crossed(fit, method)
	var class [1]int32
	var total, wrong int64
	var lost exact.Sum
	p := make([]float32, k.outputs)
	for i := range k.rows {
		r := &k.rows[i]
		row := k.scoresOf(r, fit)
		total += r.repeats
		if !exact.AllFinite(row) {
			j.LogLoss = math.Inf(1)
			j.Errors++
			wrong += r.repeats
			continue
		}
		curves[r.half()].Apply(p, row, 1)
		Likeliest(class[:], weights, p, row, 1, k.outputs)
		if class[0] != r.class {
			j.Errors++
			wrong += r.repeats
		}
		l, _ := ProbabilityLosses(p, int(r.class))
		lost.AddProduct(float32(r.repeats), l)
	}
	j.Error = ratio(wrong, total)
	if j.LogLoss == 0 {
		j.LogLoss = exact.Mean(total, &lost)
	}
	return j
}
