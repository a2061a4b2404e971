package imports

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxLines is the largest number of lines of a package, without its tests and what is generated: as
// much as one reads in a day.
const maxLines = 2500

// large lists packages with more lines.
var large = map[string]int{
	"features/preprocess":         3620, // one file a step
	"features/skeleton":           2630,
	"io/dataset":                  4720,
	"io/schema":                   4070,
	"models":                      3150,
	"models/ridge":                3480,
	"models/score":                3775,
	"models/search":               3095,
	"pipelines/internal/days":     3580,
	"pipelines/internal/prepare":  2870,
	"pipelines/internal/training": 3630,
	"pipelines/results":           2620, // one file a job
	"transforms/scoring":          2780,
	"internal/blas":               4550, // each routine has a Go form and one per level of two families of CPUs
}

func TestPackagesAreSmall(t *testing.T) {
	for _, p := range packages(t) {
		lines := 0
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(text, []byte("// Code generated ")) {
				lines += bytes.Count(text, []byte("\n"))
			}
		}
		rel := strings.TrimPrefix(p.ImportPath, module)
		limit, isLarge := large[rel]
		switch {
		case !isLarge && lines > maxLines:
			t.Errorf("%s has %d lines, at most %d: find the part that can be a package of its own", rel, lines, maxLines)
		case isLarge && lines > limit:
			t.Errorf("%s has %d lines, at most %d", rel, lines, limit)
		case isLarge && lines <= maxLines:
			t.Errorf("%s has only %d lines: take it from the list of large packages", rel, lines)
		}
	}
}
