package main

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/realdata"
)

// reliability is what evaluate --json prints of probabilities, as far as the tests
// look at it.
type reliability struct {
	Probabilities *struct {
		Rows    int64   `json:"rows"`
		LogLoss float64 `json:"log_loss"`
		Brier   float64 `json:"brier"`
		ECE     float64 `json:"ece"`
		Bins    []struct {
			Rows int64 `json:"rows"`
		} `json:"bins"`
	} `json:"probabilities"`
}

// If a class has no held-out row, the note does not advise a flag that would be rejected.
func TestProbabilityNoteDoesNotAdviseRejectedFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	common := func(i int) string { return decimalOf(float64(i%9)) + ",common" }
	write(t, dir, "one.csv", "x,y\n0.5,rare\n"+linesOf(100, common))
	train := []string{"train", "one.csv", "--label", "y", "--lambda", "1e-3,1e-2", "--model", "m"}
	r := run(t, dir, append(train, "--features", "16", "--search", "none")...)
	said := r.stdout + r.stderr
	if r.code != 0 || !strings.Contains(said, "are needed: use more rows") || strings.Contains(said, "--calibrate platt") {
		t.Errorf("exit code %d, %s", r.code, said)
	}
}

// Neither the runner, the readers, the threads nor the cut of the files change a calibrated model, or the
// report about its probabilities.
func TestCalibratedModelIsTheSameByteForByte(t *testing.T) {
	campaign.Long(t)
	ways := slices.Concat(variants, []variant{order}, mixtures)
	learners := map[string]struct {
		flags []string
		ways  []variant
	}{
		"ridge, a path": {[]string{"--lambda", "1e-6,1e-3", "--calibrate", "isotonic"}, append(share(ways, 0, 4), onOneCore)},
		"ridge":         {[]string{"--lambda", "1e-4", "--calibrate", "platt"}, append(share(ways, 2, 4), onOneCore)},
		"svm": {[]string{"--learner", "svm", "--rounds", "3", "--lambda", "1e-3", "--calibrate", "platt"},
			append(share(steady(), 1, 5), steadyOnOneCore)},
	}
	for name, learner := range learners {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tb := generated(t, "moons", 900)
			flags := append([]string{"--features", "64"}, learner.flags...)
			want := variant{}.train(t, tb, flags...)
			if !strings.Contains(want["manifest.json"], `"probabilities": {`) {
				t.Fatalf("no probabilities: %s", want["manifest.json"])
			}
			for _, v := range learner.ways {
				same(t, v.name, want, v.train(t, tb, flags...))
			}
			// Other rows held out have other curves: the test can fail.
			other := variant{}.train(t, tb, append(flags, "--folds", "3")...)
			if other["manifest.json"] == want["manifest.json"] {
				t.Error("the same manifest with other folds")
			}
		})
	}
}

func TestCalibrationIsReproducible(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "900", "--out", "train.csv")
	must(t, dir, "train", "--data", "train.csv", "--label", "y", "--features", "64", "--lambda", "1e-5", "--calibrate",
		"platt", "--model", "model")
	tb := generated(t, "moons", 700)
	evaluate := func(v variant) (string, string) {
		t.Helper()
		picture := filepath.Join(t.TempDir(), "r.svg")
		r := v.run(t, dir, slices.Concat([]string{"evaluate", "--model", "model", "--json", "--reliability", picture},
			tb.write(t, v.cut)[:2])...)
		if r.code != 0 {
			t.Fatalf("%s: exit code %d\n%s", v.name, r.code, r.stderr)
		}
		return r.stdout, read(t, filepath.Dir(picture), "r.svg")
	}
	want, drawn := evaluate(variant{})
	var found reliability
	if err := json.Unmarshal([]byte(want), &found); err != nil {
		t.Fatal(err)
	}
	if p := found.Probabilities; p == nil || p.Rows != 700 || len(p.Bins) != 10 || !(p.LogLoss > 0) || !(p.Brier > 0) ||
		!(p.ECE > 0) {
		t.Fatalf("%s", want)
	}
	for _, v := range slices.Concat(variants, []variant{order}, mixtures) {
		got, picture := evaluate(v)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: other figures: %s", v.name, d)
		}
		if picture != drawn {
			t.Errorf("%s: another picture", v.name)
		}
	}
	bytesOf := func(v variant) string {
		lines, _ := v.predict(t, filepath.Join(dir, "model"), tb, "--probabilities")
		return strings.Join(lines, "")
	}
	plain := bytesOf(variant{})
	for _, v := range mixtures {
		if v.cut.shuffled {
			continue
		}
		if bytesOf(v) != plain {
			t.Errorf("%s: other probabilities", v.name)
		}
	}
}

// The predicted class has the largest probability; if several have it, the score decides. The
// probabilities of a row add up to 1, in both formats and of every kind.
func TestProbabilitiesAddUpToOne(t *testing.T) {
	tb := sparse()
	for name, flags := range map[string][]string{
		"ridge platt":    {"--lambda", "1e-3", "--calibrate", "platt"},
		"ridge isotonic": {"--lambda", "1e-3", "--calibrate", "isotonic"},
		"sgd softmax":    {"--learner", "sgd", "--rounds", "2", "--lambda", "1e-4"},
		"svm logistic":   {"--learner", "svm", "--loss", "logistic", "--rounds", "2", "--lambda", "1e-3"},
		"svm logistic with curves in their place": {
			"--learner", "svm", "--loss", "logistic", "--rounds", "2", "--lambda", "1e-3", "--calibrate", "platt",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			data := tb.write(t, cut{})
			must(t, dir, slices.Concat([]string{"train", "--model", "model", "--features", "32"}, data, flags)...)
			must(t, dir, slices.Concat([]string{"predict", "--model", "model", "--scores", "--probabilities", "--out", "c"},
				data)...)
			must(t, dir, slices.Concat([]string{"predict", "--model", "model", "--probabilities", "--out", "j", "--out_format",
				"jsonl"}, data)...)
			records, err := csv.NewReader(strings.NewReader(read(t, dir, "c", "part-00000.csv"))).ReadAll()
			if err != nil || len(records) != len(tb.rows)+1 {
				t.Fatalf("%d records: %v", len(records), err)
			}
			head := []string{"prediction", "score_1", "score_2", "score_3", "probability_1", "probability_2", "probability_3"}
			if !slices.Equal(records[0], head) {
				t.Errorf("header %v", records[0])
			}
			lines := strings.Split(strings.TrimSpace(read(t, dir, "j", "part-00000.jsonl")), "\n")
			for i, record := range records[1:] {
				var row struct {
					Prediction    json.Number
					Probabilities map[string]json.Number
				}
				if err := json.Unmarshal([]byte(lines[i]), &row); err != nil {
					t.Fatal(err)
				}
				var sum, best, bestScore float64
				class := ""
				for c := range 3 {
					score, _ := strconv.ParseFloat(record[1+c], 64)
					p, err := strconv.ParseFloat(record[4+c], 64)
					if err != nil || !(p >= 0 && p <= 1) || row.Probabilities[strconv.Itoa(c+1)].String() != record[4+c] {
						t.Fatalf("row %d: %v, %s", i, record, lines[i])
					}
					sum += p
					if class == "" || p > best || p == best && score > bestScore {
						best, bestScore, class = p, score, strconv.Itoa(c+1)
					}
				}
				if math.Abs(sum-1) > 1e-6 || record[0] != class || row.Prediction.String() != class {
					t.Fatalf("row %d: %v of sum %g, %s", i, record, sum, lines[i])
				}
			}
		})
	}
}

func TestCalibrationResumesAfterAKill(t *testing.T) {
	t.Parallel()
	dir := choreData(t, someTenths)
	undisturbed(t, &chore{dir: dir, out: "model", args: []string{
		"train", "--data", "data.csv", "--label", "y", "--features", "256", "--lambda", "1e-4", "--calibrate", "platt",
		"--model", "model", "--threads", "1",
	}}).survives(t, 2, 10)
}

// Calibrated probabilities on Adult have a calibration error of at most 0.031 with platt and 0.015 with
// isotonic, and a log loss of at most 0.34. The softmax of the scores of ridge has the calibration error 0.075
// and the log loss 0.37. Probabilities are no sigmoid of these scores: platt leaves 0.023, isotonic 0.007, each
// ± 0.002.
func TestAdultProbabilitiesAreCalibrated(t *testing.T) {
	data := realdata.Path(t, "libsvm")
	dir := t.TempDir()
	for method, most := range map[string]float64{"platt": 0.031, "isotonic": 0.015} {
		must(t, dir, "train", "--data", filepath.Join(data, "a9a.gz"), "--features", "1024", "--lambda", "1e-5",
			"--calibrate", method, "--model", method, "--quiet")
		var r reliability
		out := must(t, dir, "evaluate", "--model", method, "--data", filepath.Join(data, "a9a.t.gz"), "--json", "--quiet")
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		p := r.Probabilities
		t.Logf("a9a, %s: log loss %.4f, Brier score %.4f, calibration error %.4f", method, p.LogLoss, p.Brier, p.ECE)
		if p.Rows != 16281 || p.ECE > most || p.LogLoss > 0.34 {
			t.Errorf("a9a, %s: %+v", method, p)
		}
	}
}
