//go:build unix

// Package streamtrial tries bochner predict --stream: while rows come, the stream and its job
// server are killed, models change under it, and a model, a file and a row are bad. Then every row
// of the output is counted. Command local/stream does so for an hour, the tests for seconds.
package streamtrial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
)

// Trial is one run. The directory gets in, out, out-dead and models.
type Trial struct {
	Binary        string
	Rows, PerFile int
	Time          time.Duration // over which the files are written; 0 is at once
	Reloads       int
	Kills         int    // of the stream, with its workers
	Managers      int    // kills of the job server; 0 on direct, which has none
	Runner        string // direct or universal
	Dir           string
	Log           io.Writer

	progress
}

// progress holds the state of a run: its processes, and what they have done so far.
type progress struct {
	digests map[string]string // name of a model by its digest
	began   time.Time
	written int // files
	bad     int // the file that is not a table, -1 before
	oops    int // the file with a bad row
	server  *server
	stream  *child
	ended   int     // how often the stream ended because its job server was killed
	memory  []int64 // bytes in use, sampled
}

// name returns the name of a file.
func name(i int) string { return fmt.Sprintf("f%06d.csv", i) }

func (t *Trial) path(elem ...string) string {
	return filepath.Join(append([]string{t.Dir}, elem...)...)
}

// Run does everything. Its figures go to Log.
func (t *Trial) Run(ctx context.Context) error {
	if err := t.prepare(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if t.Runner != "direct" {
		var err error
		if t.server, err = newServer(); err != nil {
			return err
		}
		defer func() { t.server.kill() }()
	} else {
		t.Managers = 0
	}
	if err := t.begin(ctx); err != nil {
		return err
	}
	defer func() { t.stream.kill() }()
	files := t.Rows / t.PerFile
	events := t.events(files)
	t.began, t.bad, t.oops = time.Now(), -1, -1
	if err := t.until(ctx, "the first model", func(l line) bool { return t.digests[l.Model] == "m0" }); err != nil {
		return err
	}
	for t.written < files {
		for ; len(events) > 0 && events[0].at <= t.written; events = events[1:] {
			if err := events[0].do(ctx); err != nil { // which may write files, too
				return err
			}
		}
		if err := t.write(ctx); err != nil {
			return err
		}
	}
	if err := t.drain(ctx); err != nil {
		return err
	}
	if code, err := t.stream.stop(); err != nil || code != 0 {
		return fmt.Errorf("the stream ended with exit code %d, %w", code, err)
	}
	return t.check(ctx)
}

// command runs the program.
func (t *Trial) command(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, t.Binary, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// prepare trains the models and promotes the first.
func (t *Trial) prepare(ctx context.Context) error {
	if err := os.MkdirAll(t.path("in"), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(t.path("train.csv"), rows(-1, 500, true), 0o666); err != nil {
		return err
	}
	t.digests = map[string]string{}
	for i := range t.Reloads + 1 {
		model := fmt.Sprintf("m%d", i)
		err := t.command(ctx, "train", "--data", t.path("train.csv"), "--label", "y", "--id_column", "id", "--model",
			t.path("models", model),
			"--search", "none", "--features", "64", "--seed", fmt.Sprint(i), "--quiet")
		if err != nil {
			return err
		}
		m, err := models.ReadManifest(ctx, t.path("models", model))
		if err != nil {
			return err
		}
		t.digests[m.SHA256] = model
	}
	if err := os.CopyFS(t.path("models", "broken"), os.DirFS(t.path("models", "m0"))); err != nil {
		return err
	}
	// The manifest belongs to another model than the weights, and to one that is not in use when
	// this one is promoted: a digest that is in use is not loaded again.
	if err := os.Remove(t.path("models", "broken", models.ManifestFile)); err != nil {
		return err
	}
	data, err := os.ReadFile(t.path("models", fmt.Sprintf("m%d", t.Reloads), models.ManifestFile))
	if err == nil {
		err = os.WriteFile(t.path("models", "broken", models.ManifestFile), data, 0o666)
	}
	if err != nil {
		return err
	}
	return t.promote(ctx, "m0")
}

func (t *Trial) promote(ctx context.Context, model string) error {
	return t.command(ctx, "models", "promote", "--models", t.path("models"), "--model", model)
}

// rows returns a table whose identifiers name the file and the row.
func rows(file, n int, labelled bool) []byte {
	r := rand.New(rand.NewPCG(uint64(file), 1))
	var b bytes.Buffer
	b.WriteString("id,a,b,c")
	if labelled {
		b.WriteString(",y")
	}
	b.WriteByte('\n')
	for i := range n {
		x, y, z := r.Float64(), r.Float64(), r.Float64()
		fmt.Fprintf(&b, "%d-%d,%.5f,%.5f,%.5f", file, i, x, y, z)
		if labelled {
			b.WriteString(map[bool]string{true: ",p", false: ",q"}[x+y*z > 0.75])
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// event happens once the given number of files is written.
type event struct {
	at int
	do func(context.Context) error
}

// events returns what happens, in its order.
func (t *Trial) events(files int) (all []event) {
	at := func(share float64, do func(context.Context) error) {
		all = append(all, event{int(share * float64(files)), do})
	}
	for k := range t.Reloads {
		at(float64(k+1)/float64(t.Reloads+1), func(ctx context.Context) error {
			return t.reload(ctx, fmt.Sprintf("m%d", k+1))
		})
	}
	for k := range t.Kills {
		at((float64(k)+0.5)/float64(t.Kills), t.again)
	}
	for k := range t.Managers {
		at((float64(k)+0.7)/float64(t.Managers), t.manager)
	}
	at(0.35, t.breakModel)
	at(0.4, func(context.Context) error { t.bad = t.written; return nil })
	at(0.6, func(context.Context) error { t.oops = t.written; return nil })
	slices.SortStableFunc(all, func(a, b event) int { return a.at - b.at })
	return all
}

// write writes the next file, in its time, under a hidden name, and renames it.
func (t *Trial) write(ctx context.Context) error {
	due := t.began.Add(t.Time * time.Duration(t.written) / time.Duration(t.Rows/t.PerFile))
	if err := parallel.Sleep(ctx, time.Until(due)); err != nil {
		return err
	}
	data := rows(t.written, t.PerFile, false)
	switch t.written {
	case t.bad:
		data = []byte("not,a\ntable of the,model\n")
	case t.oops:
		at := bytes.IndexByte(data, '\n') + 1 // the first row
		end := at + bytes.IndexByte(data[at:], '\n')
		data = bytes.Join([][]byte{data[:at], fmt.Appendf(nil, "%d-0,oops,1,1", t.written), data[end:]}, nil)
	}
	hidden := t.path("in", "."+name(t.written))
	if err := os.WriteFile(hidden, data, 0o666); err != nil {
		return err
	}
	if err := os.Rename(hidden, t.path("in", name(t.written))); err != nil {
		return err
	}
	t.written++
	return nil
}

// writeSome writes the next n files.
func (t *Trial) writeSome(ctx context.Context, n int) error {
	for range n {
		if err := t.write(ctx); err != nil {
			return err
		}
	}
	return nil
}

// until writes files until a line of the stream is as wanted.
func (t *Trial) until(ctx context.Context, what string, wanted func(line) bool) error {
	for seen := 0; ; {
		if err := t.write(ctx); err != nil {
			return err
		}
		n, last, err := t.stream.after(ctx, seen)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		t.sample()
		if wanted(last) {
			return nil
		}
		seen = n
	}
}

// reload promotes a model and waits until a file has predictions of it. A line tells which model is
// in use after its round: another may replace that one before the next.
func (t *Trial) reload(ctx context.Context, model string) error {
	if err := t.promote(ctx, model); err != nil {
		return err
	}
	from := t.written
	return t.until(ctx, model, func(l line) bool { return t.digests[l.Model] == model && t.used(model, from) })
}

// used reports whether one of the files from the given one on has predictions of a model.
func (t *Trial) used(model string, from int) bool {
	for i := from; i < t.written; i++ {
		text, err := os.ReadFile(t.path("out", name(i)+suffix))
		if err != nil {
			continue // not yet, or bad
		}
		row := strings.TrimSuffix(string(text), "\n")
		if t.digests[row[strings.LastIndexByte(row, ',')+1:]] == model {
			return true
		}
	}
	return false
}

// breakModel makes the alias name a model that cannot be loaded, until the stream has refused it.
func (t *Trial) breakModel(ctx context.Context) error {
	s, before, err := models.ReadAliases(ctx, t.path("models"))
	if err != nil {
		return err
	}
	s.Champion = "broken"
	broken, err := s.Encode()
	if err != nil {
		return err
	}
	file := t.path("models", models.AliasFile)
	if err := storage.CompareAndSwap(ctx, file, before, broken); err != nil {
		return err
	}
	err = t.until(ctx, "the broken model", func(l line) bool { return l.ReloadError != "" && t.digests[l.Model] != "" })
	return errors.Join(err, storage.CompareAndSwap(ctx, file, broken, before))
}

// begin starts the stream.
func (t *Trial) begin(ctx context.Context) (err error) {
	args := []string{"predict", "--stream", "--json", "--quiet", "--model_digest", "--model", t.path("models@champion"),
		"--data", t.path("in/*.csv"), "--out", t.path("out"),
		"--poll", "200ms", "--settle", "0", "--reload", "500ms", "--runner", t.Runner}
	if t.server != nil {
		args = append(args, "--endpoint", t.server.endpoint(), "--environment_type", "LOOPBACK")
	}
	t.stream, err = start(ctx, t.Binary, args)
	return err
}

// again kills the stream while it works, and starts it again.
func (t *Trial) again(ctx context.Context) error {
	if err := t.writeSome(ctx, 3); err != nil { // so that it has something to do
		return err
	}
	t.stream.kill()
	return t.begin(ctx)
}

// manager kills the job server while the stream works, and starts another. The stream tries again
// and continues, or has given up, and is started again.
func (t *Trial) manager(ctx context.Context) error {
	if err := t.writeSome(ctx, 3); err != nil { // so that it has something to do
		return err
	}
	t.server.kill()
	if err := t.writeSome(ctx, 2); err != nil {
		return err
	}
	if err := t.server.start(); err != nil {
		return err
	}
	for !t.allOut() {
		if t.stream.alive() != nil {
			t.ended++
			return t.begin(ctx)
		}
		if err := parallel.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// allOut reports whether every file that is written has predictions, but the bad one.
func (t *Trial) allOut() bool {
	want := t.written
	if t.bad >= 0 && t.bad < want {
		want--
	}
	names, _ := filepath.Glob(t.path("out", "*"+suffix))
	return len(names) >= want
}

// drain waits until every file has its predictions or a dead letter.
func (t *Trial) drain(ctx context.Context) error {
	for {
		if t.allOut() {
			if _, err := os.Stat(t.path("out-dead", name(t.bad)+".file.json")); err == nil {
				return nil
			}
		}
		if err := t.stream.alive(); err != nil {
			return err
		}
		t.sample()
		if err := parallel.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// sample notes how much memory the stream has.
func (t *Trial) sample() {
	if n := resident(t.stream.cmd.Process); n > 0 {
		t.memory = append(t.memory, n)
	}
}
