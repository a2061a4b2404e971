package ask

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// exactGroups is the largest number of groups of which all subsets are fitted.
const exactGroups = 12

// Worth says what a group adds to R².
type Worth struct {
	R2   float64  `json:"r2"` // R² of all groups − R² without the group; below 0 the group does harm
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Shapley is Σ|S|!(k−|S|−1)!/k!·(R²(S ∪ g) − R²(S)) over the subsets S of the other groups (Shapley
	// 1953), with R² = 0 without data; nil if it was not asked for.
	Shapley *float64 `json:"shapley,omitempty"`
	StdErr  float64  `json:"shapley_std_err,omitempty"` // of an estimate from permutations
}

// value is the game whose players are groups: R² on the judged units of a model of some of them.
type value struct {
	*data
	groups, judged []unit
	lambda         float64
	known          map[string]float64 // of subsets, by a byte for each group
}

func (v *value) of(ctx context.Context, in []bool) (float64, error) {
	key := fmt.Sprint(in)
	if r2, ok := v.known[key]; ok {
		return r2, nil
	}
	var some []unit
	for k, is := range in {
		if is {
			some = append(some, v.groups[k])
		}
	}
	r2 := 0.0
	if len(some) > 0 {
		m, err := v.fit(ctx, some, v.lambda)
		if err != nil {
			return 0, err
		}
		all, err := v.tallies(ctx, m, v.judged)
		if err != nil {
			return 0, err
		}
		r2 = v.r2(all, nil)
	}
	v.known[key] = r2
	return r2, nil
}

// worth judges models of all groups, and of all but one. λ is chosen once, by cross-validation over all groups.
func (d *data) worth(ctx context.Context) (*Answer, error) {
	groups, judged, err := d.held()
	if err != nil {
		return nil, err
	}
	if len(groups) < 2 {
		return nil, exit.Refuse("ask: all sums to train on are of the group %s; what it is worth beside others cannot be told",
			groups[0].name)
	}
	m, err := d.fit(ctx, groups, -1)
	if err != nil {
		return nil, err
	}
	all, err := d.tallies(ctx, m, judged)
	if err != nil {
		return nil, err
	}
	v := &value{d, groups, judged, m.lambda, map[string]float64{}}
	var rows []Row
	for k := range groups {
		less, err := d.fit(ctx, slices.Delete(slices.Clone(groups), k, k+1), m.lambda)
		if err != nil {
			return nil, err
		}
		left, err := d.tallies(ctx, less, judged)
		if err != nil {
			return nil, err
		}
		difference := func(times []float64) float64 { return d.r2(all, times) - d.r2(left, times) }
		row := d.rowOf(less, groups[k], left...)
		row.Trained, row.Worth = "", &Worth{R2: difference(nil)}
		row.Worth.Low, row.Worth.High = d.interval(len(judged), difference)
		rows = append(rows, row)
		in := slices.Repeat([]bool{true}, len(groups))
		in[k] = false
		v.known[fmt.Sprint(in)] = row.R2
	}
	v.known[fmt.Sprint(slices.Repeat([]bool{true}, len(groups)))] = d.r2(all, nil)
	how := ""
	switch {
	case len(groups) <= exactGroups:
		err = v.exact(ctx, rows)
		how = "; Shapley values are exact and add up to the R² of all"
	case d.Permutations > 0:
		err = v.estimate(ctx, rows)
		how = fmt.Sprintf("; Shapley values are means over %s", report.Counted(d.Permutations, "random order"))
	}
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.Worth.R2, b.Worth.R2) })
	whole := d.rowOf(m, unit{name: "none"}, all...)
	whole.Trained = ""
	return &Answer{Asked: "models of all groups but one, the most harmful group first" + how, By: once, Judged: spanOf(judged),
		Tables: []Table{{Head: "left out", Rows: append(rows, whole)}}}, nil
}

// exact sets the Shapley values by all subsets.
func (v *value) exact(ctx context.Context, rows []Row) error {
	k := len(v.groups)
	values := make([]float64, 1<<k)
	for subset := range values {
		in := make([]bool, k)
		for g := range in {
			in[g] = subset>>g&1 == 1
		}
		var err error
		if values[subset], err = v.of(ctx, in); err != nil {
			return err
		}
	}
	for g := range k {
		var shapley float64
		for subset, without := range values {
			if subset>>g&1 == 1 {
				continue
			}
			n := 0
			for h := range k {
				n += subset >> h & 1
			}
			weight := 1 / float64(k) // n!(k−n−1)!/k! = 1/(k·C(k−1, n))
			for i := range n {
				weight *= float64(i+1) / float64(k-1-i)
			}
			shapley += float64(weight * (values[subset|1<<g] - without))
		}
		rows[g].Worth.Shapley = &shapley
	}
	return nil
}

// estimate sets the Shapley values to the means of what groups add in random orders (Castro, Gómez and Tejada
// 2009), with their standard errors.
func (v *value) estimate(ctx context.Context, rows []Row) error {
	k, n := len(v.groups), float64(v.Permutations)
	sum, squares := make([]float64, k), make([]float64, k)
	positions := make([]unit, k)
	for g := range positions {
		positions[g].parts = []int{g}
	}
	for p := range v.Permutations {
		in, before := make([]bool, k), 0.0
		for _, u := range v.shuffled(positions, p) {
			g := u.parts[0]
			in[g] = true
			after, err := v.of(ctx, in)
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
		if n > 1 {
			rows[g].Worth.StdErr = math.Sqrt(max(0, squares[g]/n-float64(mean*mean)) / (n - 1))
		}
	}
	return nil
}
