package picture

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Histogram is a chart of vertical bars between edges of a number.
type Histogram struct {
	Title, X, Y string    // axes with their units
	Edges       []float64 // none if there are no bars
	Heights     []float64 // one fewer than Edges
	Low, High   []float64 // the ends of the interval of each height; nil for none
	Labels      []string  // at the foot of each bar; nil for none
	// Diagonal draws the line on which the height is the number, and makes both axes those of shares.
	Diagonal bool
}

// Plot returns the chart.
func (h Histogram) Plot() (*Chart, error) {
	if len(h.Edges) == 0 { // of nothing
		h.Edges, h.Heights = []float64{0, 1}, []float64{0}
	}
	n := len(h.Heights)
	if len(h.Edges) != n+1 || len(h.Low) != len(h.High) || h.Low != nil && len(h.Low) != n ||
		h.Labels != nil && len(h.Labels) != n {
		panic("picture: Histogram: lengths differ")
	}
	p := newChart(h.Title, h.X, h.Y)
	p.Add(gridLines{}, h.bins())
	if h.Diagonal {
		line, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}})
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = palette[1], vg.Points(1.2)
		line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		p.Add(line)
		p.key("share of rows", h.bins())
		p.key("as the probability says", line)
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = h.Edges[0], h.Edges[n], 0, 1
	}
	p.Y.Min = 0
	if !(p.Y.Max > 0) {
		p.Y.Max = 1
	}
	return p, nil
}

func (h Histogram) bins() bins { return bins(h) }

// bins are the bars of a histogram.
type bins Histogram

var (
	binFill    = shade(palette[0], 0x60)
	binOutline = draw.LineStyle{Color: palette[0], Width: vg.Points(0.8)}
)

// DataRange returns the ranges of both axes.
func (b bins) DataRange() (xmin, xmax, ymin, ymax float64) {
	for i, v := range b.Heights {
		if ymax = max(ymax, v); b.High != nil {
			ymax = max(ymax, b.High[i])
		}
	}
	return b.Edges[0], b.Edges[len(b.Edges)-1], 0, ymax
}

// Plot draws the bars.
func (b bins) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	ends := draw.LineStyle{Color: dark, Width: vg.Points(0.9)}
	for i, v := range b.Heights {
		left, right, foot, top := x(b.Edges[i]), x(b.Edges[i+1]), y(p.Y.Min), y(v)
		corners := []vg.Point{{X: left, Y: foot}, {X: left, Y: top}, {X: right, Y: top}, {X: right, Y: foot}}
		if v > 0 {
			c.FillPolygon(binFill, corners)
			c.StrokeLines(binOutline, append(corners, corners[0]))
		}
		middle := (left + right) / 2
		if b.Low != nil && b.High[i] > b.Low[i] {
			low, high := y(max(b.Low[i], p.Y.Min)), y(b.High[i])
			c.StrokeLine2(ends, middle, low, middle, high)
			for _, at := range []vg.Length{low, high} {
				c.StrokeLine2(ends, middle-vg.Points(2.5), at, middle+vg.Points(2.5), at)
			}
		}
		if b.Labels != nil {
			c.FillText(draw.TextStyle{Color: dark, Font: sans(7, false), XAlign: text.XCenter, YAlign: text.YBottom,
				Handler: plot.DefaultTextHandler}, vg.Point{X: middle, Y: foot + vg.Points(2)}, b.Labels[i])
		}
	}
}

// Thumbnail draws a bar into a legend.
func (b bins) Thumbnail(c *draw.Canvas) {
	corners := []vg.Point{c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}}
	c.FillPolygon(binFill, corners)
	c.StrokeLines(binOutline, append(corners, corners[0]))
}
