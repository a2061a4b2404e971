package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/pipelines/command"
)

// The commands in the documents are run, in the order in which they stand, each document
// in its own directory. The word after ``` is the kind of a block:
//
//	sh            commands, run
//	console       commands after "$ ", run, with what they print; … stands for any text, and
//	              as a whole line for any lines
//	sh not run    commands that need real data, a cluster or another program: only the
//	              names of their flags are checked
//	go            a program, compiled and run, if it begins with package main
//	python        a program, run where BOCHNER_PYTHON names a Python, if it begins with import
//
// Other blocks are ignored.
const notRun = "sh not run"

// longDocuments take seconds each. The short form of the tests checks the flags of their commands only.
var longDocuments = []string{
	"tutorial.md", "evaluating.md", "retraining.md", "ask.md", "comparing.md", "learners.md", "features.md",
	"report.md",
}

// fenced is a fenced block of a document.
type fenced struct {
	info  string
	line  int // of its first line of text
	lines []string
}

func (b fenced) text() string { return strings.Join(b.lines, "\n") + "\n" }

// blocks returns the fenced blocks of a document.
func blocks(t *testing.T, name string) (all []fenced) {
	t.Helper()
	var in *fenced
	for i, line := range strings.Split(read(t, name), "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimLeft(line, " "), "```")
		switch {
		case isFence && in == nil:
			in = &fenced{info: strings.TrimSpace(fence), line: i + 2}
		case isFence:
			all = append(all, *in)
			in = nil
		case in != nil:
			in.lines = append(in.lines, line)
		}
	}
	if in != nil {
		t.Errorf("%s:%d: a block does not end", name, in.line)
	}
	return all
}

// documents returns the documents of the project.
func documents(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(source("docs/*.md"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d documents: %v", len(names), err)
	}
	return append(names, source("README.md"))
}

func TestDocumentedCommandsRun(t *testing.T) {
	for _, name := range documents(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			checkFlags := flagChecker()
			if slices.Contains(longDocuments, filepath.Base(name)) && !campaign.Chosen() {
				for _, b := range blocks(t, name) {
					checkFlags(t, fmt.Sprintf("%s:%d", filepath.Base(name), b.line), b.text())
				}
				return
			}
			dir := t.TempDir()
			for _, b := range blocks(t, name) {
				at := fmt.Sprintf("%s:%d", filepath.Base(name), b.line)
				switch b.info {
				case "sh":
					if out, err := shell(dir, b.text()); err != nil {
						t.Fatalf("%s: %v\n%s", at, err, out)
					}
				case "console":
					runConsole(t, dir, at, b.lines)
				case notRun:
					checkFlags(t, at, b.text())
				case "go":
					if strings.HasPrefix(b.text(), "package main\n") {
						runGo(t, dir, at, b.text())
					}
				case "python":
					if strings.HasPrefix(b.text(), "import ") && os.Getenv(pythonVariable) != "" {
						runPython(t, dir, at, b.text())
					}
				}
			}
		})
	}
}

// shell runs commands in dir, where bochner is on the PATH.
func shell(dir, script string) (output string, err error) {
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"), "COLUMNS=80")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// runConsole runs the commands of a block and compares what they print.
func runConsole(t *testing.T, dir, at string, lines []string) {
	t.Helper()
	for i := 0; i < len(lines); {
		command, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			t.Fatalf("%s: line %d of a console block is neither a command nor its output: %q", at, i+1, lines[i])
		}
		for i++; strings.HasSuffix(command, "\\") && i < len(lines); i++ {
			command += "\n" + lines[i]
		}
		begin := i
		for i < len(lines) && !strings.HasPrefix(lines[i], "$ ") {
			i++
		}
		got, err := shell(dir, command)
		if err != nil {
			t.Fatalf("%s: %s: %v\n%s", at, command, err, got)
		}
		if want := lines[begin:i]; !prints(got, want) {
			t.Errorf("%s: %s\nprints\n%s\nthe document has\n%s", at, command, got, strings.Join(want, "\n"))
		}
	}
}

// runGo compiles a program in a module of its own, runs it in dir, and compares what it
// prints with its last line if that is an // Output: comment.
func runGo(t *testing.T, dir, at, text string) {
	t.Helper()
	source := t.TempDir()
	write(t, source, "main.go", text)
	if _, err := inModule(source, "build", "-ldflags=-s -w", "-o", "program", "."); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(filepath.Join(source, "program"))
	run.Dir = dir
	out, err := run.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", at, err, out)
	}
	if _, want, has := strings.Cut(text, "// Output: "); has && string(out) != strings.TrimRight(want, "}\n")+"\n" {
		t.Errorf("%s: prints %q, the document has %q", at, out, want)
	}
}

// runPython runs a program that may import the reader of examples/python, and compares what it prints with its last line.
func runPython(t *testing.T, dir, at, text string) {
	t.Helper()
	reader := source("examples/python")
	path := filepath.Dir(binary) + ":" + os.Getenv("PATH")
	run := exec.Command("env", "PYTHONPATH="+reader, "PATH="+path, os.Getenv(pythonVariable), "-c", text)
	run.Dir = dir
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if _, want, has := strings.Cut(text, "# Output: "); has && string(out) != want {
		t.Errorf("%s: prints %q, the document has %q", at, out, want)
	}
}

// prints reports whether an output is the one that a document shows, except for … as any
// text, and for spaces at the ends of lines.
func prints(got string, want []string) bool {
	var pattern strings.Builder
	for _, line := range want {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(.*\n)*`)
			continue
		}
		parts := strings.Split(strings.TrimRight(line, " "), "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		pattern.WriteString(strings.Join(parts, ".*") + " *\n")
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(got)
}

func TestDocumentedOutputIsCompared(t *testing.T) {
	for _, c := range []struct {
		got  string
		want []string
		same bool
	}{
		{"a 1\nb 2  \n", []string{"a 1", "b 2"}, true},
		{"a 1\nb 2\n", []string{"a 1", "b 3"}, false},
		{"a 1\nb 2\n", []string{"a 1"}, false},
		{"a 1\nb 2.5 s\n", []string{"a 1", "b … s"}, true},
		{"a\nx\ny\nb\n", []string{"a", "…", "b"}, true},
		{"a\nb\n", []string{"a", "…", "b"}, true},
		{"a\nx\n", []string{"a", "…", "b"}, false},
		{"", nil, true},
		{"a\n", nil, false},
		{"1.5\n", []string{"1x5"}, false},
		{"1x5\n", []string{"1.5"}, false},
	} {
		if prints(c.got, c.want) != c.same {
			t.Errorf("%q and %q: same is not %v", c.got, c.want, c.same)
		}
	}
}

var (
	jobCall  = regexp.MustCompile(`(?m)(?:^|[|;&(]|\$ ) *bochner +([a-z]+)\b([^|;&)\n]*)`)
	jobFlags = regexp.MustCompile(`(?:^|\s)--?([A-Za-z][A-Za-z0-9_]*)`)
)

// flagChecker returns a function that tests that the commands of a text that is not run are the
// program's, with flags of theirs. To make all commands takes as long as a small job: once a document.
func flagChecker() func(t *testing.T, at, text string) {
	root := command.Root()
	return func(t *testing.T, at, text string) {
		t.Helper()
		for _, m := range jobCall.FindAllStringSubmatch(strings.ReplaceAll(text, "\\\n", " "), -1) {
			cmd, _, err := root.Find([]string{m[1]})
			if err != nil {
				t.Errorf("%s: %v", at, err)
				continue
			}
			for _, f := range jobFlags.FindAllStringSubmatch(m[2], -1) {
				if cmd.Flags().Lookup(f[1]) == nil && cmd.Flags().ShorthandLookup(f[1][:1]) == nil {
					t.Errorf("%s: bochner %s has no flag --%s", at, m[1], f[1])
				}
			}
		}
	}
}

// link is a link of a document to a file or a heading.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksInDocumentsLeadToFiles(t *testing.T) {
	decisions, err := filepath.Glob(source("docs/decisions/*.md"))
	if err != nil || len(decisions) == 0 {
		t.Fatalf("%d decisions: %v", len(decisions), err)
	}
	all := slices.Concat(documents(t), decisions, []string{
		source("ARCHITECTURE.md"), source("CHANGELOG.md"), source("CONTRIBUTING.md"), source("deploy/README.md"),
		source("deploy/flink/README.md"),
	})
	for _, name := range all {
		for _, m := range link.FindAllStringSubmatch(read(t, name), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), target)); err != nil {
				t.Errorf("%s: link to %s: %v", name, m[1], err)
			}
		}
	}
}

func TestEveryBlockOfADocumentHasAKind(t *testing.T) {
	kinds := []string{"sh", "console", notRun, "go", "text", "json", "yaml", "csv", "python"}
	for _, name := range documents(t) {
		for _, b := range blocks(t, name) {
			if !slices.Contains(kinds, b.info) {
				t.Errorf("%s:%d: a block of the kind %q; have %q", name, b.line, b.info, kinds)
			}
		}
	}
}

func TestREADMEIsShort(t *testing.T) {
	if n := strings.Count(read(t, moduleDir, "README.md"), "\n"); n > 120 {
		t.Errorf("README.md has %d lines, want at most 120", n)
	}
}
