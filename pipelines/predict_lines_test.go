package pipelines

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// Predictions state the line of each row, with any lines between rows.
func TestPredictionsAreJoinedToRowsByLine(t *testing.T) {
	dir := t.TempDir()
	train := jobtest.Write(t, dir, "train.csv", "a,b,y\n"+strings.Repeat("1,2,p\n0.5,-1,q\n3,0.25,p\n", 20))
	model := filepath.Join(dir, "model")
	if _, err := trainPlain(jobtest.Ctx, options.Train{
		Prepare: options.Prepare{Data: dataset.Options{Files: []string{train}, Label: "y"},
			Kernel: &fourier.GaussianOptions{Features: 16}, Seed: 1},
		Model: model, Lambda: options.Lambda{Path: []float64{1e-3}},
	}); err != nil {
		t.Fatal(err)
	}
	data := jobtest.Write(t, dir, "new.csv", "\na,b,note\n1,2,x\n\n \n3,4,\"two\nlines\"\nbad,1,x\n\n5,6,x\n")
	for format, want := range map[string]string{
		"csv":   "line,prediction\n3,?\n6,?\n8,\n10,?\n",
		"jsonl": "{\"line\":3,\"prediction\":?}\n{\"line\":6,\"prediction\":?}\n{\"line\":8,\"prediction\":null}\n{\"line\":10,\"prediction\":?}\n",
	} {
		for _, lines := range []bool{true, false} {
			out := filepath.Join(dir, format)
			var log bytes.Buffer
			r, err := Predict(jobtest.Ctx, options.Predict{
				Model: model, Data: dataset.Options{Files: []string{data}}, Out: out,
				Content:        options.Content{Format: format, Lines: lines},
				MaxBadFraction: 0.5,
				Job:            options.Job{ShardBytes: 12, Log: &log},
			})
			if err != nil {
				t.Fatal(err)
			}
			if r.Rows.Blank != 4 || r.Rows.Read != 4 {
				t.Errorf("%s: %+v", format, r.Rows)
			}
			noted := strings.Contains(log.String(), "4 blank lines were skipped")
			if noted == lines {
				t.Errorf("%s, lines %v: %s", format, lines, log.String())
			}
			if lines {
				if len(r.Parts) != 1 {
					t.Fatalf("%s: parts %+v", format, r.Parts)
				}
				text, err := os.ReadFile(filepath.Join(out, r.Parts[0].Names[0]))
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.NewReplacer(`"p"`, "?", `"q"`, "?", ",p\n", ",?\n", ",q\n",
					",?\n").Replace(string(text)); got != want {
					t.Errorf("%s: %q, want %q", format, got, want)
				}
			}
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Models and predictions do not depend on the order of the files, even if their columns are in different
// orders.
func TestModelsDoNotDependOnTheOrderOfFilesWithOtherColumns(t *testing.T) {
	dir := t.TempDir()
	one := jobtest.Write(t, dir, "one.csv", "b,y,a\n"+strings.Repeat("1,p,2\n0.5,q,-1\n3,p,0.25\n", 20))
	two := jobtest.Write(t, dir, "two.csv", "id,a,b,y\n"+strings.Repeat("i,1.5,2,q\nj,0.5,-1.25,q\nk,3,0.75,p\n", 20))
	var first []byte
	for i, files := range [][]string{{one, two}, {two, one}} {
		model := filepath.Join(dir, "model"+string(rune('0'+i)))
		if _, err := trainPlain(jobtest.Ctx, options.Train{
			Prepare: options.Prepare{Data: dataset.Options{Files: files, Label: "y"}, Kernel: &fourier.GaussianOptions{Features: 16},
				Seed: 1},
			Model: model, Lambda: options.Lambda{Path: []float64{1e-3}},
		}); err != nil {
			t.Fatal(err)
		}
		manifest, err := os.ReadFile(filepath.Join(model, "manifest.json"))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = manifest
		}
		if !bytes.Equal(first, manifest) {
			t.Errorf("another order of files makes another model:\n%s\n%s", first, manifest)
		}
		for _, data := range files {
			if r, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: model,
				Data: dataset.Options{Files: []string{data}}}); err != nil || r.Rows.Used != 60 {
				t.Errorf("%s: %v", data, err)
			}
		}
	}
}
