package command

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/pipelines/engine"
)

var flagLine = regexp.MustCompile(`(?m)^  --(\w+)`)

func TestHelpShowsTheCommonFlagsAndHelpAllTheRest(t *testing.T) {
	for _, cmd := range newRoot().Commands() {
		if !cmd.Runnable() || cmd.Name() == "completion" || cmd.Name() == "help" { // a topic, or not ours
			continue
		}
		short := flagLine.FindAllString(must(t, cmd.Name(), "--help"), -1)
		if len(short) > maxFlags {
			t.Errorf("%s: help shows %d flags, want at most %d", cmd.Name(), len(short), maxFlags)
		}
		var want []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				want = append(want, "  --"+f.Name)
			}
		})
		for _, args := range [][]string{{cmd.Name(), "--help_all"}, {"help", "--help_all", cmd.Name()}} {
			got := flagLine.FindAllString(must(t, args...), -1)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%v: %d flags, want %d", args, len(got), len(want))
			}
		}
	}
}

func TestHelpListsTheLosses(t *testing.T) {
	help := trainCommand().Flags().Lookup("loss").Usage
	for _, classes := range []bool{true, false} {
		if list := strings.Join(loss.Names(classes), ", "); !strings.Contains(help, list) {
			t.Errorf("help of loss: %s; have %s", help, list)
		}
	}
}

func TestEveryFlagIsInAGroup(t *testing.T) {
	used := map[string]bool{otherGroup: true}
	visible(func(cmd *cobra.Command, f *pflag.Flag) {
		used[titleOf(f)] = true
		if cmd.Name() != "help" && titleOf(f) == otherGroup {
			t.Errorf("%s --%s is in no group", cmd.Name(), f.Name)
		}
	})
	for _, title := range titles {
		if !used[title] {
			t.Errorf("no flag is in the group %q", title)
		}
	}
}

func TestEveryHelpTextBelongsToACommand(t *testing.T) {
	files, err := texts.ReadDir("help")
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot()
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".txt")
		cmd, _, err := root.Find([]string{name})
		if name == root.Name() {
			cmd, err = root, nil
		}
		if err != nil || cmd.Name() != name || cmd.Short == "" || cmd.Long == "" || strings.Contains(cmd.Long, "Examples:") {
			t.Errorf("%s: %q, %v", f.Name(), cmd.Name(), err)
		}
	}
}

func TestHelpIsWrappedAtTheWidthOfTheTerminal(t *testing.T) {
	for columns, want := range map[string]int{"": unknownWidth, "100": 100, "60": 60, "10": narrowest, "1000": widest,
		"x": unknownWidth} {
		t.Setenv("COLUMNS", columns)
		_, flags, found := strings.Cut(must(t, "train", "--help_all"), "\nModel and output:")
		if !found {
			t.Fatal("no flags")
		}
		longest := 0
		for _, line := range strings.Split(flags, "\n") {
			// A single word may be longer than a narrow terminal is.
			if n := utf8.RuneCountInString(line); len(strings.Fields(line)) > 1 {
				longest = max(longest, n)
			}
		}
		if longest > want || longest < want-12 {
			t.Errorf("COLUMNS=%s: the longest line has %d characters, want %d or a little less", columns, longest, want)
		}
	}
	if got, want := wrap("one two three\nfour\n\n  code as it is\nfive", "> ",
		11), "> one two\n> three\n> four\n\n  code as it is\n> five"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// complete returns what the shell would offer.
func complete(t *testing.T, args ...string) (offered []string, directive string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(must(t, append([]string{"__complete"}, args...)...), "\n"), "\n")
	for _, line := range lines[:len(lines)-1] {
		name, _, _ := strings.Cut(line, "\t")
		offered = append(offered, name)
	}
	return offered, lines[len(lines)-1]
}

func TestShellsCompleteValues(t *testing.T) {
	const names, files, dirs = ":4", ":0", ":16"
	for _, c := range []struct {
		args      []string
		want      []string
		directive string
	}{
		{[]string{"train", "--kernel", ""}, kernel.Names(), names},
		{[]string{"train", "--kernel", "ga"}, []string{"gaussian"}, names},
		{[]string{"train", "--learner="}, iterative.Names(), names},
		{[]string{"predict", "--runner", "d"}, []string{"direct", "dataflow"}, names},
		{[]string{"embed", "--scale", "standard,m"}, []string{"standard,minmax"}, ":6"},
		{[]string{"train", "--features", ""}, nil, names},
		{[]string{"train", "--data", ""}, nil, files},
		{[]string{"train", "--config", ""}, nil, files},
		{[]string{"evaluate", "--model", ""}, nil, dirs},
		{[]string{"train", "--frequencies", ""}, nil, dirs},
		{[]string{"help", "ver"}, []string{"verify", "version"}, names},
	} {
		got, directive := complete(t, c.args...)
		slices.Sort(got)
		want := slices.Sorted(slices.Values(c.want))
		if c.args[0] == "help" { // cobra leaves it to the shell to drop what does not fit
			got = slices.DeleteFunc(got, func(s string) bool { return !strings.HasPrefix(s, c.args[1]) })
		}
		if !slices.Equal(got, want) || directive != c.directive {
			t.Errorf("%q: %q %s, want %q %s", c.args, got, directive, want, c.directive)
		}
	}
	if got, _ := complete(t, "train", "--ker"); !slices.Contains(got, "--kernel") {
		t.Errorf("--ker: %q", got)
	}
}

func TestFlagsOfOtherProgramsAreExplained(t *testing.T) {
	train, _, err := newRoot().Find([]string{"train"})
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range foreignFlags {
		if train.Flags().Lookup(name) != nil {
			t.Errorf("--%s is a flag of train", name)
		}
		if other.Flag != "out" && train.Flags().Lookup(other.Flag) == nil {
			t.Errorf("--%s stands for --%s, which train does not have", name, other.Flag)
		}
	}
	for flag, values := range foreignValues {
		for theirs, ours := range values {
			known := optionOf(train.Flags().Lookup(flag)).Values
			if !slices.Contains(known, ours) || slices.Contains(known, theirs) {
				t.Errorf("--%s %s stands for %s; have %q", flag, theirs, ours, known)
			}
		}
	}
	for arg, want := range map[string]string{
		"--alpha=1":        `(did you mean "lambda"? lambda = alpha/n, where n is the number of rows)`,
		"--n-jobs=2":       `(did you mean "threads"?)`,
		"--random_state=1": `(did you mean "seed"?)`,
		"--n_components=9": `did you mean "features"?`,
		"--target=y":       `(did you mean "label"?)`,
		"--n_estimators=9": `did you mean "features"? there are no trees`,
	} {
		if code, _, stderr := execute("train", arg); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %q, want %q", arg, code, stderr, want)
		}
	}
}

// Every command with --quiet, which writes a log, has --log_format, and every flag may be written with dashes.
func TestLoggingCommandsTakeLogFormatAndDashes(t *testing.T) {
	logs := 0
	for _, cmd := range newRoot().Commands() {
		fs := cmd.Flags()
		if (fs.Lookup("quiet") == nil) != (fs.Lookup("log_format") == nil) {
			t.Errorf("%s: --quiet and --log_format do not go together", cmd.Name())
		} else if fs.Lookup("quiet") != nil {
			logs++
		}
		fs.VisitAll(func(f *pflag.Flag) {
			if dashed := strings.ReplaceAll(f.Name, "_", "-"); fs.Lookup(dashed) != f {
				t.Errorf("%s: no --%s", cmd.Name(), dashed)
			}
		})
	}
	if logs < 20 {
		t.Errorf("%d commands with a log", logs)
	}
}

func TestScikitLearnNamesGiveTheSameModel(t *testing.T) {
	dir := t.TempDir()
	must(t, "generate", "moons", "--rows", "300", "--out", filepath.Join(dir, "train.csv"))
	must(t, append([]string{"train"}, trainArgs(dir, "a", "--lambda", "1e-5", "--kernel", "gaussian", "--calibrate",
		"platt")...)...)
	must(t, append([]string{"train"}, trainArgs(dir, "b", "--lambda", "1e-5", "--kernel", "rbf", "--calibrate",
		"sigmoid")...)...)
	if readFile(t, dir, "a", "manifest.json") != readFile(t, dir, "b", "manifest.json") {
		t.Error("rbf and gaussian give different models")
	}
}

func TestHelpAsJSONListsEveryFlag(t *testing.T) {
	var all description
	if err := json.Unmarshal([]byte(must(t, "help", "--json")), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]flagDescription{}
	for _, c := range all.Commands {
		for _, f := range c.Flags {
			got[c.Name+" "+f.Name] = f
		}
	}
	n := 0
	visible(func(cmd *cobra.Command, f *pflag.Flag) {
		if cmd.Name() == "help" || cmd.Name() == "completion" || cmd.Name() == "runner" {
			return
		}
		n++
		d, has := got[cmd.Name()+" "+f.Name]
		if !has || d.Type != f.Value.Type() || d.Default != f.DefValue || d.Help == "" || d.Group == "" {
			t.Errorf("%s --%s: %+v", cmd.Name(), f.Name, d)
		}
	})
	if n != len(got) || n < 100 {
		t.Errorf("%d flags listed, want %d", len(got), n)
	}
	if k := got["train kernel"]; !k.Common || k.Group != "Features" || !slices.Equal(k.Values, kernel.Names()) {
		t.Errorf("%+v", k)
	}
	var one description
	if err := json.Unmarshal([]byte(must(t, "help", "train", "--json")), &one); err != nil || one.Name != "train" ||
		len(one.Flags) < 50 {
		t.Errorf("%s: %d flags: %v", one.Name, len(one.Flags), err)
	}
}

func TestVersionPrintsTheBuild(t *testing.T) {
	var v engine.BuildInfo
	if err := json.Unmarshal([]byte(must(t, "version", "--json")), &v); err != nil {
		t.Fatal(err)
	}
	if v != engine.Build() || v.Version == "" || v.Go == "" || v.CPU == "" {
		t.Errorf("%+v", v)
	}
	if out, want := must(t, "version"), fmt.Sprintf("bochner %s", v.Version); !strings.HasPrefix(out, want) ||
		!strings.Contains(out, v.CPU) {
		t.Errorf("%q, want %q", out, want)
	}
}
