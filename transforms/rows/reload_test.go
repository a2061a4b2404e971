package rows_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms/rows"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*promotingFn]())
	beam.RegisterFunction(digestOf)
}

// promotingFn emits a block of rows for each model of a directory, which it makes champion first.
type promotingFn struct {
	Dir    string
	Models []string
}

func (f *promotingFn) ProcessElement(_ []byte, emit func(rows.Row)) error {
	for i, m := range f.Models {
		s := &models.Aliases{Format: models.AliasFormat, Champion: m, Events: 1, Last: []byte("{}")}
		data, err := s.Encode()
		if err == nil {
			err = os.WriteFile(filepath.Join(f.Dir, models.AliasFile), data, 0o666)
		}
		if err != nil {
			return err
		}
		for k := range 1024 {
			emit(rows.Row{Key: fmt.Sprintf("%d-%04d", i, k), Values: []float64{1, 2}})
		}
	}
	return nil
}

func digestOf(p rows.Prediction) string { return p.Key[:2] + p.Model }

// Each block of rows is predicted by one model, the one that its name resolves to then; a damaged model is not
// used.
func TestModelsAreReplacedBetweenBlocks(t *testing.T) {
	dir := t.TempDir()
	var digests []string
	for i := range 3 {
		m, err := models.ReadManifest(t.Context(), classifier(t, dir, i))
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, m.SHA256)
	}
	if err := os.Remove(filepath.Join(dir, "model2", models.WeightsFile)); err != nil {
		t.Fatal(err)
	}
	promote := &promotingFn{Dir: dir, Models: []string{"model0"}}
	if err := promote.ProcessElement(nil, func(rows.Row) {}); err != nil {
		t.Fatal(err)
	}
	promote.Models = []string{"model0", "model1", "model2", "model0"}
	got, _ := gather(t, "direct", func(s beam.Scope) []beam.PCollection {
		p, bad := rows.Predict(s, rows.Model{Name: dir + "@champion", Every: 1}, beam.ParDo(s, promote, beam.Impulse(s)))
		return []beam.PCollection{beam.ParDo(s, digestOf, p), bad}
	})
	count := map[string]int{}
	for _, line := range got[0] {
		count[line[strings.Index(line, ": ")+2:]]++
	}
	want := map[string]int{"0-" + digests[0]: 1024, "1-" + digests[1]: 1024, "2-" + digests[1]: 1024,
		"3-" + digests[0]: 1024}
	if d := cmp.Diff(want, count); d != "" || len(got[1]) > 0 {
		t.Errorf("%d rejected: %s", len(got[1]), d)
	}
}
