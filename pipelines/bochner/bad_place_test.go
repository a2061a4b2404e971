//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestMissingDataIsRejected(t *testing.T) {
	dir := trained(t)
	if err := os.MkdirAll(filepath.Join(dir, "sub", "inner"), 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "sub"), "a.csv", replaced(quadrants(20), nil))
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{
		"none-*.csv":       "list none-*.csv: no file matches the pattern; check it",
		"none.csv":         "list none.csv: no such file or directory; check the path",
		"sub":              "list sub: is a directory; name its files, as in sub/*",
		".":                "list .: is a directory; name its files, as in *",
		"sub/inn*":         "list sub/inn*: is a directory; name its files",
		"table.csv/x":      "list table.csv/x: not a directory",
		"[":                "list [: syntax error in pattern",
		"pipe":             "stat pipe: not a regular file",
		"ftp://host/a.csv": "ftp://host/a.csv: unknown scheme ftp://",
		"":                 "empty name",
	} {
		t.Run("data "+data, func(t *testing.T) {
			for _, args := range [][]string{
				{"train", "--data", data, "--label", "y", "--features", "32", "--model", "new"},
				{"predict", "--model", "model", "--data", data, "--out", "predictions"},
				{"evaluate", "--model", "model", "--data", data},
				{"inspect", "--data", data},
			} {
				refuse(t, dir, 3, []string{want}, args...)
			}
		})
	}
}

func TestFileNamedTwiceIsRejected(t *testing.T) {
	dir := trained(t)
	for _, second := range []string{"table.csv", "t*.csv", "./table.csv", filepath.Join(dir, "table.csv")} {
		refuse(t, dir, 3, []string{`matches both "table.csv" and "` + second + `"; its rows would count twice`},
			"train", "--data", "table.csv", "--data", second, "--label", "y", "--features", "32", "--model", "new")
	}
}

func TestExistingFilesAtTheOutputAreKept(t *testing.T) {
	dir := trained(t)
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	for _, there := range []string{"model", "table.csv", "empty", "empty/", "dangling"} {
		want := []string{"publish " + there + ": already exists; remove it or name another"}
		refuse(t, dir, 3, want, "train", "--data", "table.csv", "--label", "y", "--features", "32", "--model", there)
		refuse(t, dir, 3, want, "predict", "--model", "model", "--data", "table.csv", "--out", there)
	}
	refuse(t, dir, 3, []string{"table.csv: already exists; remove it or name another"}, "generate", "moons", "--out",
		"table.csv")
	refuse(t, dir, 3, []string{"table.csv/model", "not a directory"}, "train", "--data", "table.csv", "--label", "y",
		"--features", "32", "--model", "table.csv/model")
}

func TestWorkDirectoryWithOtherFilesIsRejectedAndKept(t *testing.T) {
	dir := trained(t)
	if err := os.MkdirAll(filepath.Join(dir, "mine", "state"), 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "mine", "state"), "thesis.txt", "years of work")
	for work, model := range map[string]string{"mine": "new", ".": "../" + filepath.Base(dir) + "-new"} {
		refuse(t, dir, 3, []string{"--work " + work + ": the directory has other files; give a new or an empty one"},
			"train", "--data", "table.csv", "--label", "y", "--features", "32", "--model", model, "--work", work)
	}
	refuse(t, dir, 3, []string{"table.csv", "not a directory"},
		"train", "--data", "table.csv", "--label", "y", "--features", "32", "--model", "new", "--work", "table.csv")
}

// asNobody has the program run by a user for whom permissions count, where the
// tests are run by root, for whom they do not. What it needs is made readable.
func asNobody(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	const nobody = 65534
	if os.Getuid() != 0 {
		return cmd
	}
	if err := os.Chmod(filepath.Dir(binary), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

func TestPermissionErrorNamesTheFile(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "bochner-rights-") // t.TempDir is below a directory for its owner only
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	write(t, dir, "table.csv", replaced(quadrants(60), nil))
	write(t, dir, "secret.csv", replaced(quadrants(60), nil))
	for name, mode := range map[string]os.FileMode{"": 0o777, "open": 0o777, "closed": 0o555, "hidden": 0} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(p, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "hidden"), 0o777) })
	if err := os.Chmod(filepath.Join(dir, "secret.csv"), 0); err != nil {
		t.Fatal(err)
	}
	if r := runCommand(t, asNobody(t, program(dir,
		trainOn("table.csv", "--label", "y", "--work", "open/work")...))); r.code != 0 {
		t.Fatalf("with all rights: exit code %d: %s", r.code, r.stderr)
	}
	before := entries(t, dir)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"open secret.csv: permission denied", []string{"--data", "secret.csv", "--model", "new"}},
		{"permission denied", []string{"--data", "hidden/table.csv", "--model", "new"}},
		{"closed", []string{"--data", "table.csv", "--model", "closed/new"}},
		{"closed", []string{"--data", "table.csv", "--model", "new", "--work", "closed/work"}},
		{"claim closed/new: permission denied",
			[]string{"--data", "table.csv", "--model", "closed/new", "--work", "open/work"}},
	} {
		args := slices.Concat([]string{"train", "--label", "y", "--quiet"}, smallModel, c.args)
		isRefusal(t, runCommand(t, asNobody(t, program(dir, args...))), 3, c.want, "permission denied")
		if after := entries(t, dir); !slices.Equal(before, after) {
			t.Errorf("%q: files before %q, after %q", c.args, before, after)
		}
		for _, d := range []string{"open", "closed"} {
			if left := entries(t, filepath.Join(dir, d)); len(left) > 0 {
				t.Errorf("%q: left in %s: %q", c.args, d, left)
			}
		}
	}
}

func TestUnreadableDirectoryIsNotSkipped(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "bochner-rights-") // as in the test above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, d := range []string{"", "days/1", "days/2", "out"} {
		p := filepath.Join(dir, d)
		if err := os.MkdirAll(p, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p, 0o777); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(d, "days") {
			write(t, p, "part.csv", replaced(quadrants(60), nil))
		}
	}
	second := filepath.Join(dir, "days", "2")
	t.Cleanup(func() { os.Chmod(second, 0o777) })
	inspect := func(pattern string) *exec.Cmd {
		return asNobody(t, program(dir, "inspect", "--data", pattern, "--label", "y", "--quiet"))
	}
	if r := runCommand(t, inspect("days/*/*.csv")); r.code != 0 || !strings.Contains(r.stdout, "120") {
		t.Fatalf("with all rights: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	for mode, want := range map[os.FileMode]string{0: "list days/2: permission denied",
		0o111: "list days/2: permission denied", 0o444: "stat days/2/part.csv: permission denied"} {
		if err := os.Chmod(second, mode); err != nil {
			t.Fatal(err)
		}
		isRefusal(t, runCommand(t, inspect("days/*/*.csv")), 3, want)
		if mode != 0o111 { // where the file can be reached by its name
			isRefusal(t, runCommand(t, inspect("days/*/part.csv")), 3, "stat days/2/part.csv: permission denied")
		}
	}
}

// onSmallDisk runs the program with the directory disk on a file system of its
// own, of which room bytes are free, and returns what the program has left there.
func onSmallDisk(t *testing.T, dir string, room int, args ...string) (r result, left string) {
	t.Helper()
	const size = 256 << 10
	script := `mount -t tmpfs -o size=256k none disk && head -c "$0" /dev/zero > disk/filler || exit 99
"$@"
code=$?
ls -A disk > left
exit $code`
	unshare := []string{"-m"}
	if os.Getuid() != 0 {
		unshare = []string{"-r", "-m"}
	}
	command := func(script string, args ...string) *exec.Cmd {
		cmd := exec.Command("unshare", slices.Concat(unshare, []string{"sh", "-c", script, strconv.Itoa(size - room)},
			args)...)
		cmd.Dir = dir
		return cmd
	}
	if text, err := command("mount -t tmpfs -o size=256k none disk").CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v %s", err, text)
	}
	r = runCommand(t, command(script, program(dir, args...).Args...))
	return r, read(t, dir, "left")
}

func TestFullDiskIsReportedAndWorkIsKept(t *testing.T) {
	t.Parallel()
	train := func(more ...string) []string {
		return append([]string{"train", "--data", "table.csv", "--label", "y", "--features", "512", "--lambda", "1e-4",
			"--threads", "1", "--quiet"}, more...)
	}
	const all = 256 << 10
	for name, c := range map[string]struct {
		room int // bytes
		kept string
		args []string
	}{
		"model and work":   {all, "disk/.bochner-model", train("--model", "disk/model")},
		"model alone":      {4 << 10, "work", train("--model", "disk/model", "--work", "work")},
		"work":             {all, "disk/work", train("--model", "model", "--work", "disk/work")},
		"work, not a byte": {0, "", train("--model", "model", "--work", "disk/work")},
		"predictions": {64 << 10, "disk/.bochner-predictions",
			[]string{"predict", "--model", "small", "--data", "long.csv", "--out", "disk/predictions"}},
		"predictions alone": {64 << 10, "work",
			[]string{"predict", "--model", "small", "--data", "long.csv", "--out", "disk/predictions", "--work", "work"}},
		"generated": {64 << 10, "", []string{"generate", "moons", "--rows", "10000", "--out", "disk/moons.csv"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "table.csv", replaced(quadrants(60), nil))
			if c.args[0] == "predict" {
				write(t, dir, "long.csv", replaced(quadrants(60_000), nil))
				must(t, dir, slices.Concat([]string{"train", "--data", "table.csv", "--label", "y", "--model", "small"},
					smallModel)...)
			}
			if err := os.Mkdir(filepath.Join(dir, "disk"), 0o777); err != nil {
				t.Fatal(err)
			}
			before := tree(t, dir)
			r, left := onSmallDisk(t, dir, c.room, c.args...)
			isRefusal(t, r, 3, "no space left on the device; free some or name another directory", "disk")
			if kept := strings.Contains(r.stderr,
				"the finished part is in "+filepath.Join(dir, c.kept)+
					": the same command with --resume continues"); kept != (c.kept != "") {
				t.Errorf("says that it keeps work: %t\n%s", kept, r.stderr)
			}
			want := "filler\n"
			if below, ok := strings.CutPrefix(c.kept, "disk/"); ok {
				want = below + "\n" + want
				if below[0] != '.' {
					want = "filler\n" + below + "\n"
				}
			}
			if left != want {
				t.Errorf("left on the disk: %q, want %q", left, want)
			}
			after := slices.DeleteFunc(tree(t, dir),
				func(s string) bool { return s == "left" || c.kept == "work" && strings.HasPrefix(s, "work") })
			if !slices.Equal(before, after) {
				t.Errorf("files before %q, after %q", before, after)
			}
			if c.kept == "work" { // which is not on the disk that was full
				r := runProgram(t, dir, append(slices.Clone(c.args), "--resume", "--quiet=false")...)
				if r.code != 0 || !strings.Contains(r.stderr, "found ") {
					t.Errorf("with room, --resume ends with code %d:\n%s", r.code, r.stderr)
				}
				if _, err := os.Stat(filepath.Join(dir, "work")); err == nil {
					t.Error("the work directory is still there")
				}
			}
		})
	}
}
