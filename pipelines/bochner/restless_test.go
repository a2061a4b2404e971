//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// restless is a directory of files that somebody moves, links and replaces at random while a stream predicts them.
type restless struct {
	t      *testing.T
	dir    string
	rand   *rand.Rand
	model  int // that is champion
	n      int // files
	stream *exec.Cmd
	ended  chan struct{} // closed when the stream has ended
	out    *os.File      // lines of the stream
	log    *os.File

	rows   map[string][]string    // identifiers by file
	due    map[string]bool        // files that are there or were, and get predictions
	aside  map[string]bool        // files that are moved away
	wait   map[string]bool        // names of entries that cannot be read yet; their rows come later
	whole  map[string]os.FileInfo // outputs as they were when they appeared
	acts   map[string]int
	grown  map[string]bool
	secret string
}

func (r *restless) path(elem ...string) string {
	return filepath.Join(append([]string{r.dir}, elem...)...)
}

func (r *restless) must(errs ...error) {
	r.t.Helper()
	if err := errors.Join(errs...); err != nil {
		r.t.Fatal(err)
	}
}

// until waits for a condition while the stream lives.
func (r *restless) until(what string, ok func() bool) {
	r.t.Helper()
	for begun := time.Now(); !ok(); time.Sleep(time.Millisecond) {
		if r.look(); time.Since(begun) > 30*time.Second {
			r.t.Fatalf("waited for %s: %s", what, r.tail())
		}
		select {
		case <-r.ended:
			r.t.Fatalf("the stream has ended: %s", r.tail())
		default:
		}
	}
}

func (r *restless) read(name string) string {
	text, err := os.ReadFile(name)
	r.must(err)
	return string(text)
}

func (r *restless) said() string { return r.read(r.log.Name()) }

// tail is the end of what the stream has said and counted.
func (r *restless) tail() string {
	said, lines := r.said(), r.read(r.out.Name())
	return said[max(0, len(said)-1000):] + lines[max(0, len(lines)-1000):]
}

// round is a line of the stream.
type round struct {
	Waiting, Backlog int
	Total            struct{ Changed int }
}

// last returns the last line of the stream that runs.
func (r *restless) last() (last round) {
	lines := strings.Split(r.read(r.out.Name()), "\n")
	if n := len(lines); n > 1 {
		r.must(json.Unmarshal([]byte(lines[n-2]), &last))
	}
	return last
}

func (r *restless) begin() {
	var err error
	r.out, err = os.Create(r.path("lines"))
	r.must(err)
	r.stream = exec.Command(binary, "predict", "--stream", "--json", "--model", r.path("models@champion"), "--data",
		r.path("current/*.csv"), "--out", r.path("out"),
		"--model_digest", "--poll", "2ms", "--settle", "10ms", "--reload", "20ms", "--files_per_round", "8")
	r.stream.Stdout, r.stream.Stderr = r.out, r.log
	r.must(r.stream.Start())
	ended := make(chan struct{})
	r.ended = ended
	go func(c *exec.Cmd) { c.Wait(); close(ended) }(r.stream)
}

// end sends a signal and returns the exit code.
func (r *restless) end(s syscall.Signal) int {
	r.must(r.stream.Process.Signal(s))
	<-r.ended
	return r.stream.ProcessState.ExitCode()
}

// promote makes the other model champion: what is predicted again would show.
func (r *restless) promote() {
	r.model = 1 - r.model
	out, err := exec.Command(binary, "models", "promote", "--models", r.path("models"), "--model",
		fmt.Sprint("m", r.model)).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%v: %s", err, out)
	}
}

// table makes a file of new rows outside of the pattern.
func (r *restless) table(name string) (at string) {
	text := "id,a,b\n"
	for i := range 1 + r.rand.IntN(5) {
		id := fmt.Sprintf("%s-%d", name, i)
		r.rows[name] = append(r.rows[name], id)
		text += fmt.Sprintf("%s,%d,%d\n", id, i, r.rand.IntN(9))
	}
	at = r.path("in", "."+name)
	r.must(os.WriteFile(at, []byte(text), 0o666))
	return at
}

func (r *restless) name() string {
	r.n++
	return fmt.Sprintf("f%05d.csv", r.n)
}

// pick returns one of the names, in an order that the seed decides, or "".
func (r *restless) pick(of map[string]bool, fits func(name string) bool) string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(of)), func(name string) bool { return !fits(name) })
	if len(names) == 0 {
		return ""
	}
	return names[r.rand.IntN(len(names))]
}

func (r *restless) present(name string) bool { return !r.aside[name] }
func (r *restless) done(name string) bool    { return r.whole[name] != nil && r.present(name) }

// actions are what happens to names. Each says whether it could be.
var actions = map[string]func(r *restless) bool{
	"a new file": func(r *restless) bool {
		name := r.name()
		at := r.table(name)
		r.due[name] = true
		r.must(os.Rename(at, r.path("in", name)))
		return true
	},
	"a file of the future": func(r *restless) bool {
		name := r.name()
		at, future := r.table(name), time.Now().Add(1000*time.Hour)
		r.due[name] = true
		r.must(os.Chtimes(at, future, future), os.Rename(at, r.path("in", name)))
		return true
	},
	"a link to a file": func(r *restless) bool {
		name := r.name()
		r.table(name)
		r.due[name] = true
		r.must(os.Symlink("."+name, r.path("in", name)))
		return true
	},
	"a dangling link": func(r *restless) bool {
		return r.waits(func(name string) error { return os.Symlink("."+filepath.Base(name), name) })
	},
	"a link to itself": func(r *restless) bool {
		return r.waits(func(name string) error { return os.Symlink(filepath.Base(name), name) })
	},
	"a link outside": func(r *restless) bool {
		return r.waits(func(name string) error {
			return os.Symlink(r.secret,
				name)
		})
	},
	"a pipe": func(r *restless) bool {
		return r.waits(func(name string) error {
			return syscall.Mkfifo(name,
				0o666)
		})
	},
	"a socket": func(r *restless) bool {
		return r.waits(func(name string) error { return syscall.Mknod(name, syscall.S_IFSOCK|0o666, 0) })
	},
	"a directory": func(r *restless) bool { return r.waits(func(name string) error { return os.Mkdir(name, 0o777) }) },
	"a file in its place": func(r *restless) bool {
		name := r.pick(r.wait, func(string) bool { return true })
		if name == "" {
			return false
		}
		delete(r.wait, name)
		at := r.table(name)
		r.due[name] = true
		if to, err := os.Readlink(r.path("in", name)); err == nil && to == "."+name {
			return true // the link has its target now
		}
		r.must(os.RemoveAll(r.path("in", name)), os.Rename(at, r.path("in", name)))
		return true
	},
	"moved away": func(r *restless) bool {
		name := r.pick(r.due, r.present)
		if name == "" {
			return false
		}
		r.aside[name] = true
		r.must(os.Rename(r.path("in", name), r.path("in/.aside", name)))
		return true
	},
	"moved back": func(r *restless) bool {
		name := r.pick(r.aside, func(string) bool { return true })
		if name == "" {
			return false
		}
		delete(r.aside, name)
		r.must(os.Rename(r.path("in/.aside", name), r.path("in", name)))
		return true
	},
	"grown": func(r *restless) bool { return r.grow() },
	"rolled back": func(r *restless) bool {
		r.must(os.Remove(r.path("current")), os.Symlink("nowhere", r.path("current")))
		r.until("the note on a directory that is gone", func() bool { return r.last().Waiting > 0 })
		r.promote()
		r.must(os.Remove(r.path("current")), os.Symlink("in", r.path("current")))
		return true
	},
	"another model": func(r *restless) bool { r.promote(); return true },
	"killed": func(r *restless) bool {
		if r.rand.IntN(2) == 0 {
			r.end(syscall.SIGKILL)
		} else if code := r.end(syscall.SIGTERM); code > 0 { // it may not handle signals yet
			r.t.Errorf("a stopped stream ended with exit code %d: %s", code, r.tail())
		}
		r.begin()
		return true
	},
}

// waits makes an entry that cannot be read, and sees it noted.
func (r *restless) waits(make func(name string) error) bool {
	if len(r.wait) >= 4 { // which notes name each
		return false
	}
	name := r.name()
	r.wait[name] = true
	r.must(make(r.path("in", name)))
	r.until("the note on "+name, func() bool {
		return strings.Contains(r.said(),
			"waiting for "+r.path("current", name)+": ")
	})
	return true
}

// grow adds a row to a file that has predictions, and sees it counted.
func (r *restless) grow() bool {
	name := r.pick(r.due, func(name string) bool { return r.done(name) && !r.grown[name] })
	if name == "" {
		return false
	}
	r.grown[name] = true
	before := r.last().Total.Changed
	f, err := os.OpenFile(r.path("in", name), os.O_APPEND|os.O_WRONLY, 0)
	r.must(err)
	_, err = fmt.Fprintf(f, "%s-grown,1,1\n", name)
	r.must(err, f.Close())
	r.until("the count of "+name, func() bool { return r.last().Total.Changed > before })
	return true
}

// look sees which outputs have appeared, and that none is made again.
func (r *restless) look() (waits int) {
	for name := range r.due {
		fi, err := os.Stat(r.path("out", name+".predictions.csv"))
		switch {
		case errors.Is(err, os.ErrNotExist) && r.whole[name] == nil:
			if r.present(name) {
				waits++
			}
		case err != nil:
			r.t.Fatal(err)
		case r.whole[name] == nil:
			r.whole[name] = fi
		case !os.SameFile(fi, r.whole[name]) || !fi.ModTime().Equal(r.whole[name].ModTime()):
			r.t.Fatalf("%s was predicted again: %s", name, r.tail())
		}
	}
	return waits
}

// journal compares the rows of the output with the rows of the files.
func (r *restless) journal() {
	files, err := os.ReadDir(r.path("out"))
	if r.must(err); len(files) != len(r.due) {
		r.t.Errorf("%d files of predictions for %d files", len(files), len(r.due))
	}
	for name := range r.due {
		var ids []string
		for _, line := range strings.Split(strings.TrimSpace(r.read(r.path("out", name+".predictions.csv"))), "\n")[1:] {
			ids = append(ids, line[:strings.IndexByte(line, ',')])
		}
		if !slices.Equal(ids, r.rows[name]) {
			r.t.Errorf("%s: rows %q in the output, want %q", name, ids, r.rows[name])
		}
	}
	if dead, _ := filepath.Glob(r.path("out-dead/*")); len(dead) > 0 {
		r.t.Errorf("dead letters: %q, %s", dead, r.tail())
	}
}

// Each row is predicted once, by one model, and every other entry is noted, while entries of all kinds come,
// go, come back, grow and are replaced, models change and the stream is killed. BOCHNER_STREAM_TIME makes it
// last.
func TestStreamOfRestlessFilesPredictsEachRowOnce(t *testing.T) {
	campaign.Long(t)
	lasts, err := time.ParseDuration(os.Getenv("BOCHNER_STREAM_TIME"))
	if err != nil {
		lasts = 0
	}
	r := &restless{
		t: t, dir: t.TempDir(), rand: rand.New(rand.NewPCG(1,
			2)), model: 1, rows: map[string][]string{}, due: map[string]bool{}, aside: map[string]bool{},
		wait: map[string]bool{}, whole: map[string]os.FileInfo{}, acts: map[string]int{}, grown: map[string]bool{},
	}
	var train bytes.Buffer
	train.WriteString("id,a,b,y\n")
	for i := range 60 {
		fmt.Fprintf(&train, "t%d,%d,%d,%c\n", i, i%7, i%5, 'p'+i%2)
	}
	r.secret = r.path("secret.csv")
	r.must(os.MkdirAll(r.path("in/.aside"), 0o777), os.Symlink("in", r.path("current")),
		os.WriteFile(r.path("train.csv"), train.Bytes(), 0o666),
		os.WriteFile(r.secret, []byte("id,a,b\nsecret,1,2\n"), 0o666))
	for m := range 2 {
		out, err := exec.Command(binary, "train", "--data", r.path("train.csv"), "--label", "y", "--id_column", "id",
			"--model", r.path("models", fmt.Sprint("m", m)),
			"--search", "none", "--features", "16", "--seed", fmt.Sprint(m), "--quiet").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	r.promote()
	r.log, err = os.Create(r.path("log"))
	r.must(err)
	r.begin()
	t.Cleanup(func() { r.stream.Process.Kill(); <-r.ended })
	names := slices.Sorted(maps.Keys(actions))
	for begun := time.Now(); len(r.due) < 40 || len(r.acts) < len(names) || time.Since(begun) < lasts; {
		act := names[r.rand.IntN(len(names))]
		if actions[act](r) {
			r.acts[act]++
		}
		r.until("predictions", func() bool { return r.look() < 12 })
	}
	for len(r.wait) > 0 {
		actions["a file in its place"](r)
	}
	for len(r.aside) > 0 {
		actions["moved back"](r)
	}
	r.until("all predictions", func() bool { return r.look() == 0 })
	r.until("an empty backlog", func() bool { return r.last().Backlog == 0 })
	if code := r.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, r.tail())
	}
	r.look()
	r.journal()
	t.Logf("%d files, %d of them grown; %v", len(r.due), len(r.grown), r.acts)
}
