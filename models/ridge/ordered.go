package ridge

import (
	"cmp"
	"math"
	"slices"
)

// Folds that follow each other in time are judged by earlier rows alone: fold 0 has the latest rows, and what
// judges fold f is fitted to folds that come after it. Each judgement is a problem of two sums, so the
// solver needs to know nothing of time.

// chained reports whether folds are judged by later ones, or with a gap.
func (o *Options) chained() bool {
	return o.Folds > 1 && !o.Given && (o.Gap || o.Ordered && !o.First && o.Folds > 2)
}

// stride is the distance of the folds that are judged: with a gap, every second is one.
func (o *Options) stride() int {
	if o.Gap {
		return 2
	}
	return 1
}

// learned reports whether a fold is learned from when fold 0 is held out.
func (o *Options) learned(fold int) bool { return fold >= o.stride() }

// solveChained is Solve for folds in the order of time.
func solveChained(o Options) (*Solution, error) {
	last := o.Folds - o.stride() // there must be an earlier fold
	if o.First {
		last = 1
	}
	var judged []*Solution
	for f := 0; f < last; f += o.stride() {
		q := o.judging(f)
		if q.All = o.All || last > 1; last > 1 {
			q.Finer = 0
		}
		s, err := Solve(q)
		if err != nil {
			return nil, err
		}
		judged = append(judged, s)
	}
	table, errors := joinTables(judged)
	best := slices.MinFunc(table, func(a, b Row) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Lambda, a.Lambda))
	})
	if o.Finer > 0 && TooCoarse(table, best.Lambda, o.Finer) {
		return &Solution{Lambda: best.Lambda, Rows: judged[0].Rows}, nil
	}
	q := o
	q.Lambda, q.Smaller, q.Given, q.First = []float64{best.Lambda}, nil, true, false
	fit, err := Solve(q)
	if err != nil {
		return nil, err
	}
	first := judged[0]
	fit.Table, fit.FoldErrors, fit.Trials, fit.FirstRows, fit.FoldVariance = table, errors, first.Trials, first.FirstRows, first.FoldVariance
	return fit, nil
}

// judging is the problem that holds out fold f: fold 0 of it is that fold, and fold 1 what is learned from.
func (o *Options) judging(f int) Options {
	q := *o
	q.Folds, q.First, q.Ordered, q.Gap, q.HeldOut, q.Load, q.Rows = 2, true, false, false, false, nil, nil
	q.Trials, q.Unfitted = o.Trials && f == 0, true
	add := o.Add
	q.Add = func(to *Sum, fold int) error {
		if fold == 0 {
			return add(to, f)
		}
		for g := f + o.stride(); g < o.Folds; g++ {
			if err := add(to, g); err != nil {
				return err
			}
		}
		return nil
	}
	return q
}

// rank is the error of a λ, for the smallest to be chosen.
func rank(r Row) float64 {
	if r.Failed != "" || r.Folds == 0 {
		return math.Inf(1)
	}
	return r.MSE
}

// joinTables returns the rows of the λ that all judgements have tried, with errors that are means over the
// judgements, and the errors of each. Those of the first are the fold's own.
func joinTables(judged []*Solution) (table []Row, errors [][]float64) {
	for _, row := range judged[0].Table {
		var all []Row
		for _, s := range judged {
			if i := slices.IndexFunc(s.Table, func(r Row) bool { return r.Lambda == row.Lambda }); i >= 0 {
				all = append(all, s.Table[i])
			}
		}
		if len(all) < len(judged) {
			continue
		}
		out, n := Row{Lambda: row.Lambda, FoldMSE: row.FoldMSE, Folds: len(all)}, float64(len(all))
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
			out = Row{Lambda: row.Lambda, Failed: out.Failed}
		} else if out.StdErr = standardError(own); row.R2 != 0 && variance > 0 && !math.IsInf(variance, 0) {
			out.R2 = 1 - out.MSE/variance
		}
		table, errors = append(table, out), append(errors, own)
	}
	return table, errors
}
