package picture

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// EncodeTiles draws a grid of charts, each of that size in centimetres, as "png" or "svg". It
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
