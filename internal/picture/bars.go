package picture

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Bars is a chart of horizontal bars, the first on top.
type Bars struct {
	Title, X string // axis with its unit
	Names    []string
	Values   []float64 // of each name, ≥ 0
}

// Plot returns the chart.
func (b Bars) Plot() (*plot.Plot, error) {
	if len(b.Names) != len(b.Values) {
		panic("picture: Bars: lengths differ")
	}
	p := plot.New()
	p.Title.Text, p.X.Label.Text = b.Title, b.X
	p.Title.Padding = vg.Points(6)
	names, values := make([]string, len(b.Names)), make(plotter.Values, len(b.Values))
	for i, v := range b.Values { // the axis begins at the bottom
		at := len(values) - 1 - i
		names[at], values[at] = b.Names[i], v
	}
	chart, err := plotter.NewBarChart(values, vg.Points(9))
	if err != nil {
		return nil, fmt.Errorf("picture: %s: %w", b.Title, err)
	}
	chart.Horizontal, chart.Color, chart.LineStyle.Width = true, palette[0], 0
	p.Add(plotter.NewGrid(), chart)
	p.NominalY(names...)
	p.X.Min = 0
	return p, nil
}
