package ask

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// datesOf returns the dates of the span, given the dates before a judged one.
func datesOf(s results.Span, before []unit) []unit {
	if s.Window > 0 {
		return before[max(0, len(before)-s.Window):]
	}
	return before
}

// judged has the results of a judged date.
type judged struct {
	unit
	head    []float64
	values  []float64           // of λ, the largest first
	squares [][]float64         // squared errors for each span and λ
	train   []results.AnswerRow // training set of each span
}

// forward judges each date by fits to earlier dates, one for each span and λ. first is the λ for the first
// date, from cross-validation inside the first training set of the first span. Sums with a half-life are scaled
// and rounded at each date: their relative error is below 2⁻⁵¹ times the half-life.
func (d *data) forward(spans []results.Span) (history []judged, first float64) {
	steps, found := d.steps(), map[string][]float64{}
	for t := 1; t < len(steps) && d.err == nil; t++ {
		u, end := d.judges(steps[t]), t-d.Gap
		if end < 1 {
			continue
		}
		j := judged{unit: u, head: d.head(u), squares: make([][]float64, len(spans))}
		sums, keys := make([]*ridge.Sum, len(spans)), make([]string, len(spans))
		for c, s := range spans { // first all sums, because they may read the same parts
			before := datesOf(s, steps[:end])
			j.train = append(j.train, results.AnswerRow{Trained: spanOf(before)})
			keys[c] = d.key(before, u)
			if known := d.Known[keys[c]]; history != nil && len(known) == len(history[0].values) {
				j.squares[c], j.values = known, history[0].values
				continue
			}
			if s.HalfLife > 0 {
				sums[c] = d.decayed(spanSlot+c, s.HalfLife, steps[end-1])
			} else {
				sums[c] = d.sum(spanSlot+c, before)
			}
			if history == nil && c == 0 && len(u.parts) > 0 {
				first = d.lambda(before, sums[c])
			}
		}
		if len(u.parts) == 0 || d.err != nil {
			continue
		}
		for c, s := range spans {
			if sums[c] != nil {
				j.values, j.train[c].TrainedRows = d.values(sums[c]), sums[c].Rows()
			}
			switch {
			case c > 0 && spans[0] == (results.Span{}) && s.Window >= end: // all dates so far
				j.squares[c] = j.squares[0]
			case sums[c] != nil:
				d.fits++
				j.squares[c] = d.judge(d.Fit(sums[c], j.values), u, len(j.values))
			}
			if !math.IsInf(slices.Max(j.squares[c]), 1) { // JSON has no infinity
				found[keys[c]] = j.squares[c]
			}
		}
		history = append(history, j)
	}
	if len(history) == 0 {
		d.fail(exit.Refuse("pipelines: no date can be predicted: each of %s lacks an earlier one to train on "+
			"(--gap_dates %d), or sums that meet --judge %q",
			report.Counted(len(steps), "date"), d.Gap, d.Judge))
	}
	if d.Known != nil {
		clear(d.Known)
		maps.Copy(d.Known, found)
	}
	return history, first
}

// key returns the key in Known of the errors on judged of fits to train; "" without Known.
func (d *data) key(train []unit, judged unit) string {
	if d.Known == nil {
		return ""
	}
	h := sha256.New()
	fmt.Fprintln(h, d.units.Weights, len(judged.parts))
	for _, u := range append([]unit{judged}, train...) {
		for _, i := range u.parts {
			fmt.Fprintln(h, d.parts[i].Sums)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// decayed scales the sum in a slot by 2^(−1/halfLife), adds the newest date, and returns it.
func (d *data) decayed(slot int, halfLife float64, newest unit) *ridge.Sum {
	if d.slots[slot] == nil {
		d.slots[slot] = &running{Sum: ridge.NewSum(d.slots[readSlot].Shape())}
	}
	s := d.slots[slot].Sum
	s.Scale(math.Exp2(-1 / halfLife))
	for _, i := range newest.parts {
		s.Merge(d.part(i))
	}
	return s
}

// pair has the positions of a span and a λ.
type pair struct{ span, value int }

// bestPair returns the pair with the least finite error among some spans, the first of equal ones.
func bestPair(errors [][]float64, spans []int) (p pair, ok bool) {
	for _, c := range spans {
		for l, e := range errors[c] {
			if !math.IsInf(e, 1) && (!ok || e < errors[p.span][p.value]) {
				p, ok = pair{c, l}, true
			}
		}
	}
	return p, ok
}

// switchProbability is the probability that another pair becomes the best one between two dates.
const switchProbability = 0.02

// follow updates the costs of the pairs of some spans, at least one of them finite, by their errors
// on a date, and returns the pair with the least cost; of equal ones the first. It tracks the best
// pair by fixed share (Herbster and Warmuth 1998): costs are −log w of the weights
//
//	w ← (1−α)·w·exp(−e·scale)/Σ + α/n,   α = switchProbability, of n pairs.
//
// Total errors would react late to a change: only after the new pair has made up for all the errors
// that the old one saved before.
func follow(costs, errors [][]float64, spans []int, scale float64) (next pair) {
	n, sum := 0.0, 0.0
	for _, c := range spans {
		for l, e := range errors[c] {
			costs[c][l] += float64(e * scale)
		}
		n += float64(len(costs[c]))
	}
	next, _ = bestPair(costs, spans)
	least := costs[next.span][next.value]
	for _, c := range spans {
		for _, cost := range costs[c] {
			sum += math.Exp(least - cost)
		}
	}
	for _, c := range spans {
		for l, cost := range costs[c] {
			if !math.IsInf(cost, 1) {
				costs[c][l] = -math.Log(float64((1-switchProbability)*math.Exp(least-cost)/sum) + switchProbability/n)
			}
		}
	}
	return next
}

// prequential judges each date by the pair that follow chooses from the dates before it (Dawid
// 1984). It returns the score, a row for each date, the pair for the next date, and the total
// errors of all pairs. The first date uses the first span. Errors are divided by twice the mean
// error per date of the best pair so far: a date counts as one observation, because its rows are
// similar.
func (d *data) prequential(history []judged, spans []int, first float64) (score results.Score,
	rows []results.AnswerRow, next pair, totals [][]float64) {
	var costs [][]float64
	for _, squares := range history[0].squares {
		totals, costs = append(totals, make([]float64, len(squares))), append(costs, make([]float64, len(squares)))
	}
	next = pair{spans[0], max(0, slices.Index(history[0].values, first))}
	var all []tally
	for t, j := range history {
		row := j.train[next.span]
		row.Name, row.Lambda, row.Seen = j.name, j.values[next.value], d.seen(j.unit)
		own := []tally{{j.squares[next.span][next.value], j.head}}
		row.Score = d.score(own)
		rows, all = append(rows, row), append(all, own...)
		for c, squares := range j.squares {
			for l, v := range squares {
				totals[c][l] += v
			}
		}
		least, ok := bestPair(totals, spans)
		if !ok || math.IsInf(own[0].squares, 1) {
			d.fail(exit.Refuse("pipelines: trained on %s, the matrix is not positive definite at lambda %g; raise --lambda",
				row.Trained, row.Lambda))
			break
		}
		mean := max(totals[least.span][least.value], math.SmallestNonzeroFloat32) / float64(t+1)
		next = follow(costs, j.squares, spans, 1/(2*mean))
	}
	return d.score(all), rows, next, totals
}

// backtest judges each date by a model of all dates before it, or of the last Dates of them.
func (d *data) backtest() *results.Answer {
	history, first := d.forward([]results.Span{{Window: d.Dates}})
	if d.err != nil {
		return nil
	}
	score, rows, _, _ := d.prequential(history, []int{0}, first)
	return &results.Answer{Asked: "each date, predicted by a model of the dates before it", By: byEarlierErrors,
		Tables: []results.AnswerTable{{Head: "judged", Rows: append(rows, results.AnswerRow{Name: totalRow, Score: score})}}}
}

// spans returns the spans to compare: all dates, windows, and half-lives. Known has no errors of the last.
func (d *data) spans() (all []results.Span) {
	if d.Question != "window" {
		return []results.Span{{}}
	}
	windows, dates := d.Windows, len(d.grouped(nil, d.everything()))
	for n := 1; n < dates && len(d.Windows) == 0; n *= 2 {
		windows = append(windows, n)
	}
	all = []results.Span{{}}
	for _, n := range windows {
		all = append(all, results.Span{Window: n})
	}
	for i := 0; i < len(windows) && d.Known == nil; i++ {
		all = append(all, results.Span{HalfLife: float64(windows[i])})
	}
	return all
}

// forgetting returns the choices of λ for all dates, of a window and of a half-life, each with its λ.
func (d *data) forgetting() (all, window, halfLife *results.Forgetting) {
	spans := d.spans()
	history, first := d.forward(spans)
	choose := func(in func(results.Span) bool) *results.Forgetting {
		f := &results.Forgetting{}
		if d.err != nil {
			return f
		}
		some := []int{0}
		for c := 1; c < len(spans); c++ {
			if in(spans[c]) {
				some = append(some, c)
			}
		}
		score, _, next, totals := d.prequential(history, some, first)
		values := history[0].values
		f.Score = score
		f.Span, f.Lambda = spans[next.span], values[next.value]
		for _, c := range some {
			p, ok := bestPair(totals, []int{c})
			var own []tally
			for _, j := range history {
				own = append(own, tally{j.squares[c][p.value], j.head})
			}
			if ok {
				f.Hindsight = append(f.Hindsight, results.AnswerRow{Name: spans[c].String(), Lambda: values[p.value],
					Score: d.score(own)})
			}
		}
		return f
	}
	return choose(func(results.Span) bool { return false }), choose(func(s results.Span) bool { return s.Window > 0 }),
		choose(func(s results.Span) bool { return s.HalfLife > 0 })
}

// window answers how much of the past to train on.
func (d *data) window() *results.Answer {
	all, window, half := d.forgetting()
	if d.err != nil {
		return nil
	}
	row := func(name string, f *results.Forgetting) results.AnswerRow {
		return results.AnswerRow{Name: name, Trained: f.String(), Lambda: f.Lambda, Score: f.Score}
	}
	return &results.Answer{
		Asked: "each date, predicted by models of some of the dates before it",
		By:    byEarlierErrors + "; so are window and half-life", Window: window, HalfLife: half,
		Tables: []results.AnswerTable{
			{Title: "chosen on earlier dates only; the columns show the choice for the next date", Head: "choice",
				Rows: []results.AnswerRow{row("lambda alone", all), row("window", window), row("half-life", half)}},
			{Title: "in hindsight, with the best lambda for all dates: the best row is optimistic", Head: "trained on",
				Rows: slices.Concat(window.Hindsight, half.Hindsight[1:])},
		},
	}
}
