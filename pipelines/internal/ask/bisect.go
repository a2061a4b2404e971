package ask

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Found is the date that broke the score.
type Found struct {
	Name   string  `json:"name"`
	Before float64 `json:"r2_before"` // of the dates before it; 0 if there are none
	With   float64 `json:"r2_with"`   // of these and the date
	// Low and High are the 95% interval of the difference by the bootstrap over judged units.
	Low   *float64 `json:"fall_low,omitempty"`
	High  *float64 `json:"fall_high,omitempty"`
	MinR2 float64  `json:"min_r2"`
}

// prefixes judges models of the first dates.
type prefixes struct {
	*data
	steps, judged []unit
	lambda        float64
	rows          map[int]Row // by the number of dates
	tallies       map[int][]tally
}

// r2 returns the R² of a model of the first n dates; of none it is 0.
func (p *prefixes) r2(ctx context.Context, n int) (float64, error) {
	if row, ok := p.rows[n]; ok || n == 0 {
		return row.R2, nil
	}
	m, err := p.fit(ctx, p.steps[:n], p.lambda)
	if err != nil {
		return 0, err
	}
	if p.tallies[n], err = p.data.tallies(ctx, m, p.judged); err != nil {
		return 0, err
	}
	p.rows[n] = p.rowOf(m, p.steps[n-1], p.tallies[n]...)
	return p.rows[n].R2, nil
}

// fall returns the interval of how much R² falls from the first to the second number of dates.
func (p *prefixes) fall(good, bad int) (low, high *float64) {
	if good == 0 {
		return nil, nil
	}
	return p.interval(len(p.judged), func(times []float64) float64 {
		return p.data.r2(p.tallies[good], times) - p.data.r2(p.tallies[bad], times)
	})
}

// bracket looks for a half, a quarter and so on of the dates that are better than all of them, beyond chance
// where an interval tells. Of a model in between, the R² that is half way counts as broken.
func (p *prefixes) bracket(ctx context.Context) (good, bad int, least float64, err error) {
	all := len(p.steps)
	whole, err := p.r2(ctx, all)
	for bad = all; err == nil && bad > 1; bad = good {
		good = bad / 2
		r2, failed := p.r2(ctx, good)
		if err = failed; err == nil && r2 > whole {
			if low, _ := p.fall(good, all); low == nil || *low > 0 {
				return good, bad, (r2 + whole) / 2, nil
			}
		}
	}
	return all, all + 1, whole, err
}

// bisect finds the first date with which a model of all dates up to it is worse on the judged sums than MinR2. λ is
// chosen once, by cross-validation over all dates to train on. Models of few early dates may be worse, too.
func (d *data) bisect(ctx context.Context) (*Answer, error) {
	if _, err := d.steps(); err != nil {
		return nil, err
	}
	steps, judged, err := d.held()
	if err != nil {
		return nil, err
	}
	whole, err := d.sum(ctx, steps)
	if err != nil {
		return nil, err
	}
	p := &prefixes{d, steps, judged, 0, map[int]Row{}, map[int][]tally{}}
	if p.lambda, err = d.lambda(ctx, steps, whole); err != nil {
		return nil, err
	}
	good, bad, least := 0, len(steps)+1, d.MinR2 // all models may be good, too
	if least == 0 {
		if good, bad, least, err = p.bracket(ctx); err != nil {
			return nil, err
		}
	}
	for bad-good > 1 {
		n := (good + bad) / 2
		r2, err := p.r2(ctx, n)
		if err != nil {
			return nil, err
		}
		if r2 < least {
			bad = n
		} else {
			good = n
		}
	}
	a := &Answer{Asked: "models of the first dates", By: once, Judged: spanOf(judged), Tables: []Table{{Head: "last date"}}}
	for _, n := range slices.Sorted(maps.Keys(p.rows)) {
		a.Tables[0].Rows = append(a.Tables[0].Rows, p.rows[n])
	}
	if bad > len(steps) {
		a.Verdict = fmt.Sprintf("no date broke the score: R² of all dates is %.4f", p.rows[len(steps)].R2)
		return a, nil
	}
	f := &Found{Name: steps[bad-1].name, Before: p.rows[good].R2, With: p.rows[bad].R2, MinR2: least}
	f.Low, f.High = p.fall(good, bad)
	a.Found, a.Verdict = f, fmt.Sprintf("with %s R² falls from %.4f to %.4f%s", f.Name, f.Before, f.With, between(f.Low, f.High))
	return a, nil
}
