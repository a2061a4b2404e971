package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/runes"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/rangetable"
)

// mostAlike is the number of texts that look the same, and of such groups, that Alike lists.
const mostAlike = 5

// Alike lists, for a message, texts that differ only in case, Unicode form, spaces or invisible
// characters. They are quoted with escapes. The result is "" if there are none.
func Alike(texts []string) string {
	looks := map[string][]string{}
	for _, text := range texts {
		look := Look(text)
		looks[look] = append(looks[look], text)
	}
	var groups []string
	for _, same := range looks {
		if slices.Sort(same); len(same) > 1 {
			for i, text := range same {
				same[i] = strconv.QuoteToASCII(fmt.Sprintf("%.40s", text))
			}
			groups = append(groups, first(same, ", "))
		}
	}
	slices.Sort(groups)
	return first(groups, "; ")
}

var invisible = rangetable.Merge(unicode.Cf, unicode.Variation_Selector)

// Look returns a normal form of a text, equal for texts that differ only as Alike describes.
func Look(text string) string {
	visible := runes.Remove(runes.In(invisible)).String(norm.NFKC.String(text))
	return strings.Join(strings.Fields(norm.NFKC.String(cases.Fold().String(visible))), " ")
}

// first joins the first few items.
func first(items []string, by string) string {
	if more := len(items) - mostAlike; more > 0 {
		items = append(slices.Clone(items[:mostAlike]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(items, by)
}
