package picture

import (
	"strings"
	"testing"
)

func TestFirstBarIsOnTop(t *testing.T) {
	p, err := Bars{Title: "title", X: "share", Y: "name", Names: []string{"first", "second", "last"},
		Values: []float64{3, 1, 0}}.Plot()
	if err != nil {
		t.Fatal(err)
	}
	data, err := Encode(p, 10, 8, "svg")
	if err != nil {
		t.Fatal(err)
	}
	height := map[string]string{}
	for _, line := range strings.Split(string(data), "\n") {
		for _, name := range []string{"first", "second", "last"} {
			if strings.Contains(line, ">"+name+"<") {
				height[name] = line
			}
		}
	}
	if len(height) != 3 {
		t.Fatalf("names in the picture: %v", height)
	}
	if ticks := p.Y.Tick.Marker.Ticks(0, 2); ticks[2].Label != "first" || ticks[0].Label != "last" {
		t.Errorf("ticks from the bottom: %v", ticks)
	}
	if p.X.Min != 0 || p.X.Max != 3 {
		t.Errorf("axis from %v to %v", p.X.Min, p.X.Max)
	}
}
