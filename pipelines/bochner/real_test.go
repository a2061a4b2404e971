package main

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/realdata"
)

// scores is what evaluate --json prints, as far as the tests look at it.
type scores struct {
	Classes struct {
		Rows     int64   `json:"rows"`
		Accuracy float64 `json:"accuracy"`
		Error    float64 `json:"error"`
	} `json:"classes"`
	Targets struct {
		Rows int64   `json:"rows"`
		R2   float64 `json:"r2"`
	} `json:"targets"`
}

// trainAndScore trains with the flags and scores on the test data.
func trainAndScore(t *testing.T, train, test []string) (s scores, model string) {
	t.Helper()
	dir := t.TempDir()
	must(t, dir, append([]string{"train", "--model", "model", "--quiet"}, train...)...)
	out := must(t, dir, append([]string{"evaluate", "--model", "model", "--json", "--quiet"}, test...)...)
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	return s, filepath.Join(dir, "model")
}

// mnist returns the flags that name the files of a set: train or t10k.
func mnist(t *testing.T) func(set string) []string {
	data := realdata.Path(t, "mnist")
	return func(set string) []string {
		return []string{
			"--data", filepath.Join(data, set+"-images-idx3-ubyte.gz"),
			"--label_files", filepath.Join(data, set+"-labels-idx1-ubyte.gz"),
		}
	}
}

// Errors are below bounds a little above the errors of scikit-learn's RBFSampler and RidgeClassifier with the
// same width, λ and number of features: 5.37% and 3.01% (1.9.1). The runners give the same weights.
func TestMNISTErrorStaysBelowItsBound(t *testing.T) {
	files := mnist(t)
	for _, c := range []struct {
		features string
		most     float64
	}{{"1024", 0.058}, {"4096", 0.032}} {
		var first string
		for _, runner := range []string{"direct", "prism"} {
			flags := []string{"--width", "7", "--lambda", "1e-6", "--features", c.features, "--runner", runner}
			s, model := trainAndScore(t, append(flags, files("train")...), append(files("t10k"), "--runner", runner))
			t.Logf("%s features, %s: error %.2f%%", c.features, runner, 100*s.Classes.Error)
			if s.Classes.Rows != 10000 || s.Classes.Error > c.most {
				t.Errorf("%s features, %s: error %g on %d rows, want at most %g on 10000", c.features, runner, s.Classes.Error,
					s.Classes.Rows, c.most)
			}
			weights := read(t, model, "weights.safetensors")
			if first == "" {
				first = weights
			} else if weights != first {
				t.Errorf("%s features: the weights differ between the runners", c.features)
			}
		}
	}
}

// Errors are below bounds a little above the errors of LinearSVC on the same features (3.9%), and of
// SGDClassifier in as many epochs.
func TestMNISTInRoundsErrorStaysBelowItsBound(t *testing.T) {
	files := mnist(t)
	for _, c := range []struct {
		name  string
		flags []string
		most  float64
	}{
		{"svm, D = 1,024", []string{"--features", "1024", "--learner", "svm", "--C", "10"}, 0.042},
		{"softmax, D = 4,096", []string{"--features", "4096", "--learner", "sgd", "--rounds", "5", "--partitions", "2",
			"--lambda", "1e-7"}, 0.036},
	} {
		s, model := trainAndScore(t, append(append(c.flags, "--width", "7"), files("train")...), files("t10k"))
		t.Logf("%s: error %.2f%%", c.name, 100*s.Classes.Error)
		if s.Classes.Rows != 10000 || s.Classes.Error > c.most {
			t.Errorf("%s: error %g on %d rows, want at most %g on 10000", c.name, s.Classes.Error, s.Classes.Rows, c.most)
		}
		if strings.HasPrefix(c.name, "svm") {
			must(t, model, append([]string{"verify", "--model", ".", "--quiet"}, files("train")...)...)
		}
	}
}

func TestAdultErrorStaysBelowItsBound(t *testing.T) {
	data := realdata.Path(t, "libsvm")
	s, _ := trainAndScore(t, []string{"--data", filepath.Join(data, "a9a.gz"), "--features", "2048"},
		[]string{"--data", filepath.Join(data, "a9a.t.gz")})
	t.Logf("a9a: accuracy %.4f", s.Classes.Accuracy)
	if s.Classes.Rows != 16281 || s.Classes.Accuracy < 0.848 {
		t.Errorf("accuracy %g on %d rows, want at least 0.848 on 16281", s.Classes.Accuracy, s.Classes.Rows)
	}
}

func TestHousesR2StaysAboveItsBoundWithDefaults(t *testing.T) {
	train, test := split(t, true, "csv", "houses.tsv.gz")
	s, _ := trainAndScore(t, []string{"--data", train, "--label", "target"}, []string{"--data", test})
	t.Logf("houses: R² %.4f", s.Targets.R2)
	if s.Targets.Rows != 4128 || !(s.Targets.R2 >= 0.74) || math.IsNaN(s.Targets.R2) {
		t.Errorf("R² %g on %d rows, want at least 0.74 on 4128", s.Targets.R2, s.Targets.Rows)
	}
}

func TestLetterErrorStaysBelowItsBound(t *testing.T) {
	train, test := split(t, false, "libsvm", "letter.scale.gz")
	s, _ := trainAndScore(t, []string{"--data", train}, []string{"--data", test})
	t.Logf("letter: accuracy %.4f", s.Classes.Accuracy)
	if s.Classes.Rows != 3000 || s.Classes.Accuracy < 0.93 {
		t.Errorf("accuracy %g on %d rows, want at least 0.93 on 3000", s.Classes.Accuracy, s.Classes.Rows)
	}
}

// split makes two files of one: every fifth row is for the test.
func split(t *testing.T, header bool, name ...string) (train, test string) {
	t.Helper()
	text := realdata.Read(t, name...)
	lines := strings.SplitAfter(strings.TrimSpace(string(text))+"\n", "\n")
	lines = lines[:len(lines)-1]
	var parts [2]strings.Builder
	if header {
		parts[0].WriteString(lines[0])
		parts[1].WriteString(lines[0])
		lines = lines[1:]
	}
	for i, line := range lines {
		if i%5 == 4 {
			parts[1].WriteString(line)
		} else {
			parts[0].WriteString(line)
		}
	}
	dir := t.TempDir()
	return write(t, dir, "train", parts[0].String()), write(t, dir, "test", parts[1].String())
}
