package picture

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Series is a line with its uncertainty.
type Series struct {
	Name string
	X, Y []float64
	// Low and High are the ends of the interval of each point; nil for none.
	Low, High []float64
	// Plain has no marks, for curves of many points, and is dashed if Dashed.
	Plain, Dashed bool
}

// Lines is a line chart.
type Lines struct {
	Title, X, Y string // axes with their units
	LogX, LogY  bool
	// Square makes both axes those of shares, from 0 to 1.
	Square bool
	// Bands draws intervals as bands instead of bars.
	Bands  bool
	Series []Series
}

// dashes distinguish plain series without colour, besides the first, which is solid.
var dashes = [][]vg.Length{{6, 2}, {2, 2}, {8, 2, 2, 2}, {4, 1}}

// mostMarks is the largest number of points of a series that have marks.
const mostMarks = 25

// Plot returns the chart.
func (l Lines) Plot() (*Chart, error) {
	p := newChart(l.Title, l.X, l.Y)
	p.Add(gridLines{})
	for i, s := range l.Series {
		if len(s.X) != len(s.Y) || len(s.Low) != len(s.High) || s.Low != nil && len(s.Low) != len(s.X) {
			panic("picture: Lines: lengths of a series differ")
		}
		if err := l.add(p, s, i); err != nil {
			return nil, fmt.Errorf("picture: %s: %w", s.Name, err)
		}
	}
	if l.Square {
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	}
	if len(l.Series) == 1 {
		p.keys = nil // the vertical axis names it
	}
	if l.LogX {
		logarithmic(&p.X)
	}
	if l.LogY {
		logarithmic(&p.Y)
	}
	return p, nil
}

// logarithmic makes an axis logarithmic unless some of its values have no logarithm. A single
// value gets room on both sides.
func logarithmic(a *plot.Axis) {
	if !(a.Min > 0) {
		return
	}
	if a.Min == a.Max {
		a.Min, a.Max = a.Min/2, a.Max*2
	}
	a.Scale, a.Tick.Marker = plot.LogScale{}, logTicks{}
}

// logTicks are powers of ten, every second or third if they are many, and between them, if they are few, 2 and 5
// times them.
type logTicks struct{}

// Ticks returns the ticks between two values.
func (logTicks) Ticks(low, high float64) (all []plot.Tick) {
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	step, factors := math.Ceil((last-first)/7), []float64{1}
	if math.Log10(high/low) < 2.5 {
		step, factors = 1, []float64{1, 2, 5}
	}
	for e := first; e <= last; e += step {
		for _, f := range factors {
			if v := f * math.Pow(10, e); v >= low*(1-1e-9) && v <= high*(1+1e-9) {
				all = append(all, plot.Tick{Value: v, Label: label(v, v)})
			}
		}
	}
	if len(all) < 2 {
		return ticks{}.Ticks(low, high)
	}
	return all
}

func (l Lines) add(p *Chart, s Series, i int) error {
	tone := palette[i%len(palette)]
	points := make(plotter.XYs, len(s.X))
	for k := range s.X {
		points[k] = plotter.XY{X: s.X[k], Y: s.Y[k]}
	}
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = tone, vg.Points(1.4)
	marks.Color, marks.Shape, marks.Radius = tone, glyphs[i%len(glyphs)], vg.Points(2.6)
	if s.Plain && i > 0 { // marks would hide curves of many points
		line.Dashes = dashes[(i-1)%len(dashes)]
	}
	if s.Dashed {
		line.Dashes, line.Color = []vg.Length{vg.Points(4), vg.Points(3)}, palette[len(palette)-1]
	}
	switch {
	case s.Low != nil && l.Bands && len(s.X) > 1:
		band, err := plotter.NewPolygon(l.band(s))
		if err != nil {
			return err
		}
		band.Color, band.LineStyle.Width = shade(tone, 0x38), 0
		p.Add(band)
	case s.Low != nil:
		bars, err := plotter.NewYErrorBars(l.bars(points, s))
		if err != nil {
			return err
		}
		bars.Color, bars.Width, bars.CapWidth = tone, vg.Points(0.9), vg.Points(5)
		p.Add(bars)
	}
	p.Add(line)
	if s.Plain || len(s.X) > mostMarks {
		p.key(s.Name, line)
		return nil
	}
	p.Add(marks)
	p.key(s.Name, line, marks)
	return nil
}

// errorPoints are points with the distances of the ends of their intervals.
type errorPoints struct {
	plotter.XYs
	plotter.YErrors
}

// bars returns the intervals of points.
func (l Lines) bars(points plotter.XYs, s Series) errorPoints {
	e := errorPoints{points, make(plotter.YErrors, len(points))}
	for k := range points {
		e.YErrors[k].Low, e.YErrors[k].High = s.Y[k]-l.low(s, k), s.High[k]-s.Y[k]
	}
	return e
}

// low is the lower end of an interval, which on a logarithmic axis stays positive.
func (l Lines) low(s Series, k int) float64 {
	if l.LogY {
		return math.Max(s.Low[k], s.Y[k]/10)
	}
	return s.Low[k]
}

// band is the outline of the uncertainty.
func (l Lines) band(s Series) plotter.XYs {
	n := len(s.X)
	outline := make(plotter.XYs, 2*n)
	for k := range s.X {
		outline[k] = plotter.XY{X: s.X[k], Y: s.High[k]}
		outline[2*n-1-k] = plotter.XY{X: s.X[k], Y: l.low(s, k)}
	}
	return outline
}
