package csvio

import (
	"strings"
	"unicode/utf8"
)

// nearest returns the name that word most likely stands for: the one of least
// edit distance, if that is at most a third of the word's length, case aside.
func nearest(word string, names []string) string {
	const longest, most = 64, 10_000 // the product of lengths is work
	if len(word) > longest {
		return ""
	}
	best, at := "", max(1, utf8.RuneCountInString(word)/3)+1
	for _, name := range names[:min(len(names), most)] {
		if len(name) > longest {
			continue
		}
		if d := distance([]rune(strings.ToLower(word)), []rune(strings.ToLower(name))); d < at {
			best, at = name, d
		}
	}
	return best
}

// distance returns the number of insertions, deletions and replacements that
// turn a into b (Levenshtein 1966).
func distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			replaced := diagonal
			if x != y {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
