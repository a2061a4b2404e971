package fault

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTextRemovesPackagePrefixes(t *testing.T) {
	for text, want := range map[string]string{
		"csvio: train.csv:183:7: \"abc\" is not a number":                   "train.csv:183:7: \"abc\" is not a number",
		"--config: storage: open none.yaml: no such file":                   "--config: open none.yaml: no such file",
		"pipelines: runner prism: storage: open f: denied":                  "runner prism: open f: denied",
		"models: models: the directory does not exist":                      "models: the directory does not exist",
		"gate not passed: r2 is 0\nstorage: create p: full\nm is complete":  "gate not passed: r2 is 0\ncreate p: full\nm is complete",
		"--config: flags.yaml: features: \"many\" is not a number":          "--config: flags.yaml: features: \"many\" is not a number",
		"schema.yaml: columns: 3: no name":                                  "schema.yaml: columns: 3: no name",
		"csvio: d.csv:2:1: column \"a: storage: b\": \"x\" is not a number": "d.csv:2:1: column \"a: storage: b\": \"x\" is not a number",
		"models: storage: open m: denied":                                   "open m: denied",
		"csvio: storage: is empty":                                          "storage: is empty",
		"--gram: models: ridge: not found":                                  "--gram: models: not found",
		"--config: flags.yaml: ratio: \"many\" is not a number":             "--config: flags.yaml: ratio: \"many\" is not a number",
		"ratio: 1 value is missing":                                         "ratio: 1 value is missing",
	} {
		if got := Text(errors.New(text)); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

// shown are beginnings of errors that are no packages: fields, jobs and encodings.
var shown = strings.Fields(`brotli buckets event fill header intervals layout number numbers onehot space strict table`)

// Every prefix with which errors of the program begin is known.
func TestAllPackagePrefixesAreKnown(t *testing.T) {
	begins, seen := regexp.MustCompile(`(?:errors\.New|(?:Error|Usage|Data|Invalid)f)\(\s*"([a-z]+): `), 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), "_") || d.Name() == "local" || d.Name() == "deploy" ||
			d.Name() == "build" ||
			strings.HasSuffix(d.Name(), "test")):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range begins.FindAllSubmatch(text, -1) {
			seen++
			name := string(m[1])
			if got := Text(errors.New(name + ": why")); got != "why" && !slices.Contains(shown, name) {
				t.Errorf("%s: errors begin with %s, which users see: %q", path, name, got)
			}
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("%d files, %v", seen, err)
	}
}
