// Package chain solves for ridge weights where folds follow each other in time: fold 0 has the latest rows,
// and what judges a fold is fitted to folds that come after it, which are earlier. Each judgement is a
// problem of two sums, so the solver needs to know nothing of time.
package chain

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/models/ridge"
)

// stride is the distance of the folds that are judged: with a gap, every second is one.
func stride(o *ridge.Options) int {
	if o.Gap {
		return 2
	}
	return 1
}

// Solve is ridge.Solve for folds in the order of time, which are added by Options.Add. It judges every fold that
// has earlier ones, or with Options.First fold 0 alone.
func Solve(o ridge.Options) (*ridge.Solution, error) {
	if o.Folds < 3 && !o.Gap || o.Folds < 2 || o.Given || o.First && !o.Gap {
		return ridge.Solve(o) // nothing depends on the order
	}
	last := o.Folds - stride(&o) // there must be an earlier fold
	if o.First {
		last = 1
	}
	var judged []*ridge.Solution
	for f := 0; f < last; f += stride(&o) {
		q := judging(&o, f)
		if q.All = o.All || last > 1; last > 1 {
			q.Finer = 0
		}
		s, err := ridge.Solve(q)
		if err != nil {
			return nil, err
		}
		judged = append(judged, s)
	}
	table, errors := joinTables(judged)
	best := slices.MinFunc(table, func(a, b ridge.Row) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Lambda, a.Lambda))
	})
	if math.IsInf(rank(best), 1) {
		return nil, fmt.Errorf("ridge: lambda %g: %s", best.Lambda, cmp.Or(best.Failed, "could not be judged"))
	}
	if o.Finer > 0 && ridge.TooCoarse(table, best.Lambda, o.Finer) {
		return &ridge.Solution{Lambda: best.Lambda, Rows: judged[0].Rows}, nil
	}
	q := o
	q.Lambda, q.Smaller, q.Given, q.First = []float64{best.Lambda}, nil, true, false
	fit, err := ridge.Solve(q)
	if err != nil {
		return nil, err
	}
	first := judged[0]
	fit.Table, fit.FoldErrors, fit.Trials, fit.FirstRows, fit.FoldVariance = table, errors, first.Trials, first.FirstRows, first.FoldVariance
	return fit, nil
}

// judging is the problem that holds out fold f: fold 0 of it is that fold, and fold 1 what is learned from.
func judging(o *ridge.Options, f int) ridge.Options {
	q := *o
	q.Folds, q.First, q.Gap, q.HeldOut = 2, true, false, false
	q.Trials, q.Unfitted = o.Trials && f == 0, true
	add := o.Add
	q.Add = func(to *ridge.Sum, fold int) error {
		if fold == 0 {
			return add(to, f)
		}
		for g := f + stride(o); g < o.Folds; g++ {
			if err := add(to, g); err != nil {
				return err
			}
		}
		return nil
	}
	return q
}

// rank is the error of a λ, for the smallest to be chosen.
func rank(r ridge.Row) float64 {
	if r.Failed != "" || r.Folds == 0 {
		return math.Inf(1)
	}
	return r.MSE
}

// joinTables returns the rows of the λ that all judgements have tried, with errors that are means over the
// judgements, and the errors of each. Those of the first are the fold's own.
func joinTables(judged []*ridge.Solution) (table []ridge.Row, errors [][]float64) {
	for _, row := range judged[0].Table {
		var all []ridge.Row
		for _, s := range judged {
			if i := slices.IndexFunc(s.Table, func(r ridge.Row) bool { return r.Lambda == row.Lambda }); i >= 0 {
				all = append(all, s.Table[i])
			}
		}
		if len(all) < len(judged) {
			continue
		}
		out, n := ridge.Row{Lambda: row.Lambda, FoldMSE: row.FoldMSE, Folds: len(all)}, float64(len(all))
		var variance float64
		var own []float64
		for _, r := range all {
			if out.Failed = cmp.Or(out.Failed, r.Failed); r.Failed != "" {
				continue
			}
			out.MSE += r.MSE / n
			out.Train += r.Train / n
			out.Rounding += r.Rounding / n
			variance += r.MSE / (1 - r.R2) / n
			own = append(own, r.MSE)
		}
		if out.Failed != "" {
			out = ridge.Row{Lambda: row.Lambda, Failed: out.Failed}
		} else if out.StdErr = ridge.StandardError(own); row.R2 != 0 && variance > 0 && !math.IsInf(variance, 0) {
			out.R2 = 1 - out.MSE/variance
		}
		table, errors = append(table, out), append(errors, own)
	}
	return table, errors
}
