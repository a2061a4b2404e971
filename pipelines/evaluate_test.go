package pipelines

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/dataset"
)

// relabelled returns the lines of a table, every row of a class of which the map has
// another name under that name.
func relabelled(lines []string, names map[string]string) string {
	var b strings.Builder
	for _, line := range lines {
		at := strings.LastIndexByte(line, ',') + 1
		label := strings.TrimSuffix(line[at:], "\n")
		if to, ok := names[label]; ok {
			line = line[:at] + to + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

func TestLabelsThatTheModelNeverSawAreNamed(t *testing.T) {
	dir := t.TempDir()
	lines := made(t, "moons", 300, 1)
	table := func(name, text string) dataset.Options {
		return dataset.Options{Data: []string{write(t, dir, name, text)}, Label: "y"}
	}
	o := fixed(1)
	o.Data, o.Model, o.Lambda.Path = table("data.csv", strings.Join(lines, "")), filepath.Join(dir, "model"), []float64{1e-4}
	if _, err := Train(ctx, o); err != nil {
		t.Fatal(err)
	}
	evaluate := func(d dataset.Options) (*EvaluateResult, error) {
		return Evaluate(ctx, EvaluateOptions{Model: o.Model, Data: d})
	}
	ones := int64(0)
	for _, line := range lines {
		if strings.HasSuffix(strings.TrimSuffix(line, "\n"), ",1") {
			ones++
		}
	}
	if ones < 100 {
		t.Fatalf("%d rows of class 1", ones)
	}

	// Two files with labels of their own, beside one that the model knows.
	d := table("a.csv", relabelled(lines, map[string]string{"1": "one."}))
	d.Data = append(d.Data, write(t, dir, "b.csv", relabelled(lines[:31], map[string]string{"-1": "zero", "1": "zero"})))
	r, err := evaluate(d)
	if err != nil {
		t.Fatal(err)
	}
	if want := []UnseenLabel{{"one.", ones}, {"zero", 30}}; !reflect.DeepEqual(r.UnseenLabels, want) || r.Classes.Unseen != ones+30 {
		t.Errorf("%+v of %d rows, want %+v", r.UnseenLabels, r.Classes.Unseen, want)
	}
	if want := fmt.Sprintf("labels that the model never saw: \"one.\" (%d rows), \"zero\" (30 rows)\n", ones); !strings.Contains(text(t, r), want) {
		t.Errorf("%q is not in\n%s", want, text(t, r))
	}

	r, err = evaluate(o.Data)
	if err != nil || r.UnseenLabels != nil || strings.Contains(text(t, r), "never saw") {
		t.Errorf("labels of the training: %v, %v", r, err)
	}

	_, err = evaluate(table("other.csv", relabelled(lines, map[string]string{"-1": "no", "1": "yes"})))
	wantError(t, "no label known", err, ExitData, "none of the 300 rows has a label that the model", `"yes" (`, `"no" (`, "its classes are -1, 1")
	many := lines[:1:1]
	for i := range 12_000 {
		many = append(many, fmt.Sprintf("1,2,label %d\n", i))
	}
	_, err = evaluate(table("many.csv", strings.Join(many, "")))
	wantError(t, "many labels", err, ExitData, `"(more than 10000, or longer than 256 bytes)" (12,000 rows)`)
}
