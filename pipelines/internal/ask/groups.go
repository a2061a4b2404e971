package ask

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// autoLambda as λ of fitAndScore means that cross-validation chooses it.
const autoLambda = -1

// cutOut returns the units without all[from:to].
func cutOut(all []unit, from, to int) []unit { return slices.Concat(all[:from], all[to:]) }

// groups judges each group by a model of all others.
func (d *data) groups(ctx context.Context) (*results.Ask, error) {
	all, err := d.grouped(d.options.By, d.everything())
	if err != nil {
		return nil, err
	}
	var rows []results.AnswerRow
	var tallies []tally
	for k, g := range all {
		u := d.onlyJudged(g)
		if len(u.parts) == 0 || len(all) == 1 {
			continue
		}
		row, err := d.fitAndScore(ctx, g.name, cutOut(all, k, k+1), []unit{u}, autoLambda)
		if err != nil {
			return nil, err
		}
		row.Trained = ""
		rows, tallies = append(rows, row.AnswerRow), append(tallies, row.tallies...)
	}
	if len(rows) == 0 {
		return nil, exit.Dataf("pipelines: no group can be predicted from others: groups needs two or more, one of them "+
			"with sums that meet --judge; have %s", report.Counted(len(all), "group"))
	}
	return &results.Ask{Asked: "each group, predicted by a model of all others", By: byInnerFolds,
		Tables: []results.AnswerTable{{Head: "left out", Rows: append(rows, results.AnswerRow{Name: totalRow, Score: d.score(tallies)})}}}, nil
}

// matrix judges each group by a model of each group. A group is judged on each fifth of its own
// parts by a model of the other four.
func (d *data) matrix(ctx context.Context) (*results.Ask, error) {
	all, err := d.grouped(d.options.By, d.everything())
	if err != nil {
		return nil, err
	}
	var judged []unit
	for _, g := range all {
		if u := d.onlyJudged(g); len(u.parts) > 0 {
			judged = append(judged, u)
		}
	}
	t := results.AnswerTable{Head: "judged"}
	for _, trained := range all {
		m, err := d.fitAndJudge(ctx, []unit{trained}, judged, autoLambda)
		if err != nil {
			return nil, err
		}
		for k, u := range judged {
			tallies := m.tallies[k : k+1]
			if u.name == trained.name {
				if tallies, err = d.judgeItself(ctx, trained); err != nil {
					return nil, err
				}
			}
			if len(tallies) > 0 {
				t.Rows = append(t.Rows, results.AnswerRow{Name: u.name, Trained: cmp.Or(trained.name, `""`),
					TrainedRows: m.TrainedRows,
					Lambda:      m.Lambda,
					Score:       d.score(tallies), Seen: d.seen(u)})
			}
		}
	}
	return &results.Ask{Asked: "each group, predicted by a model of one group, or of other parts of its own", By: byInnerFolds,
		Tables: []results.AnswerTable{t}}, nil
}

// judgeItself judges each fifth of the directories of a group by a model of the others.
func (d *data) judgeItself(ctx context.Context, group unit) (tallies []tally, err error) {
	dirs := d.directories(group)
	for b := range blocks {
		from, to := b*len(dirs)/blocks, (b+1)*len(dirs)/blocks
		var judges []unit
		for _, u := range dirs[from:to] {
			u = d.onlyJudged(u)
			if len(u.parts) > 0 {
				judges = append(judges, u)
			}
		}
		rest := cutOut(dirs, from, to)
		if len(rest) == 0 || len(judges) == 0 {
			continue
		}
		row, err := d.fitAndJudge(ctx, rest, judges, autoLambda)
		if err != nil {
			return nil, err
		}
		tallies = append(tallies, row.tallies...)
	}
	return tallies, nil
}

// shuffled returns elements in a random order (Fisher-Yates) that d.Seed and index determine.
func shuffled[T any](d *data, all []T, index int) []T {
	all = slices.Clone(all)
	s := stream.New(d.options.Seed, shuffle, uint64(index))
	for i := len(all) - 1; i > 0; i-- {
		j := int(s.Below(uint64(i + 1)))
		all[i], all[j] = all[j], all[i]
	}
	return all
}

// curve judges models of the last 1, 2, 4, … dates, and of as many dates in random order.
func (d *data) curve(ctx context.Context) (*results.Ask, error) {
	if err := d.checkDated(); err != nil {
		return nil, err
	}
	train, judged, err := d.splitJudged(nil)
	if err != nil {
		return nil, err
	}
	slices.Reverse(train)
	const orders = 4
	tables := []results.AnswerTable{{Title: "from the newest date back", Head: "dates"},
		{Title: "in random order, mean of " + report.Counted(orders, "order"), Head: "dates"}}
	for n := 1; ; n *= 2 {
		n = min(n, len(train))
		newest, err := d.fitAndScore(ctx, fmt.Sprint(n), train[:n], judged, autoLambda)
		if err != nil {
			return nil, err
		}
		newest.Trained = spanOf([]unit{train[n-1], train[0]})
		random := scoredRow{AnswerRow: results.AnswerRow{Name: newest.Name}, tallies: make([]tally, len(judged))}
		for k := range orders {
			row, err := d.fitAndJudge(ctx, shuffled(d, train, k)[:n], judged, autoLambda)
			if err != nil {
				return nil, err
			}
			random.TrainedRows += row.TrainedRows
			for i, t := range row.tallies {
				random.tallies[i].head = t.head
				random.tallies[i].squares += t.squares / orders
			}
		}
		random.TrainedRows = (random.TrainedRows + orders/2) / orders
		random.Score = d.score(random.tallies)
		tables[0].Rows, tables[1].Rows = append(tables[0].Rows, newest.AnswerRow), append(tables[1].Rows, random.AnswerRow)
		if n == len(train) {
			break
		}
	}
	return &results.Ask{Asked: "how good models of 1, 2, 4, … dates are", By: byInnerFolds, Judged: d.judgedOn(judged),
		Tables: tables}, nil
}

// worth compares a model of all groups with models of all but one. λ is chosen once, by
// cross-validation over all groups.
func (d *data) worth(ctx context.Context) (*results.Ask, error) {
	groups, judged, err := d.splitJudged(d.options.By)
	if err != nil {
		return nil, err
	}
	if len(groups) < 2 {
		return nil, exit.Dataf("pipelines: worth needs two or more groups to train on (have %d); change --by or --judge",
			len(groups))
	}
	all, err := d.fitAndScore(ctx, "none", groups, judged, autoLambda)
	if err != nil {
		return nil, err
	}
	all.Trained = ""
	var rows []results.AnswerRow
	for k, g := range groups {
		row, err := d.fitAndScore(ctx, g.name, cutOut(groups, k, k+1), judged, all.Lambda)
		if err != nil {
			return nil, err
		}
		difference := func(times []float64) float64 { return d.r2(all.tallies, times) - d.r2(row.tallies, times) }
		row.Trained, row.Seen = "", d.seen(g)
		row.Worth = &results.Worth{R2: *all.R2 - *row.R2, Interval: d.interval(len(row.tallies), difference)}
		rows = append(rows, row.AnswerRow)
	}
	sets := &groupSets{data: d, groups: groups, judged: judged, lambda: all.Lambda, known: map[string]float64{}}
	how := ""
	switch {
	case len(groups) <= exactGroups:
		err = sets.exactShapley(ctx, rows)
		how = "; Shapley values add up to the R² of all"
	case d.options.Permutations > 0:
		err = sets.estimateShapley(ctx, rows)
		how = "; Shapley values are means over " + report.Counted(d.options.Permutations, "random order")
	}
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(rows, func(a, b results.AnswerRow) int { return cmp.Compare(a.Worth.R2, b.Worth.R2) })
	return &results.Ask{Asked: "what each group adds to R², the most harmful first" + how, By: byFoldsOnce, Judged: d.judgedOn(judged),
		Tables: []results.AnswerTable{{Head: "left out", Rows: append(rows, all.AnswerRow)}}}, nil
}

// groupSets holds the values of sets of groups: R² of their models.
type groupSets struct {
	data           *data
	groups, judged []unit
	lambda         float64
	known          map[string]float64
}

// value returns the value of the groups for which in is true.
func (s *groupSets) value(ctx context.Context, in []bool) (float64, error) {
	var members []unit
	for g, included := range in {
		if included {
			members = append(members, s.groups[g])
		}
	}
	key := fmt.Sprint(in)
	if _, ok := s.known[key]; !ok && len(members) > 0 {
		row, err := s.data.fitAndJudge(ctx, members, s.judged, s.lambda)
		if err != nil {
			return 0, err
		}
		s.known[key] = s.data.r2(row.tallies, nil)
	}
	return s.known[key], nil
}

// exactGroups is the largest number of groups for which models of all subsets are fitted.
const exactGroups = 12

// exactShapley sets the Shapley values of groups, by the value of each subset.
func (s *groupSets) exactShapley(ctx context.Context, rows []results.AnswerRow) (err error) {
	k := len(rows)
	all := make([]float64, 1<<k)
	for subset := range all {
		in := make([]bool, k)
		for g := range in {
			in[g] = subset>>g&1 == 1
		}
		if all[subset], err = s.value(ctx, in); err != nil {
			return err
		}
	}
	for g := range k {
		var shapley float64
		for subset, without := range all {
			weight := 1 / float64(k) // n!(k−n−1)!/k! = 1/(k·C(k−1, n))
			for i := range bits.OnesCount(uint(subset)) {
				weight *= float64(i+1) / float64(k-1-i)
			}
			if subset>>g&1 == 0 {
				shapley += float64(weight * (all[subset|1<<g] - without))
			}
		}
		rows[g].Worth.Shapley = &shapley
	}
	return nil
}

// estimateShapley estimates the Shapley values by the mean contribution of a group over random
// orders (Castro, Gómez and Tejada 2009), with standard errors.
func (s *groupSets) estimateShapley(ctx context.Context, rows []results.AnswerRow) error {
	permutations := s.data.options.Permutations
	n, groups := float64(permutations), make([]int, len(rows))
	sum, squares := make([]float64, len(rows)), make([]float64, len(rows))
	for g := range groups {
		groups[g] = g
	}
	for p := range permutations {
		in, before := make([]bool, len(rows)), 0.0
		for _, g := range shuffled(s.data, groups, p) {
			in[g] = true
			after, err := s.value(ctx, in)
			if err != nil {
				return err
			}
			sum[g] += after - before
			squares[g] += float64((after - before) * (after - before))
			before = after
		}
	}
	for g := range rows {
		mean := sum[g] / n
		rows[g].Worth.Shapley = &mean
		rows[g].Worth.StdErr = math.Sqrt(max(0, squares[g]/n-float64(mean*mean)) / max(1, n-1))
	}
	return nil
}

// bisect finds a date that breaks the score: R² of the model of all dates up to it is below MinR2, and without it R²
// is not, or no earlier date exists. It finds none if the model of all dates reaches MinR2. λ is chosen once, by
// cross-validation over all training dates. Models of few early dates may score below MinR2, too.
func (d *data) bisect(ctx context.Context) (*results.Ask, error) {
	if err := d.checkDated(); err != nil {
		return nil, err
	}
	dates, judged, err := d.splitJudged(nil)
	if err != nil {
		return nil, err
	}
	sum, err := d.sum(ctx, trainSlot, dates)
	if err != nil {
		return nil, err
	}
	b := &bisection{data: d, dates: dates, judged: judged, models: map[int]scoredRow{0: {}}, bad: len(dates) + 1,
		least: d.options.MinR2}
	if b.lambda, err = d.lambda(ctx, dates, sum); err != nil {
		return nil, err
	}
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	t := results.AnswerTable{Head: "last date"}
	for _, n := range slices.Sorted(maps.Keys(b.models))[1:] {
		t.Rows = append(t.Rows, b.models[n].AnswerRow)
	}
	a := &results.Ask{Asked: "which date lowers R² for good", By: byFoldsOnce, Judged: d.judgedOn(judged), Tables: []results.AnswerTable{t}}
	if b.bad > len(dates) {
		a.Verdict = "no date broke the score"
		return a, nil
	}
	good, bad := b.models[b.good], b.models[b.bad]
	f := &results.Found{Name: dates[b.bad-1].name, With: *bad.R2, Interval: d.fallInterval(good, bad), MinR2: b.least}
	a.Found = f
	if b.good == 0 {
		a.Verdict = fmt.Sprintf("R² is below %g from the first date on: %.4f with %s", b.least, f.With, f.Name)
		return a, nil
	}
	f.Before = *good.R2
	a.Verdict = fmt.Sprintf("adding %s lowers R² from %.4f to %.4f", f.Name, f.Before, f.With)
	return a, nil
}

// bisection looks for numbers of first dates whose models reach the R² in least (good), and of those that do not
// (bad).
type bisection struct {
	data          *data
	dates, judged []unit
	lambda        float64
	models        map[int]scoredRow // of the first dates, by their number
	good, bad     int               // bad is the number of all dates plus one if no model is bad
	least         float64
}

// model returns the model of the first n dates.
func (b *bisection) model(ctx context.Context, n int) (scoredRow, error) {
	if row, ok := b.models[n]; ok {
		return row, nil
	}
	row, err := b.data.fitAndScore(ctx, b.dates[n-1].name, b.dates[:n], b.judged, b.lambda)
	if err != nil {
		return row, err
	}
	b.models[n] = row
	return row, nil
}

// run moves good and bad together until they are neighbours.
func (b *bisection) run(ctx context.Context) error {
	choose := b.compareHalves
	if b.least != 0 {
		choose = b.compareAll
	}
	if err := choose(ctx); err != nil {
		return err
	}
	for b.bad-b.good > 1 {
		n := (b.good + b.bad) / 2
		row, err := b.model(ctx, n)
		if err != nil {
			return err
		}
		if *row.R2 < b.least {
			b.bad = n
		} else {
			b.good = n
		}
	}
	return nil
}

// compareAll sets good and bad by the model of all dates: if it is good, no date lowers R² for good.
func (b *bisection) compareAll(ctx context.Context) error {
	all, err := b.model(ctx, len(b.dates))
	if err != nil {
		return err
	}
	if *all.R2 < b.least {
		b.bad = len(b.dates)
	} else {
		b.good = len(b.dates)
	}
	return nil
}

// compareHalves sets the least R², good and bad. The model of the first half, quarter and so on must be better than
// the model of all dates by 0.01 and, if there is an interval, significantly. If none is, all models are good.
func (b *bisection) compareHalves(ctx context.Context) error {
	all, err := b.model(ctx, len(b.dates))
	if err != nil {
		return err
	}
	for n := len(b.dates); n > 1 && b.bad > len(b.dates); n /= 2 {
		half, err := b.model(ctx, n/2)
		if err != nil {
			return err
		}
		i := b.data.fallInterval(half, all)
		if !(*half.R2 > *all.R2+0.01 && (i.Low == nil || *i.Low > 0)) {
			continue
		}
		b.good, b.bad, b.least = n/2, n, (*half.R2+*all.R2)/2
		whole, err := b.model(ctx, n)
		if err != nil {
			return err
		}
		if *whole.R2 >= b.least {
			b.good, b.bad = n, len(b.dates)
		}
	}
	if b.bad > len(b.dates) {
		b.good = len(b.dates)
	}
	return nil
}

// fallInterval returns the interval of the difference between the R² of two models.
func (d *data) fallInterval(good, bad scoredRow) results.Interval {
	return d.interval(min(len(good.tallies), len(bad.tallies)), func(times []float64) float64 {
		return d.r2(good.tallies, times) - d.r2(bad.tallies, times)
	})
}
