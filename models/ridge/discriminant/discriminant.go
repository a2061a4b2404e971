// Package discriminant finds the probabilities of classes from sums of rows, without the rows.
//
// Platt's method fits a sigmoid to scores of held-out rows. If scores were normal with the same variance in
// a class and in all others, the sigmoid would follow from the means and the variance (Fisher 1936), which
// are quadratic in sums of features: a Discriminant. Scores are not normal. A Shape says how far the fitted
// sigmoid is from the Discriminant. It changes little between data of one kind, so it is found once, where
// rows are scored (Shapes), and stored in the recipe. Shape.Curve then gives the sigmoid of later rows,
// from their sums (Of).
package discriminant

import (
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
	"github.com/bochner-ml/bochner/models/score"
)

// Discriminant separates a class from the others by a score that is assumed normal with the same variance
// in both: at a score s the log odds of the class are Slope·(s − Centre) + Prior.
type Discriminant struct {
	Slope  float64 `json:"slope"`  // ≥ 0: distance of the means divided by the variance
	Centre float64 `json:"centre"` // halfway between the means
	Prior  float64 `json:"prior"`  // log odds of the class among all rows
}

// leastSpread is the least standard deviation of a score, as a share of the distance of the means. Smaller
// values come from few rows, and would give a sigmoid that is too close to 0 or 1.
const leastSpread = 1.0 / 8

// leastDistance is the distance of means, for codes of ±1, below which it may be a rounding error.
const leastDistance = 1e-9

// New returns the discriminant of a class with the given numbers of members and other rows. distance is
// between the two mean scores, variance is around them, centre is halfway between. Below leastDistance the
// slope is 0.
func New(distance, variance, centre, members, others float64) Discriminant {
	d := Discriminant{Centre: centre, Prior: loss.Log((members + 1) / (others + 1))}
	if distance > leastDistance {
		least := float64(distance * leastSpread)
		d.Slope = distance / max(variance, float64(least*least))
	}
	return d
}

// Shape says how a sigmoid that was fitted to rows differs from their discriminant: heavy tails of
// the scores make it flatter, steps steeper.
type Shape struct {
	Slope  float64 `json:"slope"`  // of the sigmoid, as a multiple of the discriminant's: 1/16 to 16
	Offset float64 `json:"offset"` // what the sigmoid adds to the log odds at the centre
}

// mostSteeper bounds Shape.Slope: it is between 1/mostSteeper and mostSteeper.
const mostSteeper = 16

// Shapes returns the shape of each class's sigmoid on rows with these discriminants, nil without
// discriminants. Where scores do not separate a class, both are flat, and the slope is 1.
func Shapes(curves []score.CalibrationCurve, all []Discriminant) (shapes []Shape) {
	for c, d := range all {
		v := curves[c]
		s := Shape{1, float64(v.Slope*d.Centre) + v.Offset - d.Prior}
		if d.Slope > 0 {
			s.Slope = min(max(v.Slope/d.Slope, 1.0/mostSteeper), mostSteeper)
		}
		shapes = append(shapes, s)
	}
	return shapes
}

// Valid reports whether Shapes can return the shape.
func (s Shape) Valid() bool {
	return s.Slope >= 1.0/mostSteeper && s.Slope <= mostSteeper && exact.Finite(s.Offset)
}

// Curve returns the sigmoid of that shape for rows with that discriminant.
func (s Shape) Curve(d Discriminant) score.CalibrationCurve {
	slope := float64(s.Slope * d.Slope)
	return score.CalibrationCurve{Slope: slope, Offset: d.Prior + s.Offset - float64(slope*d.Centre)}
}

// HeldOutSums are sums over the rows of a fold.
type HeldOutSums = solver.HeldOutSums

// HeldOutFit describes the rows that weights were fitted to.
type HeldOutFit = solver.HeldOutFit

// Fold has sums over the rows of a fold, and the weights of the classes in them.
type Fold struct {
	solver.HeldOutSums           // Targets holds the number of rows of each class, or the sum of their weights
	Rows               float64   // number of rows
	Weights            []float64 // of the classes, in addition to the weights of rows
}

// Of returns the discriminant of each class on the rows of a fold, for scores that were not fitted to them.
// vt are the weights for indicators of the classes, k rows of D, in units of the grids. The result is nil
// for a fold without rows.
//
// Means and class shares leave out the weights of classes. The variance includes them, because products of
// features are not known by class. Each distance of means is shrunk toward the mean distance over the
// classes, as if one more row had that distance, so that a class with few rows or none has a distance too.
func Of(fit HeldOutFit, fold Fold, vt []float64, threads int) []Discriminant {
	d, k, w, n := len(fold.Columns), len(fold.Weights), fold.Width, fold.N
	if n == 0 {
		return nil
	}
	// Σ(Vᵀ(z-z̄₀))² of each output, where z̄₀ is the mean of the fit: the squared errors for targets of 0.
	around := fold.HeldOutSums
	around.Targets, around.Squares, around.Cross, around.Width = []float64{0}, []float64{0}, make([]float64, d), 1
	squares := solver.NewHeldOutErrors(d, 1, threads).Squares(
		HeldOutFit{N: fit.N, Columns: fit.Columns, Targets: []float64{0}, Each: []float64{1}}, around, vt)

	class, rows, plain := make([]float64, k), 0.0, make([]float64, d) // without the weights of classes
	for c, weight := range fold.Weights {
		class[c] = fold.Targets[c] / weight
		rows += class[c]
		for j := range plain {
			plain[j] += fold.Cross[j*w+c] / weight
		}
	}
	own, others, spread := make([]float64, k), make([]float64, k), make([]float64, k)
	var mean float64
	for c, weight := range fold.Weights {
		in := fold.Targets[c]
		out, weighted := n-in, 0.0 // the mean of the others, with the weights of classes
		for j, v := range vt[c*d:][:d] {
			zero, z := fit.Columns[j]/fit.N, fold.Cross[j*w+c]
			own[c] += float64(v * (ratio(z, in) - zero))
			others[c] += float64(v * (ratio(plain[j]-z/weight, rows-class[c]) - zero))
			weighted += float64(v * (ratio(fold.Columns[j]-z, out) - zero))
		}
		spread[c] = max(squares[c]-float64(in*float64(own[c]*own[c]))-float64(out*float64(weighted*weighted)), 0) / n
		if in > 0 && out > 0 {
			mean += float64(class[c] / rows * (own[c] - others[c]))
		}
	}
	var all []Discriminant
	unit := fold.Rows / rows // rows per unit of their weights
	for c := range k {
		members, rest := float64(class[c]*unit), float64((rows-class[c])*unit)
		distance := mean
		if few := min(members, rest); few > 0 {
			distance = (float64(few*(own[c]-others[c])) + mean) / (few + 1)
		}
		centre := others[c] + distance/2
		if members > rest { // the mean of the larger side is more precise
			centre = own[c] - distance/2
		}
		// A score is 2(Vᵀ(z-z̄₀) + q̄₀) - 1, for codes of ±1.
		at := float64(2*(centre+fit.Targets[c]/fit.N)) - 1
		all = append(all, New(2*distance, 4*spread[c], at, members, rest))
	}
	return all
}

// ratio returns x/n, and 0 for no rows.
func ratio(x, n float64) float64 {
	if n > 0 {
		return x / n
	}
	return 0
}
