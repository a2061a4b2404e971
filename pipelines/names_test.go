package pipelines

import "testing"

func TestSuggestions(t *testing.T) {
	for written, want := range map[string]string{"gausian": ` (did you mean "gaussian"?)`, "rbf": "", "": ""} {
		if got := DidYouMean(written, []string{"cauchy", "gaussian"}); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
}
