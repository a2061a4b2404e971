package picture

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

func TestTicksAreRoundNumbersInRange(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"}, {-0.45, 0.3, "−0.4 −0.2 0.0 0.2"}, {0, 12000, "0 2,000 4,000 6,000 8,000 10,000 12,000"},
		{0, 97, "0 20 40 60 80"}, {1e-9, 3e-9, "1e−9 1.5e−9 2e−9 2.5e−9 3e−9"}, {3, 3, "3"}, {0, 3e9, "0 5e8 1e9 1.5e9 2e9 2.5e9 3e9"},
	} {
		var got []string
		for _, k := range (ticks{}).Ticks(c.low, c.high) {
			if k.Value < c.low-1e-9 || k.Value > c.high*(1+1e-9)+1e-12 {
				t.Errorf("%g is not from %g to %g", k.Value, c.low, c.high)
			}
			got = append(got, k.Label)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%g to %g: %s, want %s", c.low, c.high, text, c.want)
		}
	}
	for v, want := range map[float64]string{1e-8: "1e−8", 0.001: "0.001", 1000: "1,000", 2e6: "2,000,000", 1e8: "1e8"} {
		if got := label(v, v); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
}

// Pairs of colour and shape differ for as many series as a scatter plot of digits has classes, and so do shapes
// without colours.
func TestSeriesDifferInShape(t *testing.T) {
	seen := map[string]bool{}
	for i := range 10 {
		shape := fmt.Sprintf("%#v", glyphs[i%len(glyphs)])
		if seen[shape] {
			t.Errorf("series %d has the shape of another", i)
		}
		seen[shape] = true
	}
}

func TestInlineChartsTakeTheColoursOfThePage(t *testing.T) {
	h := Histogram{Title: "Reliability <b>", X: "probability", Y: "share", Edges: []float64{0, 0.5, 1},
		Heights: []float64{0.25, 0.75}, Low: []float64{0.2, 0.7}, High: []float64{0.3, 0.8}, Labels: []string{"12", "34"},
		Diagonal: true}
	p, err := h.Plot()
	if err != nil {
		t.Fatal(err)
	}
	svg, err := Inline(p, 9)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<title>Reliability &lt;b&gt;</title>", "<desc>Horizontal axis: probability. Vertical " +
		"axis: share, with 95% intervals.</desc>", "currentColor", "var(--grid)",
		">probability<", ">share, with 95% intervals<", ">12<", ">34<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in %.200s", want, svg)
		}
	}
	for _, not := range []string{"http", "#222222", "font-family", "<?xml", "<b>"} {
		if strings.Contains(svg, not) {
			t.Errorf("%s in %s", not, svg)
		}
	}
}

// Labels of ticks do not touch each other, even if they are long and the chart is small.
func TestTickLabelsDoNotOverlap(t *testing.T) {
	for _, width := range []float64{3, 5, 9.4, 18} {
		for _, l := range []Lines{
			{Series: []Series{{X: []float64{19_302, 1_033_222}, Y: []float64{0, 1}}}},
			{LogX: true, Series: []Series{{X: []float64{1e-7, 3_000_000}, Y: []float64{0, 1}}}},
			{Names: strings.Fields(strings.Repeat("2026-01-02 ", 40)), Series: []Series{{X: []float64{1, 40}, Y: []float64{0,
				1}}}},
		} {
			l.Title, l.X, l.Y = "title", "x", "y"
			p, err := l.Plot()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Encode(p, width, 5, "svg"); err != nil {
				t.Fatal(err)
			}
			shown := p.X.Tick.Marker.(ticks)
			if room := vg.Length(width) * vg.Centimeter; shown.limit > 1 && shown.width(p.X.Min, p.X.Max) > 0.85*room {
				t.Errorf("%g cm: %v", width, shown.Ticks(p.X.Min, p.X.Max))
			}
		}
	}
}

func TestChartsWithoutAxisNamesPanic(t *testing.T) {
	for _, f := range []Figure{Lines{Title: "t", X: "x"}, Bars{Title: "t", Y: "y"}, Histogram{X: "x", Y: "y"}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%#v has a chart", f)
				}
			}()
			f.Plot()
		}()
	}
}

func TestNumberAndRangeFormatForReading(t *testing.T) {
	for want, got := range map[string]string{
		"47,551": Number(47550.8, 5), "73,300": Number(73_286, 3), "0.8301": Number(0.83008, 4), "−1.5": Number(-1.5, 4),
		"1.2e−9": Number(1.23e-9, 2), "0": Number(0, 4), "1 to 2,000": Range(1, 2000, 4), "-": Range(math.NaN(), 1, 4),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
