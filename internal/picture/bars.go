package picture

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bars is a chart of horizontal bars, the first on top.
type Bars struct {
	Title, X string // axis with its unit
	Y        string // name of the axis with the names
	Names    []string
	Values   []float64 // of each name
	// Low and High are the ends of the interval of each bar, NaN if it has none; nil if no bar has one.
	Low, High []float64
}

// Add adds a bar without an interval.
func (b *Bars) Add(name string, value float64) { b.AddInterval(name, value, math.NaN(), math.NaN()) }

// AddInterval adds a bar with the ends of its interval, NaN for none.
func (b *Bars) AddInterval(name string, value, low, high float64) {
	b.Names, b.Values, b.Low, b.High = append(b.Names, name), append(b.Values, value), append(b.Low, low),
		append(b.High, high)
}

// Plot returns the chart.
func (b Bars) Plot() (*Chart, error) {
	n := len(b.Values)
	if len(b.Names) != n || len(b.Low) != len(b.High) || b.Low != nil && len(b.Low) != n {
		panic("picture: Bars: lengths differ")
	}
	p := newChart(b.Title, b.X, b.Y)
	p.bounded, p.Height = known(b.Low), 3.1+0.5*float64(n)
	p.Head = []string{b.Y, b.X}
	if p.bounded {
		p.Head = append(p.Head, interval)
	}
	ends := whiskers{Low: b.Low, High: b.High, Tone: dark, Across: true}
	var all boxes
	names := make([]string, n)
	for i, v := range b.Values { // the axis begins at the bottom
		at := float64(n - 1 - i)
		names[n-1-i], ends.At = b.Names[i], append(ends.At, at)
		all = append(all, box{min(v, 0), max(v, 0), at - 0.28, at + 0.28, ""})
		line := []string{b.Names[i], Number(v, 4)}
		if p.bounded {
			line = append(line, Range(b.Low[i], b.High[i], 4))
		}
		p.Rows = append(p.Rows, line)
	}
	p.Add(gridLines{onlyX: true}, all)
	if p.bounded {
		p.Add(ends)
	}
	p.NominalY(names...)
	p.span(min(0, p.X.Min), max(0, p.X.Max), -0.5, float64(n)-0.5)
	if p.X.Max <= p.X.Min {
		p.X.Max = 1
	}
	return p, nil
}

// Histogram is a chart of vertical bars between edges of a number.
type Histogram struct {
	Title, X, Y string    // axes with their units
	Edges       []float64 // none if there are no bars
	Heights     []float64 // one fewer than Edges
	Low, High   []float64 // the ends of the interval of each height, NaN for one without; nil for none
	Labels      []string  // at the foot of each bar; nil for none
	// Diagonal draws the line y = x between 0 and 1, for heights and numbers that are shares.
	Diagonal bool
}

// Plot returns the chart.
func (h Histogram) Plot() (*Chart, error) {
	if len(h.Edges) == 0 { // an empty chart
		h.Edges, h.Heights = []float64{0, 1}, []float64{0}
	}
	n := len(h.Heights)
	if len(h.Edges) != n+1 || len(h.Low) != len(h.High) || h.Low != nil && len(h.Low) != n ||
		h.Labels != nil && len(h.Labels) != n {
		panic("picture: Histogram: lengths differ")
	}
	p := newChart(h.Title, h.X, h.Y)
	p.bounded, p.Head = known(h.Low), []string{h.X, h.Y}
	ends := whiskers{Low: h.Low, High: h.High, Tone: dark}
	var all boxes
	for i, v := range h.Heights {
		one := box{h.Edges[i], h.Edges[i+1], 0, v, ""}
		if h.Labels != nil {
			one.label = h.Labels[i]
		}
		all, ends.At = append(all, one), append(ends.At, (one.left+one.right)/2)
		p.Rows = append(p.Rows, []string{Range(one.left, one.right, 6), Number(v, 4)})
	}
	p.Add(gridLines{}, all)
	if p.bounded {
		p.Add(ends)
	}
	p.Y.Min = 0
	if h.Diagonal {
		line, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}})
		if err != nil {
			return nil, err
		}
		line.Color, line.Width, line.Dashes = palette[1], vg.Points(1.2), []vg.Length{vg.Points(4), vg.Points(3)}
		p.Add(line)
		p.key("share of rows", all)
		p.key("as the probability says", line)
		p.span(h.Edges[0], h.Edges[n], 0, 1)
	}
	if !(p.Y.Max > 0) {
		p.Y.Max = 1
	}
	return p, nil
}

// boxes are the bars of a chart.
type boxes []box

type box struct {
	left, right, foot, top float64
	label                  string // inside, at the foot
}

// DataRange returns the ranges of both axes.
func (b boxes) DataRange() (xmin, xmax, ymin, ymax float64) {
	for i, one := range b {
		if i == 0 {
			xmin, xmax, ymin, ymax = one.left, one.right, one.foot, one.top
		}
		xmin, xmax, ymin, ymax = min(xmin, one.left), max(xmax, one.right), min(ymin, one.foot), max(ymax, one.top)
	}
	return xmin, xmax, ymin, ymax
}

// Plot draws the bars.
func (b boxes) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, one := range b {
		r := vg.Rectangle{Min: vg.Point{X: x(one.left), Y: y(one.foot)}, Max: vg.Point{X: x(one.right), Y: y(one.top)}}
		if one.left < one.right && one.foot < one.top {
			fill(&c, r)
		}
		if one.label != "" {
			style := style(7)
			style.XAlign, style.YAlign = text.XCenter, text.YBottom
			c.FillText(style, vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: r.Min.Y + vg.Points(2)}, one.label)
		}
	}
}

// Thumbnail draws a bar into a legend.
func (b boxes) Thumbnail(c *draw.Canvas) { fill(c, c.Rectangle) }

// fill draws a bar.
func fill(c *draw.Canvas, r vg.Rectangle) {
	corners := []vg.Point{r.Min, {X: r.Min.X, Y: r.Max.Y}, r.Max, {X: r.Max.X, Y: r.Min.Y}}
	c.FillPolygon(shade(palette[0], 0x60), corners)
	c.StrokeLines(draw.LineStyle{Color: palette[0], Width: vg.Points(0.8)}, append(corners, corners[0]))
}
