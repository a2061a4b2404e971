package calibrate

import (
	"fmt"
	"math"
	"strings"

	"github.com/bochner-ml/bochner/internal/spell"
	"github.com/bochner-ml/bochner/models/loss"
)

// Methods of Fit.
const (
	// Platt fits a sigmoid (Platt 2000): two numbers an output, for few rows.
	Platt = "platt"
	// Isotonic fits any ascending function (Zadrozny and Elkan 2002), for 1,000 rows
	// of each class and more.
	Isotonic = "isotonic"
)

// Check returns an error that names the first class of which no row was counted,
// or every one, as its curve cannot be fitted: rows are the Counts' ClassRows, or
// their expected values.
func Check(rows []int64, names []string) error {
	var n int64
	for _, m := range rows {
		n += m
	}
	for c, m := range rows {
		if m == 0 || m == n {
			return fmt.Errorf("calibrate: class %.80q: %d of the %d held-out rows are of it; a curve or a threshold needs rows of the class and of others: use more rows, or fewer folds", names[c], m, n)
		}
	}
	return nil
}

// Fit returns the calibration of the counted rows. Each output's curve is fitted
// separately, class against others.
func Fit(c *Counts, method string) (*Calibration, error) {
	if method != Platt && method != Isotonic {
		methods := []string{Platt, Isotonic}
		return nil, fmt.Errorf("calibrate: unknown method %q%s; have %s", method, spell.DidYouMean(method, methods), strings.Join(methods, ", "))
	}
	all := &Calibration{Method: method}
	for o := range c.outputs {
		p, others, members := c.points(o)
		if others == 0 || members == 0 {
			return nil, fmt.Errorf("calibrate: output %d: %.0f rows of its class and %.0f of others; both are needed", o, members, others)
		}
		curve := Curve{}
		if method == Platt {
			curve.Slope, curve.Offset = platt(p, others, members)
		} else {
			curve.Score, curve.Probability = isotonic(p)
		}
		all.Curves = append(all.Curves, curve)
	}
	if err := all.Validate(); err != nil {
		return nil, err
	}
	return all, nil
}

// platt returns a and b of 1/(1 + exp(−(a·s + b))) of greatest likelihood, for
// targets drawn in a little, (N₊+1)/(N₊+2) and 1/(N₋+2), by Newton's method with
// the safeguards of Lin, Lin and Weng (2007), Algorithm 1.
func platt(p []point, others, members float64) (a, b float64) {
	high, low := (members+1)/(members+2), 1/(others+2)
	value := func(a, b float64) float64 {
		var sum float64
		for _, q := range p {
			f := float64(a*q.score) + b
			// −t log p − (1−t) log(1−p) = t·softplus(−f) + (1−t)·softplus(f)
			no, yes := loss.Softplus(f), loss.Softplus(-f)
			sum += float64(q.members*(float64(high*yes)+float64((1-high)*no))) +
				float64(q.others*(float64(low*yes)+float64((1-low)*no)))
		}
		return sum
	}
	a, b = 0, loss.Log((members+1)/(others+1))
	least := value(a, b)
	for range 100 {
		const ridge = 1e-12
		haa, hbb, hab := ridge, ridge, 0.0
		var ga, gb float64
		for _, q := range p {
			prob := loss.Sigmoid(float64(a*q.score) + b)
			n := q.members + q.others
			d := float64(n * float64(prob*(1-prob)))
			sd := float64(q.score * d)
			haa += float64(q.score * sd)
			hbb += d
			hab += sd
			g := float64(n*prob) - (float64(q.members*high) + float64(q.others*low))
			ga += float64(q.score * g)
			gb += g
		}
		n := others + members
		if math.Abs(ga) < 1e-9*n && math.Abs(gb) < 1e-9*n {
			break
		}
		det := float64(haa*hbb) - float64(hab*hab)
		da := -(float64(hbb*ga) - float64(hab*gb)) / det
		db := -(float64(haa*gb) - float64(hab*ga)) / det
		down := float64(ga*da) + float64(gb*db)
		step := 1.0
		for ; step >= 1e-10; step /= 2 {
			na, nb := a+float64(step*da), b+float64(step*db)
			if v := value(na, nb); v < least+float64(1e-4*float64(step*down)) {
				a, b, least = na, nb, v
				break
			}
		}
		if step < 1e-10 {
			break
		}
	}
	return a, b
}

// isotonic returns the corners of the ascending function of least squares, by
// pooling adjacent violators (Ayer et al. 1955): flat over each pool, straight
// between pools.
func isotonic(p []point) (score, probability []float64) {
	type pool struct {
		members, rows float64
		first, last   float64
	}
	var pools []pool
	for _, q := range p {
		pools = append(pools, pool{q.members, q.members + q.others, q.score, q.score})
		for n := len(pools); n > 1; n-- {
			x, y := pools[n-2], pools[n-1]
			// Counts are whole, so the comparison is exact as long as products are.
			if float64(x.members*y.rows) < float64(y.members*x.rows) {
				break
			}
			pools = append(pools[:n-2], pool{x.members + y.members, x.rows + y.rows, x.first, y.last})
		}
	}
	for _, q := range pools {
		v := q.members / q.rows
		score, probability = append(score, q.first), append(probability, v)
		if q.last > q.first {
			score, probability = append(score, q.last), append(probability, v)
		}
	}
	return score, probability
}
