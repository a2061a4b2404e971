//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// runner runs jobs.
type runner struct {
	program  string
	dir      string
	endpoint string // of the job server of this process
}

// job runs all commands on a data set in a variant.
type job struct {
	*runner
	variant
	set   *set
	found map[string]string // digest of each output, "COMMAND FILE"
	times map[string]string // size and time of each file that was seen
}

func (j *job) name() string { return j.variant.name + "/" + j.set.name }

func (j *job) dir() string { return filepath.Join(j.runner.dir, j.variant.name, j.set.name) }

// run runs the commands one after the other.
func (j *job) run(ctx context.Context, lines []line) error {
	j.found, j.times = map[string]string{}, map[string]string{}
	if err := j.set.write(j.dir(), j.files); err != nil {
		return err
	}
	if err := j.look(""); err != nil {
		return err
	}
	for _, l := range lines {
		if !l.on(j.set.kinds) {
			continue
		}
		out, code, err := j.command(ctx, j.words(l))
		if err != nil {
			return err
		}
		j.found[l.name+" exit"] = fmt.Sprint(code)
		j.found[l.name+" output"] = digest([]byte(j.normal(out)))
		if err := os.WriteFile(filepath.Join(j.dir(), l.name+".output"), []byte(out), 0o666); err != nil {
			return err
		}
		if err := j.look(l.name); err != nil {
			return err
		}
	}
	return nil
}

// words returns the words of a command line, with the flags of the set filled in.
func (j *job) words(l line) []string {
	var words []string
	for _, w := range l.words {
		if flags, ok := j.set.flags(w); ok {
			words = append(words, flags...)
		} else {
			words = append(words, strings.ReplaceAll(w, "MODEL", l.name))
		}
	}
	if j.readers > 0 && !slices.Contains([]string{"models", "export"}, l.words[0]) {
		words = append(words, "--runner", "universal", "--endpoint", j.endpoint, "--environment_type", "LOOPBACK",
			"--readers", fmt.Sprint(j.readers))
	}
	return words
}

// command runs the program and returns its standard output and its exit code.
func (j *job) command(ctx context.Context, words []string) (out string, code int, err error) {
	cmd := exec.CommandContext(ctx, j.program, words...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = j.dir(), &stdout, &stderr
	cmd.Env = os.Environ()
	if j.env != "" {
		cmd.Env = append(cmd.Env, j.env)
	}
	err = cmd.Run()
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case ended:
		code = exit.ExitCode()
		fmt.Fprintf(os.Stderr, "%s: %s: exit code %d\n%s", j.name(), strings.Join(words, " "), code, stderr.Bytes())
	case err != nil:
		return "", 0, err
	}
	return stdout.String(), code, nil
}

// look computes the digests of files that are new or have changed since the last call.
func (j *job) look(command string) error {
	return filepath.WalkDir(j.dir(), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(p, ".output") || d.Name() == ".retrain-lock" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		seen := fmt.Sprint(info.Size(), info.ModTime())
		if j.times[p] == seen {
			return nil
		}
		j.times[p] = seen
		if command == "" {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(j.dir(), p)
		if err != nil {
			return err
		}
		switch filepath.Ext(p) {
		case ".json", ".jsonl", ".txt":
			text = []byte(j.normal(string(text)))
		case ".html": // says nothing of when and where
			text = volatileNames.ReplaceAll([]byte(j.withoutDir(string(text))), []byte("$1"))
		}
		j.found[command+" "+j.normal(filepath.ToSlash(name))] = digest(text)
		return nil
	})
}

func digest(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text))[:16] }

// volatileNames matches names of retrain's models and sums, which depend on versions of files.
var volatileNames = regexp.MustCompile(`\b(2026-11-0\d|total|probe)-[0-9a-f]{8,16}\b`)

// volatileTexts matches texts that differ from run to run: these names, times of day and durations.
var volatileTexts = []*regexp.Regexp{
	regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]?\d\d:?\d\d:?\d\d(?:\.\d+)?Z?`),
	regexp.MustCompile(`"(?:version|digest|modified|seen|id|sha256)": "?[\w.]+"?`),
	volatileNames,
	regexp.MustCompile(`(?m)^(?:seconds|time:) .*\n`),
	regexp.MustCompile(`(?s)"(?:seconds|times)": (?:\{.*?\}|[\d.e-]+)`),
	regexp.MustCompile(`(?m) +\d+\.\d {2,}(?:<- chosen)?$`), // seconds of the table of sizes
	regexp.MustCompile(`(?m)\b\d+\.\d *(?:<- chosen)?$`),
}

// withoutDir returns a text without the directory of the job.
func (j *job) withoutDir(text string) string {
	if dir, err := filepath.Abs(j.dir()); err == nil {
		text = strings.ReplaceAll(text, dir, "")
	}
	return text
}

// normal returns a text without the volatileTexts.
func (j *job) normal(text string) string {
	text = j.withoutDir(text)
	for _, r := range volatileTexts {
		text = r.ReplaceAllString(text, "$1")
	}
	return text
}

// refusals records the exit codes of the commands in refusals.txt, and the output of help --json.
func (j *job) refusals(ctx context.Context, s *set) error {
	j.found, j.times = map[string]string{}, map[string]string{}
	if err := s.write(j.dir(), 1); err != nil {
		return err
	}
	rows, err := rowsOf("local/golden/refusals.txt")
	if err != nil {
		return err
	}
	help, _, err := j.command(ctx, []string{"help", "--json"})
	if err != nil {
		return err
	}
	j.found["help output"] = digest([]byte(help))
	for _, row := range rows {
		words := strings.Fields(row)
		_, code, err := j.command(ctx, words)
		if err != nil {
			return err
		}
		j.found[strings.Join(words, "_")+" exit"] = fmt.Sprint(code)
	}
	return nil
}
