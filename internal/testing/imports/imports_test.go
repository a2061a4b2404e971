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

// layers lists the top folders from the lowest up. A package imports packages of
// its own layer and of the layers below. The packages of internal are tools of all
// layers and import none of them; io knows nothing of features.
var layers = []string{"internal", "io", "features", "models", "transforms", "pipelines", "examples", "local"}

// ordered lists the packages of a layer that import one another, from the lowest up. The layer may have
// other packages, which import none of these.
var ordered = map[string][]string{
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

// layer returns the index of the layer of a package, -1 for one of another module and for support of tests.
func layer(t *testing.T, path string) int {
	rel, ours := strings.CutPrefix(path, module)
	if !ours || strings.HasPrefix(path, support) {
		return -1
	}
	top, _, _ := strings.Cut(rel, "/")
	for i, f := range layers {
		if f == top {
			return i
		}
	}
	t.Errorf("%s is in no layer", path)
	return len(layers)
}

// rank returns the index of a package among the ordered ones of its layer, -1 for others.
func rank(path string) int {
	top, name, _ := strings.Cut(strings.TrimPrefix(path, module), "/")
	return slices.Index(ordered[top], name)
}

func TestImportsGoDown(t *testing.T) {
	for _, p := range packages(t) {
		own := layer(t, p.ImportPath)
		if own < 0 {
			continue
		}
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if strings.HasPrefix(imported, support) && slices.Contains(p.Imports, imported) &&
				!strings.HasPrefix(p.ImportPath, module+"local/") {
				t.Errorf("%s imports %s, which is for tests", p.ImportPath, imported)
			}
			if f := layer(t, imported); f > own && !slices.Contains(p.Imports, imported) {
				t.Errorf("the tests of %s import %s, which is above it", p.ImportPath, imported)
			} else if f > own {
				t.Errorf("%s imports %s, which is above it", p.ImportPath, imported)
			}
			if from, to := rank(p.ImportPath), rank(imported); from >= 0 && to >= from && imported != p.ImportPath {
				t.Errorf("%s imports %s, which is not below it", p.ImportPath, imported)
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
