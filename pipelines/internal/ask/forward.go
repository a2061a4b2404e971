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
)

// Span says which dates before a judged one a model is trained on: the last so many, 0 for all; or all, weighted
// by 2^(−age/HalfLife), the age in dates. The zero value is all.
type Span struct {
	Window   int     `json:"window,omitempty"`
	HalfLife float64 `json:"half_life,omitempty"`
}

// String returns a span in words.
func (s Span) String() string {
	switch {
	case s.HalfLife > 0:
		return fmt.Sprintf("half-life %g", s.HalfLife)
	case s.Window > 0:
		return "last " + report.Counted(s.Window, "date")
	}
	return "all dates"
}

// of returns the dates of a span among those before a judged one.
func (s Span) of(before []unit) []unit {
	if s.Window > 0 {
		return before[max(0, len(before)-s.Window):]
	}
	return before
}

// judged is a date that was judged.
type judged struct {
	unit
	head    []float64
	values  []float64   // of λ, the largest first
	squares [][]float64 // of each span, for each λ
	train   []Row       // what was trained on, of each span
}

// forward judges each date by fits to dates before it: one for each span and λ. The first λ is chosen by
// cross-validation inside the first training set of the first span. Sums with a half-life are scaled and rounded
// at each date: the relative error is below 2⁻⁵¹ times the half-life.
func (d *data) forward(spans []Span) (history []judged, first float64) {
	steps, found := d.steps(), map[string][]float64{}
	for t := 1; t < len(steps) && d.err == nil; t++ {
		u, end := d.judges(steps[t]), t-d.Gap
		if end < 1 {
			continue
		}
		j := judged{unit: u, head: d.head(u), squares: make([][]float64, len(spans))}
		sums, keys := make([]*ridge.Sum, len(spans)), make([]string, len(spans))
		for c, s := range spans { // all of them first, because they may read the same parts
			before := s.of(steps[:end])
			j.train = append(j.train, Row{Trained: spanOf(before)})
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
			case c > 0 && spans[0] == (Span{}) && s.Window >= end: // all dates so far
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

// key identifies in Known the errors on a unit of fits to others; "" without Known.
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

// decayed returns the sum in a slot with older dates weighted less, after a date is added.
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

// pair is a span and a λ, by position.
type pair struct{ span, value int }

// best returns the pair of some spans that has the least finite error, and of equal ones the first.
func best(errors [][]float64, spans []int) (p pair, ok bool) {
	for _, c := range spans {
		for l, e := range errors[c] {
			if !math.IsInf(e, 1) && (!ok || e < errors[p.span][p.value]) {
				p, ok = pair{c, l}, true
			}
		}
	}
	return p, ok
}

// change is the probability that another pair becomes the best one between two dates.
const change = 0.02

// follow updates the costs of the pairs of some spans, at least one of them finite, by their errors
// on a date, and returns the pair with the least cost; of equal ones the first. It tracks the best
// pair by fixed share (Herbster and Warmuth 1998): costs are −log w of the weights
//
//	w ← (1−α)·w·exp(−e·scale)/Σ + α/n,   α = change, of n pairs.
//
// Total errors would follow a change only once they exceed all that the old pair had saved before.
func follow(costs, errors [][]float64, spans []int, scale float64) (next pair) {
	n, sum := 0.0, 0.0
	for _, c := range spans {
		for l, e := range errors[c] {
			costs[c][l] += float64(e * scale)
		}
		n += float64(len(costs[c]))
	}
	next, _ = best(costs, spans)
	least := costs[next.span][next.value]
	for _, c := range spans {
		for _, cost := range costs[c] {
			sum += math.Exp(least - cost)
		}
	}
	for _, c := range spans {
		for l, cost := range costs[c] {
			if !math.IsInf(cost, 1) {
				costs[c][l] = -math.Log(float64((1-change)*math.Exp(least-cost)/sum) + change/n)
			}
		}
	}
	return next
}

// prequential judges each date by the pair among some spans to which the dates before lead (Dawid
// 1984), and returns its score, a row for each date, the pair for the next date, and the total
// errors of all pairs. The first pair is of the first span. The unit of errors is twice the mean of
// a date by the pair with the least total: a date is one observation, because its rows are alike.
func (d *data) prequential(history []judged, spans []int, first float64) (score Score, rows []Row, next pair,
	totals [][]float64) {
	var costs [][]float64
	for _, squares := range history[0].squares {
		totals, costs = append(totals, make([]float64, len(squares))), append(costs, make([]float64, len(squares)))
	}
	next = pair{spans[0], max(0, slices.Index(history[0].values, first))}
	var all []tally
	for t, j := range history {
		row := j.train[next.span]
		row.Name, row.Lambda, row.Seen = j.name, j.values[next.value], d.seen(j.unit)
		row.tallies = []tally{{j.squares[next.span][next.value], j.head}}
		row.Score = d.score(row.tallies)
		rows, all = append(rows, row), append(all, row.tallies...)
		for c, squares := range j.squares {
			for l, v := range squares {
				totals[c][l] += v
			}
		}
		least, ok := best(totals, spans)
		if !ok || math.IsInf(row.tallies[0].squares, 1) {
			d.fail(exit.Refuse("pipelines: trained on %s, the matrix is not positive definite at lambda %g; raise --lambda",
				row.Trained, row.Lambda))
			break
		}
		mean := max(totals[least.span][least.value], math.SmallestNonzeroFloat32) / float64(t+1)
		next = follow(costs, j.squares, spans, 1/(2*mean))
	}
	return d.score(all), rows, next, totals
}

// backtest trains on all dates, or the last of them, before each date that is judged.
func (d *data) backtest() *Answer {
	history, first := d.forward([]Span{{Window: d.Dates}})
	if d.err != nil {
		return nil
	}
	score, rows, _, _ := d.prequential(history, []int{0}, first)
	return &Answer{Asked: "each date, predicted by a model of the dates before it", By: prequentially,
		Tables: []Table{{Head: "judged", Rows: append(rows, Row{Name: total, Score: score})}}}
}

// spans are the spans to compare: all dates, windows, and half-lives, whose errors are never known.
func (d *data) spans() (all []Span) {
	if d.Question != "window" {
		return []Span{{}}
	}
	windows, dates := d.Windows, len(d.grouped(nil, d.everything()))
	for n := 1; n < dates && len(d.Windows) == 0; n *= 2 {
		windows = append(windows, n)
	}
	all = []Span{{}}
	for _, n := range windows {
		all = append(all, Span{Window: n})
	}
	for i := 0; i < len(windows) && d.Known == nil; i++ {
		all = append(all, Span{HalfLife: float64(windows[i])})
	}
	return all
}

// Forgetting is how much of the past to train on next, with its λ.
type Forgetting struct {
	Span
	Lambda float64 `json:"lambda"`
	// Score is of choosing on each date the pair of span and λ that was best on the dates before.
	Score
	// Hindsight has the best λ of each span over all judged dates. The best of these scores is too good.
	Hindsight []Row `json:"hindsight"`
}

// forgetting returns the choice of λ alone, with a window, and with a half-life.
func (d *data) forgetting() (all, window, halfLife *Forgetting) {
	spans := d.spans()
	history, first := d.forward(spans)
	choose := func(in func(Span) bool) *Forgetting {
		f := &Forgetting{}
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
			p, ok := best(totals, []int{c})
			var own []tally
			for _, j := range history {
				own = append(own, tally{j.squares[c][p.value], j.head})
			}
			if ok {
				f.Hindsight = append(f.Hindsight, Row{Name: spans[c].String(), Lambda: values[p.value], Score: d.score(own)})
			}
		}
		return f
	}
	return choose(func(Span) bool { return false }), choose(func(s Span) bool { return s.Window > 0 }),
		choose(func(s Span) bool { return s.HalfLife > 0 })
}

// window chooses how much of the past to train on.
func (d *data) window() *Answer {
	all, window, half := d.forgetting()
	if d.err != nil {
		return nil
	}
	row := func(name string, f *Forgetting) Row {
		return Row{Name: name, Trained: f.String(), Lambda: f.Lambda, Score: f.Score}
	}
	return &Answer{
		Asked: "each date, predicted by models of some of the dates before it",
		By:    prequentially + "; so are window and half-life", Window: window, HalfLife: half,
		Tables: []Table{
			{Title: "chosen on earlier dates only; the columns show the choice for the next date", Head: "choice",
				Rows: []Row{row("lambda alone", all), row("window", window), row("half-life", half)}},
			{Title: "in hindsight, with the best lambda for all dates: the best row is optimistic", Head: "trained on",
				Rows: slices.Concat(window.Hindsight, half.Hindsight[1:])},
		},
	}
}
