package command

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
)

func TestInvalidFlagsAreUsageErrors(t *testing.T) {
	dir, temp := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	t.Setenv("TMPDIR", temp)
	write := func(name, text string) { jobtest.Write(t, dir, name, text) }
	write("table.csv", strings.Join(jobtest.Made(t, "moons", 60, 1), ""))
	must(t, "train", "--data", "table.csv", "--label", "y", "--features", "32", "--lambda", "1e-4", "--model", "model", "--quiet")
	write("unknown.yaml", "label: y\nlamda: 1e-4\n")
	write("text.yaml", "features: many\n")
	write("nested.yaml", "kernel:\n  name: gaussian\n")
	write("broken.yaml", "kernel: [gaussian\n")
	train := []string{"train", "--data", "table.csv", "--label", "y", "--model", "new"}
	predict := []string{"predict", "--data", "table.csv", "--model", "model", "--out", "new"}
	evaluate := []string{"evaluate", "--data", "table.csv", "--model", "model"}
	names := func(dir string) []string {
		in, err := filepath.Glob(filepath.Join(dir, "*"))
		below, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return append(in, below...)
	}
	before := names(dir)
	for _, c := range []struct {
		name string
		job  []string
		more []string
		want []string
	}{
		{"unknown kernel", train, []string{"--kernel", "guassian"},
			[]string{`unknown kernel "guassian" (did you mean "gaussian"?); have cauchy, exponential, gaussian, harmonic, laplace, `}},
		{"unknown flag", train, []string{"--lamda", "1"}, []string{`unknown flag: --lamda (did you mean "lambda"?)`}},
		{"unknown flag like none", train, []string{"--temperature", "1"}, []string{"unknown flag: --temperature\n"}},
		{"unknown learner", train, []string{"--learner", "rigde"}, []string{`unknown learner "rigde"`, "have ridge"}},
		{"unknown runner", train, []string{"--runner", "flnik"}, []string{`unknown runner "flnik" (did you mean "flink"?)`}},
		{"unknown task", train, []string{"--task", "ranking"},
			[]string{`--task must be auto, classification or regression (have "ranking")`}},
		{"unknown form", train, []string{"--form", "pair"}, []string{"--form", `"pair"`, "paired"}},
		{"lambda of text", train, []string{"--lambda", "small"}, []string{`--lambda: "small" is not a number`}},
		{"lambda of text in a path", train, []string{"--lambda", "1e-3,,1"}, []string{`--lambda: "" is not a number`}},
		{"negative lambda", train, []string{"--lambda", "-1"}, []string{"--lambda must be a number ≥ 0 (have -1)"}},
		{"lambda NaN", train, []string{"--lambda", "NaN"}, []string{"--lambda must be a number ≥ 0 (have NaN)"}},
		{"lambda and C", train, []string{"--lambda", "1", "--C", "1"}, []string{"--C cannot be used with --lambda"}},
		{"negative C", train, []string{"--C", "-1"}, []string{"--C must be above 0 (have -1)"}},
		{"one fold", train, []string{"--folds", "1"}, []string{"--folds 1: choosing among several λ needs at least 2"}},
		{"folds", train, []string{"--folds", "-1"}, []string{"--folds must be 2 to 100 (have -1)"}},
		{"negative width", train, []string{"--width", "-1"},
			[]string{`--width: must be median, scale or a number > 0 (have "-1")`}},
		{"width NaN", train, []string{"--width", "NaN"},
			[]string{`--width: must be median, scale or a number > 0 (have "NaN")`}},
		{"odd features", train, []string{"--features", "33"},
			[]string{"--features must be even in the paired form", "(have 33)"}},
		{"negative features", train, []string{"--features", "-2"}, []string{"--features must be at least 1 (have -2)"}},
		{"features of text", train, []string{"--features", "many"}, []string{`--features: "many" is not a whole number`}},
		{"too many features", train, []string{"--features", "100000000"}, []string{"100000000"}},
		{"gamma with matern", train, []string{"--kernel", "matern", "--gamma", "1"},
			[]string{"--gamma cannot be used with --kernel matern; it is an option of gaussian, harmonic, laplace, learned"}},
		{"nu with gaussian", train, []string{"--nu", "2"},
			[]string{"--nu cannot be used with --kernel gaussian; it is an option of matern"}},
		{"nu with an alias", train, []string{"--kernel", "rbf", "--nu", "2"},
			[]string{"--nu cannot be used with --kernel gaussian"}},
		{"gamma and width", train, []string{"--gamma", "1", "--width", "1"},
			[]string{"--gamma cannot be used with --width: give one of them"}},
		{"negative gamma", train, []string{"--gamma", "-1"}, []string{"-1"}},
		{"negative nu", train, []string{"--kernel", "matern", "--nu", "-1"}, []string{"-1"}},
		{"unknown scale", train, []string{"--scale", "standart"},
			[]string{`--scale: "standart" is neither a float32 number > 0 to divide by nor one of auto`}},
		{"scale behind unit", train, []string{"--scale", "unit,standard"},
			[]string{"put them before unit and other steps that mix columns"}},
		{"unknown format", train, []string{"--format", "orc"},
			[]string{`unknown format "orc"; have auto, avro, cifar10, cifar100, csv, idx, jsonl, libsvm, npy, parquet, tsv`}},
		{"unknown header", train, []string{"--header", "maybe"},
			[]string{`--header: must be auto, yes or no (have "maybe")`}},
		{"negative dim", train, []string{"--dim", "-1"}, []string{"dim must be 0 to 1048576 (have -1)"}},
		{"bad fraction", train, []string{"--max_bad_fraction", "1.5"},
			[]string{"--max_bad_fraction must be between 0 and 1 (have 1.5)"}},
		{"bad fraction NaN", train, []string{"--max_bad_fraction", "NaN"},
			[]string{"--max_bad_fraction must be between 0 and 1 (have NaN)"}},
		{"readers", train, []string{"--readers", "2"}, []string{"--readers: the direct runner has one reader"}},
		{"negative threads", train, []string{"--threads", "-1"},
			[]string{"--threads must be 0 (chosen by bochner) or more (have -1)"}},
		{"unknown key", train, []string{"--config", "unknown.yaml"},
			[]string{`--config: unknown.yaml: bochner train has no flag --lamda (did you mean "lambda"?)`}},
		{"text in the config", train, []string{"--config", "text.yaml"},
			[]string{"--config: text.yaml: features: ", `"many"`}},
		{"map in the config", train, []string{"--config", "nested.yaml"},
			[]string{"--config: nested.yaml: kernel: want a string, a number, true or false, or a list of these"}},
		{"config that is no YAML", train, []string{"--config", "broken.yaml"},
			[]string{"--config: broken.yaml: [1:9] sequence end token ']' not found"}},
		{"no config", train, []string{"--config", "none.yaml"},
			[]string{"--config: open none.yaml: no such file or directory"}},
		{"no label", []string{"train", "--data", "table.csv", "--model", "new"}, nil,
			[]string{"table.csv: which column is the label? Columns are x1, x2, y; if it is the last, add --label y"}},
		{"no data", []string{"train", "--model", "new"}, nil, []string{"--data is missing: name files"}},
		{"no model", []string{"train", "table.csv", "other.csv"}, nil,
			[]string{"--model is missing: name the directory to create"}},
		{"no job", []string{"trian"}, nil, []string{`unknown command "trian" for "bochner" (did you mean "train"?)`}},
		{"another word", []string{"fit", "--sums", "s"}, []string{"extra"}, []string{`"extra"`}},
		{"share of a test", train, []string{"--test", "1.5"}, []string{"--test 1.5: want a share of the rows above 0 and below 1"}},
		{"unknown runner for a test", train, []string{"--test", "0.2", "--runner", "spark"},
			[]string{`unknown runner "spark"`}},
		{"folds for a test", train, []string{"--test", "0.2", "--folds", "1"}, []string{"--folds"}},
		{"test of files and a share", train, []string{"--test", "0.2", "--test", "new.csv"}, []string{"files or one share"}},
		{"file of another format", predict[:5], []string{"--out", "new.txt"}, []string{".txt is not a format of predictions"}},
		{"format of predictions", predict, []string{"--out_format", "xml"},
			[]string{`--out_format must be csv, jsonl or parquet (have "xml")`}},
		{"no model to apply", []string{"predict", "--data", "table.csv", "--out", "new"}, nil,
			[]string{"--model is missing: name the directory of a model"}},
		{"no place for predictions", []string{"predict", "--data", "table.csv", "--model", "model"}, nil,
			[]string{"--out is missing: name the directory or the file to create, such as predictions.csv"}},
		{"format of data", predict, []string{"--format", "cvs"}, []string{`unknown format "cvs"`}},
		{"unknown gate", evaluate, []string{"--gate", "acuracy>=0.5"},
			[]string{`--gate: unknown score "acuracy" (did you mean "accuracy"?)`}},
		{"gate without bound", evaluate, []string{"--gate", "accuracy"},
			[]string{`--gate: "accuracy" is not of the form accuracy>=0.95`}},
		{"gate of text", evaluate, []string{"--gate", "accuracy>=high"}, []string{`--gate: "high" is not a finite number`}},
		{"gate of another task", evaluate, []string{"--gate", "rmse<=1"}, []string{"--gate: this model has no rmse"}},
		{"inspect nothing", []string{"inspect"}, nil, []string{"inspect takes --data, --model or both"}},
		{"inspect both", []string{"inspect", "--data", "table.csv", "--model", "model", "--columns", "x1"}, nil,
			[]string{"--columns cannot be used with --model"}},
		{"unknown set", []string{"generate", "monos", "--out", "new"}, nil,
			[]string{`unknown data set "monos" (did you mean "moons"?)`}},
		{"no rows", []string{"generate", "moons", "--rows", "0", "--out", "new"}, nil,
			[]string{"--rows must be at least 1 (have 0)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := execute(slices.Concat(c.job, c.more)...)
			if code != 2 {
				t.Errorf("exit code %d", code)
			}
			jobtest.IsRefusal(t, stdout, stderr, append(c.want, "\nsee bochner")...)
			if after := names(dir); !slices.Equal(after, before) {
				t.Errorf("files before %q, after %q", before, after)
			}
			if left := names(temp); len(left) > 0 {
				t.Errorf("left in the directory for temporary files: %q", left)
			}
		})
	}
}
