package picture

import (
	"image/color"
	"math"

	palettes "gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heat is a plot of a matrix.
type Heat struct {
	Title, X, Y string
	Z           string // what the values are, with their unit
	Rows, Cols  int
	Values      []float64 // row-major; row 0 is drawn at the top
}

type grid struct{ h Heat }

func (g grid) Dims() (c, r int)   { return g.h.Cols, g.h.Rows }
func (g grid) X(c int) float64    { return float64(c) }
func (g grid) Y(r int) float64    { return float64(r) }
func (g grid) Z(c, r int) float64 { return g.h.Values[(g.h.Rows-1-r)*g.h.Cols+c] }

// Plot returns the plot.
func (h Heat) Plot() (*Chart, error) {
	if len(h.Values) != h.Rows*h.Cols {
		panic("picture: Heat: number of values differs from number of cells")
	}
	p := newChart(h.Title, h.X, h.Y)
	m := heatMap(grid{h}, h.Values, false)
	p.Add(m)
	colors := m.Palette.Colors()
	p.key(h.Z+" "+Number(m.Min, 3), swatch{colors[0]})
	p.key(Number(m.Max, 3), swatch{colors[len(colors)-1]})
	p.span(-0.5, float64(h.Cols)-0.5, -0.5, float64(h.Rows)-0.5)
	return p, nil
}

// heatMap colours values from black to white, or from blue to red around 0.
func heatMap(g plotter.GridXYZ, values []float64, signed bool) *plotter.HeatMap {
	low, high := values[0], values[0]
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	var colors palettes.ColorMap = moreland.ExtendedBlackBody()
	if signed {
		colors = moreland.SmoothBlueRed()
		high = math.Max(high, -low)
		low = -high
	}
	if low == high {
		high = low + 1
	}
	colors.SetMin(low)
	colors.SetMax(high)
	m := plotter.NewHeatMap(g, colors.Palette(255))
	m.Min, m.Max = low, high
	return m
}

// swatch is a colour in a legend.
type swatch struct{ color.Color }

// Thumbnail draws the colour.
func (s swatch) Thumbnail(c *draw.Canvas) {
	r := c.Rectangle
	c.FillPolygon(s.Color, []vg.Point{r.Min, {X: r.Min.X, Y: r.Max.Y}, r.Max, {X: r.Max.X, Y: r.Min.Y}})
}
