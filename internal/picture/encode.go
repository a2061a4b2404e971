// Package picture draws plots as PNG and SVG, all in one style. Bars, Histogram, Heat and Lines are Figures: their
// method Plot returns a Chart, which Encode draws as a file and Inline as an element of an HTML page.
package picture

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
	"regexp"
	"strings"
	"unicode"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// dpi is the resolution of PNG files, enough for print at their size.
const dpi = 200

// Encode draws a chart of the given size in centimetres, as "png" or "svg".
func Encode(p *Chart, width, height float64, format string) ([]byte, error) {
	data, err := encode(width, height, format, func(area draw.Canvas) {
		area.FillPolygon(color.White, []vg.Point{area.Min, {X: area.Min.X, Y: area.Max.Y}, area.Max,
			{X: area.Max.X, Y: area.Min.Y}})
		onPage(p)(area)
	})
	// The font is rare; the characters of Arial have the same widths.
	return bytes.ReplaceAll(data, []byte("family:Liberation Sans;"),
		[]byte("family:Liberation Sans,Arial,Helvetica,sans-serif;")), err
}

// EncodeTiles draws a grid of charts, each of the given size in centimetres, as "png" or "svg". It
// panics unless all rows have the same length.
func EncodeTiles(rows [][]*Chart, width, height float64, format string) ([]byte, error) {
	for _, r := range rows {
		if len(r) != len(rows[0]) {
			panic("picture: EncodeTiles: rows of different lengths")
		}
	}
	n, m := len(rows), len(rows[0])
	return encode(float64(m)*width, float64(n)*height, format, func(area draw.Canvas) {
		const gap = 2 * vg.Millimeter
		tiles := draw.Tiles{Rows: n, Cols: m, PadX: gap, PadY: gap, PadTop: gap, PadBottom: gap, PadLeft: gap, PadRight: gap}
		for i, row := range rows {
			for j, chart := range row {
				chart.Draw(tiles.At(area, j, i))
			}
		}
	})
}

// onPage paints a chart with margins, because labels of ticks may reach beyond the axes.
func onPage(p *Chart) func(draw.Canvas) {
	return func(area draw.Canvas) {
		const margin = 2 * vg.Millimeter
		p.Draw(draw.Crop(area, margin, -2*margin, margin, -margin))
	}
}

// encode returns what paint draws on a canvas of the given size in centimetres.
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

// What Inline replaces: text and grids take the colours of the page, and its text has one font.
var (
	inlineSize  = regexp.MustCompile(`(?s)^.*?<svg[^>]*?viewBox="([^"]*)"[^>]*>`)
	inlineFont  = regexp.MustCompile(`font-family:[^;"]*;font-variant:[^;"]*;font-weight:(\w+);font-style:[^;"]*;`)
	inlineStyle = strings.NewReplacer("#222222", "currentColor", "#DDDDDD", "var(--grid)",
		"#0072B2", "var(--blue)", "\n", " ")
)

// Inline draws a chart of that width in centimetres as an element of an HTML page. Its text has the colour of the
// text around it, its grid the colour --grid and blue the colour --blue. A title and a description are for readers
// who do not see it.
func Inline(p *Chart, width float64) (string, error) {
	data, err := encode(width, p.Height, "svg", onPage(p))
	if err != nil {
		return "", err
	}
	at := inlineSize.FindSubmatchIndex(data)
	if at == nil {
		return "", fmt.Errorf("picture: %s: the drawing has no size", p.Name)
	}
	x, y := p.axes()
	body := inlineFont.ReplaceAllString(inlineStyle.Replace(string(data[at[1]:])), "font-weight:$1;")
	return Printable(fmt.Sprintf(`<svg role="img" viewBox="%s" style="max-width:%.4gcm"><title>%s</title>`+
		`<desc>Horizontal axis: %s. Vertical axis: %s.</desc>%s`, data[at[2]:at[3]], width, html.EscapeString(p.Name),
		html.EscapeString(x), html.EscapeString(y), strings.TrimSpace(body))), nil
}

// Printable replaces bytes that are not UTF-8 and control characters, which cannot be in an HTML page or drawing.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}
