package picture

import (
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// palette is Okabe and Ito's, which is distinct for any colour vision. Yellow is left out, because it is hard
// to see on white.
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
	{0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x80, 0x80, 0x80, 0xff},
}

// dark is the colour of text and axes, and light the colour of grids; Inline gives both the colours of the page.
var (
	dark  = color.RGBA{0x22, 0x22, 0x22, 0xff}
	light = color.RGBA{0xdd, 0xdd, 0xdd, 0xff}
)

// glyphs distinguish series without colour. The numbers of glyphs and colours have no common divisor, so
// that pairs of them repeat late.
var glyphs = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.PyramidGlyph{}, polygon{4, 0},
	draw.RingGlyph{}, draw.BoxGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{}, polygon{3, math.Pi}}

func shade(tone color.RGBA, alpha uint8) color.NRGBA {
	return color.NRGBA{tone.R, tone.G, tone.B, alpha}
}

// polygon is a filled regular polygon.
type polygon struct {
	corners int
	turn    float64
}

// DrawGlyph draws the polygon.
func (p polygon) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	c.SetColor(s.Color)
	var path vg.Path
	for i := range p.corners {
		sin, cos := math.Sincos(p.turn + 2*math.Pi*float64(i)/float64(p.corners))
		to := vg.Point{X: at.X + 1.3*s.Radius*vg.Length(sin), Y: at.Y + 1.3*s.Radius*vg.Length(cos)}
		if i == 0 {
			path.Move(to)
		} else {
			path.Line(to)
		}
	}
	path.Close()
	c.Fill(path)
}

// style is the style of the texts of all pictures.
func style(size float64) draw.TextStyle {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)}
	return draw.TextStyle{Color: dark, Font: f, Handler: plot.DefaultTextHandler}
}

// Figure is a chart that can be drawn.
type Figure interface{ Plot() (*Chart, error) }

// Chart is a plot in the style of all pictures. Its title and legend are above the axes, where they cover nothing.
type Chart struct {
	*plot.Plot
	Name    string
	Height  float64 // in centimetres, in a page
	x, y    string  // names of the axes, below the one and above the other
	bounded bool    // some numbers have intervals
	keys    []key
	Numbers
}

// Numbers are the numbers of a chart as a table.
type Numbers struct {
	Head []string
	Rows [][]string
}

// interval is the head of a column of intervals.
const interval = "95% interval"

// key is an entry of a legend.
type key struct {
	name   string
	thumbs []plot.Thumbnailer
}

// newChart returns an empty chart. It panics if an axis has no name.
func newChart(title, x, y string) *Chart {
	if title == "" || x == "" || y == "" {
		panic("picture: a chart has a title, and each axis a name")
	}
	p := plot.New()
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Width, a.Tick.Color, a.Tick.Width = dark, vg.Points(0.6), dark, vg.Points(0.6)
		a.Tick.Label.Font, a.Tick.Label.Color, a.Tick.Length = style(8.5).Font, dark, vg.Points(3)
		a.Padding, a.Tick.Marker = vg.Points(2), ticks{}
	}
	p.BackgroundColor = nil
	return &Chart{Plot: p, Name: title, Height: 6.4, x: x, y: y}
}

// span sets the ranges of the axes.
func (c *Chart) span(left, right, foot, top float64) {
	c.X.Min, c.X.Max, c.Y.Min, c.Y.Max = left, right, foot, top
}

// NominalY names the places 0, 1, … of the vertical axis.
func (c *Chart) NominalY(names ...string) {
	c.Plot.NominalY(names...)
	c.Y.Tick.Width, c.Y.Width, c.Y.Padding = 0, 0, vg.Points(2)
}

func (c *Chart) key(name string, thumbs ...plot.Thumbnailer) {
	c.keys = append(c.keys, key{name, thumbs})
}

// axes returns the names of the axes. The name of the axis with the numbers also describes the intervals.
func (c *Chart) axes() (x, y string) {
	_, nominal := c.Y.Tick.Marker.(plot.ConstantTicks)
	switch {
	case c.bounded && nominal:
		return c.x + ", with 95% intervals", c.y
	case c.bounded:
		return c.x, c.y + ", with 95% intervals"
	}
	return c.x, c.y
}

// Draw draws the chart with its title and legend.
func (c *Chart) Draw(area draw.Canvas) {
	top, width := area.Max.Y, area.Max.X-area.Min.X
	write := func(textStyle draw.TextStyle, words string, gap float64) {
		textStyle.YAlign = text.YTop
		for _, line := range wrap(words, textStyle, width) {
			area.FillText(textStyle, vg.Point{X: area.Min.X, Y: top}, line)
			top -= vg.Points(gap)
		}
	}
	title := style(10.5)
	title.Font.Weight = 3 // bold, as golang.org/x/image/font numbers it
	write(title, c.Name, 14)
	c.drawKeys(area, &top)
	x, y := c.axes()
	top -= vg.Points(1)
	write(style(9), y, 12)
	top -= vg.Points(2)
	textStyle := style(9)
	textStyle.XAlign, textStyle.YAlign = text.XCenter, text.YBottom
	lines := wrap(x, textStyle, width)
	foot := vg.Points(float64(12 * len(lines)))
	for i, line := range lines { // in the middle of the picture, so that they take no room from the axes
		y := area.Min.Y + foot - vg.Points(float64(12*(i+1)))
		area.FillText(textStyle, vg.Point{X: area.Min.X + width/2, Y: y}, line)
	}
	if t, ok := c.X.Tick.Marker.(ticks); ok {
		for t.limit = 6; t.limit > 1 && t.width(c.X.Min, c.X.Max) > 0.8*width; t.limit-- {
		}
		c.X.Tick.Marker = t
	}
	c.Plot.Draw(draw.Crop(area, 0, 0, foot+vg.Points(2), top-area.Max.Y-vg.Points(2)))
}

// drawKeys draws the legend below top, and moves top below it.
func (c *Chart) drawKeys(area draw.Canvas, top *vg.Length) {
	const thumb, gap = 16, 12
	textStyle := style(8.5)
	textStyle.YAlign = text.YTop
	x := area.Min.X
	for i, k := range c.keys {
		width := textStyle.Width(k.name) + vg.Points(thumb+4)
		if i > 0 && x+width > area.Max.X {
			x, *top = area.Min.X, *top-vg.Points(12)
		}
		at := draw.Canvas{Canvas: area.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: *top - vg.Points(10)},
			Max: vg.Point{X: x + vg.Points(thumb), Y: *top - vg.Points(1)}}}
		for _, t := range k.thumbs {
			t.Thumbnail(&at)
		}
		area.FillText(textStyle, vg.Point{X: x + vg.Points(thumb+4), Y: *top}, k.name)
		x += width + vg.Points(gap)
	}
	if len(c.keys) > 0 {
		*top -= vg.Points(14)
	}
}

// wrap breaks a text into lines of that width.
func wrap(words string, textStyle draw.TextStyle, width vg.Length) (lines []string) {
	for _, w := range strings.Fields(words) {
		if last := len(lines) - 1; last >= 0 && textStyle.Width(lines[last]+" "+w) <= width {
			lines[last] += " " + w
			continue
		}
		lines = append(lines, w)
	}
	return lines
}

// gridLines draws lines at the ticks of both axes, or of the horizontal one alone.
type gridLines struct{ onlyX bool }

// Plot draws the lines.
func (g gridLines) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := draw.LineStyle{Color: light, Width: vg.Points(0.5)}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if at := x(t.Value); at >= c.Min.X && at <= c.Max.X {
			c.StrokeLine2(style, at, c.Min.Y, at, c.Max.Y)
		}
	}
	if g.onlyX {
		return
	}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if at := y(t.Value); at >= c.Min.Y && at <= c.Max.Y {
			c.StrokeLine2(style, c.Min.X, at, c.Max.X, at)
		}
	}
}

// whiskers draws intervals: vertical at places on the horizontal axis, or the other way round if Across. Ends that
// are NaN are not drawn.
type whiskers struct {
	At, Low, High []float64
	Tone          color.Color
	Across        bool
}

// known reports whether any end of an interval is not NaN.
func known(ends []float64) bool {
	return slices.ContainsFunc(ends, func(v float64) bool { return !math.IsNaN(v) })
}

// DataRange returns the ranges of both axes.
func (w whiskers) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, ymin, xmax, ymax = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for i, at := range w.At {
		if low, high := w.Low[i], w.High[i]; low <= high {
			xmin, xmax, ymin, ymax = min(xmin, at), max(xmax, at), min(ymin, low), max(ymax, high)
		}
	}
	if w.Across {
		return ymin, ymax, xmin, xmax
	}
	return xmin, xmax, ymin, ymax
}

// Plot draws the intervals.
func (w whiskers) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := func(at, from, to float64, shift, width vg.Length) {
		a, b := vg.Point{X: x(at) + shift, Y: y(from)}, vg.Point{X: x(at) + shift + width, Y: y(to)}
		if w.Across {
			a, b = vg.Point{X: x(from), Y: y(at) + shift}, vg.Point{X: x(to), Y: y(at) + shift + width}
		}
		c.StrokeLine2(draw.LineStyle{Color: w.Tone, Width: vg.Points(0.9)}, a.X, a.Y, b.X, b.Y)
	}
	const half = 2.5
	for i, at := range w.At {
		low, high := w.Low[i], w.High[i]
		if !(low < high) {
			continue
		}
		line(at, low, high, 0, 0)
		line(at, low, low, vg.Points(-half), vg.Points(2*half))
		line(at, high, high, vg.Points(-half), vg.Points(2*half))
	}
}
