package schema

import (
	"fmt"
	"slices"
	"testing"
)

func TestTextsThatLookTheSameAreListedWithEscapes(t *testing.T) {
	for want, texts := range map[string][]string{
		"":                                  {"a", "b", "ab", "a b", "1", "1.0", "é", "e", "", "ß", "s"},
		`"cafe\u0301", "caf\u00e9"`:         {"cafe\u0301", "tea", "café"},
		`"tea", "tea\u00a0"; "x  y", "x y"`: {"x y", "tea\u00a0", "tea", "x  y"},
		`"Tea", "tea ", "t\u200bea"`:        {"tea ", "Tea", "t\u200bea"},
		`"STRASSE", "stra\u00dfe"`:          {"straße", "STRASSE"},
		`"ab", "a\u00adb", "\ufeffab"`:      {"ab", "a\u00adb", "\ufeffab"},
		`"\u2764", "\u2764\ufe0f"`:          {"❤\ufe0f", "❤"},
		`"K", "k", "\u212a"`:                {"\u212a", "k", "K"},
	} {
		for range 2 {
			if got := Alike(slices.Clone(texts)); got != want {
				t.Errorf("%q: %s, want %s", texts, got, want)
			}
			slices.Reverse(texts)
		}
	}
	var many []string
	for i := range 7 {
		many = append(many, fmt.Sprint("a", i), fmt.Sprint("A", i))
	}
	if got, want := Alike(many), `"A0", "a0"; "A1", "a1"; "A2", "a2"; "A3", "a3"; "A4", "a4"; and 2 more`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
