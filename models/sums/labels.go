package sums

import (
	"net/url"
	"strings"
)

// labelsOf returns what the elements of a place say that its rows have in common: the element
// country=DE says that country is DE. Values are escaped as in URLs. Of the date of a directory such
// as dt=2026-11-20-part-2, with rows that came late, the number of the part is left out.
func labelsOf(place string) map[string]string {
	labels := map[string]string{}
	for element := range strings.SplitSeq(place, "/") {
		name, value, ok := strings.Cut(element, "=")
		if !ok || name == "" {
			continue
		}
		value, _, _ = strings.Cut(value, "-part-")
		if plain, err := url.PathUnescape(value); err == nil {
			value = plain
		}
		labels[name] = value
	}
	return labels
}
