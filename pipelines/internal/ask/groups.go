package ask

import (
	"cmp"
	"fmt"
	"maps"
	"math"
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
func (d *data) groups() *results.Answer {
	all := d.grouped(d.By, d.everything())
	var rows []results.AnswerRow
	var tallies []tally
	for k, g := range all {
		if u := d.judges(g); len(u.parts) > 0 && len(all) > 1 && d.err == nil {
			row := d.fitAndScore(g.name, cutOut(all, k, k+1), []unit{u}, autoLambda)
			row.Trained = ""
			rows, tallies = append(rows, row.AnswerRow), append(tallies, row.tallies...)
		}
	}
	if len(rows) == 0 {
		d.fail(exit.Refuse("pipelines: no group can be predicted from others: groups needs two or more, one of them with sums "+
			"that meet --judge; have %s", report.Counted(len(all), "group")))
	}
	return &results.Answer{Asked: "each group, predicted by a model of all others", By: byInnerFolds,
		Tables: []results.AnswerTable{{Head: "left out",
			Rows: append(rows, results.AnswerRow{Name: totalRow, Score: d.score(tallies)})}}}
}

// matrix judges each group by a model of each group. A group is judged on each fifth of its own
// parts by a model of the other four.
func (d *data) matrix() *results.Answer {
	all := d.grouped(d.By, d.everything())
	var judged []unit
	for _, g := range all {
		if u := d.judges(g); len(u.parts) > 0 {
			judged = append(judged, u)
		}
	}
	t := results.AnswerTable{Head: "judged"}
	for _, of := range all {
		if d.err != nil {
			break
		}
		m := d.fitAndJudge([]unit{of}, judged, autoLambda)
		for k, u := range judged {
			var tallies []tally
			if own := d.directories(of); u.name == of.name {
				for b := range blocks {
					from, to := b*len(own)/blocks, (b+1)*len(own)/blocks
					var some []unit
					for _, u := range own[from:to] {
						if u = d.judges(u); len(u.parts) > 0 {
							some = append(some, u)
						}
					}
					if rest := cutOut(own, from, to); len(rest) > 0 && len(some) > 0 {
						tallies = append(tallies, d.fitAndJudge(rest, some, autoLambda).tallies...)
					}
				}
			} else if d.err == nil {
				tallies = m.tallies[k : k+1]
			}
			if len(tallies) > 0 {
				t.Rows = append(t.Rows, results.AnswerRow{Name: u.name, Trained: of.name, TrainedRows: m.TrainedRows,
					Lambda: m.Lambda, Score: d.score(tallies), Seen: d.seen(u)})
			}
		}
	}
	return &results.Answer{Asked: "each group, predicted by a model of one group, or of other parts of its own",
		By: byInnerFolds, Tables: []results.AnswerTable{t}}
}

// shuffled returns units in a random order (Fisher-Yates) that d.Seed and index determine.
func (d *data) shuffled(all []unit, index int) []unit {
	all = slices.Clone(all)
	s := stream.New(d.Seed, shuffle, uint64(index))
	for i := len(all) - 1; i > 0; i-- {
		j := int(s.Below(uint64(i + 1)))
		all[i], all[j] = all[j], all[i]
	}
	return all
}

// curve judges models of the last 1, 2, 4, … dates, and of as many dates in random order.
func (d *data) curve() *results.Answer {
	d.fail(d.dated())
	train, judged := d.splitJudged(nil)
	slices.Reverse(train)
	const orders = 4
	tables := []results.AnswerTable{{Title: "from the newest date back", Head: "dates"},
		{Title: "in random order, mean of " + report.Counted(orders, "order"), Head: "dates"}}
	for n := 1; n > 0 && d.err == nil; n *= 2 {
		if n >= len(train) {
			n = len(train)
		}
		newest := d.fitAndScore(fmt.Sprint(n), train[:n], judged, autoLambda)
		newest.Trained = spanOf([]unit{train[n-1], train[0]})
		random := scoredRow{AnswerRow: results.AnswerRow{Name: newest.Name}, tallies: make([]tally, len(judged))}
		for k := range orders {
			row := d.fitAndJudge(d.shuffled(train, k)[:n], judged, autoLambda)
			random.TrainedRows += row.TrainedRows / orders
			for i, t := range row.tallies {
				random.tallies[i].head = t.head
				random.tallies[i].squares += t.squares / orders
			}
		}
		random.Score = d.score(random.tallies)
		tables[0].Rows, tables[1].Rows = append(tables[0].Rows, newest.AnswerRow), append(tables[1].Rows, random.AnswerRow)
		if n == len(train) {
			break
		}
	}
	return &results.Answer{Asked: "how good models of 1, 2, 4, … dates are", By: byInnerFolds, Judged: spanOf(judged), Tables: tables}
}

// worth compares a model of all groups with models of all but one. λ is chosen once, by
// cross-validation over all groups.
func (d *data) worth() *results.Answer {
	groups, judged := d.splitJudged(d.By)
	if len(groups) < 2 {
		d.fail(exit.Refuse("pipelines: worth needs two or more groups to train on (have %d); change --by or --judge", len(groups)))
		return nil
	}
	all := d.fitAndScore("none", groups, judged, autoLambda)
	all.Trained = ""
	var rows []results.AnswerRow
	for k, g := range groups {
		row := d.fitAndScore(g.name, cutOut(groups, k, k+1), judged, all.Lambda)
		difference := func(times []float64) float64 { return d.r2(all.tallies, times) - d.r2(row.tallies, times) }
		row.Trained, row.Seen = "", d.seen(g)
		row.Worth = &results.Worth{R2: all.R2 - row.R2, Interval: d.interval(len(row.tallies), difference)}
		rows = append(rows, row.AnswerRow)
	}
	known := map[string]float64{}
	value := func(in []bool) float64 {
		var some []unit
		for g, is := range in {
			if is {
				some = append(some, groups[g])
			}
		}
		key := fmt.Sprint(in)
		if _, ok := known[key]; !ok && len(some) > 0 {
			known[key] = d.r2(d.fitAndJudge(some, judged, all.Lambda).tallies, nil)
		}
		return known[key]
	}
	how := ""
	switch {
	case len(groups) <= exactGroups:
		exactShapley(rows, value)
		how = "; Shapley values add up to the R² of all"
	case d.Permutations > 0:
		d.estimateShapley(rows, value)
		how = "; Shapley values are means over " + report.Counted(d.Permutations, "random order")
	}
	slices.SortStableFunc(rows, func(a, b results.AnswerRow) int { return cmp.Compare(a.Worth.R2, b.Worth.R2) })
	return &results.Answer{Asked: "what each group adds to R², the most harmful first" + how, By: byFoldsOnce, Judged: spanOf(judged),
		Tables: []results.AnswerTable{{Head: "left out", Rows: append(rows, all.AnswerRow)}}}
}

// exactGroups is the largest number of groups for which models of all subsets are fitted.
const exactGroups = 12

// exactShapley sets the Shapley values of groups, given the value of each subset.
func exactShapley(rows []results.AnswerRow, value func(in []bool) float64) {
	k := len(rows)
	values, sizes := make([]float64, 1<<k), make([]int, 1<<k)
	for subset := range values {
		in := make([]bool, k)
		for g := range in {
			if in[g] = subset>>g&1 == 1; in[g] {
				sizes[subset]++
			}
		}
		values[subset] = value(in)
	}
	for g := range k {
		var shapley float64
		for subset, v := range values {
			weight := 1 / float64(k) // n!(k−n−1)!/k! = 1/(k·C(k−1, n))
			for i := range sizes[subset] {
				weight *= float64(i+1) / float64(k-1-i)
			}
			if subset>>g&1 == 0 {
				shapley += float64(weight * (values[subset|1<<g] - v))
			}
		}
		rows[g].Worth.Shapley = &shapley
	}
}

// estimateShapley estimates the Shapley values by the mean contribution of a group over random
// orders (Castro, Gómez and Tejada 2009), with standard errors.
func (d *data) estimateShapley(rows []results.AnswerRow, value func(in []bool) float64) {
	n, places := float64(d.Permutations), make([]unit, len(rows))
	sum, squares := make([]float64, len(rows)), make([]float64, len(rows))
	for g := range places {
		places[g].parts = []int{g}
	}
	for p := range d.Permutations {
		in, before := make([]bool, len(rows)), 0.0
		for _, u := range d.shuffled(places, p) {
			g := u.parts[0]
			in[g] = true
			after := value(in)
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
}

// bisect finds, by bisection, a date such that the model of all dates up to it scores below MinR2, and
// the model of the dates before it does not, or there are none. λ is chosen once, by cross-validation
// over all training dates. Models of few early dates may score below MinR2, too.
func (d *data) bisect() *results.Answer {
	d.fail(d.dated())
	steps, judged := d.splitJudged(nil)
	if d.err != nil {
		return nil
	}
	lambda, known := d.lambda(steps, d.sum(trainSlot, steps)), map[int]scoredRow{0: {}}
	model := func(n int) scoredRow {
		if _, ok := known[n]; !ok {
			known[n] = d.fitAndScore(steps[n-1].name, steps[:n], judged, lambda)
		}
		return known[n]
	}
	fall := func(good, bad scoredRow) results.Interval {
		return d.interval(min(len(good.tallies), len(bad.tallies)), func(times []float64) float64 {
			return d.r2(good.tallies, times) - d.r2(bad.tallies, times)
		})
	}
	good, bad, least := 0, len(steps)+1, d.MinR2 // bad stays len(steps)+1 if all models are good
	if least == 0 {
		// The first half, quarter and so on must be better than all dates by 0.01 and, if there is an
		// interval, significantly.
		all := model(len(steps))
		for n := len(steps); n > 1 && bad > len(steps); n /= 2 {
			half := model(n / 2)
			if i := fall(half, all); half.R2 > all.R2+0.01 && (i.Low == nil || *i.Low > 0) {
				if good, bad, least = n/2, n, (half.R2+all.R2)/2; model(n).R2 >= least {
					good, bad = n, len(steps)
				}
			}
		}
		if bad > len(steps) {
			good = len(steps)
		}
	}
	for bad-good > 1 {
		if n := (good + bad) / 2; model(n).R2 < least {
			bad = n
		} else {
			good = n
		}
	}
	t := results.AnswerTable{Head: "last date"}
	for _, n := range slices.Sorted(maps.Keys(known))[1:] {
		t.Rows = append(t.Rows, known[n].AnswerRow)
	}
	a := &results.Answer{Asked: "which date lowers R² for good", By: byFoldsOnce, Judged: spanOf(judged), Tables: []results.AnswerTable{t}}
	if bad > len(steps) {
		a.Verdict = "no date broke the score"
		return a
	}
	f := &results.Found{Name: steps[bad-1].name, Before: known[good].R2, With: known[bad].R2,
		Interval: fall(known[good], known[bad]), MinR2: least}
	a.Found, a.Verdict = f, fmt.Sprintf("adding %s lowers R² from %.4f to %.4f", f.Name, f.Before, f.With)
	return a
}
