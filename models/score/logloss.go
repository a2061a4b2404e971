package score

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/loss"
)

// LogLosses sums the log losses of several fits of one classifier on the same rows. The probabilities of a
// fit with scores s are
//
//	p_c = exp(β·s_c) / Σ_j exp(β·s_j)
//
// Its log loss is the mean of −log p of the rows' classes, with the best β of loss.SoftmaxFactors.
// Create it with NewLogLosses. It is not safe for concurrent use.
type LogLosses struct {
	rows int64
	fits []lossSums
}

// lossSums are the sums of one fit.
type lossSums struct {
	finite int64 // rows whose scores are finite
	sums   [len(loss.SoftmaxFactors)]exact.Sum
}

// NewLogLosses returns empty sums for a number of fits.
func NewLogLosses(fits int) *LogLosses { return &LogLosses{fits: make([]lossSums, fits)} }

// Add adds a number of equal rows of a class with the scores of all fits, one fit after the other. The log
// loss of a row is rounded to float32, and at most the largest float32.
func (l *LogLosses) Add(class int, scores []float32, rows int64) {
	l.rows += rows
	k := len(scores) / len(l.fits)
	for i := range l.fits {
		f, row := &l.fits[i], scores[i*k:(i+1)*k]
		if !exact.AllFinite(row) {
			continue
		}
		f.finite += rows
		most := float64(slices.Max(row))
		for b, beta := range loss.SoftmaxFactors {
			// −log p = log Σ exp(β(s_j − max)) − β(s_c − max)
			v := loss.Log(loss.SumExp(row, most, beta)) - float64(beta*(float64(row[class])-most))
			f.sums[b].AddProduct(float32(rows), float32(min(v, math.MaxFloat32)))
		}
	}
}

// Best returns the log loss of a fit and its best factor β. The loss is +Inf if the fit has scores that are not
// finite, or if there are no rows.
func (l *LogLosses) Best(fit int) (logLoss, factor float64) {
	f := &l.fits[fit]
	logLoss = math.Inf(1)
	if f.finite < l.rows || l.rows == 0 {
		return logLoss, 0
	}
	for b := range f.sums {
		if v := exact.Mean(l.rows, &f.sums[b]); v < logLoss {
			logLoss, factor = v, loss.SoftmaxFactors[b]
		}
	}
	return logLoss, factor
}

// Merge adds the rows of m, added for the same fits.
func (l *LogLosses) Merge(m *LogLosses) {
	l.rows += m.rows
	for i := range l.fits {
		l.fits[i].finite += m.fits[i].finite
		MergeAll(l.fits[i].sums[:], m.fits[i].sums[:])
	}
}

// Code codes the rows, and for each fit the rows with finite scores and the sums.
func (l *LogLosses) Code(c *wire.Coder) {
	c.Counts(&l.rows)
	wire.Each(c, &l.fits, math.MaxInt32, func(f *lossSums) {
		c.Counts(&f.finite)
		for i := range f.sums {
			c.Part(&f.sums[i])
			c.Check(f.sums[i].Sign() >= 0 && (f.finite > 0 || f.sums[i].IsZero()))
		}
		c.Check(f.finite <= l.rows)
	})
}
