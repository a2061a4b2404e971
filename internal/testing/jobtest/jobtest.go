// Package jobtest has helpers for tests of jobs.
package jobtest

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/sample"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// Ctx is the context of tests.
var Ctx = context.Background()

// Iterative returns the default options of an iterative learner, changed by set.
func Iterative(name string, set func(*iterative.Shared)) iterative.Iterative {
	l, err := iterative.Lookup(name)
	if err != nil {
		panic(err)
	}
	o := l.New().(iterative.Iterative)
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
	set, ok := sample.Find(name)
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
	o.Data = []string{Write(t, t.TempDir(), "data.csv", text)}
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
func WantError(t *testing.T, what string, err error, code int, words ...string) {
	t.Helper()
	if err == nil || exit.Code(err) != code {
		t.Errorf("%s: exit code %d of %v, want %d", what, exit.Code(err), err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %q lacks %q", what, err, w)
		}
	}
}

// Classifier is the manifest of a classifier with that many classes.
func Classifier(k int, probabilities bool) *models.Manifest {
	m := &models.Manifest{Task: models.Classification, Outputs: k,
		Targets: models.Targets{Vocabulary: schema.NewVocabulary([]string{"a", "b"})}}
	if probabilities {
		m.Probabilities = &models.Probabilities{Kind: models.Softmax}
	}
	return m
}
