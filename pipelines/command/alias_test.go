package command

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every flag that names a model takes an alias, and the command reports the model that it stands for. A new
// flag that names a model fails the test until it is in the table.
func TestEveryFlagThatNamesAModelTakesAnAlias(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	data, rows := in("data.csv"), in("rows.csv")
	must(t, "generate", "moons", "--rows", "300", "--out", data)
	must(t, "generate", "moons", "--rows", "80", "--seed", "2", "--out", rows)
	must(t, "generate", "moons", "--rows", "50", "--seed", "3", "--out", in("test.csv"))
	features := []string{"--data", data, "--label", "y", "--search", "none", "--features", "32", "--lambda", "1e-4",
		"--width", "1", "--scale", "none", "--quiet"}
	must(t, append([]string{"train", "--model", in("first")}, features...)...)
	for _, f := range []string{data, rows} {
		must(t, "sum", "--recipe", in("first"), "--data", f, "--out", in("sums/"+filepath.Base(f)), "--quiet")
	}
	must(t, "fit", "--sums", in("sums/*"), "--model", in("models/sums"), "--quiet")
	rounds := append([]string{"--learner", "svm", "--rounds", "2"}, features...)
	must(t, append([]string{"train", "--model", in("svms/svm")}, rounds...)...)
	// The certificate is of the model without the rows.
	must(t, "forget", "--model", in("models/sums"), "--sums", in("sums/*"), "--data", rows, "--out", in("less/model"),
		"--certificate", in("proof.json"), "--quiet")
	for _, m := range []string{"models/sums", "svms/svm", "less/model"} {
		must(t, "models", "promote", "--models", in(filepath.Dir(m)), "--model", filepath.Base(m))
	}
	sums, svm, less := in("models@champion"), in("svms@champion"), in("less@champion")
	tried := map[string]bool{}
	for _, c := range []struct{ flag, alias, args string }{
		{"predict --model", sums, "--data DIR/test.csv --out DIR/predictions"},
		{"evaluate --model", sums, "--data DIR/test.csv"},
		{"featurize --model", sums, "--data DIR/test.csv --out DIR/features"},
		{"inspect --model", sums, ""},
		{"export --model", sums, "--out DIR/model.onnx"},
		{"explain --model", sums, "--data DIR/test.csv --row 2"},
		{"compare --champion", sums, "--challenger DIR/first --data DIR/test.csv"},
		{"compare --challenger", sums, "--champion DIR/first --data DIR/test.csv"},
		{"sum --recipe", sums, "--data DIR/test.csv --out DIR/more"},
		{"test --recipe", sums, "DIR/test.csv DIR/data.csv"},
		{"train --recipe", sums, "--data DIR/test.csv --model DIR/again"},
		{"train --init", svm, strings.Join(append(rounds, "--model", in("warm")), " ")},
		{"forget --model", sums, "--sums DIR/sums/* --data DIR/rows.csv --out DIR/without"},
		{"verify --model", svm, "--data DIR/data.csv --label y"},
		{"verify --model", less, "--certificate DIR/proof.json --sums DIR/sums/* --data DIR/rows.csv"},
		{"models --model", sums, "promote --models DIR/models"},
		{"prune --model", sums, "--sums DIR/sums/* --keep 1d --plan"},
	} {
		command, flag, _ := strings.Cut(c.flag, " ")
		args := strings.Fields(strings.ReplaceAll(c.args, "DIR/", dir+"/"))
		if command != "models" && command != "prune" {
			args = append(args, "--quiet=false")
		}
		code, out, stderr := execute(append([]string{command, flag, c.alias}, args...)...)
		switch command {
		case "inspect":
			stderr += out
		case "models": // it is champion already
			code -= 3
		}
		place := map[string]string{sums: "models/sums", svm: "svms/svm", less: "less/model"}[c.alias]
		if code != 0 || command == "models" && !strings.Contains(stderr, "sums is already the champion") ||
			command != "models" && !strings.Contains(stderr, in(place)) {
			t.Errorf("%s %s: exit code %d\n%s", c.flag, c.alias, code, stderr)
		}
		tried[c.flag] = true
	}
	visible(func(cmd *cobra.Command, f *pflag.Flag) {
		names := strings.Contains(f.Usage, "Directory of a model") || strings.Contains(f.Usage, "Directory of the model") ||
			strings.Contains(f.Usage, "DIR@champion")
		key := cmd.Name() + " --" + f.Name
		if !names || strings.Contains(f.Usage, "to create") || tried[key] || key == "retrain --init" || // as of train
			key == "serve --model" { // does not end: see TestServeReloadsTheChampion
			return
		}
		t.Errorf("%s: %s", key, f.Usage)
	})
}
