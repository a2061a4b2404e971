package ask

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Rows with equal targets have no R²: it is missing in tables and JSON, and questions that only compare R² are
// rejected.
func TestEqualTargetsHaveNoR2(t *testing.T) {
	made := func() *data {
		r := rand.New(rand.NewPCG(1, 4))
		return made(t, 6, 2, 0, func(_, source int) (x, y []float64) {
			if x, y = draw(r, 40, 1); source == 1 {
				clear(y)
			}
			return x, y
		})
	}
	d := made()
	d.options.By = []string{"source"}
	a, err := d.groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows := a.Tables[0].Rows
	if rows[0].R2 == nil || rows[1].R2 != nil || rows[1].Error == 0 || rows[2].R2 == nil {
		t.Errorf("R² of a group without variance: %+v", rows)
	}
	var printed bytes.Buffer
	if _, err := a.WriteTo(&printed); err != nil || !regexp.MustCompile(`(?m)^1 .* -  `).Match(printed.Bytes()) {
		t.Errorf("%v\n%s", err, &printed)
	}
	for i := range d.parts {
		d.parts[i].judged = i == 1
	}
	d.options.Judge = "source=1"
	for _, answer := range []func(*data, context.Context) (*results.Ask, error){(*data).worth, (*data).bisect, (*data).curve} {
		if _, err := answer(d, t.Context()); err == nil || !strings.Contains(err.Error(),
			"R² is not defined on 2026-01-01 where source=1") {
			t.Errorf("judged by equal targets: %v", err)
		}
	}
}

// Only the model of all dates decides whether R² is below the least R² for good. A first date below it does not
// change that.
func TestBisectJudgesByTheModelOfAllDates(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 4))
	d := made(t, 20, 1, 4, func(day, _ int) (x, y []float64) { return draw(r, map[bool]int{true: 4, false: 100}[day < 4], 1) })
	first, err := d.fitAndScore(t.Context(), "", []unit{{parts: []int{0}}}, []unit{{parts: []int{16, 17, 18, 19}}}, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	d.options.MinR2 = (*first.R2 + 0.9) / 2
	if a, err := d.bisect(t.Context()); err != nil || a.Found != nil || d.fits != 2 {
		t.Errorf("a good model of all dates: %+v in %d fits, %v", a, d.fits, err)
	}
	d.options.MinR2 = 0.9999
	a, err := d.bisect(t.Context())
	if err != nil || a.Found == nil || a.Found.Name != "2026-01-01" ||
		!strings.HasPrefix(a.Verdict, "R² is below 0.9999 from the first date on: ") {
		t.Errorf("no good model: %+v, %v", a, err)
	}
}

// The files that a recipe was drawn from are found in the lineage of its model; a model by the recipe of
// another one was trained on other sums, unless it lists them.
func TestRecipeSourceFindsTheSumsOfARecipe(t *testing.T) {
	const parts = `"sources": [{"name": "01", "digest": "a", "files": [{"name": "01.csv", "version": "v1"}]},
		{"name": "02", "digest": "b", "files": [{"name": "02.csv", "version": "v2"}]}]`
	for _, c := range []struct{ lineage, files, note string }{
		{`{` + parts + `}`, "map[v1:true v2:true]", ""},
		{`{"recipe": "model", "redrawn": "there is no champion", ` + parts + `}`, "map[v1:true v2:true]", ""},
		{`{"recipe": "first", "recipe_sha256": "c", "drawn": ["01"], ` + parts + `}`, "map[v1:true]", ""},
		{`{"recipe": "first", "recipe_sha256": "c", "drawn": ["00", "01"], ` + parts + `}`, "map[]",
			"has the recipe of first; name that model with --recipe"},
		{`{"recipe_sha256": "c", ` + parts + `}`, "map[]", "has the recipe of another model"},
		{"", "map[]", "does not say what it was made from"},
	} {
		dir := filepath.Join(t.TempDir(), "model")
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if c.lineage != "" {
			if err := os.WriteFile(filepath.Join(dir, "lineage.json"), []byte(c.lineage), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		d := &data{}
		d.options.Recipe = dir
		from, err := d.recipeSource(t.Context())
		if err != nil || fmt.Sprint(from.files) != c.files || (len(d.notes) > 0) != (c.note != "") ||
			!strings.Contains(fmt.Sprint(d.notes), c.note) {
			t.Errorf("%s: drawn from %v, notes %q, %v", c.lineage, from.files, d.notes, err)
		}
	}
}

// Answers state the sum of the weights of judged rows, which sums have as multiples of a unit.
func TestJudgedRowsAddUpWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	d := made(t, 4, 1, 0, func(int, int) (x, y []float64) { return draw(r, 40, 1) })
	d.total.Recipe.Rule.Weights = &profile.WeightGrid{Unit: 0.25, Exact: true, Total: 160}
	a, err := d.groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if rows := a.Tables[0].Rows; rows[0].Rows != 10 || rows[4].Rows != 40 || rows[0].Error > 1 {
		t.Errorf("40 rows of weight 0.25: %+v, in all %+v", rows[0].Score, rows[4].Score)
	}
}

func TestJudgingWithoutRowsIsRejected(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	d := made(t, 4, 1, 0, func(day, _ int) (x, y []float64) {
		if day == 3 {
			return nil, nil
		}
		return draw(r, 50, 1)
	})
	for i := range d.parts {
		d.parts[i].judged = i == 3
	}
	want := "R² is not defined on 2026-01-04: there are no rows; change --judge"
	if _, err := d.curve(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}
