package pipelines

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// For every kernel and learner, the columns with effects are those that the labels depend on, and neither the
// order of the rows nor their cut into files changes a bit. The labels are not needed.
func TestEffectsNameTheColumnsThatMatter(t *testing.T) {
	const d = 4
	random := rand.New(rand.NewPCG(4, 4))
	lines, unlabelled := make([]string, 600), make([]string, 600)
	for i := range lines {
		x := make([]string, d)
		score := 0.0
		for j := range x {
			v := random.NormFloat64()
			score += v * []float64{0, 2, 0, 1}[j]
			x[j] = fmt.Sprintf("%.4f", v)
		}
		unlabelled[i] = strings.Join(x, ",") + "\n"
		lines[i] = strings.Join(x, ",") + fmt.Sprintf(",%t\n", score > 0)
	}
	dir := t.TempDir()
	write := func(name, head string, rows []string) string {
		return jobtest.Write(t, dir, name, head+strings.Join(rows, ""))
	}
	head := "x0,x1,x2,x3,y\n"
	all := dataset.Options{Files: []string{write("all.csv", head, lines)}, Label: "y"}
	slices.Reverse(unlabelled)
	cut := dataset.Options{Files: []string{write("a.csv", "x0,x1,x2,x3\n", unlabelled[:100]),
		write("b.csv", "x0,x1,x2,x3\n", unlabelled[100:])}}
	learners := []string{"ridge, one λ", "svm", "sgd"}
	for family, maps := range honestKernels(t, d) {
		for _, learner := range learners {
			if family == "searched" || learner != learners[0] && family != "gaussian" && family != "maxout" {
				continue
			}
			name := family + "/" + learner
			o := honestLearners[learner]
			o.Prepare, o.Data, o.Model = maps, all, filepath.Join(dir, strings.ReplaceAll(name, "/", "-"))
			if family == "learned" {
				o.Kernel = &learned.Options{Features: 60}
			}
			o.Learned = options.Game{Chains: 40, Steps: 15, Harmonics: 1500, LKRF: options.LKRF{Proposals: 20000}, Rate: 3}
			if family == "lkrf" {
				o.Learned.By = "lkrf"
			}
			if _, err := trainPlain(jobtest.Ctx, o); err != nil {
				t.Fatal(name, err)
			}
			r, err := InspectModel(jobtest.Ctx, options.InspectModel{Model: o.Model, Data: all})
			if err != nil {
				t.Fatal(name, err)
			}
			e := r.Effects
			if e.Rows != 600 || e.Columns[0].Column != "x1" || e.Columns[1].Column != "x3" ||
				e.Columns[2].Share > e.Columns[1].Share/2 {
				t.Errorf("%s: %+v", name, e)
			}
			again, err := InspectModel(jobtest.Ctx, options.InspectModel{Model: o.Model, Data: cut})
			if err != nil || !reflect.DeepEqual(e, again.Effects) {
				t.Errorf("%s: other files without labels give %+v: %v", name, again, err)
			}
		}
	}
}

// A category and a time, which is several numbers, have one effect each; a missing value is a value like
// others.
func TestTypedColumnsHaveOneEffectEach(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 4))
	lines := []string{"kind,day,number,y\n"}
	for range 500 {
		kind, month, number := random.IntN(5), random.IntN(12), random.NormFloat64()
		text := fmt.Sprintf("%.3f", number)
		if random.IntN(5) == 0 {
			text, number = "", 3
		}
		y := []float64{4, 0, -3, 1, 2}[kind] + float64(month%2) + 0.5*number
		lines = append(lines, fmt.Sprintf("k%d,2025-%02d-%02d,%s,%.3f\n", kind, month+1, 1+random.IntN(28), text, y))
	}
	dir := t.TempDir()
	o := fixed(1)
	o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "data.csv", strings.Join(lines, ""))}, Label: "y"}
	o.Scale, o.Model, o.Lambda.Path = nil, filepath.Join(dir, "model"), []float64{1e-4}
	if _, err := trainPlain(jobtest.Ctx, o); err != nil {
		t.Fatal(err)
	}
	picture := filepath.Join(dir, "effects.svg")
	r, err := InspectModel(jobtest.Ctx, options.InspectModel{Model: o.Model, Data: o.Data, EffectsPlot: picture})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range r.Effects.Columns {
		names = append(names, e.Column)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"day", "kind", "number"}) {
		t.Errorf("columns %v", names)
	}
	if first := r.Effects.Columns[0]; first.Column != "kind" || first.Share < 0.5 {
		t.Errorf("the first is %+v", first)
	}
	// Five rows repeat others.
	if text := jobtest.Text(t, r); !strings.Contains(text, "effects   on predictions for 495 rows: kind ") {
		t.Errorf("no effects in\n%s", text)
	}
	if data, err := os.ReadFile(picture); err != nil || !bytes.Contains(data, []byte("share of the variance")) {
		t.Errorf("the picture: %v", err)
	}
	// One row has no other to take values from.
	one := dataset.Options{Files: []string{jobtest.Write(t, dir, "one.csv", lines[0]+lines[1])}, Label: "y"}
	_, err = InspectModel(jobtest.Ctx, options.InspectModel{Model: o.Model, Data: one})
	if _, refused := errors.AsType[*exit.DataError](err); !refused ||
		!strings.Contains(err.Error(), "two rows are needed") {
		t.Errorf("one row: %v", err)
	}
}
