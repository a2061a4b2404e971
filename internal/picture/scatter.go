package picture

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// kinds are the ten colours of Petroff (2021, arXiv:2107.02270), which are distinct as points,
// too, for any colour vision.
var kinds = []color.RGBA{
	{0x3f, 0x90, 0xda, 0xff}, {0xff, 0xa9, 0x0e, 0xff}, {0xbd, 0x1f, 0x01, 0xff}, {0x94, 0xa4, 0xa2, 0xff},
	{0x83, 0x2d, 0xb6, 0xff},
	{0xa9, 0x6b, 0x59, 0xff}, {0xe7, 0x63, 0x00, 0xff}, {0xb9, 0xac, 0x70, 0xff}, {0x71, 0x75, 0x81, 0xff},
	{0x92, 0xda, 0xdd, 0xff},
}

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
func (s Scatter) Plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = s.Title, s.X, s.Y
	p.Title.Padding = vg.Points(6)
	p.Add(plotter.NewGrid())
	p.Legend.Top = true
	p.Legend.Padding = vg.Points(2)
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
		marks.GlyphStyle = draw.GlyphStyle{Color: kinds[i%len(kinds)], Shape: glyphs[i%len(glyphs)], Radius: vg.Points(2)}
		p.Add(marks)
		p.Legend.Add(c.Name, marks)
	}
	// Room for the legend beside the points.
	p.X.Max += 0.18 * (p.X.Max - p.X.Min)
	return p, nil
}
