package pipelines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// changed returns the lines of a table with the fields of each row changed.
func changed(lines []string, change func(i int, f []string)) string {
	var b strings.Builder
	for i, line := range lines {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ",")
		if i > 0 {
			change(i, f)
		}
		b.WriteString(strings.Join(f, ",") + "\n")
	}
	return b.String()
}

func TestPredictReportsDriftOfItsRows(t *testing.T) {
	dir := t.TempDir()
	o := options.Train{
		Prepare: options.Prepare{
			Data: dataset.Options{Files: []string{jobtest.Write(t, dir, "train.csv", strings.Join(mixedTable(1, 3000), ""))},
				Label: "y", Drop: []string{"target", "w"}},
			Kernel: &fourier.GaussianOptions{Features: 32}, Seed: 1,
		},
		Model: filepath.Join(dir, "model"),
	}
	if _, err := trainPlain(jobtest.Ctx, o); err != nil {
		t.Fatal(err)
	}
	lines := mixedTable(2, 2000)
	predict := func(name, text string, bound float64, j options.Job) (*results.Predict, error) {
		p := options.Predict{Model: o.Model, Data: dataset.Options{Files: []string{jobtest.Write(t, dir, name+".csv", text)}},
			Out: filepath.Join(dir, name), MaxDrift: bound, Job: j}
		return Predict(jobtest.Ctx, p)
	}
	r, err := predict("same", strings.Join(lines, ""), 0.01, options.Job{})
	if err != nil || r.Drift == nil || len(r.Drift.Columns) > 0 || r.Drift.Compared != 4 || r.Drift.Rows != 2000 ||
		r.Drift.Reference != 3000 || r.Drift.Schema != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if text := jobtest.Text(t, r); strings.Contains(text, "drift") {
		t.Errorf("drift where there is none: %s", text)
	}
	for _, c := range []struct {
		name, column, words string
		change              func(i int, f []string)
	}{
		{"shifted", "a", "above", func(_ int, f []string) { f[0] = "10" + strings.TrimPrefix(f[0], "-") }},
		{"swapped", "c", "above", func(_ int, f []string) { f[3] = fmt.Sprint(len(f[2])) }},
		{"missing", "b", "missing, was 5", func(i int, f []string) {
			if i%2 == 0 {
				f[1] = ""
			}
		}},
		{"level", "site", "other levels", func(_ int, f []string) { f[2] = strings.ToUpper(f[2]) }},
	} {
		r, err := predict(c.name, changed(lines, c.change), 0, options.Job{})
		if err != nil || len(r.Drift.Columns) != 1 || r.Drift.Columns[0].Name != c.column ||
			!strings.Contains(r.Drift.Columns[0].Detail, c.words) {
			t.Errorf("%s: %+v, %v", c.name, r.Drift, err)
			continue
		}
		if text := jobtest.Text(t, r); !strings.Contains(text, "drift        "+c.column+": ") {
			t.Errorf("%s", text)
		}
		var manifest struct {
			Drift struct {
				Columns []struct {
					Name    string  `json:"name"`
					AtLeast float64 `json:"at_least"`
				} `json:"columns"`
			} `json:"drift"`
		}
		data, err := os.ReadFile(filepath.Join(dir, c.name, PredictManifest))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &manifest); err != nil || len(manifest.Drift.Columns) != 1 ||
			manifest.Drift.Columns[0].AtLeast < 0.1 {
			t.Errorf("%s: %s", c.name, data)
		}
		// The figures do not depend on the cut.
		cut, err := predict(c.name+"-cut", changed(lines, c.change), 0, options.Job{ShardBytes: 3000})
		if err != nil {
			t.Fatal(err)
		}
		one, _ := json.Marshal(r.Drift)
		two, _ := json.Marshal(cut.Drift)
		if !bytes.Equal(one, two) {
			t.Errorf("%s: %s, cut %s", c.name, one, two)
		}
		// With a bound nothing is written, and nothing is left.
		refused := c.name + "-refused"
		_, err = predict(refused, changed(lines, c.change), 0.1, options.Job{})
		jobtest.WantError(t, c.name, err, exit.CodeGate, "gate not passed: "+c.column+": ", "above 0.1")
		left, err := filepath.Glob(filepath.Join(dir, "*"+refused+"*"))
		if err != nil || len(left) != 1 { // the data
			t.Errorf("%s: %v is left, %v", c.name, left, err)
		}
		var out bytes.Buffer
		_, err = Predict(jobtest.Ctx, options.Predict{Model: o.Model,
			Data: dataset.Options{Files: []string{filepath.Join(dir, refused+".csv")}}, Join: &out, MaxDrift: 0.1})
		jobtest.WantError(t, c.name+" to a writer", err, exit.CodeGate, "gate not passed")
		if out.Len() > 0 {
			t.Errorf("%s: %d bytes are written", c.name, out.Len())
		}
	}
	// Columns are compared by name.
	extra := strings.Split(strings.TrimSuffix(strings.Join(lines, ""), "\n"), "\n")
	for i, line := range extra {
		f := strings.Split(line, ",")
		extra[i] = strings.Join([]string{f[3], f[0], f[1], f[2], "x" + f[4]}, ",")
	}
	r, err = predict("columns", strings.Join(extra, "\n")+"\n", 0.01, options.Job{})
	if err != nil || r.Drift.Schema == nil ||
		!strings.Contains(jobtest.Text(t, r),
			"drift        new columns xw; columns that are gone: w, target; columns in another order") {
		t.Errorf("%+v, %v\n%s", r, err, jobtest.Text(t, r))
	}
	_, err = predict("bound", strings.Join(lines, ""), 2, options.Job{})
	jobtest.WantError(t, "a bound above 1", err, exit.CodeUsage, "--max_drift must be between 0 and 1")
}
