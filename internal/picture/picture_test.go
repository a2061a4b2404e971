package picture

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
)

func TestChartIsDrawnTheSameTwice(t *testing.T) {
	chart := Lines{
		Title: "title", X: "features", Y: "error", LogX: true, LogY: true,
		Series: []Series{{Name: "first", X: []float64{10, 100, 1000}, Y: []float64{1, 0.3, 0.1},
			Low: []float64{0.9, -1.7, 0.09}, High: []float64{1.1, 2.3, 0.11}},
			{Name: "second", X: []float64{10}, Y: []float64{1}}},
	}
	for _, format := range []string{"png", "svg"} {
		var first []byte
		for range 2 {
			p, err := chart.Plot()
			if err != nil {
				t.Fatal(err)
			}
			data, err := Encode(p, 10, 8, format)
			if err != nil {
				t.Fatal(err)
			}
			if first != nil && !bytes.Equal(first, data) {
				t.Errorf("%s: other bytes the second time", format)
			}
			first = data
		}
		if format == "svg" {
			for _, want := range []string{"features", "error", "title", "first", "second"} {
				if !strings.Contains(string(first), want) {
					t.Errorf("the picture has no text %q", want)
				}
			}
			continue
		}
		img, err := png.Decode(bytes.NewReader(first))
		if err != nil {
			t.Fatal(err)
		}
		if w := img.Bounds().Dx(); w != 787 { // 10 cm at 200 dots an inch
			t.Errorf("the picture is %d dots wide", w)
		}
	}
}

func TestLinesOfFewOrZeroValuesAreDrawn(t *testing.T) {
	for name, s := range map[string]Series{
		"one point": {X: []float64{1000}, Y: []float64{0.1}, Low: []float64{0.1}, High: []float64{0.1}},
		"zero":      {X: []float64{10, 1000}, Y: []float64{0, 0}, Low: []float64{0, 0}, High: []float64{0, 0}},
		"wide band": {X: []float64{10, 1000}, Y: []float64{1, 2}, Low: []float64{-4, -7}, High: []float64{6, 11}},
	} {
		p, err := Lines{Title: name, X: "x", Y: "y", LogX: true, LogY: true, Series: []Series{s}}.Plot()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := Encode(p, 8, 6, "png"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHeatPutsTheFirstRowOnTop(t *testing.T) {
	h := Heat{Title: "t", X: "x", Y: "y", Z: "z", Rows: 2, Cols: 3, Values: []float64{1, 2, 3, 4, 5, 6}}
	if g := (grid{h}); g.Z(0, 1) != 1 || g.Z(2, 0) != 6 {
		t.Error("rows are turned over")
	}
	p, err := h.Plot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Encode(p, 5, 5, "png"); err != nil {
		t.Fatal(err)
	}
}
