package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Predictions name rows that cannot be used by their ids, unless the ids cannot be read.
func TestPredictKeepsIDsOfBadRows(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "train.csv", "a,id,b,y\n1,t1,2,p\n2,t2,1,q\n3,t3,5,p\n4,t4,2,q\n")
	must(t, dir, "train", "--data", "train.csv", "--label", "y", "--id_column", "id", "--features", "16", "--lambda", "1e-3",
		"--search", "none", "--model", "model")
	for name, text := range map[string]string{
		"middle.csv": "a,id,b\n1,r1,2\nx,r2,3\n4,r3,5\n6\n7,r5,8,9\n",
		"last.csv":   "a,b,id\n1,2,r1\nx,3,r2\n4,5,r3\n4,5\nx,1,r5\n",
		"ids.jsonl": `{"a":1,"id":"r1","b":2}` + "\n" + `{"a":"x","id":"r2","b":3}` + "\n" + `{"a":4,"id":"r3","b":5}` + "\n" +
			`{"a":1,"i` + "\n" + `{"a":"x","b":1,"id":"r5"}` + "\n",
	} {
		write(t, dir, name, text)
		must(t, dir, "predict", "--model", "model", "--data", name, "--out", name+"-out", "--max_bad_fraction", "0.9")
		var ids []string
		for _, line := range strings.Fields(read(t, filepath.Join(dir, name+"-out"), "part-00000.csv")) {
			id, _, _ := strings.Cut(line, ",")
			ids = append(ids, id)
		}
		if got := strings.Join(ids, " "); got != "id r1 r2 r3  r5" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
