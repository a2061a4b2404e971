package pipelines

import "testing"

func TestDistanceCountsEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "ab", 1}, {"abc", "xabc", 1},
		{"guassian", "gaussian", 1}, {"laplcae", "laplace", 1}, {"abcd", "badc", 2}, {"kitten", "sitting", 3}, {"ca", "abc", 3},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d edits, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("%q to %q: %d edits, want %d", c.b, c.a, got, c.want)
		}
	}
}

func TestOnlyCloseNamesAreSuggested(t *testing.T) {
	names := []string{"cauchy", "gaussian", "laplace", "matern", "mae", "r2"}
	for written, want := range map[string]string{
		"guassian": "gaussian", "gausian": "gaussian", "matérn": "matern", "Laplace": "laplace", "cachy": "cauchy", "mea": "mae", "r3": "r2",
		"": "", "x": "", "xy": "", "rbf": "", "linear": "", "accuracy": "",
	} {
		if want != "" {
			want = ` (did you mean "` + want + `"?)`
		}
		if got := DidYouMean(written, names); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
}
