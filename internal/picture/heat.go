package picture

import (
	"fmt"
	"image/color"
	"math"

	palettes "gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heat is a plot of a matrix, or of a function on a square of the plane, with points on it.
type Heat struct {
	Title, X, Y string
	Z           string // what the values are, with their unit; "" for no legend
	Rows, Cols  int
	Values      []float64 // row-major; row 0 is drawn at the top; nil for no background
	Half        float64   // the axes are from −Half to Half; 0 for the numbers of rows and columns
	// Levels lists the values at which contour lines are drawn.
	Levels []float64
	// Signed selects a colour scale from blue to red around 0, instead of black to white.
	Signed bool
	Spots  []Spots
}

// Spots are points of one kind.
type Spots struct {
	X, Y   []float64
	Radius []float64 // of each in points; nil for 1.5
}

// At returns the coordinate of the middle of one of n cells.
func (h Heat) At(cell, n int) float64 {
	if h.Half == 0 {
		return float64(cell)
	}
	return h.Half * (2*(float64(cell)+0.5)/float64(n) - 1)
}

type grid struct{ h Heat }

func (g grid) Dims() (c, r int)   { return g.h.Cols, g.h.Rows }
func (g grid) X(c int) float64    { return g.h.At(c, g.h.Cols) }
func (g grid) Y(r int) float64    { return g.h.At(r, g.h.Rows) }
func (g grid) Z(c, r int) float64 { return g.h.Values[(g.h.Rows-1-r)*g.h.Cols+c] }

// Plot returns the plot.
func (h Heat) Plot() (*Chart, error) {
	if h.Values != nil && len(h.Values) != h.Rows*h.Cols {
		panic("picture: Heat: number of values differs from number of cells")
	}
	p := newChart(h.Title, h.X, h.Y)
	if h.Values != nil {
		h.background(p)
	}
	for i, s := range h.Spots {
		if len(s.X) != len(s.Y) || s.Radius != nil && len(s.Radius) != len(s.X) {
			panic("picture: Heat: lengths of spots differ")
		}
		points := make(plotter.XYs, len(s.X))
		for k := range s.X {
			points[k] = plotter.XY{X: s.X[k], Y: s.Y[k]}
		}
		if len(points) == 0 {
			continue
		}
		marks, err := plotter.NewScatter(points)
		if err != nil {
			return nil, fmt.Errorf("picture: spots %d: %w", i, err)
		}
		marks.GlyphStyleFunc = func(k int) draw.GlyphStyle {
			radius := 1.5
			if s.Radius != nil {
				radius = s.Radius[k]
			}
			return draw.GlyphStyle{Color: palette[i%len(palette)], Shape: glyphs[i%len(glyphs)], Radius: vg.Points(radius)}
		}
		p.Add(marks)
	}
	p.span(-h.Half, h.Half, -h.Half, h.Half)
	if h.Half == 0 {
		p.span(-0.5, float64(h.Cols)-0.5, -0.5, float64(h.Rows)-0.5)
	}
	return p, nil
}

// background colours the cells.
func (h Heat) background(p *Chart) {
	low, high := h.Values[0], h.Values[0]
	for _, v := range h.Values {
		low, high = min(low, v), max(high, v)
	}
	var colors palettes.ColorMap = moreland.ExtendedBlackBody()
	if h.Signed {
		colors = moreland.SmoothBlueRed()
		high = math.Max(high, -low)
		low = -high
	}
	if low == high {
		high = low + 1
	}
	colors.SetMin(low)
	colors.SetMax(high)
	all := colors.Palette(255)
	m := plotter.NewHeatMap(grid{h}, all)
	m.Min, m.Max, m.Rasterized = low, high, h.Half > 0
	p.Add(m)
	if h.Z != "" {
		p.key(h.Z+" "+Number(low, 3), swatch{all.Colors()[0]})
		p.key(Number(high, 3), swatch{all.Colors()[254]})
	}
	if len(h.Levels) > 0 {
		lines := plotter.NewContour(grid{h}, h.Levels, ink{})
		for i := range lines.LineStyles {
			lines.LineStyles[i].Width = vg.Points(0.6)
		}
		p.Add(lines)
	}
}

// ink is a palette that contains only black.
type ink struct{}

func (ink) Colors() []color.Color { return []color.Color{color.Black} }

// swatch is a colour in a legend.
type swatch struct{ color.Color }

// Thumbnail draws the colour.
func (s swatch) Thumbnail(c *draw.Canvas) {
	r := c.Rectangle
	c.FillPolygon(s.Color, []vg.Point{r.Min, {X: r.Min.X, Y: r.Max.Y}, r.Max, {X: r.Max.X, Y: r.Min.Y}})
}
