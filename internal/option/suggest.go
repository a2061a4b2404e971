package option

import (
	"fmt"
	"maps"
	"slices"
)

// SortedNames returns the keys of a map, sorted: the names to choose from.
func SortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// DidYouMean returns ` (did you mean "gaussian"?)` if one of the names is close
// to what was written, else nothing.
func DidYouMean(written string, names []string) string {
	if name := NearestName(written, names); name != "" {
		return fmt.Sprintf(" (did you mean %q?)", name)
	}
	return ""
}
