package options

import (
	"math"
	"testing"
)

func TestSharesParsePercentAndFraction(t *testing.T) {
	for text, want := range map[string]Share{"0.1%": 0.001, " 2% ": 0.02, "0.001": 0.001, "": 0, "0": 0} {
		var s Share
		if err := s.UnmarshalText([]byte(text)); err != nil || math.Abs(float64(s-want)) > 1e-12 {
			t.Errorf("%q: %g, %v", text, s, err)
		}
	}
	for _, text := range []string{"x", "%", "NaN", "1e999", "0.1%%"} {
		if err := new(Share).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func FuzzShare(f *testing.F) {
	f.Add("0.1%")
	f.Fuzz(func(t *testing.T, text string) {
		var s, again Share
		if s.UnmarshalText([]byte(text)) != nil {
			return
		}
		out, _ := s.MarshalText()
		if err := again.UnmarshalText(out); err != nil || math.Abs(float64(again-s)) > 1e-9*math.Abs(float64(s)) {
			t.Errorf("%q: %g becomes %s: %g, %v", text, float64(s), out, float64(again), err)
		}
	})
}
