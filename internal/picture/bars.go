package picture

import (
	"fmt"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Bars is a chart of horizontal bars, the first on top.
type Bars struct {
	Title, X string // axis with its unit
	Names    []string
	Values   []float64 // of each name
	// Low and High are the ends of the interval of each; nil for none.
	Low, High []float64
}

// horizontal are points with the distances of the ends of their intervals.
type horizontal struct {
	plotter.XYs
	plotter.XErrors
}

// Plot returns the chart.
func (b Bars) Plot() (*Chart, error) {
	if len(b.Names) != len(b.Values) || len(b.Low) != len(b.High) || b.Low != nil && len(b.Low) != len(b.Values) {
		panic("picture: Bars: lengths differ")
	}
	p := newChart(b.Title, b.X, "")
	n := len(b.Values)
	names, values, ends := make([]string, n), make(plotter.Values, n), horizontal{make(plotter.XYs, n),
		make(plotter.XErrors, n)}
	for i, v := range b.Values { // the axis begins at the bottom
		at := n - 1 - i
		names[at], values[at], ends.XYs[at] = b.Names[i], v, plotter.XY{X: v, Y: float64(at)}
		if b.Low != nil {
			ends.XErrors[at].Low, ends.XErrors[at].High = v-b.Low[i], b.High[i]-v
		}
	}
	chart, err := plotter.NewBarChart(values, vg.Points(8))
	if err != nil {
		return nil, fmt.Errorf("picture: %s: %w", b.Title, err)
	}
	chart.Horizontal, chart.Color, chart.LineStyle = true, binFill, binOutline
	p.Add(gridLines{onlyX: true}, chart)
	if b.Low != nil {
		whiskers, err := plotter.NewXErrorBars(ends)
		if err != nil {
			return nil, fmt.Errorf("picture: %s: %w", b.Title, err)
		}
		whiskers.Color, whiskers.Width, whiskers.CapWidth = dark, vg.Points(0.9), vg.Points(4)
		p.Add(whiskers)
	}
	p.NominalY(names...)
	p.X.Min, p.X.Max = min(0, p.X.Min), max(0, p.X.Max)
	if p.X.Max <= p.X.Min {
		p.X.Max = 1
	}
	return p, nil
}
