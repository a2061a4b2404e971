package main

import (
	"strings"
	"testing"
)

func TestConversionsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "cars.json", "[\n  {\"a\": 1, \"y\": 2},\n  {\"a\": 2, \"y\": 3}\n]\n")
	write(t, dir, "wide.dat", "    id    years   div\n     9  12 to 15   No\n    11   34.943   No\n")
	write(t, dir, "narrow.dat", "id years div\n9 12.5 0\n11 34.943 1\n")
	write(t, dir, "words.csv", "label\nsome text\n")
	const spaces = "its fields seem to be separated by spaces: write it as CSV first, in Python: pandas."
	for data, want := range map[string][]string{
		"cars.json": {`pandas.read_json("cars.json", lines=False).to_csv("cars.json.csv", index=False)`},
		"wide.dat":  {`no column "div"`, spaces + `read_fwf("wide.dat").to_csv("wide.dat.csv", index=False)`},
		"narrow.dat": {`no column "div"`, spaces +
			`read_csv("narrow.dat", sep=r"\s+").to_csv("narrow.dat.csv", index=False)`},
	} {
		refuse(t, dir, 3, want, "train", "--data", data, "--label", "div", "--model", "m")
	}
	if r := run(t, dir, "train", "--data", "words.csv", "--label", "label", "--model", "m"); r.code != 3 ||
		strings.Contains(r.stderr, "separated by spaces") {
		t.Errorf("a column of texts: exit code %d, %s", r.code, r.stderr)
	}
}
