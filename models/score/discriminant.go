package score

import "github.com/bochner-ml/bochner/models/loss"

// Discriminant tells the rows of a class from others by a score that is normal with the same variance
// in both (Fisher 1936): at a score s the log odds of the class are Slope·(s − Centre) + Prior. It
// follows from means and second moments of the score, so that it needs no row.
type Discriminant struct {
	Slope  float64 `json:"slope"`  // ≥ 0, distance of the means over the variance
	Centre float64 `json:"centre"` // halfway between the means
	Prior  float64 `json:"prior"`  // log odds of the class among all rows
}

// leastSpread is the least standard deviation of a score, as a share of the distance of the means:
// closer ones are due to few rows, and a sigmoid that reaches 0 or 1 promises too much.
const leastSpread = 1.0 / 8

// leastDistance is up to where a distance of means is a rounding error, of scores for codes of ±1.
const leastDistance = 1e-9

// NewDiscriminant returns the discriminant of so many members of a class and other rows, with scores
// that have the given distance of means, and variance around them. Below leastDistance the slope is 0.
func NewDiscriminant(distance, variance, centre, members, others float64) Discriminant {
	d := Discriminant{Centre: centre, Prior: loss.Log((members + 1) / (others + 1))}
	if distance > leastDistance {
		least := float64(distance * leastSpread)
		d.Slope = distance / max(variance, float64(least*least))
	}
	return d
}

// CurveShape says how a sigmoid that was fitted to rows differs from their discriminant, because
// their scores are not normal: heavy tails make it flatter, steps steeper. Sums of other rows, whose
// scores have other means and variances, do not tell it.
type CurveShape struct {
	Slope  float64 `json:"slope"`  // of the sigmoid, as a multiple of the discriminant's: 1/16 to 16
	Offset float64 `json:"offset"` // what the sigmoid adds to the log odds at the centre
}

// mostSteeper limits CurveShape.Slope.
const mostSteeper = 16

// ShapeOf returns the shape of a sigmoid on rows with that discriminant. Where scores do not separate
// the class, both are flat, and the slope is 1.
func ShapeOf(v CalibrationCurve, d Discriminant) CurveShape {
	s := CurveShape{1, float64(v.Slope*d.Centre) + v.Offset - d.Prior}
	if d.Slope > 0 {
		s.Slope = min(max(v.Slope/d.Slope, 1.0/mostSteeper), mostSteeper)
	}
	return s
}

// Valid tells whether ShapeOf can have returned the shape.
func (s CurveShape) Valid() bool {
	return s.Slope >= 1.0/mostSteeper && s.Slope <= mostSteeper && s.Offset-s.Offset == 0
}

// Curve returns the sigmoid of that shape on rows with that discriminant. ShapeOf is its inverse.
func (s CurveShape) Curve(d Discriminant) CalibrationCurve {
	slope := float64(s.Slope * d.Slope)
	return CalibrationCurve{Slope: slope, Offset: d.Prior + s.Offset - float64(slope*d.Centre)}
}
