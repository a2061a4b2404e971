package ridge

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// stride is the distance between the folds that judge: every second fold is a gap if Options.Gap is set.
func stride(o *Options) int {
	if o.Gap {
		return 2
	}
	return 1
}

// SolveChain is Solve for folds that follow each other in time, the latest first. Source.Add must be set. Each fold
// judges weights that were fitted to the earlier ones; with FirstFold, fold 0 is the only judge. A fold other than 0
// does not judge if it or the earlier ones have only rows of weight 0, or if the earlier ones are all of one
// class.
func SolveChain(o Options) (*Solution, error) {
	if !o.Plan.HoldsOut() || !o.Gap && (o.Plan.Folds < 3 || o.Plan.Validation == FirstFold) {
		return Solve(o) // nothing depends on the order
	}
	last := o.Plan.Folds - stride(&o) // there must be an earlier fold
	if o.Plan.Validation == FirstFold {
		last = 1
	}
	var judged []*Solution
	for f := 0; f < last; f += stride(&o) {
		q := judging(&o, f)
		if last > 1 {
			q.Search.TryAll, q.Return.CoarseBelow = true, 0
		}
		s, err := Solve(q)
		if f > 0 && cannotJudge(err) {
			continue
		}
		if _, undivided := errors.AsType[undividedError](err); undivided && !errors.Is(err, errNoRows) {
			return nil, undividedError("ridge: no row is held out, or all are: the rows are all earlier or all later than " +
				"the time from which the recipe holds out the latest; add rows of other times, or train a new recipe")
		}
		if err != nil {
			return nil, err
		}
		judged = append(judged, s)
	}
	table, foldErrors, trials := joinTables(judged)
	best := slices.MinFunc(table, func(a, b CVResult) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Lambda, a.Lambda))
	})
	if math.IsInf(rank(best), 1) {
		return nil, fmt.Errorf("ridge: lambda %g: %s", best.Lambda, cmp.Or(best.Failed, "could not be judged"))
	}
	if o.Return.CoarseBelow > 0 && TooCoarse(table, best.Lambda, o.Return.CoarseBelow) {
		return &Solution{Coarse: true, Lambda: best.Lambda, Rows: judged[0].Rows}, nil
	}
	q := o
	q.Search.Lambda, q.Search.Smaller, q.Plan.Validation = []float64{best.Lambda}, nil, NoFold
	fit, err := Solve(q)
	if err != nil {
		return nil, err
	}
	fit.Table, fit.FoldErrors, fit.Trials = table, foldErrors, trials
	fit.FirstRows, fit.FoldVariance = judged[0].FirstRows, judged[0].FoldVariance
	return fit, nil
}

// cannotJudge reports whether an error of Solve means that its rows cannot choose λ.
func cannotJudge(err error) bool {
	_, undivided := errors.AsType[undividedError](err)
	_, unsolved := errors.AsType[NoSolutionError](err)
	return undivided || unsolved
}

// judging returns the options of the problem that holds out fold f: its fold 0 is f, its fold 1 has the
// rows before f.
func judging(o *Options, f int) Options {
	q := *o
	q.Plan, q.Gap = FoldPlan{Folds: 2, Validation: FirstFold}, false
	q.Return.Trials, q.Return.ChoiceOnly = o.Return.Trials && f == 0, true
	add := o.From.Add
	q.From.Add = func(to *Sum, fold int) error {
		if fold == 0 {
			return add(to, f)
		}
		for g := f + stride(o); g < o.Plan.Folds; g++ {
			if err := add(to, g); err != nil {
				return err
			}
		}
		if f > 0 && ofOneClass(to) {
			return undividedError("ridge: the rows before those that are held out are of one class")
		}
		return nil
	}
	return q
}

// ofOneClass reports whether all rows of a sum of classes, except those of weight 0, are of one class.
func ofOneClass(s *Sum) bool {
	return slices.ContainsFunc(s.ClassCounts(), func(count int64) bool { return float64(count) == s.Weight() })
}

// rank returns the error by which values of λ are compared; smaller is better.
func rank(r CVResult) float64 {
	if r.Failed != "" || r.Folds == 0 {
		return math.Inf(1)
	}
	return r.MSE
}

// joinTables returns a row for each λ that all judgements have tried, the errors of each judgement, and the
// trials of the first judgement. Errors in a row are means over the judgements, but FoldMSE is from the
// first. A λ that failed in one judgement has no trial.
func joinTables(judged []*Solution) (table []CVResult, foldErrors [][]float64, trials []*Solution) {
	for at, row := range judged[0].Table {
		var all []CVResult
		for _, s := range judged {
			if i := slices.IndexFunc(s.Table, func(r CVResult) bool { return r.Lambda == row.Lambda }); i >= 0 {
				all = append(all, s.Table[i])
			}
		}
		if len(all) < len(judged) {
			continue
		}
		out, n := CVResult{Lambda: row.Lambda, FoldMSE: row.FoldMSE, Folds: len(all)}, float64(len(all))
		var variance float64
		var foldMSE []float64
		for _, r := range all {
			out.Failed = cmp.Or(out.Failed, r.Failed)
			if r.Failed != "" {
				continue
			}
			out.MSE += r.MSE / n
			out.Train += r.Train / n
			out.Rounding += r.Rounding / n
			variance += r.MSE / (1 - r.R2) / n
			foldMSE = append(foldMSE, r.MSE)
		}
		var trial *Solution
		if judged[0].Trials != nil {
			trial = judged[0].Trials[at]
		}
		out.StdErr = solver.StandardError(foldMSE)
		if row.R2 != 0 && variance > 0 && !math.IsInf(variance, 0) {
			out.R2 = 1 - out.MSE/variance
		}
		if out.Failed != "" {
			out, trial = CVResult{Lambda: row.Lambda, Failed: out.Failed}, nil
		}
		table, foldErrors, trials = append(table, out), append(foldErrors, foldMSE), append(trials, trial)
	}
	return table, foldErrors, trials
}
