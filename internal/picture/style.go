package picture

import (
	"image/color"
	"math"
	"strconv"
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

// glyphs distinguish series without colour. There are more than colours, and their number has no common
// divisor with it, so that pairs repeat late.
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

// sans is the font of all pictures.
func sans(size float64, bold bool) font.Font {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)}
	if bold {
		f.Weight = 3 // bold, as golang.org/x/image/font numbers it
	}
	return f
}

// Chart is a plot in the style of all pictures, with its title and legend above the axes, where they hide
// nothing.
type Chart struct {
	*plot.Plot
	title string
	x, y  string // names of the axes, below the one and above the other
	keys  []key
}

// key is an entry of a legend.
type key struct {
	name   string
	thumbs []plot.Thumbnailer
}

// newChart returns an empty chart.
func newChart(title, x, y string) *Chart {
	p := plot.New()
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Width, a.Tick.Color, a.Tick.Width = dark, vg.Points(0.6), dark, vg.Points(0.6)
		a.Tick.Label.Font, a.Tick.Label.Color, a.Tick.Length = sans(8.5, false), dark, vg.Points(3)
		a.Padding, a.Tick.Marker = vg.Points(2), ticks{}
	}
	p.BackgroundColor = nil
	return &Chart{Plot: p, title: title, x: x, y: y}
}

// NominalY names the places 0, 1, … of the vertical axis.
func (c *Chart) NominalY(names ...string) {
	c.Plot.NominalY(names...)
	c.Y.Tick.Width, c.Y.Width, c.Y.Padding = 0, 0, vg.Points(2)
}

func (c *Chart) key(name string, thumbs ...plot.Thumbnailer) {
	c.keys = append(c.keys, key{name, thumbs})
}

// Draw draws the chart with its title and legend.
func (c *Chart) Draw(area draw.Canvas) {
	top := area.Max.Y
	write := func(size float64, bold bool, x, y vg.Length, words string) {
		area.FillText(draw.TextStyle{Color: dark, Font: sans(size, bold), YAlign: text.YTop,
			Handler: plot.DefaultTextHandler}, vg.Point{X: x, Y: y}, words)
	}
	for _, line := range wrap(c.title, sans(10.5, true), area.Max.X-area.Min.X) {
		write(10.5, true, area.Min.X, top, line)
		top -= vg.Points(14)
	}
	const thumb, gap = 16, 12
	style := draw.TextStyle{Font: sans(8.5, false), Handler: plot.DefaultTextHandler}
	x, begun := area.Min.X, false
	for _, k := range c.keys {
		width := style.Width(k.name) + vg.Points(thumb+4)
		if begun && x+width > area.Max.X {
			x, top = area.Min.X, top-vg.Points(12)
		}
		at := draw.Canvas{Canvas: area.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: top - vg.Points(10)},
			Max: vg.Point{X: x + vg.Points(thumb), Y: top - vg.Points(1)}}}
		for _, t := range k.thumbs {
			t.Thumbnail(&at)
		}
		write(8.5, false, x+vg.Points(thumb+4), top, k.name)
		x, begun = x+width+vg.Points(gap), true
	}
	if begun {
		top -= vg.Points(14)
	}
	if c.y != "" {
		write(9, false, area.Min.X, top-vg.Points(1), c.y)
		top -= vg.Points(15)
	}
	foot := vg.Length(0)
	if c.x != "" { // in the middle of the picture, so that it takes no room from the axes
		area.FillText(draw.TextStyle{Color: dark, Font: sans(9, false), XAlign: text.XCenter, YAlign: text.YBottom,
			Handler: plot.DefaultTextHandler}, vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: area.Min.Y}, c.x)
		foot = vg.Points(14)
	}
	c.Plot.Draw(draw.Crop(area, 0, 0, foot, top-area.Max.Y-vg.Points(2)))
}

// wrap breaks a text into lines of that width.
func wrap(words string, f font.Font, width vg.Length) (lines []string) {
	style := draw.TextStyle{Font: f, Handler: plot.DefaultTextHandler}
	for _, w := range strings.Fields(words) {
		if last := len(lines) - 1; last >= 0 && style.Width(lines[last]+" "+w) <= width {
			lines[last] += " " + w
			continue
		}
		lines = append(lines, w)
	}
	return lines
}

// ticks are about five round numbers.
type ticks struct{}

// Ticks returns the ticks between two values.
func (ticks) Ticks(low, high float64) (all []plot.Tick) {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	for _, factor := range []float64{2, 2.5, 2} { // 1, 2, 5, 10 times
		if (high-low)/step > 6 {
			step *= factor
		}
	}
	if !(step > 0) || math.IsInf(step, 0) {
		return []plot.Tick{{Value: low, Label: label(low, 0)}}
	}
	for i := math.Ceil(low/step - 1e-9); i <= high/step+1e-9; i++ {
		all = append(all, plot.Tick{Value: i * step, Label: label(i*step, step)})
	}
	return all
}

// label writes a number that is a multiple of step: with as many digits as it needs, with separated thousands, and
// as a power of ten only if it is very large or small.
func label(v, step float64) string {
	abs := math.Abs(v)
	if step > 0 {
		abs = math.Round(abs/step) * step
	}
	var text string
	if abs >= 1e7 || abs > 0 && (step > 0 && step < 1e-5 || abs < 1e-5) {
		text = strings.NewReplacer("e+0", "e", "e-0", "e−", "e+", "e", "e-", "e−").Replace(
			strconv.FormatFloat(abs, 'g', 4, 64))
	} else {
		digits := -1
		if step > 0 {
			digits = int(max(0, math.Ceil(-math.Log10(step)-1e-9)))
			if step > abs && abs > 0 {
				digits = -1
			}
		}
		whole, rest, found := strings.Cut(strconv.FormatFloat(abs, 'f', digits, 64), ".")
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
		if text = whole; found {
			text += "." + rest
		}
	}
	if v < 0 && abs > 0 {
		return "−" + text
	}
	return text
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
