package options

import (
	"strings"
	"testing"
)

func TestWindowTextRoundTrips(t *testing.T) {
	for text, want := range map[string]Window{"": {}, "90d": {Days: 90}, "auto": {Auto: true},
		"auto up to 365d": {true, 365}} {
		w := Window{true, 7}
		if err := w.UnmarshalText([]byte(text)); err != nil || w != want {
			t.Errorf("%q: %+v, %v", text, w, err)
		}
		if again, err := w.MarshalText(); err != nil || string(again) != text {
			t.Errorf("%q is written as %q, %v", text, again, err)
		}
	}
	for _, text := range []string{"0d", "-3", "auto 90d", " up to 9d", "autoup to 9d", "auto up to ", "ninety", "auto up to 0d"} {
		var w Window
		if err := w.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "number of days such as 90d, auto") {
			t.Errorf("%q: %+v, %v", text, w, err)
		}
	}
}
