package picture

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Series is a line, or points, with their uncertainty.
type Series struct {
	Name string
	X, Y []float64
	// Low and High are the ends of the interval of each point, NaN for a point without one; nil for none.
	Low, High []float64
	// Plain omits the marks, for curves of many points. Dashed makes such a curve dashed.
	Plain, Dashed bool
}

// Add adds a point without an interval.
func (s *Series) Add(x, y float64) { s.AddInterval(x, y, math.NaN(), math.NaN()) }

// AddInterval adds a point with the ends of its interval, NaN for none.
func (s *Series) AddInterval(x, y, low, high float64) {
	s.X, s.Y, s.Low, s.High = append(s.X, x), append(s.Y, y), append(s.Low, low), append(s.High, high)
}

// Lines is a chart of series.
type Lines struct {
	Title, X, Y string // axes with their units
	LogX, LogY  bool
	// Square lets both axes run from 0 to 1.
	Square bool
	// Bands draws intervals as bands instead of bars.
	Bands bool
	// Scatter draws points without lines.
	Scatter bool
	// Names are the names of 1, 2, … on the horizontal axis; nil for numbers.
	Names  []string
	Series []Series
}

// dashes distinguish plain series without colour, besides the first, which is solid.
var dashes = [][]vg.Length{{6, 2}, {2, 2}, {8, 2, 2, 2}, {4, 1}}

// maxMarks is the largest number of points of a series that have marks.
const maxMarks = 25

// Plot returns the chart.
func (l Lines) Plot() (*Chart, error) {
	p := newChart(l.Title, l.X, l.Y)
	p.Add(gridLines{})
	for i, s := range l.Series {
		if len(s.X) != len(s.Y) || len(s.Low) != len(s.High) || s.Low != nil && len(s.Low) != len(s.X) {
			panic("picture: Lines: lengths of a series differ")
		}
		p.bounded = p.bounded || known(s.Low)
		if len(s.X) == 0 {
			continue
		}
		if err := l.add(p, s, i); err != nil {
			return nil, fmt.Errorf("picture: %s: %w", s.Name, err)
		}
	}
	if l.Square {
		p.span(0, 1, 0, 1)
	}
	if len(l.Series) == 1 {
		p.keys = nil // the vertical axis names the only series
	}
	if l.LogX {
		logarithmic(&p.X)
	}
	if l.LogY {
		logarithmic(&p.Y)
	}
	if l.Names != nil {
		p.X.Tick.Marker = ticks{names: l.Names}
	}
	l.list(p)
	return p, nil
}

// list adds the numbers as a table, with a row for each place on the horizontal axis.
func (l Lines) list(p *Chart) {
	var places []float64
	p.Head = []string{l.X}
	for _, s := range l.Series {
		name := s.Name
		if len(l.Series) == 1 {
			name = l.Y
		}
		p.Head = append(p.Head, name)
		if known(s.Low) {
			p.Head = append(p.Head, interval)
		}
		places = append(places, s.X...)
	}
	slices.Sort(places)
	for _, x := range slices.Compact(places) {
		line := []string{Number(x, 6)}
		if l.Names != nil {
			line[0] = l.Names[int(x)-1]
		}
		for _, s := range l.Series {
			cells := []string{"-", "-"}
			if i := slices.Index(s.X, x); i >= 0 {
				cells[0] = Number(s.Y[i], 4)
				if known(s.Low) {
					cells[1] = Range(s.Low[i], s.High[i], 4)
				}
			}
			if !known(s.Low) {
				cells = cells[:1]
			}
			line = append(line, cells...)
		}
		p.Rows = append(p.Rows, line)
	}
}

// add draws series i and adds it to the key of the chart.
func (l Lines) add(p *Chart, s Series, i int) error {
	tone := palette[i%len(palette)]
	var points plotter.XYs
	for k, x := range s.X {
		if !(l.LogX && x <= 0 || l.LogY && s.Y[k] <= 0) { // which a logarithmic axis does not have
			points = append(points, plotter.XY{X: x, Y: s.Y[k]})
		}
	}
	if points == nil {
		return nil
	}
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = tone, vg.Points(1.4)
	marks.Color, marks.Shape, marks.Radius = tone, glyphs[i%len(glyphs)], vg.Points(2.6)
	if l.Scatter {
		marks.Color = shade(tone, 0xd0)
		if len(s.X) > maxMarks { // smaller points overlap less
			marks.Radius = vg.Points(1.7)
		}
		p.Add(marks)
		p.key(s.Name, marks)
		return nil
	}
	if s.Plain && i > 0 { // marks would hide curves of many points
		line.Dashes = dashes[(i-1)%len(dashes)]
	}
	if s.Dashed {
		line.Dashes, line.Color = []vg.Length{vg.Points(4), vg.Points(3)}, palette[len(palette)-1]
	}
	switch {
	case !known(s.Low): // no intervals
	case l.Bands && len(s.X) > 1:
		band, err := plotter.NewPolygon(l.band(s))
		if err != nil {
			return err
		}
		band.Color, band.LineStyle.Width = shade(tone, uint8(0x38/min(2, len(l.Series)))), 0 // bands hide each other
		p.Add(band)
	default:
		ends := whiskers{At: s.X, High: s.High, Tone: tone}
		for k := range s.X {
			ends.Low = append(ends.Low, l.low(s, k))
		}
		p.Add(ends)
	}
	p.Add(line)
	if s.Plain || len(s.X) > maxMarks {
		p.key(s.Name, line)
		return nil
	}
	p.Add(marks)
	p.key(s.Name, line, marks)
	return nil
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
	for k, x := range s.X {
		low, high := l.low(s, k), s.High[k]
		if math.IsNaN(low) {
			low, high = s.Y[k], s.Y[k]
		}
		outline[k], outline[2*n-1-k] = plotter.XY{X: x, Y: high}, plotter.XY{X: x, Y: low}
	}
	return outline
}
