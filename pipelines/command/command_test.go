package command

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/pipelines/engine"
)

// execute runs the command line, trainings without a search unless they name one, and returns its exit code
// and what it printed.
func execute(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = int(Run(context.Background(), jobtest.Plain(args), &out, &err))
	return code, out.String(), err.String()
}

// must runs the command line and fails the test unless it succeeds.
func must(t *testing.T, args ...string) string {
	t.Helper()
	code, out, err := execute(args...)
	if code != 0 {
		t.Fatalf("%v: exit code %d\n%s", args, code, err)
	}
	return out
}

// visible calls f with every command and every flag of its that help shows.
func visible(f func(cmd *cobra.Command, flag *pflag.Flag)) {
	for _, cmd := range newRoot().Commands() {
		cmd.Flags().VisitAll(func(g *pflag.Flag) {
			if !g.Hidden {
				f(cmd, g)
			}
		})
	}
}

func TestEveryFlagIsDescribedInASentence(t *testing.T) {
	n := 0
	visible(func(cmd *cobra.Command, f *pflag.Flag) {
		if n++; f.Usage == "" || !strings.HasSuffix(f.Usage, ".") {
			t.Errorf("%s --%s: %q", cmd.Name(), f.Name, f.Usage)
		}
		if f.Name != strings.ToLower(f.Name) && f.Name != "C" || strings.Contains(f.Name, "-") {
			t.Errorf("%s --%s is not snake_case", cmd.Name(), f.Name)
		}
	})
	if n < 50 {
		t.Errorf("%d flags seen", n)
	}
}

// The jobs whose --model or --out must not exist, all but kernel, can be resumed.
func TestJobsThatMakeADirectoryCanBeResumed(t *testing.T) {
	var want []string
	visible(func(cmd *cobra.Command, f *pflag.Flag) {
		if cmd.Name() != "kernel" && (f.Name == "model" || f.Name == "out") && cmd.Flags().Lookup("work") != nil &&
			strings.Contains(f.Usage, "must not exist") {
			want = append(want, cmd.Name())
		}
	})
	slices.Sort(want)
	for _, name := range directoryJobs {
		cmd, _, err := newRoot().Find([]string{name})
		if err != nil || !keepsWork(cmd) || !slices.Contains(templateArgs(cmd, nil), "--resume") {
			t.Errorf("%s: not resumed: %v", name, err)
		}
	}
	got := slices.Sorted(slices.Values(directoryJobs))
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("makers are %v, by their flags they are %v", got, want)
	}
}

// A flag takes the same kind of value in every command.
func TestFlagTypesAgreeAcrossCommands(t *testing.T) {
	type key struct{ name, typ string }
	seen := map[string]key{}
	visible(func(cmd *cobra.Command, f *pflag.Flag) {
		if f.Name == "threshold" {
			return // a number, and where models are made also what is to choose it
		}
		typ := strings.TrimSuffix(f.Value.Type(), "64") // for users int64 is int
		if first, ok := seen[f.Name]; ok && first.typ != typ {
			t.Errorf("--%s is a %s of %s and a %s of %s", f.Name, first.typ, first.name, typ, cmd.Name())
		}
		seen[f.Name] = key{cmd.Name(), typ}
	})
}

func TestEveryCommandPrintsHelp(t *testing.T) {
	if code, out, _ := execute("--help"); code != 0 || !strings.Contains(out, "byte for\nbyte") {
		t.Error(out)
	}
	for _, cmd := range newRoot().Commands() {
		if cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		for _, args := range [][]string{{cmd.Name(), "--help"}, {"help", cmd.Name()}} {
			out := must(t, args...)
			if topic, ok := map[string][]string{
				"runner": {"--runner universal", "--worker_binary", "--endpoint"},
				"stream": {"--model_digest", "--settle", "--files_per_round"},
			}[cmd.Name()]; ok {
				for _, word := range topic {
					if !strings.Contains(out, word) {
						t.Errorf("%v: %q is missing", args, word)
					}
				}
				continue
			}
			if !strings.Contains(out, wrap(cmd.Long, "", unknownWidth)) || !strings.Contains(out, "Examples:") ||
				!strings.Contains(out, "--json") {
				t.Errorf("%v:\n%s", args, out)
			}
			if strings.Contains(out, "--job_endpoint") || strings.Contains(out, "--endpoint string") ||
				strings.Contains(out, "test.v") {
				t.Errorf("%v: shows flags of Beam or of go test", args)
			}
		}
	}
	if v := must(t, "--version"); !strings.Contains(v, engine.Version()) {
		t.Error(v)
	}
}

func TestBeamFlagsAreAcceptedAndHidden(t *testing.T) {
	n := 0
	for _, cmd := range newRoot().Commands() {
		if cmd.Flags().Lookup("runner") == nil {
			continue
		}
		for _, name := range []string{"endpoint", "environment_type", "worker_binary", "job_name"} {
			if f := cmd.Flags().Lookup(name); f == nil || !f.Hidden {
				t.Errorf("%s: --%s: %+v", cmd.Name(), name, f)
			}
		}
		n++
	}
	if n < 4 {
		t.Errorf("%d jobs", n)
	}
	before := flag.Lookup("job_name").Value.String()
	defer flag.Set("job_name", before)
	execute("inspect", "--job_name", "mine", "--data", "none")
	if got := flag.Lookup("job_name").Value.String(); got != "mine" {
		t.Errorf("--job_name is %q", got)
	}
}

func TestJobMayBeNamedByAFlag(t *testing.T) {
	for _, c := range []struct{ args, want []string }{
		{[]string{"--job=train", "--data", "x"}, []string{"train", "--data", "x"}},
		{[]string{"--data=x", "--job", "train", "--seed=1"}, []string{"train", "--data=x", "--seed=1"}},
		{[]string{"-job=train"}, []string{"train"}},
		{[]string{"train", "--job_name=x"}, []string{"train", "--job_name=x"}},
		{[]string{"train", "job=x"}, []string{"train", "job=x"}},
		{[]string{"--job"}, []string{"--job"}},
		{nil, nil},
	} {
		if got := withoutJobFlag(c.args); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.args, got, c.want)
		}
	}
	for args, want := range map[string]bool{"--worker": true, "--worker=true": true, "-worker": true,
		"--worker=false": false, "--worker_binary=x": false, "worker": false} {
		if onWorker([]string{"--id=1", args}) != want {
			t.Errorf("%s: on a worker is not %v", args, want)
		}
	}
}

// trainArgs returns the arguments of a small training run in dir.
func trainArgs(dir, model string, more ...string) []string {
	return append([]string{
		"--data", filepath.Join(dir, "train.csv"), "--label", "y", "--features", "64", "--search", "none", "--quiet",
		"--model", filepath.Join(dir, model),
	}, more...)
}

func readFile(t *testing.T, name ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(name...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestFlagsAndConfigGiveTheSameModel(t *testing.T) {
	dir := t.TempDir()
	must(t, "generate", "moons", "--rows", "300", "--out", filepath.Join(dir, "train.csv"))
	must(t, append([]string{"train"}, trainArgs(dir, "a", "--lambda", "1e-5,1e-3", "--seed", "7", "--scale",
		"standard,2")...)...)
	must(t, append([]string{"--job=train"},
		trainArgs(dir, "b", "--lambda=1e-5,1e-3", "--seed=7", "--scale=standard,2")...)...)
	config := filepath.Join(dir, "c.yaml")
	text := "search: none\nlambda: [1e-5, 1e-3]\nseed: 7\nscale:\n  - standard\n  - 2\nfeatures: 9999\nheader: yes\nquiet: true\ndata:\n  - " + filepath.Join(dir, "train.csv") + "\n"
	if err := os.WriteFile(config, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	must(t, "train", "--config", config, "--features", "64", "--label", "y", "--model", filepath.Join(dir, "c"))
	for _, name := range []string{"weights.safetensors"} {
		a := readFile(t, dir, "a", name)
		for _, other := range []string{"b", "c"} {
			if readFile(t, dir, other, name) != a {
				t.Errorf("%s/%s is another", other, name)
			}
		}
	}
	var report struct {
		Learner struct {
			Table []struct{ Lambda float64 }
		}
		Features int
	}
	if err := json.Unmarshal([]byte(must(t, "inspect", "--model", filepath.Join(dir, "c"), "--json")),
		&report); err != nil {
		t.Fatal(err)
	}
	if report.Features != 64 || len(report.Learner.Table) != 2 || report.Learner.Table[1].Lambda != 1e-3 {
		t.Errorf("%+v", report)
	}
}

func TestConfigRejectsInvalidFiles(t *testing.T) {
	dir := t.TempDir()
	for text, words := range map[string][]string{
		"lamda: 1":                {"no flag --lamda", `did you mean "lambda"`},
		"config: x":               {"no flag --config"},
		"features: many":          {"features", "many"},
		"features: [1, 2]":        {"features", "1,2"},
		"seed: -1":                {"seed"},
		"seed: 1\nseed: 2":        {"seed"},
		"label:":                  {"label", "want a string"},
		"label: {a: 1}":           {"label", "want a string"},
		"label_files: [[a]]":      {"label_files", "want a string"},
		"- a":                     {"--config"},
		"a: [":                    {"--config"},
		"plan: maybe":             {"plan", "maybe"},
		"label: y\nfeatures: 1.5": {"features", "1.5"},
		"data: *.csv":             {"line 1", "quote a text"},

		strings.Repeat("[", 60_000): {"line 1: nested too deep"}, // 1.3 GB, in a parser that takes it
	} {
		name := filepath.Join(dir, "c.yaml")
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		code, _, stderr := execute("train", "--config", name, "--data", "x", "--model", "m")
		if code != 2 {
			t.Errorf("%q: exit code %d: %s", text, code, stderr)
		}
		for _, w := range words {
			if !strings.Contains(stderr, w) {
				t.Errorf("%q: %q lacks %q", text, stderr, w)
			}
		}
	}
	if code, _, stderr := execute("train", "--config", filepath.Join(dir, "none"), "--data", "x"); code != 2 ||
		!strings.Contains(stderr, "--config") {
		t.Errorf("%d: %s", code, stderr)
	}
}

// Values of every kind have the same effect in a file as on the command line.
func TestConfigSetsFlagsOfEveryKind(t *testing.T) {
	cmd := trainCommand()
	name := filepath.Join(t.TempDir(), "c.yaml")
	text := "seed: 18446744073709551615\nfeatures: 100\nheader: no\nC: 1e-3\nplan: true\nlabel: -1\ndata: a.csv\nlabel_files: [b, 'c,d']\nmissing: NA,-999\nlambda: auto\nwidth: 7\n"
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags([]string{"--config", name, "--features", "50"}); err != nil {
		t.Fatal(err)
	}
	if err := readConfig(cmd); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{
		"seed": "18446744073709551615", "features": "50", "header": "no", "C": "0.001", "plan": "true", "label": "-1",
		"data": "[a.csv]", "label_files": `[b,"c,d"]`, "missing": "[NA,-999]", "lambda": "auto", "width": "7",
	} {
		f := cmd.Flags().Lookup(flag)
		if got := f.Value.String(); got != want || !f.Changed {
			t.Errorf("--%s is %s (changed %v), want %s", flag, got, f.Changed, want)
		}
	}
}

func TestUsageErrorsExitWith2(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "d.csv")
	if err := os.WriteFile(data, []byte("a,y\n1,2\n3,4\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		word string
	}{
		{[]string{"trian"}, "train"},
		{[]string{"fit", "extra"}, "extra"},
		{[]string{"train", "--lamda", "1"}, `did you mean "lambda"`},
		{[]string{"train", "--model", "m"}, "--data"},
		{[]string{"train", "--data", data, data}, "--model"},
		{[]string{"train", "--data", data, "--label", "y", "--model", "m", "--lambda", "x"}, "--lambda"},
		{[]string{"train", "--data", data, "--label", "y", "--model", "m", "--learner", "svn"}, "unknown learner"},
		{[]string{"train", "--data", data, "--label", "y", "--model", "m", "--kernel", "guassian"},
			`did you mean "gaussian"`},
		{[]string{"train", "--data", data, "--label", "y", "--model", "m", "--runner", "spark"}, "unknown runner"},
		{[]string{"train", "--data", data, "--label", "y", "--model", "m", "--dim", "-3"}, "dim must be"},
		{[]string{"train", "--data", data, "--label", "y", "--model", "m", "--header", "perhaps"}, "must be auto, yes or no"},
		{[]string{"train", "--strict=maybe"}, `--strict: "maybe" is neither true nor false`},
		{[]string{"train", "--max_bad_fraction", "x"}, `--max_bad_fraction: "x" is not a number`},
		{[]string{"train", "--threads", "two"}, `--threads: "two" is not a whole number`},
		{[]string{"train", "--worker_bytes", "8 gigs"},
			`--worker_bytes: "8 gigs" is not a number of bytes such as 8000000000, 8GB or 512MiB`},
		{[]string{"train", "--learner", "sgd", "--keep_bytes", "9XB"}, `--keep_bytes: "9XB" is not a number of bytes`},
		{[]string{"inspect"}, "--data, --model or both"},
		{[]string{"inspect", "--data", data, "--model", "m", "--drop", "x"}, "--drop cannot be used with --model"},
		{[]string{"inspect", "--model", "m", "--write_schema", "s"}, "--write_schema cannot be used with --model"},
		{[]string{"evaluate", "--data", data}, "--model"},
		{[]string{"evaluate", "--model", "m", "--data", data, "--gate", "x"}, "--gate"},
		{[]string{"predict", "--model", "m", "--data", data}, "--out"},
		{[]string{"generate"}, "needs the name of a data set"},
		{[]string{"generate", "mons", "--out", "x"}, `did you mean "moons"`},
	} {
		code, out, stderr := execute(c.args...)
		if code != 2 || !strings.Contains(stderr, c.word) || !strings.Contains(stderr, "--help") || out != "" {
			t.Errorf("%v: exit code %d, %q, want 2 and %q", c.args, code, stderr, c.word)
		}
	}
}

// A command that is built without the others has the same flags as among all.
func TestSeparatelyBuiltCommandHasTheSameFlags(t *testing.T) {
	for _, among := range newRoot().Commands() {
		if among.Name() == "help" {
			continue
		}
		alone := newRoot(among.Name(), "--json").Commands()
		i := slices.IndexFunc(alone, func(c *cobra.Command) bool { return c.Name() == among.Name() })
		if len(alone) != 2 || i < 0 { // with help
			t.Errorf("%s: %d commands", among.Name(), len(alone))
		} else if a, b := alone[i].Flags().FlagUsages(), among.Flags().FlagUsages(); a != b || alone[i].Long != among.Long {
			t.Errorf("%s has other flags alone:\n%s\namong all:\n%s", among.Name(), a, b)
		}
	}
}
