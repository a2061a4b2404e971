package pipelines

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/prismtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/sample"
)

func TestMain(m *testing.M) {
	RegisterRunner(Runner{Name: "prism", Lanes: prismtest.Lanes, Run: prismtest.Run})
	os.Exit(m.Run())
}

var ctx = context.Background()

// write writes a file below dir and returns its name.
func write(t testing.TB, dir, name, content string) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return p
}

// made returns the lines of sample data, the header first.
func made(t testing.TB, name string, n int64, seed uint64) []string {
	t.Helper()
	set, ok := sample.Find(name)
	if !ok {
		t.Fatal("no set ", name)
	}
	var b strings.Builder
	if err := set.WriteCSV(ctx, &b, n, seed, set.Noise); err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// opened opens text as a table.
func opened(t testing.TB, text string, o dataset.Options) *dataset.Dataset {
	t.Helper()
	o.Data = []string{write(t, t.TempDir(), "data.csv", text)}
	d, err := dataset.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// text returns what a result prints for people.
func text(t testing.TB, r io.WriterTo) string {
	t.Helper()
	var b strings.Builder
	n, err := r.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("wrote %d of %d bytes: %v", n, b.Len(), err)
	}
	return b.String()
}

func wantError(t *testing.T, what string, err error, code int, words ...string) {
	t.Helper()
	if err == nil || ExitCode(err) != code {
		t.Errorf("%s: exit code %d of %v, want %d", what, ExitCode(err), err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %q lacks %q", what, err, w)
		}
	}
}

// A process that lives on, as a Go program of its user does, finds the new model
// where another one stood.
func TestAModelThatReplacesAnotherIsTheOneThatIsUsed(t *testing.T) {
	dir := t.TempDir()
	data := dataset.Options{Data: []string{filepath.Join(dir, "train.csv")}, Label: "y"}
	if _, err := Generate(t.Context(), GenerateOptions{Set: "moons", Rows: 300, Seed: 1, Noise: -1, Out: data.Data[0]}); err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(dir, "model")
	var accuracies []float64
	for _, features := range []int{2, 128} {
		if err := os.RemoveAll(model); err != nil {
			t.Fatal(err)
		}
		o := TrainOptions{
			MapOptions: MapOptions{Data: data, Kernel: KernelOptions{Features: features}, Seed: 1},
			Model:      model, Lambda: LambdaOptions{Path: []float64{1e-6}},
		}
		if _, err := Train(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		r, err := Evaluate(t.Context(), EvaluateOptions{Model: model, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		accuracies = append(accuracies, r.Classes.Accuracy)
	}
	if !(accuracies[1] > accuracies[0]) {
		t.Errorf("accuracies %v: the second model was not used", accuracies)
	}
}
