package picture

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// whiskers draws intervals: vertical at places on the horizontal axis, or the other way round if Across. Ends that
// are NaN are not drawn.
type whiskers struct {
	At, Low, High []float64
	Tone          color.Color
	Across        bool
}

// known reports whether any end of an interval is not NaN.
func known(ends []float64) bool {
	for _, v := range ends {
		if !math.IsNaN(v) {
			return true
		}
	}
	return false
}

// DataRange returns the ranges of both axes.
func (w whiskers) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, ymin, xmax, ymax = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for i, at := range w.At {
		if low, high := w.Low[i], w.High[i]; low <= high {
			xmin, xmax, ymin, ymax = min(xmin, at), max(xmax, at), min(ymin, low), max(ymax, high)
		}
	}
	if w.Across {
		return ymin, ymax, xmin, xmax
	}
	return xmin, xmax, ymin, ymax
}

// Plot draws the intervals.
func (w whiskers) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := func(at, from, to float64, shift, cap vg.Length) {
		a, b := vg.Point{X: x(at) + shift, Y: y(from)}, vg.Point{X: x(at) + shift + cap, Y: y(to)}
		if w.Across {
			a, b = vg.Point{X: x(from), Y: y(at) + shift}, vg.Point{X: x(to), Y: y(at) + shift + cap}
		}
		c.StrokeLine2(draw.LineStyle{Color: w.Tone, Width: vg.Points(0.9)}, a.X, a.Y, b.X, b.Y)
	}
	const half = 2.5
	for i, at := range w.At {
		low, high := w.Low[i], w.High[i]
		if !(low < high) {
			continue
		}
		line(at, low, high, 0, 0)
		line(at, low, low, vg.Points(-half), vg.Points(2*half))
		line(at, high, high, vg.Points(-half), vg.Points(2*half))
	}
}
