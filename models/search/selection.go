package search

import (
	"cmp"
	"slices"
)

// Numbers of candidates that are tried with more rows, besides the default.
const (
	mostSurvivors = 4
	mostFinalists = 3
)

// finalists returns candidates for the last level: the best ones, which differ in more than widths
// and rounds and are not far behind, and the default.
func (r *runner) finalists(field []*entry) []*entry {
	var out []*entry
	kind := func(e *entry) Candidate {
		c := e.kind()
		c.Rounds = 0
		return c
	}
	for _, e := range field {
		if len(out) < mostFinalists && e.judged != nil && e.mean() <= behind*field[0].mean() &&
			!slices.ContainsFunc(out, func(o *entry) bool { return kind(o) == kind(e) }) {
			out = append(out, e)
		}
	}
	if !slices.Contains(out, r.standard) {
		out = append(out, r.standard)
	}
	return out
}

// survivors returns candidates to learn metrics from: the best, the best of each family, the best
// smooth one in the view of the best, and others, no more than two of one view, kernel and metric,
// until there are enough; and the default.
func (r *runner) survivors(field []*entry) []*entry {
	var out []*entry
	count := map[Candidate]int{}
	families := map[string]bool{}
	smooth := false
	take := func(e *entry) {
		if e.judged == nil || slices.Contains(out, e) {
			return
		}
		if count[e.kind()] == 2 {
			return
		}
		count[e.kind()]++
		out = append(out, e)
	}
	for _, e := range field {
		family := r.kernels[e.Kernel].family
		if !families[family] {
			take(e)
		}
		families[family] = true
		if !smooth && e.View == field[0].View && r.smooth(e) {
			take(e)
			smooth = true
		}
	}
	for _, e := range field {
		if len(out) < mostSurvivors {
			take(e)
		}
	}
	if !slices.Contains(out, r.standard) {
		out = append(out, r.standard)
	}
	return out
}

// order sorts candidates by their losses; those that failed are last.
func order(field []*entry) {
	slices.SortStableFunc(field, byLoss)
}

func byLoss(a, b *entry) int {
	if a.judged == nil || b.judged == nil {
		return cmp.Compare(boolInt(a.judged == nil), boolInt(b.judged == nil))
	}
	return cmp.Compare(a.mean(), b.mean())
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

const (
	// simpler is the number of standard errors by which a simpler candidate may be worse.
	simpler = 0.5
	// fewest is the number of rows of a pilot below which only kernels and widths are tried, and others than
	// the default have to be better than it by more than two standard errors.
	fewest = 200
)

// simplest returns the simplest candidate whose loss is within half a standard error of the least;
// of equally simple ones, that with the least loss. The field is ordered. Of few rows, the best of many
// candidates is good by chance.
func (r *runner) simplest(field []*entry) *entry {
	best := field[0]
	if r.pilot.N < fewest && r.standard.judged != nil && best.judged != nil {
		if by, se := worse(r.standard.judged, best.judged); by <= 2*se {
			return r.standard
		}
	}
	chosen := best
	for _, e := range field[1:] {
		if e.judged == nil || e.complexity() >= chosen.complexity() {
			continue
		}
		if by, se := worse(e.judged, best.judged); by <= simpler*se {
			chosen = e
		}
	}
	return chosen
}

// narrowest returns the candidate with the smallest width, at least half of chosen's and within a
// standard error of it, that differs in nothing else: where there are more rows than a pilot has, the
// best width is smaller.
func (r *runner) narrowest(field []*entry, chosen *entry) *entry {
	best := chosen
	for _, e := range field {
		c := chosen.Candidate
		c.Width = e.Width
		if e.judged == nil || e.Candidate != c || e.Width >= best.Width || 2*e.Width < chosen.Width*(1-1e-9) {
			continue
		}
		if by, se := worse(e.judged, chosen.judged); by <= se {
			best = e
		}
	}
	return best
}
