package pipelines

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/features/maxout"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// sold returns n lines of a table with a category, a time, a number that may be missing and one that does not
// matter. The last columns are a number that they determine and its classes.
func sold(n int) []string {
	random := rand.New(rand.NewPCG(8, 4))
	lines := []string{"kind,day,number,noise,y,sign,size\n"}
	for range n {
		kind, month, number := random.IntN(5), random.IntN(12), random.NormFloat64()
		text := fmt.Sprintf("%.3f", number)
		if random.IntN(5) == 0 {
			text, number = "", 3
		}
		y := []float64{4, 0, -3, 1, 2}[kind] + 2*float64(month/6) + 0.5*number
		lines = append(lines, fmt.Sprintf("k%d,2025-%02d-%02d,%s,%.3f,%.3f,%t,%s\n", kind, month+1, 1+random.IntN(28), text,
			random.NormFloat64(), y, y > 1, []string{"small", "middle", "large"}[min(2, max(0, int(y+2)/2))]))
	}
	return lines
}

// explained returns the predictions of a model for the files, with base, effects and scores.
func explained(t *testing.T, model string, readers int, files ...string) string {
	t.Helper()
	var out bytes.Buffer
	o := options.Predict{Model: model, Data: dataset.Options{Files: files}, Join: &out,
		Content: options.Content{Scores: true, Explain: true}}
	if readers > 1 {
		o.Job.Engine.Runner, o.Job.Engine.Readers = "prism", readers
	}
	if _, err := Predict(jobtest.Ctx, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Base and effects sum to the prediction for every task, map and type of column, and bytes depend neither on
// readers nor on the cut of the rows into files. Go programs get the same numbers.
func TestEffectsSumToThePrediction(t *testing.T) {
	lines, dir := sold(300), t.TempDir()
	all := jobtest.Write(t, dir, "all.csv", strings.Join(lines, ""))
	a := jobtest.Write(t, dir, "cut-a.csv", strings.Join(lines[:90], ""))
	b := jobtest.Write(t, dir, "cut-b.csv", lines[0]+strings.Join(lines[90:], ""))
	for name, c := range map[string]struct {
		label, drop string
		set         func(o *options.Train)
	}{
		"regression": {"y", "sign,size", func(*options.Train) {}},
		"two classes": {"sign", "y,size", func(o *options.Train) {
			o.Kernel = &fourier.LaplaceOptions{Width: 2, Features: 64}
		}},
		"three classes": {"size", "y,sign", func(o *options.Train) {}},
		"linear":        {"y", "sign,size", func(o *options.Train) { o.Kernel = &identity.Options{} }},
		"sampled":       {"sign", "y,size", func(o *options.Train) { o.Kernel = &maxout.Options{Features: 32} }},
	} {
		o := fixed(1)
		o.Scale, o.Lambda.Path, o.Model = nil, []float64{1e-4}, filepath.Join(dir, name)
		o.Kernel = &fourier.GaussianOptions{Width: 4, Features: 64}
		o.Data = dataset.Options{Files: []string{all}, Label: c.label, Drop: strings.Split(c.drop, ",")}
		c.set(&o)
		if _, err := trainPlain(jobtest.Ctx, o); err != nil {
			t.Fatal(name, err)
		}
		text := explained(t, o.Model, 1, all)
		if again := explained(t, o.Model, 3, a, b); again != text {
			t.Errorf("%s: other readers of other files give other bytes", name)
		}
		m, err := models.LoadURI(jobtest.Ctx, o.Model)
		if err != nil {
			t.Fatal(err)
		}
		checkSums(t, name, m, text, lines)
	}
}

// checkSums checks predictions of the lines with their effects.
func checkSums(t *testing.T, name string, m *models.Model, text string, lines []string) {
	t.Helper()
	table, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(table) != len(lines) {
		t.Fatalf("%s: %d rows: %v", name, len(table), err)
	}
	at := func(row []string, column string) float64 {
		v, err := strconv.ParseFloat(row[slices.Index(table[0], column)], 64)
		if err != nil {
			t.Fatalf("%s: %s: %v", name, column, err)
		}
		return v
	}
	columns := []string{"kind", "day", "number", "noise"}
	sizes := make([]float64, len(columns))
	for i, row := range table[1:] {
		sum := at(row, "base")
		var effects []float64
		for g, c := range columns {
			effects = append(effects, at(row, "effect_"+c))
			sum += effects[g]
			sizes[g] += math.Abs(effects[g])
		}
		var want float64
		switch outputs := m.Outputs(); {
		case !m.Classifies():
			want = at(row, "prediction")
		case len(outputs) == 2:
			positive := m.Manifest.PositiveClass()
			want = at(row, "score_"+outputs[positive])/2 - at(row, "score_"+outputs[1-positive])/2
		default:
			want = at(row, "score_"+row[0])
		}
		if math.Abs(sum-want) > 1e-6*max(1, math.Abs(want)) {
			t.Errorf("%s, row %d: base and effects sum to %g, want %g", name, i+1, sum, want)
		}
		if i > 20 {
			continue
		}
		x := explainLine(t, m, lines[i+1])
		for g, v := range x.Outputs[0].Effects {
			if math.Abs(v-effects[g]) > 1e-7 {
				t.Errorf("%s, row %d: %s has the effect %g in Go, %g in the file", name, i+1, columns[g], v, effects[g])
			}
		}
		if kind := strings.Split(lines[i+1], ",")[0]; x.Values[0] != kind || x.Columns[0] != "kind" {
			t.Errorf("%s, row %d: column %s has the value %q, want %q", name, i+1, x.Columns[0], x.Values[0], kind)
		}
		sampled := name == "sampled"
		if ok := at(row, "effect_error") > 0; ok != sampled || ok != (x.Outputs[0].StdErr > 0) {
			t.Errorf("%s, row %d: standard error %g", name, i+1, at(row, "effect_error"))
		}
	}
	if sizes[3] > sizes[0]/4 || sizes[3] > sizes[1]/2 {
		t.Errorf("%s: mean effects %v; the last column is noise", name, sizes)
	}
}

// explainLine explains the prediction for a line of sold, as a Go program does.
func explainLine(t *testing.T, m *models.Model, line string) *models.Explanation {
	t.Helper()
	var columns []models.Column
	for g, text := range strings.Split(line, ",")[:4] {
		columns = append(columns, models.Column{Name: []string{"kind", "day", "number", "noise"}[g], Texts: []string{text}})
	}
	row, err := m.AppendRows(nil, columns...)
	if err != nil {
		t.Fatal(err)
	}
	x, err := m.Explain(row)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestExplainPrintsOneRow(t *testing.T) {
	lines, dir := sold(100), t.TempDir()
	o := fixed(1)
	o.Scale, o.Lambda.Path, o.Model = nil, []float64{1e-4}, filepath.Join(dir, "model")
	o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "all.csv", strings.Join(lines, ""))}, Label: "sign",
		Drop: []string{"y", "size"}}
	if _, err := trainPlain(jobtest.Ctx, o); err != nil {
		t.Fatal(err)
	}
	bad := "k1,yesterday,1,0.5,0,true,small\n"
	rows := jobtest.Write(t, dir, "rows.csv", lines[0]+bad+"k2,2025-07-01,,0.5,0,true,small\n")
	r, err := Explain(jobtest.Ctx, options.Explain{Model: o.Model, Data: dataset.Options{Files: []string{rows}}, Row: 2})
	if err != nil {
		t.Fatal(err)
	}
	text := jobtest.Text(t, r)
	for _, want := range []string{"row 2: predicted true, explained by half the difference between the scores of false and true",
		"kind    k2\n", "number  (missing)\n", "day     2025-07-01 00:00:00\n", "base: ", "in all\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if first := strings.Split(text, "\n")[2]; !strings.HasSuffix(first, "kind    k2") {
		t.Errorf("the largest effect is in %q", first)
	}
	for row, want := range map[int64]string{0: "rows count from 1", 1: "rows.csv:2: ", 3: "the data has 2 rows"} {
		_, err := Explain(jobtest.Ctx, options.Explain{Model: o.Model, Data: dataset.Options{Files: []string{rows}}, Row: row})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("row %d: %v, want %q", row, err, want)
		}
	}
	// A model without its profile has nothing to compare with.
	m, err := models.LoadURI(jobtest.Ctx, o.Model)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(o.Model, models.ProfileFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Explain(make([]float64, m.Manifest.Input.Dim)); err == nil || !strings.Contains(err.Error(), "profile.json") {
		t.Errorf("without a profile: %v", err)
	}
	if _, err := m.Explain(nil); err == nil {
		t.Error("a row of no numbers was explained")
	}
}
