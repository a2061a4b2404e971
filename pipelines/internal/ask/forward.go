package ask

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/parts"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// span says which steps before a judged one a model is trained on: the last so many, 0 for all; or all, a step
// weighted by 2^(−age/HalfLife), its age being the steps from it to the newest.
type span struct {
	Window   int     `json:"window,omitempty"`
	HalfLife float64 `json:"half_life,omitempty"`
}

// running is the sum of a span, which moves forward. Scaled sums are rounded at each step: their relative error
// is below 2⁻⁵² for each step of the half-life.
type running struct {
	span
	sum      *ridge.Sum
	from, to int // the steps in it
}

// move makes r the sum for the judgement of what follows the first end steps.
func (r *running) move(ctx context.Context, d *data, steps []unit, end int) error {
	begin := 0
	if r.Window > 0 {
		begin = max(0, end-r.Window)
	}
	add := func(step, sign int) error {
		for _, i := range steps[step].parts {
			if err := d.add(ctx, r.sum, i, sign); err != nil {
				return err
			}
		}
		return nil
	}
	for ; r.to < end; r.to++ {
		if r.HalfLife > 0 {
			r.sum.Scale(math.Exp2(-1 / r.HalfLife))
		}
		if err := add(r.to, 1); err != nil {
			return err
		}
	}
	for ; r.from < begin; r.from++ {
		if err := add(r.from, -1); err != nil {
			return err
		}
	}
	return nil
}

// judged is a step that was judged.
type judged struct {
	unit
	head    []float64
	values  []float64   // of λ, the largest first
	squares [][]float64 // of each span, for each λ
	rows    []int64     // trained on, of each span
	begin   []string    // first step trained on, of each span
	end     string
}

// forward judges each step by fits to steps before it: one for each span and λ. The first λ is chosen by
// cross-validation inside the first training set of the first span.
func (d *data) forward(ctx context.Context, spans []span) (history []judged, first float64, err error) {
	steps, err := d.steps()
	if err != nil {
		return nil, 0, err
	}
	sums := make([]running, len(spans))
	for c, s := range spans {
		sums[c] = running{span: s, sum: ridge.NewSum(d.all.Shape())}
	}
	for t := range steps {
		u, end := d.judges(steps[t]), t-d.Gap
		if end < 1 || len(u.parts) == 0 {
			continue
		}
		j := judged{unit: u, head: d.head(u), end: steps[end-1].name}
		for c := range sums { // all of them first, because they may read the same parts
			if err := sums[c].move(ctx, d, steps, end); err != nil {
				return nil, 0, err
			}
		}
		for c := range sums {
			r := &sums[c]
			j.begin, j.rows = append(j.begin, steps[r.from].name), append(j.rows, r.sum.Rows())
			if c > 0 && r.HalfLife == 0 && r.Window >= end && sums[0].span == (span{}) { // all steps so far
				j.squares = append(j.squares, j.squares[0])
				continue
			}
			if j.values = d.values(r.sum); history == nil && c == 0 {
				if first, err = d.lambda(ctx, steps[r.from:r.to], r.sum); err != nil {
					return nil, 0, err
				}
			}
			squares, err := d.judge(ctx, d.Fit(r.sum, j.values), u)
			if err != nil {
				return nil, 0, err
			}
			d.fits++
			j.squares = append(j.squares, squares)
		}
		history = append(history, j)
	}
	if len(history) == 0 {
		return nil, 0, exit.Refuse("ask: none of %d dates has others before it to train on (--gap %d) and sums that judge",
			len(steps), d.Gap)
	}
	return history, first, nil
}

// pair is a span and a λ, by position.
type pair struct{ span, value int }

// best returns the pair of the spans that has the least total error; of equal ones the first.
func best(errors [][]float64, spans []int, possible func(pair) bool) (p pair, ok bool) {
	for _, c := range spans {
		for l, e := range errors[c] {
			if possible(pair{c, l}) && (!ok || e < errors[p.span][p.value]) {
				p, ok = pair{c, l}, true
			}
		}
	}
	return p, ok
}

// prequential judges each step by the pair among some spans that was best on the steps before it (Dawid 1984),
// and returns the totals over all steps. The first pair is of the first span.
func (d *data) prequential(history []judged, spans []int, first float64) (chosen []pair, totals [][]float64, err error) {
	totals = make([][]float64, len(history[0].squares))
	for c := range totals {
		totals[c] = make([]float64, len(history[0].values))
	}
	for t, j := range history {
		possible := func(p pair) bool { return !math.IsInf(j.squares[p.span][p.value], 1) }
		p, ok := best(totals, spans, possible)
		if l := slices.Index(j.values, first); t == 0 && l >= 0 && possible(pair{spans[0], l}) {
			p = pair{spans[0], l}
		}
		if !ok {
			return nil, nil, exit.Refuse("ask: trained up to %s, the matrix is not positive definite at any lambda; raise --lambda", j.end)
		}
		chosen = append(chosen, p)
		for c, squares := range j.squares {
			for l, v := range squares {
				totals[c][l] += v
			}
		}
	}
	return chosen, totals, nil
}

// rows returns a row for each step, judged by the chosen pairs, and their score.
func (d *data) rows(history []judged, chosen []pair) (rows []Row, total Row) {
	var all []tally
	for t, j := range history {
		p := chosen[t]
		own := tally{j.squares[p.span][p.value], j.head}
		all = append(all, own)
		rows = append(rows, Row{Name: j.name, Trained: j.begin[p.span] + " … " + j.end, TrainedRows: j.rows[p.span],
			Lambda: j.values[p.value], Score: d.score([]tally{own}), Seen: d.seen(j.unit)})
	}
	return rows, Row{Name: "total", Score: d.score(all)}
}

// backtest trains on all steps, or the last of them, before each step that is judged.
func (d *data) backtest(ctx context.Context) (*Answer, error) {
	history, first, err := d.forward(ctx, []span{{Window: d.Window}})
	if err != nil {
		return nil, err
	}
	chosen, _, err := d.prequential(history, []int{0}, first)
	if err != nil {
		return nil, err
	}
	rows, total := d.rows(history, chosen)
	return &Answer{Asked: "each date, predicted by a model of the dates before it", By: prequentially,
		Tables: []Table{{Head: "judged", Rows: append(rows, total)}}}, nil
}

// candidates are the windows and half-lives to compare for so many steps. Both begin with all steps.
func (d *data) candidates(steps int) (windows, lives []span) {
	windows, lives = []span{{}}, []span{{}}
	given := len(d.Windows) + len(d.HalfLives)
	for n := 1; n < steps && given == 0; n *= 2 {
		windows, lives = append(windows, span{Window: n}), append(lives, span{HalfLife: float64(n)})
	}
	for _, n := range d.Windows {
		windows = append(windows, span{Window: n})
	}
	for _, h := range d.HalfLives {
		lives = append(lives, span{HalfLife: h})
	}
	return windows, lives
}

// Forgetting is how much of the past to train on.
type Forgetting struct {
	span           // the zero value is all of it
	Lambda float64 `json:"lambda"`
	// Score is of choosing at each step the pair of span and λ that was best on the steps before.
	Score
	Steps []Row `json:"steps"`
	// Hindsight has the best λ of each span over all judged steps. The best of its scores is too good.
	Hindsight []Row `json:"hindsight"`
}

// ChooseWindow returns the number of last dates to train on next, and the half-life, each with its λ, for
// sums of one recipe with dates.
func ChooseWindow(ctx context.Context, o Options, terms []parts.Term) (window, halfLife *Forgetting, err error) {
	o.Question = "window"
	d, err := open(ctx, o, terms)
	if err != nil {
		return nil, nil, err
	}
	_, window, halfLife, err = d.forgetting(ctx)
	return window, halfLife, err
}

// forgetting returns the choice of λ alone, with a window, and with a half-life.
func (d *data) forgetting(ctx context.Context) (all, window, halfLife *Forgetting, err error) {
	steps, err := d.steps()
	if err != nil {
		return nil, nil, nil, err
	}
	windows, lives := d.candidates(len(steps))
	spans := append(windows, lives[1:]...)
	history, first, err := d.forward(ctx, spans)
	if err != nil {
		return nil, nil, nil, err
	}
	values := history[len(history)-1].values
	choose := func(in func(span) bool) *Forgetting {
		some := []int{0}
		for c, s := range spans[1:] {
			if in(s) {
				some = append(some, c+1)
			}
		}
		chosen, totals, failed := d.prequential(history, some, first)
		if err = cmp.Or(err, failed); err != nil {
			return nil
		}
		f := &Forgetting{}
		var total Row
		f.Steps, total = d.rows(history, chosen)
		f.Score = total.Score
		finite := func(p pair) bool { return !math.IsInf(totals[p.span][p.value], 1) }
		if p, ok := best(totals, some, finite); ok { // what to train on next
			f.span, f.Lambda = spans[p.span], values[p.value]
		}
		for _, c := range some {
			if p, ok := best(totals, []int{c}, finite); ok {
				_, row := d.rows(history, slices.Repeat([]pair{p}, len(history)))
				row.Name, row.Lambda = spans[c].String(), values[p.value]
				f.Hindsight = append(f.Hindsight, row)
			}
		}
		return f
	}
	all = choose(func(span) bool { return false })
	window = choose(func(s span) bool { return s.Window > 0 })
	halfLife = choose(func(s span) bool { return s.HalfLife > 0 })
	return all, window, halfLife, err
}

// String returns a span in words.
func (s span) String() string {
	switch {
	case s.HalfLife > 0:
		return fmt.Sprintf("half-life %g", s.HalfLife)
	case s.Window > 0:
		return "last " + report.Counted(s.Window, "date")
	}
	return "all dates"
}

// window chooses how much of the past to train on.
func (d *data) window(ctx context.Context) (*Answer, error) {
	all, window, half, err := d.forgetting(ctx)
	if err != nil {
		return nil, err
	}
	row := func(name string, f *Forgetting) Row {
		return Row{Name: name, Trained: f.String(), Lambda: f.Lambda, Score: f.Score}
	}
	return &Answer{
		Asked: "each date, predicted by models of some of the dates before it",
		By:    prequentially + ", together with the window or half-life", Window: window, HalfLife: half,
		Tables: []Table{
			{Title: "choosing on each date what was best on the dates before; the choice for the next date", Head: "chosen",
				Rows: []Row{row("lambda alone", all), row("window", window), row("half-life", half)}},
			{Title: "in hindsight: the best lambda for all dates at once, so that the best row is too good", Head: "trained on",
				Rows: slices.Concat(window.Hindsight, half.Hindsight[min(1, len(half.Hindsight)):])},
		},
	}, nil
}
