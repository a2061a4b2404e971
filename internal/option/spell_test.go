package option

import (
	"strings"
	"testing"
)

func TestDistanceCountsEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "ab", 1}, {"abc", "xabc", 1},
		{"guassian", "gaussian", 1}, {"laplcae", "laplace", 1}, {"abcd", "badc", 2}, {"kitten", "sitting", 3}, {"ca", "abc",
			3}, {"matérn", "matern", 1},
	} {
		for _, p := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			if got := distance([]rune(p[0]), []rune(p[1])); got != c.want {
				t.Errorf("%q to %q: %d edits, want %d", p[0], p[1], got, c.want)
			}
		}
	}
}

func TestOnlyCloseNamesAreSuggested(t *testing.T) {
	names := []string{"cauchy", "gaussian", "laplace", "matern", "mae", "r2", "sepal_length", "größe"}
	for word, want := range map[string]string{
		"guassian": "gaussian", "gausian": "gaussian", "matérn": "matern", "Laplace": "laplace", "cachy": "cauchy",
		"mea": "mae", "sepal_lenght": "sepal_length", "SEPAL_LENGTH": "sepal_length", "grösse": "größe", "r3": "r2",
		"": "", "x": "", "xy": "", "rbf": "", "linear": "", "accuracy": "",
		strings.Repeat("gaussian", 9): "",
	} {
		if got := NearestName(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := NearestName("c0", []string{"c1", "c2"}); got != "c1" {
		t.Errorf("of two as near %q is taken, want the first", got)
	}
}
