package pipelines

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/internal/spell"
)

// keys returns the keys of a map, sorted.
func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// DidYouMean returns ` (did you mean "gaussian"?)` if one of the names is close
// to what was written, else nothing.
func DidYouMean(written string, names []string) string {
	if name := spell.Nearest(written, names); name != "" {
		return fmt.Sprintf(" (did you mean %q?)", name)
	}
	return ""
}
