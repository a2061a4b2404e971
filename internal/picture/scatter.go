package picture

import (
	"fmt"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Cloud is a set of points of one kind.
type Cloud struct {
	Name string
	X, Y []float64
}

// Scatter is a scatter plot.
type Scatter struct {
	Title, X, Y string // axes with their units
	Clouds      []Cloud
}

// Plot returns the plot. Kinds differ in colour and in the shape of their points: the legend
// shows both.
func (s Scatter) Plot() (*Chart, error) {
	p := newChart(s.Title, s.X, s.Y)
	p.Add(gridLines{})
	n := 0
	for _, c := range s.Clouds {
		n += len(c.X)
	}
	radius := vg.Points(2.4)
	if n > 300 { // smaller points overlap less
		radius = vg.Points(1.7)
	}
	for i, c := range s.Clouds {
		if len(c.X) != len(c.Y) {
			panic("picture: Scatter: lengths of a cloud differ")
		}
		points := make(plotter.XYs, len(c.X))
		for k := range c.X {
			points[k] = plotter.XY{X: c.X[k], Y: c.Y[k]}
		}
		marks, err := plotter.NewScatter(points)
		if err != nil {
			return nil, fmt.Errorf("picture: %s: %w", c.Name, err)
		}
		marks.GlyphStyle = draw.GlyphStyle{Color: shade(palette[i%len(palette)], 0xd0), Shape: glyphs[i%len(glyphs)],
			Radius: radius}
		p.Add(marks)
		p.key(c.Name, marks)
	}
	return p, nil
}
