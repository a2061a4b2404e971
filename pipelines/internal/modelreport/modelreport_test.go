package modelreport

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/pagetest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// wide is what a report is made of for a table with that many columns, half of them categories, and classes.
func wide(t *testing.T, columns, classes int) *Model {
	t.Helper()
	const rows = 100_000
	name := func(kind string, i int) string {
		return fmt.Sprintf("%s <b>%d</b> \x01 %s", kind, i, strings.Repeat("long ", 20))
	}
	a := &Model{Manifest: &models.Manifest{Task: models.Classification, Features: 64, Outputs: classes, Program: "1",
		Targets:      models.Targets{Vocabulary: &schema.Vocabulary{}},
		TrainingData: models.TrainingData{Rows: models.RowCounts{Read: rows, Used: rows}}}, files: map[string][]byte{}}
	s := dataset.Schema{Format: "csv", Dim: columns, Table: &schema.Table{}}
	a.profile.Rows = &profile.Statistics{}
	for j := range columns {
		c := schema.Column{Name: name("column", j), Type: schema.Number}
		var counts []int64
		if j%2 == 1 {
			c.Type = schema.Category
			for l := range 12 {
				c.Levels, counts = append(c.Levels, name("level", l)), append(counts, int64(l))
			}
			counts = append(counts, 3)
		}
		s.Table.Columns = append(s.Table.Columns, c)
		r := a.profile.Rows
		r.Columns = append(r.Columns, profile.Column{Min: -1, Max: float32(j + 20), Missing: int64(j)})
		var deciles []float32
		if j%2 == 0 {
			deciles = []float32{0, 0, 0, 0, 1, 2, 3, 4, 9}
		}
		r.Deciles, r.Levels = append(r.Deciles, deciles), append(r.Levels, counts)
	}
	for c := range classes {
		a.Vocabulary.Classes = append(a.Vocabulary.Classes, name("class", c))
		a.Profile.ClassCounts = append(a.Profile.ClassCounts, int64(c))
	}
	var err error
	if a.Input.Options, err = json.Marshal(s); err != nil {
		t.Fatal(err)
	}
	if err := a.decode(); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		a.Learner.Table = append(a.Learner.Table, ridge.CVResult{Lambda: float64(i+1) / 100, MSE: 1, Train: 0.5, Folds: 5, StdErr: 0.1,
			HeldOutResult: ridge.HeldOutResult{HeldOutRows: 1000, HeldOutErrors: int64(100 + i)}})
	}
	a.Learner.Lambda = 0.01
	a.Lineage = &registry.Lineage{Command: "bochner train " + strings.Repeat("--drop=x,", 20_000)}
	for i := range 5000 {
		a.Lineage.Sources = append(a.Lineage.Sources, registry.Source{Files: []registry.File{{Name: name("file", i), Version: name("v", i)}}})
	}
	return a
}

func TestReportsOnWideTablesAndManyClassesAreSmall(t *testing.T) {
	for _, size := range [][2]int{{10_000, 1000}, {3, 2}} {
		p, err := wide(t, size[0], size[1]).Page()
		if err != nil {
			t.Fatal(err)
		}
		data, err := p.HTML()
		if err != nil {
			t.Fatal(err)
		}
		text := pagetest.Check(t, data)
		for _, want := range []string{"10.00% held-out error", "95% interval 8.29 to 12.02%", "about 40% of the rows have 0",
			"3 rows with other texts", "held-out error, %", "lambda, the penalty on squared weights"} {
			if !strings.Contains(text, want) {
				t.Errorf("%v: the report does not say %q", size, want)
			}
		}
		if more := "9,900 more columns"; size[0] > 100 && !strings.Contains(text, more) {
			t.Errorf("the report does not say %q", more)
		}
	}
}
