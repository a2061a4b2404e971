package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// inModule runs the go command in dir, as a module of its own that requires this one, and
// returns what it prints.
func inModule(dir, command string, args ...string) (string, error) {
	module, err := os.ReadFile(source("go.mod"))
	if err != nil {
		return "", err
	}
	sums, err := os.ReadFile(source("go.sum"))
	if err != nil {
		return "", err
	}
	module = regexp.MustCompile(`(?m)^module .*`).ReplaceAll(module, []byte("module example.com/consumer"))
	module = regexp.MustCompile(`(?ms)^tool \(.*?^\)`).ReplaceAll(module, nil)
	module = append(module, "\nrequire github.com/bochner-ml/bochner v0.0.0\nreplace github.com/bochner-ml/bochner => "+
		moduleDir+"\n"...)
	for name, text := range map[string][]byte{"go.mod": module, "go.sum": sums} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			return "", err
		}
	}
	cmd := exec.Command("go", append([]string{command, "-mod=mod"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOPROXY=off", "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", command, err, stderr.String())
	}
	return string(out), nil
}

// together is all programs of examples in one, because linking each takes as long as many tests. The
// name under which it is started says which one runs; a runner starts the program of rows under a name
// of its own.
const together = `package main

import (
	"os"
	"path/filepath"

	"example.com/consumer/http"
	"example.com/consumer/pipeline"
	"example.com/consumer/rows"
	"example.com/consumer/slices"
	"example.com/consumer/train"
)

func main() {
	switch filepath.Base(os.Args[0]) {
	case "train":
		train.Main()
	case "slices":
		slices.Main()
	case "pipeline":
		pipeline.Main()
	case "http":
		http.Main()
	default:
		rows.Main()
	}
}
`

// houses is what the program of docs/go.md is without.
const houses = `package houses

import (
	"context"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window/trigger"

	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/transforms/rows"
)

func use(beam.Scope, ...beam.PCollection) error { return nil }

`

// consumers compiles the program of docs/go.md and the programs of examples in a module of their own, which has the
// public packages only, and returns the module's directory; the programs are below it, in bin.
var consumers = sync.OnceValues(func() (dir string, err error) {
	dir = filepath.Join(filepath.Dir(binary), "consumer")
	put := func(name, text string) {
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, name), 0o777),
			os.WriteFile(filepath.Join(dir, name, "main.go"), []byte(text), 0o666))
	}
	put("together", together)
	for _, name := range []string{"score", "train", "slices", "pipeline", "http", "rows"} {
		text, readErr := os.ReadFile(filepath.Join(source("examples"), name, "main.go"))
		err = errors.Join(err, readErr)
		if name != "score" { // which is to be small
			text = bytes.Replace(text, []byte("\npackage main\n"), []byte("\npackage "+name+"\n"), 1)
			text = bytes.Replace(text, []byte("\nfunc main() {\n"), []byte("\nfunc Main() {\n"), 1)
		}
		put(name, string(text))
	}
	page, readErr := os.ReadFile(source("docs/go.md"))
	if _, text, found := strings.Cut(string(page), "```go\ntype House"); found && readErr == nil {
		text, _, _ = strings.Cut(text, "```")
		put("houses", houses+"type House"+text)
	} else {
		err = errors.Join(err, readErr, errors.New("docs/go.md has no program of houses"))
	}
	if err == nil {
		_, err = inModule(dir, "build", "-ldflags=-s -w", "-o", "bin/", "./score", "./together", "./houses")
	}
	for _, name := range []string{"train", "slices", "pipeline", "http"} {
		err = errors.Join(err, os.Symlink("together", filepath.Join(dir, "bin", name)))
	}
	return dir, err
})

// The programs of examples work in a module of their own.
func TestOtherModuleTrainsLoadsAndPredicts(t *testing.T) {
	module, err := consumers()
	if err != nil {
		t.Fatal(err)
	}
	dir, bin := t.TempDir(), filepath.Join(module, "bin")
	start := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir = dir
		r := runCommand(t, cmd)
		if r.code != 0 || r.stderr != "" || strings.Count(r.stdout, "\n") != 1 {
			t.Fatalf("%s: exit code %d\n%s%s", name, r.code, r.stdout, r.stderr)
		}
		return strings.TrimSuffix(r.stdout, "\n")
	}
	must(t, dir, "generate", "moons", "--rows", "1000", "--out", "train.csv")
	must(t, dir, "generate", "moons", "--rows", "1000", "--seed", "2", "--out", "test.csv")
	if said := start("train", "train.csv", "test.csv", "model"); said < "accuracy 0.95" || said > "accuracy 1" {
		t.Errorf("said %q", said)
	}
	if said := start("slices"); said != "ridge 400 svm 400 sgd 400" {
		t.Errorf("said %q", said)
	}
	if said := start("pipeline", "model", "counts"); said != "-1: 100, 1: 100" {
		t.Errorf("said %q", said)
	}
	// A model is found by its directory or by its URI, and predicts what the command does.
	must(t, dir, "train", "--data", "train.csv", "--label", "y", "--features", "128", "--lambda", "1e-6", "--calibrate",
		"platt", "--model", "platt", "--quiet")
	must(t, dir, "predict", "--model", "platt", "--data", "test.csv", "--out", "predicted", "--probabilities", "--quiet")
	rows := strings.Split(read(t, dir, "test.csv"), "\n")
	header := strings.Split(rows[0], ",")
	want := strings.Split(read(t, dir, "predicted", "part-00000.csv"), "\n")
	for i := range 5 {
		fields, said := strings.Split(rows[i+1], ","), strings.Split(want[i+1], ",")
		args := []string{"platt", header[1] + "=" + fields[1], header[0] + "=" + fields[0]}
		p := said[1]
		if said[0] == "1" {
			p = said[2]
		}
		if got := start("score", args...); got != said[0]+" "+p {
			t.Errorf("row %s: %q, and the command predicts %q", rows[i+1], got, want[i+1])
		}
	}
	if r := runCommand(t, exec.Command(filepath.Join(bin, "score"), filepath.Join(dir, "none"))); r.code != 1 ||
		!strings.HasSuffix(r.stderr, "none: train a model first\n") {
		t.Errorf("no model: %q", r.stderr)
	}
	for _, name := range []string{"score", "train"} {
		if r := runCommand(t, exec.Command(filepath.Join(bin, name))); r.code != 1 || !strings.Contains(r.stderr, "usage: "+name) {
			t.Errorf("%s without arguments: exit code %d, %q", name, r.code, r.stderr)
		}
	}
	if r := runCommand(t, exec.Command(filepath.Join(bin, "score"), "gs://bucket/model")); r.code != 1 ||
		!strings.Contains(r.stderr, "a program that imports github.com/bochner-ml/bochner/io/storage/gcs knows it") {
		t.Errorf("no scheme: %q", r.stderr)
	}

	// A program that scores is small, and has nothing of Beam, of a cloud, or of a network.
	fi, err := os.Stat(filepath.Join(bin, "score"))
	if err != nil || fi.Size() > 12<<20 {
		t.Errorf("a program that scores has %d bytes, want at most 12 MB: %v", fi.Size(), err)
	}
	deps, err := inModule(module, "list", "-deps", "./score")
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(deps) {
		for _, heavy := range []string{"github.com/apache/beam", "cloud.google.com", "google.golang.org",
			"go.opentelemetry.io", "github.com/spf13", "gonum.org/v1/plot", "net"} {
			if dep == heavy || strings.HasPrefix(dep, heavy+"/") {
				t.Errorf("a program that scores has %s", dep)
			}
		}
	}
}
