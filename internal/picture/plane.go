package picture

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Plane is a plot of a function on a square of the plane, with points on it.
type Plane struct {
	Title, X, Y string
	Half        float64   // the square is [−Half, Half]²
	Cells       int       // along each side, at least 2
	Values      []float64 // Cells×Cells values at cell centres, lowest y first; nil for no background
	// Levels are values whose contour lines are drawn.
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

// At returns the coordinate of a cell's centre.
func (p Plane) At(cell int) float64 {
	return p.Half * (2*(float64(cell)+0.5)/float64(p.Cells) - 1)
}

type planeGrid struct{ p Plane }

func (g planeGrid) Dims() (c, r int)   { return g.p.Cells, g.p.Cells }
func (g planeGrid) X(c int) float64    { return g.p.At(c) }
func (g planeGrid) Y(r int) float64    { return g.p.At(r) }
func (g planeGrid) Z(c, r int) float64 { return g.p.Values[r*g.p.Cells+c] }

// Plot returns the plot. It panics unless there are as many values as cells, or none.
func (p Plane) Plot() (*Chart, error) {
	if p.Values != nil && (p.Cells < 2 || len(p.Values) != p.Cells*p.Cells) {
		panic("picture: Plane: number of values differs from number of cells")
	}
	out := newChart(p.Title, p.X, p.Y)
	if p.Values != nil {
		m := heatMap(planeGrid{p}, p.Values, p.Signed)
		m.Rasterized = true
		out.Add(m)
		if len(p.Levels) > 0 {
			lines := plotter.NewContour(planeGrid{p}, p.Levels, ink{})
			for i := range lines.LineStyles {
				lines.LineStyles[i].Width = vg.Points(0.6)
			}
			out.Add(lines)
		}
	}
	for i, s := range p.Spots {
		if len(s.X) != len(s.Y) || s.Radius != nil && len(s.Radius) != len(s.X) {
			panic("picture: Plane: lengths of spots differ")
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
		out.Add(marks)
	}
	out.span(-p.Half, p.Half, -p.Half, p.Half)
	return out, nil
}

// ink is a palette that contains only black.
type ink struct{}

func (ink) Colors() []color.Color { return []color.Color{color.Black} }
