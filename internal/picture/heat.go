package picture

import (
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
)

// Heat is a plot of a matrix.
type Heat struct {
	Title, X, Y string
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
	low, high := h.Values[0], h.Values[0]
	for _, v := range h.Values {
		low, high = min(low, v), max(high, v)
	}
	if low == high {
		high = low + 1
	}
	colors := moreland.ExtendedBlackBody()
	colors.SetMin(low)
	colors.SetMax(high)
	m := plotter.NewHeatMap(grid{h}, colors.Palette(255))
	m.Min, m.Max = low, high
	p.Add(m)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, float64(h.Cols)-0.5, -0.5, float64(h.Rows)-0.5
	return p, nil
}
