package deploy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program is the built program, for all tests.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "bochner-deploy-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = filepath.Join(dir, "bochner")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "./pipelines/bochner")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	code := 1
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// shop is a place with the program, the script, data and models.
type shop struct{ dir, bin string }

func newShop(t *testing.T) *shop {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh on this machine to run the script with")
	}
	s := &shop{dir: t.TempDir(), bin: filepath.Dir(program)}
	for _, args := range [][]string{
		{"generate", "moons", "--rows", "500", "--out", s.dir + "/train.csv"},
		{"generate", "moons", "--rows", "500", "--seed", "2", "--out", s.dir + "/test.csv"},
	} {
		if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	s.write(t, "train.yaml", "data: "+s.dir+"/train.csv\nlabel: y\nfeatures: 64\nlambda: 1e-6\n")
	if err := os.Mkdir(s.dir+"/models", 0o777); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shop) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
}

// run runs the script on a day and returns its exit code and what it printed.
func (s *shop) run(t *testing.T, day, gate string, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"retrain.sh"}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+s.bin+":"+os.Getenv("PATH"), "MODELS="+s.dir+"/models", "DAY="+day,
		"CONFIG="+s.dir+"/train.yaml", "TEST="+s.dir+"/test.csv", "GATE="+gate, "PAUSE=0")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func (s *shop) current(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(s.dir + "/models/current")
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSuffix(string(data), "\n"), s.dir+"/models/")
}

func TestOnlyWhatPassesTheGateIsPromoted(t *testing.T) {
	s := newShop(t)
	step := func(want int, current, day, gate string, args ...string) {
		t.Helper()
		if code, out := s.run(t, day, gate, args...); code != want || s.current(t) != current {
			t.Fatalf("%v on %s: exit code %d, want %d; current is %q, want %q\n%s", args, day, code, want, s.current(t), current, out)
		}
	}
	step(0, "", "2026-01-05", "accuracy>=0.9", "train")
	step(0, "2026-01-05", "2026-01-05", "", "promote")
	step(4, "2026-01-05", "2026-01-12", "accuracy>=1", "train") // the gate
	step(0, "2026-01-05", "2026-01-12", "accuracy>=0.9", "train")
	step(0, "2026-01-12", "2026-01-12", "", "promote")
	step(0, "2026-01-12", "2026-01-12", "accuracy>=0.9", "train") // again: nothing is trained twice
	step(0, "2026-01-05", "2026-01-13", "", "rollback", s.dir+"/models/2026-01-05")
	step(6, "2026-01-05", "2026-01-19", "", "promote") // no such model
	s.write(t, "train.csv", "a,b,y\n1,2,3\nx,y,z\n")
	step(3, "2026-01-05", "2026-01-19", "accuracy>=0.9", "train") // bad data, at once
	step(2, "2026-01-05", "2026-01-19", "", "promoted")
	if left, _ := filepath.Glob(s.dir + "/models/.*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A failure that may pass is tried again, one that will not is not.
func TestTheScriptTriesAgainByExitCode(t *testing.T) {
	s := newShop(t)
	s.write(t, "bochner", "#!/bin/sh\necho $1 >>"+s.dir+"/calls\n[ $1 = train ] && exit $(cat "+s.dir+"/code)\n[ $1 = evaluate ]\n")
	s.bin = s.dir
	for code, want := range map[string]int{"5": 3, "1": 3, "2": 1, "3": 1, "130": 1} {
		s.write(t, "code", code)
		s.write(t, "calls", "")
		s.run(t, "2026-01-05", "accuracy>=0.9", "train")
		data, err := os.ReadFile(s.dir + "/calls")
		if n := strings.Count(string(data), "train"); err != nil || n != want {
			t.Errorf("exit code %s: %d tries, want %d", code, n, want)
		}
	}
}
