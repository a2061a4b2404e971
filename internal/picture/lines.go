// Package picture draws the plots of the jobs, as PNG and SVG.
package picture

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Series is a line with an uncertainty band.
type Series struct {
	Name string
	X, Y []float64
	// Low and High are the edges of the band at each point; nil for none.
	Low, High []float64
}

// Lines is a line chart.
type Lines struct {
	Title, X, Y string // axes with their units
	LogX, LogY  bool
	LegendLeft  bool // put the legend at the top left instead of the top right
	Series      []Series
}

// palette is Okabe and Ito's, which is distinct for any colour vision.
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff},
	{0xcc, 0x79, 0xa7, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff},
}

// glyphs distinguish series without colour.
var glyphs = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{},
	draw.PlusGlyph{}, draw.RingGlyph{}}

// Plot returns the chart.
func (l Lines) Plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = l.Title, l.X, l.Y
	p.Title.Padding = vg.Points(6)
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left = true, l.LegendLeft
	if l.LegendLeft {
		p.Legend.XOffs, p.Legend.YOffs = vg.Points(6), -vg.Points(6) // away from the lines at the edge
	}
	p.Legend.Padding = vg.Points(3)
	p.Legend.ThumbnailWidth = vg.Points(24)
	for i, s := range l.Series {
		if len(s.X) != len(s.Y) || len(s.Low) != len(s.High) || s.Low != nil && len(s.Low) != len(s.X) {
			panic("picture: Lines: lengths of a series differ")
		}
		if err := l.add(p, s, i); err != nil {
			return nil, fmt.Errorf("picture: %s: %w", s.Name, err)
		}
	}
	if l.LogX {
		logarithmic(&p.X)
	}
	if l.LogY {
		logarithmic(&p.Y)
	}
	return p, nil
}

// logarithmic makes an axis logarithmic unless some of its values have no logarithm. A single
// value gets room on both sides.
func logarithmic(a *plot.Axis) {
	if !(a.Min > 0) {
		return
	}
	if a.Min == a.Max {
		a.Min, a.Max = a.Min/2, a.Max*2
	}
	a.Scale, a.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
}

func (l Lines) add(p *plot.Plot, s Series, i int) error {
	tone := palette[i%len(palette)]
	points := make(plotter.XYs, len(s.X))
	for k := range s.X {
		points[k] = plotter.XY{X: s.X[k], Y: s.Y[k]}
	}
	if s.Low != nil && len(s.X) > 1 {
		band, err := plotter.NewPolygon(l.band(s))
		if err != nil {
			return err
		}
		band.Color = color.NRGBA{tone.R, tone.G, tone.B, 0x38}
		band.LineStyle.Width = 0
		p.Add(band)
	}
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = tone, vg.Points(1.5)
	marks.Color, marks.Shape, marks.Radius = tone, glyphs[i%len(glyphs)], vg.Points(2.8)
	p.Add(line, marks)
	p.Legend.Add(s.Name, line, marks)
	return nil
}

// band is the outline of the uncertainty. On a logarithmic axis its lower edge stays positive.
func (l Lines) band(s Series) plotter.XYs {
	n := len(s.X)
	outline := make(plotter.XYs, 2*n)
	for k := range s.X {
		low, high := s.Low[k], s.High[k]
		if l.LogY {
			low = math.Max(low, s.Y[k]/10)
		}
		outline[k] = plotter.XY{X: s.X[k], Y: high}
		outline[2*n-1-k] = plotter.XY{X: s.X[k], Y: low}
	}
	return outline
}

// dpi is the resolution of PNG files, enough for print at their size.
const dpi = 200

// Encode draws a chart of that size in centimetres, as "png" or "svg".
func Encode(p *plot.Plot, width, height float64, format string) ([]byte, error) {
	return encode(width, height, format, func(area draw.Canvas) {
		const margin = 2 * vg.Millimeter // labels of ticks may reach beyond the axes
		p.Draw(draw.Crop(area, margin, -4*margin, margin, -margin))
	})
}

// encode returns what paint draws on a canvas of that size in centimetres.
func encode(width, height float64, format string, paint func(draw.Canvas)) ([]byte, error) {
	w, h := vg.Length(width)*vg.Centimeter, vg.Length(height)*vg.Centimeter
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch format {
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(dpi))}
	case "svg":
		canvas = vgsvg.New(w, h)
	default:
		panic("picture: Encode: unknown format")
	}
	paint(draw.New(canvas))
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return b.Bytes(), err
}
