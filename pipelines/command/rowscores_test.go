package command

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/prismtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms/rows"
)

func init() { beam.RegisterFunction(scoreRow) }

// scoreRow makes a row of a score for keepFn.
func scoreRow(w beam.Window, s rows.Score) rows.Row {
	r := rows.Row{Key: fmt.Sprint(w), Numbers: map[string]float64{"rows": float64(s.Rows)}, Values: s.RMSE, Label: s.Model}
	for name, v := range map[string]*float64{"error": s.Error, "log loss": s.LogLoss} {
		if v != nil {
			r.Numbers[name] = *v
		}
	}
	return r
}

// The scores of each window equal the scores of evaluate on its rows, bit for bit.
func TestScoresOfWindowsMatchEvaluate(t *testing.T) {
	if !beam.Initialized() {
		beam.Init()
	}
	for _, c := range []struct{ name, command string }{
		{"classes", "train --label l --calibrate platt --lambda 1e-2"},
		{"targets", "train --label y --drop l --lambda 1e-2"},
		{"several targets", "train --label y,z --drop l --lambda 1e-2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			in := func(name string) string { return filepath.Join(dir, name) }
			r := rand.New(rand.NewPCG(2, 9))
			line := func(other string) string {
				x := r.NormFloat64()
				label := map[bool]string{true: "in", false: "out"}[x*x < 0.3+0.3*r.Float64()]
				if other != "" && r.IntN(20) == 0 {
					label = other
				}
				return fmt.Sprintf("%.4f,%.3f,%.3f,%s\n", x, x*x+r.Float64(), r.Float64(), label)
			}
			header := "x,y,z,l\n"
			text := map[string]string{"train": header, "all": header, "early": header, "late": header}
			for i := range 900 {
				text["train"] += line("")
				next := line("unknown")
				text["all"] += next
				text[map[bool]string{true: "early", false: "late"}[i < 500]] += next
			}
			for name, text := range text {
				if err := os.WriteFile(in(name+".csv"), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			command := c.command + " --features 40 --search none --quiet --model"
			must(t, append(strings.Fields(command), in("model"), "--data", in("train.csv"))...)
			want := map[string]any{}
			for name, w := range map[string]string{"early": "[0:500000)", "late": "[500000:1000000)"} {
				data := dataset.Options{Files: []string{in(name + ".csv")}}
				e, err := pipelines.Evaluate(t.Context(), options.Evaluate{Model: in("model"), Data: data})
				if err != nil {
					t.Fatal(err)
				}
				row := rows.Row{Key: w, Numbers: map[string]float64{"rows": float64(e.Rows.Used)}}
				switch {
				case e.Classes != nil:
					row.Numbers["error"], row.Numbers["log loss"] = e.Classes.Error, e.Probabilities.LogLoss
				case e.Targets != nil:
					row.Values = []float64{e.Targets.RMSE}
				}
				for _, of := range e.ByTarget {
					row.Values = append(row.Values, of.RMSE)
				}
				want[w] = row
			}
			for runner := range prismtest.Runners {
				p, s := beam.NewPipelineWithRoot()
				all := append(tableRows(t, text["all"]), rows.Row{Key: "10", Texts: map[string]string{"x": "1", "l": ""}})
				windows := beam.WindowInto(s, window.NewFixedWindows(500*time.Second),
					beam.ParDo(s, atItsTime, beam.CreateList(s, all)))
				scores, rejected := rows.Evaluate(s, rows.Model{Name: in("model")}, windows)
				beam.ParDo0(s, &keepFn{t.Name() + runner}, beam.ParDo(s, scoreRow, scores))
				beam.ParDo0(s, &keepFn{t.Name() + runner}, rejected)
				if _, err := prismtest.Runners[runner](t.Context(), p); err != nil {
					t.Fatalf("%s: %v", runner, err)
				}
				kept.Lock()
				got := kept.of[t.Name()+runner]
				kept.Unlock()
				if got["10"] == nil {
					t.Errorf("%s: the row without a label has a score", runner)
				}
				delete(got, "10")
				for key, r := range got {
					row := r.(rows.Row)
					row.Label = ""
					got[key] = row
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s: %s", runner, d)
				}
			}
		})
	}
}
