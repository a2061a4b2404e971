package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Settings of a retraining include the flags of a configuration file, but not who retrains or where
// a curve is drawn.
func TestFlagsOfAConfigurationAreSettings(t *testing.T) {
	name := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(name, []byte("label: y\ncolumns: [a, b]\nfeatures: 64\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := retrainCommand()
	cmd.SetContext(t.Context())
	if err := cmd.ParseFlags([]string{"--config", name, "--seed", "2", "--who", "x", "--curve", "c.svg"}); err != nil {
		t.Fatal(err)
	}
	if err := readConfig(cmd); err != nil {
		t.Fatal(err)
	}
	if got, want := recipeSettings(cmd), "--columns=[a,b] --features=64 --label=y --seed=2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestCommonDirectoriesAreOmitted(t *testing.T) {
	for list, want := range map[string]string{
		"train.csv": "train.csv", "/a/b/train.csv": "train.csv", "/train.csv": "train.csv", "data/x.csv": "x.csv",
		"/a/b/x.csv,/a/b/y.csv": "x.csv,y.csv", "/a/2024/*.csv,/a/2025/*.csv": "2024/*.csv,2025/*.csv",
		"a/x.csv,b/x.csv": "a/x.csv,b/x.csv", "gs://bucket/x.csv": "gs://bucket/x.csv", "-": "-",
		"../x.csv": "x.csv", "/a/model": "model", "./x.csv": "x.csv",
	} {
		if got := strings.Join(withoutDirectories(strings.Split(list, ",")), ","); got != want {
			t.Errorf("%s: %s, want %s", list, got, want)
		}
	}
	for word, want := range map[string]string{"--data=x-*.csv": "'--data=x-*.csv'", "--label=y": "--label=y",
		"--label=it's": `'--label=it'\''s'`, "--drop=$HOME": "'--drop=$HOME'"} {
		if got := quoteForShell(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}
