package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Small tables that have been misread are read as meant: each has the commands that a user would run and their
// expected output. A gate judges the model.
func TestTablesThatInviteMisreadingAreReadAsMeant(t *testing.T) {
	t.Parallel()
	tables := source("pipelines/bochner/testdata/tables")
	type step struct {
		command string // with files of tables
		code    int
		says    string // "" for anything; several texts are separated by " … "
		never   string
	}
	for name, steps := range map[string][]step{
		"a first record that is a row": {
			{"train --data no-header-train.csv --label 1", 0, "rows      40\n", ""},
			{"predict --data no-header-train.csv --out -", 0, "rows         40\n", ""},
			{"predict --data no-header-new.csv --out -", 0, "rows         10\n", ""},
		},
		"a first record before numbers": {{"train --data no-header-numeric-label.csv --label 1", 0, "rows      40\n", ""}},
		"a header of years": {
			{"train --data years-train.csv --label -1", 0,
				"rows      40\n … the first line is read as the names of the columns … --header no", ""},
			{"predict --data years-new.csv --out -", 0, "rows         10\n", ""},
		},
		"Latin-1": {
			{"train --data latin1.csv --label y", 3,
				"latin1.csv:2:1: column \"city\": … is not UTF-8 (byte 2 is 0xFC) … --encoding latin1", "csvio"},
			{"train --data latin1.csv --label y --encoding latin1", 0, "4 levels", ""},
			{"evaluate --data latin1.csv --gate r2>=0.9999", 0, "", ""},
		},
		"decimal commas": {
			{"train --data comma.csv --label y", 0,
				"column amount (such as \"11094,56\"): numbers with a decimal comma, not read as numbers; --decimal", ""},
			{"train --data comma.csv --label y --decimal , --model with", 0, "classification of 2 numbers", "decimal comma"},
			{"evaluate --data comma.csv --model with --gate error<=0.06", 0, "", ""},
		},
		"no rows": {
			{"inspect --data no-rows.parquet", 3, "no-rows.parquet: has columns but no rows", "/state/"},
			{"train --data no-rows.parquet --label y", 3, "no-rows.parquet: has columns but no rows", "/state/"},
		},
		"a score that one row does not define": {
			{"train --data one-row-train.csv --label y", 0, "", ""},
			{"evaluate --data one-row.csv --gate r2>=0", 4,
				"gate not passed: r2 is not defined for these rows: the values of the target are all equal", ""},
		},
		"labels of other signs": {
			{"train --data signs-train.csv --label y", 0, "", ""},
			{"evaluate --data signs.csv", 0,
				`"-1" (21 rows); no row has the class "0"; if "-1" means that class, write it that way`, "--label_strip"},
		},
		"thousands": {{"featurize --data thousands.csv --decimal , --thousands . --label y --out features", 3,
			"0.123 … thousands", ""}},
		"numbers far from 0": {
			{"train --data near-0.csv --label y --model near --lambda 1e-9", 0, "", ""},
			{"evaluate --data near-0.csv --model near --gate rmse<=0.0001", 0, "", ""},
			{"train --data near-1000000.csv --label y --model million --lambda 1e-9", 0, "", ""},
			{"evaluate --data near-1000000.csv --model million --gate rmse<=0.0001", 0, "", ""},
			{"train --data near-2000000.csv --label y --model two --lambda 1e-9", 0, "", ""},
			{"evaluate --data near-2000000.csv --model two --gate rmse<=0.0001", 0, "", ""},
		},
		"NaN in JSON lines": {
			{"inspect --data nan-first.jsonl --label y", 0, "rows      41 of 2 numbers … a       feature  number  1 ", "csv"},
			{"inspect --data nan-second.jsonl --label y", 0, "rows      41 of 2 numbers … a       feature  number  1 ", "csv"},
		},
		"classes that look alike": {{"inspect --data look-alike.csv --label y", 0,
			`classes differ only in case, in spaces, in Unicode form or in invisible characters: "Tea", "tea", "tea\u00a0"; "cafe\u0301", "caf\u00e9"`, ""}},
		"times with and without a zone": {
			{"train --data naive.csv --label y", 0, "", ""},
			{"evaluate --data offset.csv", 0, "60 times that name a zone although times of the training data name none", ""},
		},
		"years of two digits": {{"inspect --data yy.csv --label y", 0,
			"column when (layout m/d/y): dates as text, read as days", ""}},
		"probabilities of steps": {
			{"train --data steps-train.csv --label y --calibrate isotonic", 0, "", ""},
			{"evaluate --data steps-test.csv --gate log_loss<=0.65", 0, "", "below 1e-07"},
		},
		"a rare class": {
			{"train --data fraud.csv --label y --threshold f1", 0,
				"positive: fraud … a row is of class \"fraud\" if … the F1 of the class", ""},
			{"train --data fraud.csv --label y --threshold f1 --positive ok --model ok", 0,
				"positive: ok … a row is of class \"ok\" if", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, s := range steps {
				args := strings.Fields(s.command)
				for i, a := range args {
					if file := filepath.Join(tables, a); strings.Contains(a, ".") && i > 0 && args[i-1] == "--data" {
						args[i] = file
					}
				}
				if args[0] == "train" {
					args = append(args, "--features", "256", "--search", "none")
				}
				if args[0] != "inspect" && args[0] != "featurize" && !strings.Contains(s.command, "--model") {
					args = append(args, "--model", "model")
				}
				r := run(t, dir, args...)
				rest := r.stdout + r.stderr
				all := rest
				for word := range strings.SplitSeq(s.says, " … ") {
					_, after, found := strings.Cut(rest, word)
					rest = after
					if !found {
						t.Errorf("%s: %q is not in\n%s", s.command, word, all)
						break
					}
				}
				if r.code != s.code || s.never != "" && strings.Contains(strings.ReplaceAll(all, tables, ""), s.never) {
					t.Errorf("%s: exit code %d, want %d, without %q\n%s", s.command, r.code, s.code, s.never, all)
				}
			}
		})
	}
}
