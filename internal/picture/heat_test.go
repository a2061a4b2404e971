package picture

import (
	"bytes"
	"image/png"
	"testing"
)

func TestPlaneIsColouredAtItsValues(t *testing.T) {
	p := Heat{Title: "t", X: "x", Y: "y", Half: 1, Rows: 2, Cols: 2, Values: []float64{1, 1, -1, -1}, Signed: true,
		Levels: []float64{0}}
	if p.At(0, 2) != -0.5 || p.At(1, 2) != 0.5 {
		t.Errorf("middles of cells %g, %g", p.At(0, 2), p.At(1, 2))
	}
	p.Spots = []Spots{{X: []float64{0.5}, Y: []float64{-0.5}, Radius: []float64{9}}}
	drawn, err := p.Plot()
	if err != nil {
		t.Fatal(err)
	}
	drawn.HideAxes()
	data, err := EncodeTiles([][]*Chart{{drawn, drawn}}, 10, 10, "png")
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	b := img.Bounds()
	for _, left := range []float64{0, 0.5} { // both tiles
		at := func(x, y float64) (r, g, blue uint32) {
			r, g, blue, _ = img.At(int((left+x/2)*float64(b.Dx())), int(y*float64(b.Dy()))).RGBA()
			return
		}
		if r, _, blue := at(0.3, 0.3); r <= blue {
			t.Error("values above 0 are not red, on top")
		}
		if r, _, blue := at(0.3, 0.8); r >= blue {
			t.Error("values below 0 are not blue, at the bottom")
		}
		if r, g, _ := at(0.74, 0.74); r > 0 || g>>8 != 0x72 {
			t.Error("no spot where it was put")
		}
	}
}
