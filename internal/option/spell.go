package option

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of the work: longer names, and further ones, are ignored.
const (
	maxNameBytes = 64
	maxNames     = 10_000
)

// NearestName returns the name that word most likely stands for: the first name of the
// smallest distance, ignoring case. The distance must be at most a third of the length of
// the word, or 1 for shorter words; otherwise the result is "".
func NearestName(word string, names []string) string {
	if word == "" || len(word) > maxNameBytes {
		return ""
	}
	best, least := "", max(1, utf8.RuneCountInString(word)/3)+1
	for _, name := range names[:min(len(names), maxNames)] {
		if len(name) > maxNameBytes {
			continue
		}
		if d := distance([]rune(strings.ToLower(word)), []rune(strings.ToLower(name))); d < least &&
			d < utf8.RuneCountInString(word) {
			best, least = name, d
		}
	}
	return best
}

// distance returns the number of insertions, deletions, replacements and swaps of
// neighbours that turn a into b, no place being edited twice (optimal string
// alignment; Damerau 1964).
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		before, last, row = last, row, before
		row[0] = i + 1
		for j, y := range b {
			replaced := last[j]
			if x != y {
				replaced++
			}
			row[j+1] = min(replaced, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x == b[j-1] && a[i-1] == y {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// Names returns values of a named type as strings.
func Names[S ~string](values ...S) (names []string) {
	for _, v := range values {
		names = append(names, string(v))
	}
	return names
}

// SortedNames returns the keys of a map, sorted: the names to choose from.
func SortedNames[S ~string, V any](m map[S]V) []string { return Names(slices.Sorted(maps.Keys(m))...) }

// DidYouMean returns ` (did you mean "gaussian"?)` if one of the names is close
// to what was written, else nothing.
func DidYouMean(written string, names []string) string {
	if name := NearestName(written, names); name != "" {
		return fmt.Sprintf(" (did you mean %q?)", name)
	}
	return ""
}
