package linear

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

func TestGridsApplyToTheirTargets(t *testing.T) {
	g := Grids{{Low: -1, High: 1}, {Low: 100, High: 300}}
	if got := g.Append([]int32{7}, []float64{-1, 100, 1, 200}); !slices.Equal(got,
		[]int32{7, -maxTarget, -maxTarget, maxTarget, 0}) {
		t.Errorf("points %v", got)
	}
	got := make([]float64, 4)
	g.Unscaled(got, []float32{0.5, 0.5, -1, -1})
	if !slices.Equal(got, []float64{0.5, 250, -1, 100}) {
		t.Errorf("targets %v", got)
	}
	g[1].High = 50
	if g.Validate() == nil {
		t.Error("a range with its ends exchanged is valid")
	}
}

func TestOneGridIsAnObjectAndSeveralAreAnArray(t *testing.T) {
	for want, g := range map[string]Grids{
		`{"low":-1,"high":2}`:                        {{Low: -1, High: 2}},
		`[{"low":-1,"high":2},{"low":0,"high":0.5}]`: {{Low: -1, High: 2}, {High: 0.5}},
	} {
		data, err := json.Marshal(g)
		if err != nil || string(data) != want {
			t.Errorf("%s, want %s: %v", data, want, err)
		}
		var again Grids
		if err := json.Unmarshal(data, &again); err != nil || !reflect.DeepEqual(again, g) {
			t.Errorf("%s: %v, %v", data, again, err)
		}
	}
	var none struct {
		Grid Grids `json:"grid,omitempty"`
	}
	if data, _ := json.Marshal(none); string(data) != "{}" {
		t.Errorf("no grid is %s", data)
	}
}
