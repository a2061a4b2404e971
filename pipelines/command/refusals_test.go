package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
)

func TestUselessFlagsOfRoundsAreRejected(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "generate", "moons", "--rows", "200", "--out", "data.csv")
	must(t, "train", "--data", "data.csv", "--label", "y", "--features", "32", "--lambda", "1e-3", "--model", "other")
	for _, test := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"--learner", "svn"}, `unknown learner "svn" (did you mean "svm"?)`, 2},
		{[]string{"--rounds", "3"}, "--rounds is for iterative learners (cg, sgd, svm); ridge is fitted in one pass", 2},
		{[]string{"--learner", "svm", "--loss", "softmax"}, "softmax takes all outputs together", 2},
		{[]string{"--learner", "svm", "--loss", "huber"}, "--loss huber is not for labels that are classes", 2},
		{[]string{"--learner", "svm", "--loss", "hing"}, "hinge", 2},
		{[]string{"--learner", "svm", "--lambda", "0"}, "lambda is 0", 2},
		{[]string{"--learner", "svm", "--partitions", "-1"}, "--partitions must be", 2},
		{[]string{"--learner", "svm", "--rounds_per_job", "1000"}, "--rounds_per_job must be", 2},
		{[]string{"--learner", "svm", "--class_weight", "up=3"}, `no row is of class "up"`, 2},
		{[]string{"--learner", "svm", "--class_weight", "1=-3"}, "want a number above 0", 2},
		{[]string{"--class_weight", "1=1e12"}, "differs too much from the mean", 2},
		{[]string{"--class_weight", "1=1,1=2"}, `class "1" is given twice`, 2},
		{[]string{"--learner", "svm", "--init", "other"}, "--init other: the model has different features", 2},
		{[]string{"--learner", "svm", "--init", "nothing"}, "nothing", 6},
		{[]string{"--solver", "cgg"}, "--solver must be auto, gram or cg", 2},
		{[]string{"--solver", "cg", "--learner", "sgd"},
			"--solver cannot be used with --learner sgd; it is an option of ridge", 2},
		{[]string{"--solver", "cg", "--grid", "8"}, "--grid cannot be used with --solver cg; it is an option of ridge", 2},
		{[]string{"--solver", "cg", "--patience", "2"}, "--patience cannot be used with cg, which stops at --tolerance", 2},
		{[]string{"--solver", "cg", "--lambda", "0"}, "--lambda must be above 0 for cg", 2},
		{[]string{"--solver", "cg", "--max_time", "2h"}, "--max_time cannot be used with cg", 2},
		{[]string{"--solver", "cg", "--time", "2h"}, "--time cannot be used with cg", 2},
		{[]string{"--solver", "gram", "--learner", "cg"}, "--solver cannot be used with --learner cg", 2},
		{[]string{"--solver", "cg", "--rounds", "3"}, "--rounds must be 4 or more for cg", 2},
		{[]string{"--solver", "cg", "--worth", "0.01"}, "exact sums", 2},
		{[]string{"--learner", "cg", "--class_weight", "1=1e300"}, "the weights overflow", 3},
		{[]string{"--learner", "sgd", "--rate", "1e300"}, "weights overflow in round 0; lower the rate", 3},
		{[]string{"--width", "1e-300"}, "makes frequency 0 too large for float32", 3},
		{[]string{"--tolerance", "0.1"}, "--tolerance is for iterative learners (cg); ridge is fitted in one pass", 2},
	} {
		code, _, stderr := execute(append([]string{"train", "--data", "data.csv", "--label", "y", "--features", "64", "--model", "m"},
			test.args...)...)
		if code != test.code || !strings.Contains(stderr, test.want) || strings.Contains(stderr, "--resume continues") {
			t.Errorf("%v: exit code %d, want %d and %q:\n%s", test.args, code, test.code, test.want, stderr)
		}
		if _, err := os.Stat("m"); err == nil {
			t.Fatalf("%v: a model was made", test.args)
		}
	}
}

func TestUnsupportedLearnedFeaturesAreRejected(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "generate", "windmill", "--rows", "300", "--out", "data.csv")
	must(t, "generate", "friedman", "--rows", "300", "--out", "numbers.csv")
	must(t, "train", "--model", "model", "--data", "data.csv", "--label", "y", "--kernel", "learned", "--lambda", "1e-4",
		"--chains", "12", "--steps", "8", "--take", "3", "--features", "16")
	frequencies := directory(t, "model")[learned.FileName]
	use := []string{"train", "--data", "data.csv", "--label", "y", "--kernel", "learned", "--frequencies", "model",
		"--lambda", "1e-4", "--model", "m"}
	for what, content := range map[string]string{
		"is damaged: its checksum does not match; copy the model again": frequencies[:20] + string(frequencies[20]^0x10) + frequencies[21:],
		"has 3 bytes, the manifest says":                                "abc",
		"is missing":                                                    "",
	} {
		os.Remove(filepath.Join("model", learned.FileName))
		if content != "" {
			jobtest.Write(t, "model", learned.FileName, content)
		}
		for _, args := range [][]string{
			{"predict", "--model", "model", "--data", "data.csv", "--out", "m"}, {"evaluate", "--model", "model", "--data",
				"data.csv"},
			{"inspect", "--model", "model"}, {"featurize", "--model", "model", "--data", "data.csv", "--out", "m"}, use,
		} {
			code, _, stderr := execute(args...)
			if code != 6 || !strings.Contains(stderr, learned.FileName+" "+what) {
				t.Errorf("%s: exit code %d, want 6 and %q:\n%s", args[0], code, what, stderr)
			}
		}
	}
	jobtest.Write(t, "model", learned.FileName, frequencies)
	train := []string{"train", "--data", "data.csv", "--label", "y", "--model", "m"}
	for _, test := range []struct {
		args []string
		want string
		code int
	}{
		{slices.Concat(use, []string{"--scale", "minmax"}), "--scale cannot be used with --frequencies", 2},
		{slices.Concat(use, []string{"--frequencies", "nothing"}), "align.json is missing", 6},
		{slices.Concat([]string{"train", "--data", "numbers.csv", "--task", "classification"}, use[3:]),
			"the features are for rows of 2 numbers, the data has 10", 3},
		{slices.Concat(train, []string{"--frequencies", "model"}),
			"--frequencies cannot be used with --kernel gaussian; it is an option of harmonic, learned", 2},
		{slices.Concat(train, []string{"--kernel", "learned", "--task", "regression"}),
			"needs classes, but the labels are numbers (see --task)", 2},
		{slices.Concat(train, []string{"--kernel", "learned", "--preset", "papers"}), `did you mean "paper"?`, 2},
		{slices.Concat(train, []string{"--kernel", "learned", "--align", "lkrf", "--features", "20", "--proposals", "3"}),
			"--proposals 3: fewer than the 10", 2},
		{slices.Concat(train, []string{"--kernel", "harmonic", "--align", "lkrf"}),
			"--align lkrf cannot be used with --kernel harmonic", 2},
		{slices.Concat(train, []string{"--kernel", "learned", "--align_c", "-1"}), "--align_c must be above 0", 2},
		{slices.Concat(train, []string{"--kernel", "learned", "--align_rate", "-1"}), "--align_rate must be above 0", 2},
		{slices.Concat(train, []string{"--kernel", "harmonic", "--preset", "demo"}), "which has its own constants", 2},
		{slices.Concat(train, []string{"--kernel", "learned", "--sample", "10", "--exact_chains"}), "give one of them", 2},
		{[]string{"kernel", "--data", "data.csv", "--label", "y", "--kernel", "learned", "--frequencies", "model"},
			"so it cannot be compared", 2},
		{[]string{"embed", "--data", "data.csv", "--label", "y", "--kernel", "learned", "--model", "m"},
			"needs --frequencies, a directory that bochner align created", 2},
		{[]string{"align", "--data", "data.csv", "--label", "y", "--kernel", "laplace", "--out", "m"},
			"align learns features for --kernel learned and harmonic only", 2},
		{[]string{"align", "--data", "data.csv", "--label", "y", "--kernel", "gaussian", "--draw", "orthogonal", "--out",
			"m"}, "--draw orthogonal cannot be used with align", 2},
		{[]string{"align", "--data", "data.csv", "--label", "y", "--out", "model"}, "already exists", 3},
	} {
		code, _, stderr := execute(test.args...)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%v: exit code %d, want %d and %q:\n%s", test.args, code, test.code, test.want, stderr)
		}
		if _, err := os.Stat("m"); err == nil {
			t.Fatalf("%v: something was made", test.args)
		}
	}
}

func TestUnavailableProbabilitiesAreRejected(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "generate", "moons", "--rows", "300", "--out", "moons.csv")
	must(t, "generate", "friedman", "--rows", "300", "--out", "friedman.csv")
	for _, set := range []string{"moons", "friedman"} {
		must(t, "train", "--data", set+".csv", "--label", "y", "--features", "32", "--lambda", "1e-3", "--model", set)
	}
	const how = "train with --calibrate platt or isotonic, or with --loss softmax or logistic, to have them"
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"predict", "--model", "moons", "--data", "moons.csv", "--probabilities", "--out", "p"},
			"--probabilities: the model moons has no probabilities; " + how},
		{[]string{"evaluate", "--model", "moons", "--data", "moons.csv", "--reliability", "r.png"},
			"--reliability: the model moons has no probabilities; " + how},
		{[]string{"predict", "--model", "friedman", "--data", "friedman.csv", "--probabilities", "--out", "p"},
			"--probabilities: the model friedman is for regression; only classification has probabilities"},
		{[]string{"evaluate", "--model", "moons", "--data", "moons.csv", "--reliability", "r.gif"},
			"r.gif: the name of a plot must end in .png or .svg"},
		{[]string{"train", "--data", "friedman.csv", "--label", "y", "--calibrate", "platt", "--model", "m"},
			"--calibrate platt is for classification; the labels are numbers (see --task)"},
		{[]string{"train", "--data", "moons.csv", "--label", "y", "--calibrate", "plat", "--model", "m"},
			`--calibrate must be auto, none, platt or isotonic (have "plat") (did you mean "platt"?)`},
		{[]string{"train", "--data", "moons.csv", "--label", "y", "--calibrate", "platt", "--folds", "1", "--lambda", "1",
			"--model", "m"},
			"--calibrate platt: the curves are fitted to the held-out first fold; --folds must be 2 or more, or left out"},
	} {
		code, _, stderr := execute(test.args...)
		if first, _, _ := strings.Cut(stderr, "\n"); code != 2 || !strings.HasSuffix(first, test.want) {
			t.Errorf("%v: exit code %d, want 2 and %q:\n%s", test.args, code, test.want, stderr)
		}
	}
	if got, err := os.ReadDir("."); len(got) != 4 {
		t.Errorf("left behind: %v, %v", got, err)
	}
	if out := must(t, "inspect", "--model", "moons"); !strings.Contains(out, "output    no probabilities; "+how) {
		t.Error(out)
	}
}
