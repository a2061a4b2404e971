package imports

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rounded lists packages whose results must not differ between processors, and their files, without
// .go, that may hold fused multiply-adds: they ask for them by name, or have only sums of products
// of two float32, which are exact in float64, or numbers that no model depends on.
var rounded = map[string][]string{
	"features/learned":             nil,
	"features/patches":             nil,
	"features/preprocess":          {"scale_unit"},
	"features/skeleton":            nil,
	"features/stream":              nil,
	"models/agop":                  nil,
	"models/align":                 nil,
	"models/cg":                    nil,
	"models/loss":                  nil,
	"models/pca":                   nil,
	"models/ridge":                 nil,
	"models/ridge/internal/solver": {"work"},
	"models/score":                 {"curve", "estimate", "norm", "precision", "ranking", "threshold"},
	"models/search":                {"targetgrid"},
	"models/sgd":                   nil,
	"models/svm":                   nil,
}

var (
	instruction = regexp.MustCompile(`\((.*)\.go:\d+\)\t(F[A-Z]+)\s`)
	fused       = regexp.MustCompile("^FN?M(ADD|SUB)")
)

// No product is fused with the sum that it is part of. Go's compiler does that on arm64 unless the product is
// rounded explicitly.
func TestNoFusedMultiplyAddOnArm64(t *testing.T) {
	cmd := exec.Command("go", "build", "-gcflags=-S")
	for name := range rounded {
		cmd.Args = append(cmd.Args, "./"+name)
	}
	cmd.Dir = "../../.."
	cmd.Env = append(cmd.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	name, multiplies := "", map[string]bool{}
	for line := range bytes.Lines(out) {
		if header, ok := bytes.CutPrefix(line, []byte("# "+module)); ok {
			name = strings.TrimSpace(string(header))
		}
		if !bytes.Contains(line, []byte("\tF")) {
			continue // of most lines this is soon known
		}
		l := instruction.FindSubmatch(line)
		if l == nil {
			continue
		}
		multiplies[name] = multiplies[name] || string(l[2]) == "FMULD"
		if fused.Match(l[2]) && !slices.Contains(rounded[name], filepath.Base(string(l[1]))) {
			t.Errorf("%s: %s", name, line)
		}
	}
	for name := range rounded {
		if !multiplies[name] {
			t.Errorf("found no multiplication in the listing of %s", name)
		}
	}
}
