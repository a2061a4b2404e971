package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// If rows do not outnumber the features, they are stored for the solver instead of their sums. The model is the
// same, byte for byte, for every cut and reader of the rows, and its weights equal the weights of a training
// run from sums.
func TestModelOfStoredRowsEqualsModelOfSums(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "friedman", "--rows", "200", "--out", "a.csv")
	rows := strings.Split(strings.TrimSpace(read(t, dir, "a.csv")), "\n")
	for i := range rows { // a class, a second target, and a weight for each row
		f := strings.Split(rows[i], ",")
		extra := fmt.Sprintf("c%d,%s,%d", i*i%7%3, f[0], 1+i%3)
		if i == 0 {
			extra = "class,second,weight"
		}
		rows[i] += "," + extra
	}
	write(t, dir, "whole.csv", strings.Join(rows, "\n")+"\n")
	head, rows := rows[0], rows[1:]
	slices.Reverse(rows)
	for i, part := range [][]string{rows[:60], rows[60:61], rows[61:]} {
		write(t, dir, fmt.Sprintf("cut%d.csv", i), strings.Join(append([]string{head}, part...), "\n")+"\n")
	}
	for n, c := range []string{"--label y --drop class,second,weight",
		"--label class --drop y,second --weight_column weight --class_weight balanced",
		"--label y,second --drop class --weight_column weight --grid 16"}[:campaign.Pick(2, 3)] {
		train := append(strings.Fields("train --search none --features 1024"), strings.Fields(c)...)
		out := t.TempDir()
		model := func(name string, args ...string) string {
			t.Helper()
			name = filepath.Join(out, name)
			r := run(t, dir, slices.Concat(train, args, []string{"--model", name})...)
			if r.code != 0 || strings.Contains(r.stderr, "sums of") || !strings.Contains(r.stderr, " of features, ") {
				t.Errorf("exit code %d: %s", r.code, r.stderr)
			}
			return name
		}
		want := model("whole", "--data", "whole.csv")
		ways := [][]string{{"--threads", "3"}, {"--runner", "prism", "--readers", "2", "--threads", "1"}}
		for i, way := range ways[n%2:] {
			if got := model(fmt.Sprint("cut", i), append(way, "--data", "cut*.csv")...); digestOf(t, got) != digestOf(t, want) {
				t.Errorf("%s: another model by %v", c, way)
			}
		}
		sums := filepath.Join(out, "sums")
		must(t, dir, "train", "--recipe", want, "--data", "cut*.csv", "--model", sums)
		if read(t, sums, "weights.safetensors") != read(t, want, "weights.safetensors") {
			t.Errorf("%s: other weights from sums", c)
		}
	}
}
