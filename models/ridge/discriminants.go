package ridge

import (
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
	"github.com/bochner-ml/bochner/models/score"
)

// Discriminant separates a class from the others by a score that is assumed normal with the same variance
// in both: at a score s the log odds of the class are Slope·(s − Centre) + Prior. It follows from sums of rows, without
// the rows (Fisher 1936), where Platt's method fits a sigmoid to scores. Scores are not normal; a CurveShape compares
// the sigmoid with the Discriminant. It changes little between data of one kind, so it is found once, where rows are
// scored, and stored in the recipe.
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

// newDiscriminant returns the discriminant of a class. Below a distance of 1e-9 the slope is 0.
func newDiscriminant(s solver.Separation) Discriminant {
	d := Discriminant{Centre: s.Centre, Prior: loss.Log((s.Members + 1) / (s.Others + 1))}
	if s.Distance > leastDistance {
		least := float64(s.Distance * leastSpread)
		d.Slope = s.Distance / max(s.Variance, float64(least*least))
	}
	return d
}

// CurveShape compares a sigmoid that was fitted to rows with their discriminant: heavy tails of the scores make
// the sigmoid flatter, steps make it steeper.
type CurveShape struct {
	Slope  float64 `json:"slope"`  // of the sigmoid, as a multiple of the discriminant's: 1/16 to 16
	Offset float64 `json:"offset"` // what the sigmoid adds to the log odds at the centre
}

// maxSteeper bounds CurveShape.Slope: it is between 1/maxSteeper and maxSteeper.
const maxSteeper = 16

// CurveShapes returns the shape of each class's sigmoid on rows with these discriminants, nil without
// discriminants. Where scores do not separate a class, both are flat, and the slope is 1.
func CurveShapes(curves []score.CalibrationCurve, all []Discriminant) (shapes []CurveShape) {
	for c, d := range all {
		v := curves[c]
		s := CurveShape{1, float64(v.Slope*d.Centre) + v.Offset - d.Prior}
		if d.Slope > 0 {
			s.Slope = min(max(v.Slope/d.Slope, 1.0/maxSteeper), maxSteeper)
		}
		shapes = append(shapes, s)
	}
	return shapes
}

// Valid reports whether CurveShapes can return the shape.
func (s CurveShape) Valid() bool {
	return s.Slope >= 1.0/maxSteeper && s.Slope <= maxSteeper && exact.Finite(s.Offset)
}

// Curve returns the sigmoid of that shape for rows with that discriminant.
func (s CurveShape) Curve(d Discriminant) score.CalibrationCurve {
	slope := float64(s.Slope * d.Slope)
	return score.CalibrationCurve{Slope: slope, Offset: d.Prior + s.Offset - float64(slope*d.Centre)}
}
