// Package jobtest has helpers for tests of jobs.
package jobtest

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/synthetic"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// Ctx is the context of tests.
var Ctx = context.Background()

// Iterative returns the default options of an iterative learner, changed by set.
func Iterative(name string, set func(*iterative.Shared)) iterative.LearnerOptions {
	l, err := iterative.Lookup(name)
	if err != nil {
		panic(err)
	}
	o := l.New().(iterative.LearnerOptions)
	set(o.Common())
	return o
}

// Write writes a file in dir and returns its name.
func Write(t testing.TB, dir, name, content string) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return p
}

// Made returns the lines of sample data, the header first.
func Made(t testing.TB, name string, n int64, seed uint64) []string {
	t.Helper()
	set, ok := synthetic.Find(name)
	if !ok {
		t.Fatal("no set ", name)
	}
	var b strings.Builder
	if err := set.WriteCSV(Ctx, &b, n, seed, set.Noise); err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// Opened opens text as a table.
func Opened(t testing.TB, text string, o dataset.Options) *dataset.Dataset {
	t.Helper()
	o.Files = []string{Write(t, t.TempDir(), "data.csv", text)}
	d, err := dataset.Open(Ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Text returns what a result prints for people.
func Text(t testing.TB, r io.WriterTo) string {
	t.Helper()
	var b strings.Builder
	n, err := r.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("wrote %d of %d bytes: %v", n, b.Len(), err)
	}
	return b.String()
}

// WantError fails the test unless err has the exit code, and a message with all words.
func WantError(t *testing.T, what string, err error, code exit.Code, words ...string) {
	t.Helper()
	if err == nil || exit.CodeOf(err) != code {
		t.Errorf("%s: exit code %d of %v, want %d", what, exit.CodeOf(err), err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %q lacks %q", what, err, w)
		}
	}
}

// Classifier is the manifest of a classifier with k classes and without probabilities.
func Classifier(k int) *models.Manifest {
	return &models.Manifest{Task: models.Classification, Outputs: k,
		Targets: models.Targets{Vocabulary: schema.NewVocabulary([]string{"a", "b"})}}
}

// Calibrated is the manifest of a classifier with k classes and with probabilities.
func Calibrated(k int) *models.Manifest {
	m := Classifier(k)
	m.Probabilities = &models.Probabilities{Kind: models.Softmax}
	return m
}

// Plain returns the arguments of a command, with --search none after train and retrain if neither
// --search nor --recipe is there: searches would take most of the time of most tests.
func Plain(args []string) []string {
	given := func(flag string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return a == flag || strings.HasPrefix(a, flag+"=") })
	}
	trains := len(args) > 1 && (args[0] == "train" || args[0] == "retrain")
	if !trains || given("--search") || given("--recipe") || !given("--data") && !given("--config") {
		return args
	}
	return slices.Insert(slices.Clone(args), 1, "--search", "none")
}

// IsRefusal checks that a command printed why it refused in words that a person can act on, the given
// ones among them, and no result.
func IsRefusal(t testing.TB, stdout, stderr string, words ...string) {
	t.Helper()
	wrong := func(format string, args ...any) {
		t.Helper()
		t.Errorf(format+"\n%s", append(args, stderr)...)
	}
	if stdout != "" {
		wrong("a result was printed: %q", stdout)
	}
	for _, w := range words {
		if !strings.Contains(stderr, w) {
			wrong("the message lacks %q", w)
		}
	}
	for _, noise := range []string{
		"panic", "goroutine ", ".go:", "beam", "bundle", "bochner-fault", "%!", "\t", "csvio: ", "dataset: ", "imageio: ",
		"jsonlio: ", "models: models", "pipelines: ", "storage: ",
	} {
		if strings.Contains(stderr, noise) {
			wrong("the message has %q in it", noise)
		}
	}
	if lines := strings.Count(stderr, "\n"); lines < 1 || lines > 3 || !strings.HasPrefix(stderr, "bochner: ") {
		wrong("a message of %d lines, want one to three that begin with the program's name", lines)
	}
}
