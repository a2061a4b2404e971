package ask

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// datesOf returns the dates of the span, given the dates before a judged one.
func datesOf(s results.Span, before []unit) []unit {
	if s.Window > 0 {
		return before[max(0, len(before)-s.Window):]
	}
	return before
}

// judgedDate holds the errors of all fits on one date.
type judgedDate struct {
	unit
	head    []float64
	values  []float64           // of λ, the largest first
	squares [][]float64         // squared errors for each span and λ
	train   []results.AnswerRow // training set of each span
	keys    []string            // in data.known, for each span
}

// forward judges each date by fits to earlier dates, one for each span and λ. first is the λ for the first
// date, from cross-validation inside the first training set of the first span. Sums with a half-life are scaled
// and rounded at each date: their relative error is below 2⁻⁵¹ times the half-life.
func (d *data) forward(ctx context.Context, spans []results.Span) (history []judgedDate, first float64, err error) {
	dates, err := d.dates()
	if err != nil {
		return nil, 0, err
	}
	var values []float64 // of λ on the dates judged before
	squares := map[string][]float64{}
	for t := max(1, d.options.Gap+1); t < len(dates); t++ {
		j := judgedDate{unit: d.onlyJudged(dates[t])}
		before := dates[:t-d.options.Gap]
		sums, err := d.sumSpans(ctx, spans, before, &j, values)
		if err != nil {
			return nil, 0, err
		}
		if len(j.parts) == 0 {
			continue
		}
		if history == nil {
			if first, err = d.lambda(ctx, datesOf(spans[0], before), sums[0]); err != nil {
				return nil, 0, err
			}
		}
		if err := d.judgeSpans(ctx, spans, sums, len(before), &j); err != nil {
			return nil, 0, err
		}
		for c := range spans {
			if !math.IsInf(slices.Max(j.squares[c]), 1) { // JSON has no infinity
				squares[j.keys[c]] = j.squares[c]
			}
		}
		history = append(history, j)
		values = history[0].values
	}
	if d.known != nil {
		d.known = squares
	}
	if len(history) == 0 {
		return nil, 0, exit.Dataf("pipelines: no date can be predicted: each of %s lacks an earlier one to train on "+
			"(--gap_dates %d), or sums that meet --judge %q",
			report.Counted(len(dates), "date"), d.options.Gap, d.options.Judge)
	}
	return history, first, nil
}

// sumSpans starts the results of a judged date: it returns the sum of each span of the dates before, nil where the
// errors are known. It makes all sums before they are used, because they may read the same parts. values are the
// values of λ on earlier judged dates.
func (d *data) sumSpans(ctx context.Context, spans []results.Span, before []unit, j *judgedDate,
	values []float64) ([]*ridge.Sum, error) {
	sums := make([]*ridge.Sum, len(spans))
	j.head = d.head(j.unit)
	j.squares, j.keys = make([][]float64, len(spans)), make([]string, len(spans))
	for c, s := range spans {
		train := datesOf(s, before)
		j.train = append(j.train, results.AnswerRow{Trained: spanOf(train)})
		j.keys[c] = d.key(train, j.unit)
		if known := d.known[j.keys[c]]; values != nil && len(known) == len(values) {
			j.squares[c], j.values = known, values
			continue
		}
		var err error
		if s.HalfLife > 0 {
			sums[c], err = d.decayed(ctx, spanSlot+c, s.HalfLife, before[len(before)-1])
		} else {
			sums[c], err = d.sum(ctx, spanSlot+c, train)
		}
		if err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// judgeSpans sets the errors of fits to the sums of sumSpans. dates is the number of all dates before the judged one.
func (d *data) judgeSpans(ctx context.Context, spans []results.Span, sums []*ridge.Sum, dates int, j *judgedDate) (err error) {
	for c, s := range spans {
		if sums[c] != nil {
			j.values = d.values(sums[c])
			j.train[c].TrainedRows = sums[c].Rows()
		}
		switch {
		case c > 0 && spans[0] == (results.Span{}) && s.Window >= dates: // all dates so far
			j.squares[c] = j.squares[0]
		case sums[c] != nil:
			d.fits++
			fits := d.evaluator.Fit(sums[c], j.values)
			if j.squares[c], err = d.squaresOn(ctx, fits, j.unit, len(j.values)); err != nil {
				return err
			}
		}
	}
	return nil
}

// key returns the key in known of the errors on judged of fits to train; "" if known is nil.
func (d *data) key(train []unit, judged unit) string {
	if d.known == nil {
		return ""
	}
	h := sha256.New()
	fmt.Fprintln(h, d.units.Weights, len(judged.parts))
	for _, u := range append([]unit{judged}, train...) {
		for _, i := range u.parts {
			fmt.Fprintln(h, d.parts[i].term.Sums)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// decayed scales the sum in a slot by 2^(−1/halfLife), adds the newest date, and returns it.
func (d *data) decayed(ctx context.Context, slot int, halfLife float64, newest unit) (*ridge.Sum, error) {
	if d.slots[slot] == nil {
		d.slots[slot] = &runningSum{Sum: ridge.NewSum(d.slots[readSlot].Shape())}
	}
	s := d.slots[slot].Sum
	s.Scale(math.Exp2(-1 / halfLife))
	for _, i := range newest.parts {
		p, err := d.part(ctx, i)
		if err != nil {
			return nil, err
		}
		s.Merge(p)
	}
	return s, nil
}

// pair holds the positions of a span and a λ.
type pair struct{ span, value int }

// bestPair returns the pair with the least finite error among some spans, the first of equal ones.
func bestPair(losses [][]float64, spans []int) (p pair, ok bool) {
	for _, c := range spans {
		for l, e := range losses[c] {
			if !math.IsInf(e, 1) && (!ok || e < losses[p.span][p.value]) {
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
func follow(costs, losses [][]float64, spans []int, scale float64) (next pair) {
	n, sum := 0.0, 0.0
	for _, c := range spans {
		for l, e := range losses[c] {
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

// choices holds the results of pairs that are chosen on each date.
type choices struct {
	score  results.Score
	rows   []results.AnswerRow // one for each date
	next   pair                // for the next date
	totals [][]float64         // errors of all pairs
}

// prequential judges each date by the pair that follow chooses from the dates before it (Dawid
// 1984). The first date uses the first span. Errors are divided by twice the mean error per date of
// the best pair so far: a date counts as one observation, because its rows are similar.
func (d *data) prequential(history []judgedDate, spans []int, first float64) (*choices, error) {
	var totals, costs [][]float64
	for _, squares := range history[0].squares {
		totals, costs = append(totals, make([]float64, len(squares))), append(costs, make([]float64, len(squares)))
	}
	var rows []results.AnswerRow
	next := pair{spans[0], max(0, slices.Index(history[0].values, first))}
	var all []tally
	for t, j := range history {
		row := scoredRow{AnswerRow: j.train[next.span]}
		row.Name, row.Lambda, row.Seen = j.name, j.values[next.value], d.seen(j.unit)
		row.tallies = []tally{{j.squares[next.span][next.value], j.head}}
		row.Score = d.score(row.tallies)
		rows, all = append(rows, row.AnswerRow), append(all, row.tallies...)
		for c, squares := range j.squares {
			for l, v := range squares {
				totals[c][l] += v
			}
		}
		least, ok := bestPair(totals, spans)
		if !ok || math.IsInf(row.tallies[0].squares, 1) {
			return nil, row.notDefinite()
		}
		mean := max(totals[least.span][least.value], math.SmallestNonzeroFloat32) / float64(t+1)
		next = follow(costs, j.squares, spans, 1/(2*mean))
	}
	return &choices{d.score(all), rows, next, totals}, nil
}

// backtest judges each date by a model of all dates before it, or of the last Dates of them.
func (d *data) backtest(ctx context.Context) (*results.Ask, error) {
	history, first, err := d.forward(ctx, []results.Span{{Window: d.options.Dates}})
	if err != nil {
		return nil, err
	}
	c, err := d.prequential(history, []int{0}, first)
	if err != nil {
		return nil, err
	}
	return &results.Ask{Asked: "each date, predicted by a model of the dates before it", By: byEarlierErrors,
		Tables: []results.AnswerTable{{Head: "judged", Rows: append(c.rows, results.AnswerRow{Name: totalRow, Score: c.score})}}}, nil
}

// spans returns the spans to compare: all dates, windows, and, unless known is set, half-lives.
func (d *data) spans() (all []results.Span) {
	if d.options.Question != options.QuestionWindow {
		return []results.Span{{}}
	}
	dates, _ := d.grouped(nil, d.everything()) // no error without labels
	windows := d.options.Windows
	for n := 1; n < len(dates) && len(d.options.Windows) == 0; n *= 2 {
		windows = append(windows, n)
	}
	all = []results.Span{{}}
	for _, n := range windows {
		all = append(all, results.Span{Window: n})
	}
	for i := 0; i < len(windows) && d.known == nil; i++ {
		all = append(all, results.Span{HalfLife: float64(windows[i])})
	}
	return all
}

// forgetting returns three choices, each with its λ: all dates, the best window, and the best half-life.
func (d *data) forgetting(ctx context.Context) (all, window, halfLife *results.Forgetting, err error) {
	spans := d.spans()
	history, first, err := d.forward(ctx, spans)
	if err != nil {
		return nil, nil, nil, err
	}
	windows, halfLives := []int{0}, []int{0} // with all dates
	for c, s := range spans {
		switch {
		case s.Window > 0:
			windows = append(windows, c)
		case s.HalfLife > 0:
			halfLives = append(halfLives, c)
		}
	}
	var chosen [3]*results.Forgetting
	for k, positions := range [][]int{{0}, windows, halfLives} {
		if chosen[k], err = d.chooseSpan(history, first, spans, positions); err != nil {
			return nil, nil, nil, err
		}
	}
	return chosen[0], chosen[1], chosen[2], nil
}

// chooseSpan chooses among some spans, given their positions.
func (d *data) chooseSpan(history []judgedDate, first float64, spans []results.Span,
	positions []int) (*results.Forgetting, error) {
	c, err := d.prequential(history, positions, first)
	if err != nil {
		return nil, err
	}
	values := history[0].values
	f := &results.Forgetting{Span: spans[c.next.span], Lambda: values[c.next.value], Score: c.score}
	for _, k := range positions {
		p, ok := bestPair(c.totals, []int{k})
		var tallies []tally
		for _, j := range history {
			tallies = append(tallies, tally{j.squares[k][p.value], j.head})
		}
		if ok {
			f.Hindsight = append(f.Hindsight, results.AnswerRow{Name: spans[k].String(), Lambda: values[p.value],
				Score: d.score(tallies)})
		}
	}
	return f, nil
}

// window answers how much of the past to train on.
func (d *data) window(ctx context.Context) (*results.Ask, error) {
	all, window, half, err := d.forgetting(ctx)
	if err != nil {
		return nil, err
	}
	row := func(name string, f *results.Forgetting) results.AnswerRow {
		return results.AnswerRow{Name: name, Trained: f.String(), Lambda: f.Lambda, Score: f.Score}
	}
	return &results.Ask{
		Asked: "each date, predicted by models of some of the dates before it",
		By:    byEarlierErrors + "; so are window and half-life", Window: window, HalfLife: half,
		Tables: []results.AnswerTable{
			{Title: "chosen on earlier dates only; the columns show the choice for the next date", Head: "choice",
				Rows: []results.AnswerRow{row("lambda alone", all), row("window", window), row("half-life", half)}},
			{Title: "in hindsight, with the best lambda for all dates: the best row is optimistic", Head: "trained on",
				Rows: slices.Concat(window.Hindsight, half.Hindsight[1:])},
		},
	}, nil
}
