package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/sums"
)

// forgeSums writes a copy of a directory of sums with other numbers in a fold, and all checksums
// computed again.
func forgeSums(t *testing.T, from, to string, fold int, change func(part int, numbers []float64)) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := sums.Open(context.Background(), from)
	must(err)
	must(os.CopyFS(to, os.DirFS(from)))
	r, err := sums.NewReader()
	must(err)
	defer r.Close()
	w, err := sums.NewWriter()
	must(err)
	var file bytes.Buffer
	d.Folds[fold], err = w.WriteFold(&file, d.Shape().NumParts(), func(i int) ([]float64, error) {
		numbers := make([]float64, d.Shape().PartLen(i))
		err := r.Read(context.Background(), numbers, d, fold, i)
		change(i, numbers)
		return numbers, err
	})
	must(err)
	write(t, to, sums.FoldFile(fold), file.String())
	manifest, err := d.Manifest.Encode()
	must(err)
	write(t, to, sums.ManifestFile, string(manifest))
}

// forgeModel writes a copy of a model with other weights, and its checksums computed again.
func forgeModel(t *testing.T, from, to string, change func(weights []byte)) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	m, err := models.ReadManifest(context.Background(), from)
	if err != nil {
		t.Fatal(err)
	}
	weights := []byte(read(t, from, models.WeightsFile))
	change(weights)
	for i := range m.Files {
		if m.Files[i].Name == models.WeightsFile {
			m.Files[i] = models.NewFileEntry(models.WeightsFile, weights)
		}
	}
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, models.WeightsFile, string(weights))
	write(t, to, models.ManifestFile, string(data))
}

// Sums, rows and weights that were tampered with are not confirmed, with exit code 4, and the message names the
// fold and the fault.
func TestAuditsFindForgeries(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 9))
	rows := []string{"x,y,l"}
	for range 200 {
		rows = append(rows, pointRow(r))
	}
	table := func(name string, rows []string) { write(t, dir, name, strings.Join(rows, "\n")+"\n") }
	table("all.csv", rows)
	must(t, dir, "train", "--data", "all.csv", "--label", "l", "--features", "400", "--model", "recipe", "--quiet")
	must(t, dir, "sum", "--recipe", "recipe", "--data", "all.csv", "--out", "sums", "--quiet")
	must(t, dir, "fit", "--sums", "sums", "--model", "model", "--quiet")
	whole := filepath.Join(dir, "sums")
	forged := func(name string, fold, part, at int, by float64) string {
		forgeSums(t, whole, filepath.Join(dir, name), fold, func(i int, numbers []float64) {
			if i == part {
				numbers[at] += by
			}
		})
		return name
	}
	forgeSums(t, whole, filepath.Join(dir, "swapped"), 2, func(i int, numbers []float64) {
		if i == 1 {
			numbers[3*384], numbers[5*384+1] = numbers[5*384+1], numbers[3*384]
		}
	})
	forgeModel(t, filepath.Join(dir, "model"), filepath.Join(dir, "bit"), func(w []byte) { w[len(w)-4] ^= 1 })
	forgeModel(t, filepath.Join(dir, "model"), filepath.Join(dir, "far"), func(w []byte) { w[len(w)-2] ^= 0x40 })
	replaced := append([]string{}, rows...)
	replaced[77] = "0.5,0.5,a"
	table("replaced.csv", replaced)
	replaced[77] = strings.TrimRight(rows[77], "abc") + map[bool]string{true: "b", false: "a"}[strings.HasSuffix(rows[77], "a")]
	table("label.csv", replaced)
	table("missing.csv", rows[:200])
	table("twice.csv", append(rows, rows[9]))
	const cross = 4 // parts: a head, three tiles, two of cross products
	for _, c := range []struct{ sums, data, model, want string }{
		{"sums", "all.csv", "model", ""},
		{forged("gram", 0, 1, 2*384+1, 1), "all.csv", "", "fold 0 does not match the rows: products of features 2, 3"},
		{forged("diagonal", 4, 3, 0, -1), "all.csv", "", "fold 4 does not match the rows: products of features 385"},
		{forged("high", 1, 2, 17, 1<<40), "all.csv", "", "fold 1 does not match the rows: products of features 18, 385"},
		{forged("cross", 3, cross, 5, 1), "all.csv", "", "fold 3 does not match the rows: products of features 2"},
		{forged("count", 2, 0, 0, 1), "all.csv", "", "fold 2 does not match the rows: counts or sums of labels"},
		{forged("class", 2, 0, 2, 7), "all.csv", "", "fold 2 does not match the rows: counts or sums of labels"},
		{forged("above", 2, 1, 1, 1), "all.csv", "", "fold 2 does not match the rows: numbers above a diagonal"},
		{"swapped", "all.csv", "", "fold 2 does not match the rows: products of features 1, 2 and 2 more"},
		{"sums", "replaced.csv", "", "counts or sums of labels, products of features 1, 2 and 398 more; fold "},
		{"sums", "label.csv", "", "counts or sums of labels"},
		{"sums", "missing.csv", "", "the data have 199 rows, and the sums say 200; fold "},
		{"sums", "twice.csv", "", "the data have 201 rows, and the sums say 200; fold "},
		{"high", "", "model", "of 1203 differ from the solution for the sums of all folds"},
		{"sums", "", "bit", "weights: 1 of 1203 differ"},
		{"sums", "", "far", "the relative residual is"},
	} {
		args := []string{"verify", "--audit", "--sums", c.sums}
		if c.data != "" {
			args = append(args, "--data", c.data)
		}
		if c.model != "" {
			args = append(args, "--model", c.model)
		}
		code := 4
		if c.want == "" {
			code = 0
		}
		got := run(t, dir, append(args, "--json")...)
		var result struct {
			Holds bool
			Why   []string
		}
		if err := json.Unmarshal([]byte(got.stdout), &result); err != nil || result.Holds != (code == 0) {
			t.Errorf("%v: %v\n%s", args, err, got.stdout)
		}
		if got.code != code || !strings.Contains(strings.Join(result.Why, "; "), c.want) || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: exit code %d, want %d and %q\n%s", args, got.code, code, c.want, got.stderr)
		}
	}
	for _, args := range [][]string{{"--sums", "sums"}, {"--data", "all.csv"}, {"--sums", "sums", "--data", "all.csv", "--certificate", "c"}} {
		if got := run(t, dir, append([]string{"verify", "--audit"}, args...)...); got.code != 2 {
			t.Errorf("%v: exit code %d\n%s", args, got.code, got.stderr)
		}
	}
}
