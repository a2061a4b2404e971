package command

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/prismtest"
	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms/rows"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*keepFn]())
	beam.RegisterType(reflect.TypeFor[person]())
	beam.RegisterFunction(personOf)
}

// keepFn keeps predictions and rejected rows.
type keepFn struct{ Name string }

var kept = struct {
	sync.Mutex
	of map[string]map[string]any // by name and key
}{of: map[string]map[string]any{}}

func (f *keepFn) ProcessElement(x beam.X) {
	kept.Lock()
	defer kept.Unlock()
	if kept.of[f.Name] == nil {
		kept.of[f.Name] = map[string]any{}
	}
	key := reflect.ValueOf(x).FieldByName("Key").String()
	if _, twice := kept.of[f.Name][key]; twice {
		panic("two results for the row " + key)
	}
	kept.of[f.Name][key] = x
}

// typedRow is a row with a number, a category, a boolean and a time, some of them missing.
func typedRow(r *rand.Rand, i int) string {
	age, city, label := fmt.Sprintf("%.2f", 20+50*r.Float64()), []string{"Kraków", `"Paris, 5e"`, "osaka",
		""}[r.IntN(4)], "no"
	if r.IntN(12) == 0 {
		age = []string{"", "NA", "?"}[r.IntN(3)]
	}
	if city == "osaka" || r.IntN(4) == 0 {
		label = "yes"
	}
	return fmt.Sprintf("r%d,%s,%s,%t,2024-%02d-%02d,constant,%s", i, age, city, r.IntN(2) == 0, 1+r.IntN(12),
		1+r.IntN(28), label)
}

// person is a typedRow.
type person struct {
	ID     string   `bochner:"id,key"`
	Age    *float64 `bochner:"age"`
	City   string   `beam:"city"`
	Member bool     `bochner:"member"`
	Since  string   `bochner:"since"`
	Note   []byte   // of no type of a column
}

// personOf reads a row whose age is the number that it has in the file.
func personOf(r rows.Row) person {
	p := person{ID: r.Key, City: r.Texts["city"], Since: r.Texts["since"], Member: r.Texts["member"] == "true"}
	if v, err := strconv.ParseFloat(r.Texts["age"], 64); err == nil {
		p.Age = &v
	}
	return p
}

// tableRows returns the rows of a CSV file as texts by name; keys are line numbers.
func tableRows(t *testing.T, text string) (all []rows.Row) {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, fields := range records[1:] {
		r := rows.Row{Key: fmt.Sprint(i), Texts: map[string]string{}}
		for j, name := range records[0] {
			r.Texts[name] = fields[j]
		}
		all = append(all, r)
	}
	return all
}

// predictedRows applies the transform.
func predictedRows(t *testing.T, runner string, all beam.PCollection, p *beam.Pipeline, s beam.Scope,
	model string) map[string]any {
	t.Helper()
	name := t.Name() + runner
	predictions, rejected := rows.Predict(s, rows.Model{Name: model}, all)
	beam.ParDo0(s, &keepFn{name}, predictions)
	beam.ParDo0(s, &keepFn{name}, rejected)
	if _, err := prismtest.Runners[runner](t.Context(), p); err != nil {
		t.Fatal(err)
	}
	kept.Lock()
	defer kept.Unlock()
	out := kept.of[name]
	delete(kept.of, name)
	return out
}

// Rows of a pipeline get the predictions that the command makes for the same rows in a file, bit for bit; rows
// that the command sets aside are rejected.
func TestRowsOfAPipelineMatchRowsOfFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	if !beam.Initialized() {
		beam.Init()
	}
	table := func(header string, n int, row func(i int) string) string {
		var all []string
		for i := range n {
			all = append(all, row(i))
		}
		return header + "\n" + strings.Join(all, "\n") + "\n"
	}
	number := func() string { return fmt.Sprintf("%.7f", 3*r.NormFloat64()) }
	for _, c := range []struct {
		name, text, bad, command string
		rejected                 int
		people                   bool
	}{
		{"types and probabilities", table("id,age,city,member,since,note,y", 400,
			func(i int) string { return typedRow(r, i) }),
			"x,31,osaka,perhaps,2024-01-01,n,yes\nx,31,osaka,true,yesterday,n,yes\n",
			"train --label y --drop id,note --calibrate platt --search none --features 64", 2, true},
		{"numbers", table("a,b,y", 300, func(int) string { a := number(); return a + "," + number() + "," + a[:2] }),
			"x,1,1\n,1,1\n1,1e39,1\n1e38,1e38,1\n",
			"train --label y --task regression --search none --features 64 --lambda 1e-4 --scale none", 3, false},
		{"missing numbers", table("a,b,y", 300, func(int) string { return number() + "," + number() + ",1" }),
			",1,1\nNA,,1\n", "embed --drop y --components 3 --features 32", 0, false},
		{"large numbers",
			table("a,b,y", 300, func(i int) string { return fmt.Sprintf("17%08d.%d,%s,c%d", 1000*i, i, number(), i%3) }),
			"1.7e9,x,c1\n", "train --label y --search none --features 64", 1, false},
		{"two targets",
			table("a,b,y,z", 300, func(int) string { return number() + "," + number() + "," + number() + "," + number() }),
			"a,1,1,1\n", "train --label y,z --search none --features 64", 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			in := func(name ...string) string { return filepath.Join(append([]string{dir}, name...)...) }
			for name, text := range map[string]string{"train.csv": c.text, "new.csv": c.text + c.bad} {
				if err := os.WriteFile(in(name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			model := in("model")
			must(t, append(strings.Fields(c.command), "--data", in("train.csv"), "--model", model, "--quiet")...)
			args := []string{"predict", "--model", model, "--data", in("new.csv"), "--out", in("out"), "--scores",
				"--max_bad_fraction", "0.9", "--quiet"}
			m, err := models.LoadURI(t.Context(), model)
			if err != nil {
				t.Fatal(err)
			}
			if m.Manifest.Probabilities != nil {
				args = append(args, "--probabilities")
			} else if m.Classifies() {
				t.Fatal("a classifier without probabilities")
			}
			must(t, args...)
			out, err := os.ReadFile(in("out", "part-00000.csv"))
			if err != nil {
				t.Fatal(err)
			}
			want := string(out)
			all := tableRows(t, c.text+c.bad)
			for runner := range prismtest.Runners {
				p, s := beam.NewPipelineWithRoot()
				results := predictedRows(t, runner, beam.CreateList(s, all), p, s, model)
				got, rejected := writtenRows(t, m, m.Manifest.Probabilities != nil, len(all), results)
				if d := cmp.Diff(want, got); d != "" || rejected != c.rejected || len(results) != len(all) {
					t.Errorf("%s: %d results of %d rows, %d rejected: %s", runner, len(results), len(all), rejected, d)
				}
				if !c.people {
					continue
				}
				p, s = beam.NewPipelineWithRoot()
				results = predictedRows(t, runner, beam.ParDo(s, personOf, beam.CreateList(s, all[:400])), p, s, model)
				if got, rejected = writtenRows(t, m, true, 400, results); !strings.HasPrefix(want, got) || rejected > 0 {
					t.Errorf("%s: structs: %d rejected: %s", runner, rejected, cmp.Diff(want, got))
				}
			}
		})
	}
}

// writtenRows writes results, by the number of the row, as the command writes predictions. It returns
// the file and how many rows are rejected.
func writtenRows(t *testing.T, m *models.Model, probabilities bool, n int, got map[string]any) (text string,
	rejected int) {
	t.Helper()
	columns := (&scoring.Predict{Content: scoring.Content{Scores: true, Probabilities: probabilities}}).Columns(m)
	k := m.Linear.K
	b := &export.Block{N: n}
	classes, said, chances := make([]int32, n), make([]float32, n*k), make([]float32, n*k)
	targets, all := make([][]float64, k), make([]float64, n*k) // by column, and by row
	for c := range targets {
		targets[c] = make([]float64, n)
	}
	for i := range n {
		switch p := got[fmt.Sprint(i)].(type) {
		case rows.Rejected:
			b.Bad = append(b.Bad, i)
			if p.Reason == "" {
				t.Errorf("row %d is rejected without a reason", i)
			}
		case rows.Prediction:
			if p.Model != m.Manifest.SHA256 {
				t.Errorf("row %d is by the model %s", i, p.Model)
			}
			classes[i] = int32(slices.Index(m.Outputs(), p.Class))
			copy(said[i*k:], p.Scores)
			copy(chances[i*k:], p.Probabilities)
			copy(all[i*k:], p.Values)
			for c, v := range p.Values {
				targets[c][i] = v
			}
		default:
			t.Fatalf("row %d has no result", i)
		}
	}
	switch {
	case m.Embeds():
		b.Values = []any{all}
	case m.Classifies():
		b.Values = []any{classes, said}
	default:
		for c := range targets {
			b.Values = append(b.Values, targets[c])
		}
		b.Values = append(b.Values, all)
	}
	if probabilities {
		b.Values = append(b.Values, chances)
	}
	files, err := export.Files("csv", columns)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := files[0].New(&out)
	if err := errors.Join(w.Write(b), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String(), len(b.Bad)
}
