package ask

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// judges returns the parts of a unit that judge.
func (d *data) judges(u unit) unit {
	return unit{u.name, slices.DeleteFunc(slices.Clone(u.parts), func(i int) bool { return !d.parts[i].judges })}
}

// seen tells whether the recipe was drawn from files of a unit.
func (d *data) seen(u unit) bool {
	return slices.ContainsFunc(u.parts, func(i int) bool { return d.parts[i].seen })
}

// everything returns the positions of all parts.
func (d *data) everything() (all []int) {
	for i := range d.parts {
		all = append(all, i)
	}
	return all
}

// rowOf describes a model and its errors on a unit.
func (d *data) rowOf(m *model, u unit, all ...tally) Row {
	return Row{Name: u.name, Trained: m.from, TrainedRows: m.rows, Lambda: m.lambda, Score: d.score(all), Seen: d.seen(u)}
}

// groups leaves out each group, and judges it.
func (d *data) groups(ctx context.Context) (*Answer, error) {
	all, err := d.grouped(d.By, d.everything())
	if err != nil {
		return nil, err
	}
	if len(all) < 2 {
		return nil, exit.Refuse("ask: all sums are of the group %s; leaving it out leaves nothing to train on", all[0].name)
	}
	var rows []Row
	var total []tally
	for k, g := range all {
		u := d.judges(g)
		if len(u.parts) == 0 {
			continue
		}
		m, err := d.fit(ctx, slices.Delete(slices.Clone(all), k, k+1), -1)
		if err != nil {
			return nil, err
		}
		t, err := d.squares(ctx, m, u)
		if err != nil {
			return nil, err
		}
		total, rows = append(total, t), append(rows, d.rowOf(m, u, t))
	}
	if len(rows) == 0 {
		return nil, exit.Refuse("ask: no sums judge: --judge %q holds for none", d.Judge)
	}
	return &Answer{Asked: "each group, predicted by a model of all others", By: inside,
		Tables: []Table{{Head: "left out", Rows: append(rows, Row{Name: "total", Score: d.score(total)})}}}, nil
}

// matrix trains on each group and judges each; a group is judged by models of its other parts.
func (d *data) matrix(ctx context.Context) (*Answer, error) {
	all, err := d.grouped(d.By, d.everything())
	if err != nil {
		return nil, err
	}
	a := &Answer{Asked: "each group, predicted by a model of one group", By: inside, Tables: []Table{{Head: "judged"}}}
	for _, of := range all {
		m, err := d.fit(ctx, []unit{of}, -1)
		if err != nil {
			return nil, err
		}
		for _, g := range all {
			u := d.judges(g)
			if len(u.parts) == 0 {
				continue
			}
			var t []tally
			if g.name == of.name {
				t, err = d.without(ctx, u)
			} else {
				var one tally
				one, err = d.squares(ctx, m, u)
				t = []tally{one}
			}
			if err != nil {
				return nil, err
			}
			if len(t) > 0 {
				row := d.rowOf(m, u, t...)
				row.Trained = of.name
				a.Tables[0].Rows = append(a.Tables[0].Rows, row)
			}
		}
	}
	return a, nil
}

// without judges up to five blocks of the parts of a unit by models of the others; none if there is one part.
func (d *data) without(ctx context.Context, u unit) (all []tally, err error) {
	own := d.singles(u)
	n := min(blocks, len(own))
	for b := range n {
		if n < 2 {
			break
		}
		from, to := b*len(own)/n, (b+1)*len(own)/n
		m, err := d.fit(ctx, slices.Concat(own[:from], own[to:]), -1)
		if err != nil {
			return nil, err
		}
		for _, one := range own[from:to] {
			t, err := d.squares(ctx, m, one)
			if err != nil {
				return nil, err
			}
			all = append(all, t)
		}
	}
	return all, nil
}

// held returns the units to train on and those that judge: by Judge, or else the newest fifth of the dates.
func (d *data) held() (train, judged []unit, err error) {
	if d.Judge == "" {
		steps, err := d.steps()
		if err != nil {
			return nil, nil, err
		}
		for k, s := range steps {
			for _, i := range s.parts {
				d.parts[i].judges = k >= len(steps)-max(1, len(steps)/5)
			}
		}
	}
	var trains, judges []int
	for i, p := range d.parts {
		if p.judges {
			judges = append(judges, i)
		} else {
			trains = append(trains, i)
		}
	}
	if len(trains) == 0 || len(judges) == 0 {
		return nil, nil, exit.Refuse("ask: %s to train on, and %s that judge (--judge %q); each needs one",
			report.Counted(len(trains), "directory"), report.Counted(len(judges), "directory"), d.Judge)
	}
	by := ""
	if d.Question == "worth" {
		by = d.By
	}
	if train, err = d.grouped(by, trains); err == nil {
		judged, err = d.grouped("", judges)
	}
	return train, judged, err
}

// tallies returns the errors of a model on each judged unit.
func (d *data) tallies(ctx context.Context, m *model, judged []unit) (all []tally, err error) {
	for _, u := range judged {
		t, err := d.squares(ctx, m, u)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

const orders = 4 // random orders of a learning curve

var shuffle = stream.PurposeOf("ask/order")

// shuffled returns units in a random order (Fisher and Yates), which seed and index determine.
func (d *data) shuffled(all []unit, index int) []unit {
	all = slices.Clone(all)
	s := stream.New(d.Seed, shuffle, uint64(index))
	for i := len(all) - 1; i > 0; i-- {
		j := int(s.Below(uint64(i + 1)))
		all[i], all[j] = all[j], all[i]
	}
	return all
}

// curve trains on nested subsets of the dates: the last, twice as many, and so on, and the same in random order.
func (d *data) curve(ctx context.Context) (*Answer, error) {
	if _, err := d.steps(); err != nil {
		return nil, err
	}
	train, judged, err := d.held()
	if err != nil {
		return nil, err
	}
	newest := slices.Clone(train)
	slices.Reverse(newest)
	a := &Answer{Asked: "learning curves of the judged dates", By: inside, Judged: spanOf(judged)}
	for random := range 2 {
		table := Table{Title: "from the newest date back", Head: "dates"}
		if random == 1 {
			table.Title = "in random order, mean of " + report.Counted(orders, "order")
		}
		for n := 1; ; n = min(2*n, len(train)) {
			sum := make([]tally, len(judged))
			row := Row{}
			turns := 1 + random*(orders-1)
			for k := range turns {
				some := newest[:n]
				if random == 1 {
					some = d.shuffled(train, k)[:n]
				}
				m, err := d.fit(ctx, some, -1)
				if err != nil {
					return nil, err
				}
				all, err := d.tallies(ctx, m, judged)
				if err != nil {
					return nil, err
				}
				for i, t := range all {
					sum[i].head = t.head
					sum[i].squares += t.squares / float64(turns)
				}
				if row.TrainedRows += m.rows / int64(turns); random == 0 {
					row.Trained, row.Lambda = spanOf([]unit{some[n-1], some[0]}), m.lambda
				}
			}
			row.Name, row.Score = report.Groups(int64(n)), d.score(sum)
			if table.Rows = append(table.Rows, row); n == len(train) {
				break
			}
		}
		a.Tables = append(a.Tables, table)
	}
	return a, nil
}
