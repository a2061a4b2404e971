package preprocess

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestDifferencesFollowTheRow(t *testing.T) {
	r := Differences{In: 3, Pairs: []Difference{{First: 2, Second: 0, A: 2, B: 0.5, C: -1}, {First: 0, Second: 1, A: 1, B: 1}}}
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, 10)
	m.Apply(got, []float32{4, 7, 1, -2, -3, 0.25}, 2)
	if want := []float32{4, 7, 1, 1, 3, -2, -3, 0.25, 0.5, 1}; !slices.Equal(got, want) {
		t.Errorf("have %v, want %v", got, want)
	}
}

func TestInvalidDifferencesAreRejected(t *testing.T) {
	nan := float32(math.NaN())
	for want, r := range map[string]Differences{
		"few":                        {In: 2},
		"pair 1: columns 0 and 2":    {In: 2, Pairs: []Difference{{First: 0, Second: 2}}},
		"pair 2: columns 1 and 1":    {In: 2, Pairs: []Difference{{Second: 1}, {First: 1, Second: 1}}},
		"pair 1: a, b and c must be": {In: 2, Pairs: []Difference{{Second: 1, C: nan}}},
		"pair 1: columns -1 and 0;":  {In: 2, Pairs: []Difference{{First: -1}}},
		"Differences":                {Pairs: []Difference{{Second: 1}}},
	} {
		if _, err := r.New(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", r, err, want)
		}
	}
}
