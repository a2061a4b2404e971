// Package imports tests which packages may import which: imports go down the
// folders of ARCHITECTURE.md, never up. It also tests that the documents for
// developers name what exists.
package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/bochner-ml/bochner/"

// floors lists the top folders from the lowest up. A package imports packages of
// its own floor and of those below. The packages of internal are tools of all
// floors and import none of them; io knows nothing of features.
var floors = []string{"internal", "io", "features", "models", "transforms", "pipelines", "examples", "local"}

// rooms lists the packages of a floor that import one another, from the lowest up; a floor
// has others, which know none of these.
var rooms = map[string][]string{
	"pipelines": {"exit", "registry", "results/table", "internal/report", "engine", "engine/remote", "results", "options",
		"internal/job", "internal/prepare", "internal/tuning", "internal/modelreport", "internal/spec", "internal/training",
		"internal/twosample", "internal/apply", "internal/serve", "internal/evaluate", "internal/pages", "internal/sumdirs",
		"internal/ask",
		"internal/segments", "internal/days", "plan", "", "command", "bochner"},
}

// only lists what may import a library that has its place.
var only = map[string][]string{
	"github.com/apache/beam/sdks/v2": {"transforms", "pipelines", "examples", "local", "internal/testing/prismtest"},
	"github.com/spf13/cobra":         {"pipelines/command"},
	"cloud.google.com/go/storage":    {"io/storage/gcs"},
	"cloud.google.com/go/pubsub":     {"io/messages/pubsub", "internal/testing/pubsubtest"},
}

type pkg struct {
	ImportPath, Dir         string
	GoFiles, IgnoredGoFiles []string // for this machine, and for others
	Imports                 []string
	TestImports             []string
	XTestImports            []string
}

// packages lists the packages of this module, once for all tests.
func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := listed()
	if err != nil || len(all) < 20 {
		t.Fatalf("%d packages listed: %v", len(all), err)
	}
	return all
}

var listed = sync.OnceValues(func() (all []pkg, err error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,IgnoredGoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = "../../.."
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

// support has packages for tests. They import what they need, and only tests import them.
const support = module + "internal/testing/"

// floor returns the place of a package in floors, -1 for one of another module and for support of tests.
func floor(t *testing.T, path string) int {
	rel, ours := strings.CutPrefix(path, module)
	if !ours || strings.HasPrefix(path, support) {
		return -1
	}
	top, _, _ := strings.Cut(rel, "/")
	for i, f := range floors {
		if f == top {
			return i
		}
	}
	t.Errorf("%s is on no floor", path)
	return len(floors)
}

// room returns the place of a package among the rooms of its floor, -1 for one that is
// none of them.
func room(path string) int {
	top, name, _ := strings.Cut(strings.TrimPrefix(path, module), "/")
	return slices.Index(rooms[top], name)
}

func TestImportsGoDown(t *testing.T) {
	for _, p := range packages(t) {
		own := floor(t, p.ImportPath)
		if own < 0 {
			continue
		}
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if strings.HasPrefix(imported, support) && slices.Contains(p.Imports, imported) &&
				!strings.HasPrefix(p.ImportPath, module+"local/") {
				t.Errorf("%s imports %s, which is for tests", p.ImportPath, imported)
			}
			if f := floor(t, imported); f > own && !slices.Contains(p.Imports, imported) {
				t.Errorf("the tests of %s import %s, which is above it", p.ImportPath, imported)
			} else if f > own {
				t.Errorf("%s imports %s, which is above it", p.ImportPath, imported)
			}
			if from, to := room(p.ImportPath), room(imported); from >= 0 && to >= from && imported != p.ImportPath {
				t.Errorf("%s imports %s, which is not a room below it", p.ImportPath, imported)
			}
		}
		if rel := strings.TrimPrefix(p.ImportPath, module); rel == "io" {
			t.Errorf("%s holds Go files and shadows the standard io", p.ImportPath)
		}
	}
}

func TestLibrariesAreImportedOnlyWhereAllowed(t *testing.T) {
	for _, p := range packages(t) {
		rel := strings.TrimPrefix(p.ImportPath, module)
		for _, imported := range p.Imports {
			for library, places := range only {
				if imported != library && !strings.HasPrefix(imported, library+"/") {
					continue
				}
				allowed := false
				for _, place := range places {
					allowed = allowed || rel == place || strings.HasPrefix(rel, place+"/")
				}
				if !allowed {
					t.Errorf("%s imports %s, which only %v may", p.ImportPath, imported, places)
				}
			}
		}
	}
}
