package pipelines

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/disktest"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// programKind is a kind of table whose rows programs sum.
type programKind struct {
	name, header string
	row          func(r *rand.Rand) string
	other        string // a row of a class that the recipe does not have; "" for none
	options      func(*options.Train)

	rows   []string
	recipe map[string]string // its files
}

func number(r *rand.Rand) string { return strconv.FormatFloat(r.NormFloat64(), 'f', 3, 64) }

func class(r *rand.Rand) string { return string(rune('a' + r.IntN(3))) }

var programKinds = []*programKind{
	{name: "classes", header: "x,z,y", other: "0.5,0.25,new",
		row: func(r *rand.Rand) string { return number(r) + "," + number(r) + "," + class(r) }},
	{name: "targets", header: "x,y,p", row: func(r *rand.Rand) string {
		return number(r) + "," + number(r) + "," + number(r)
	}, options: func(o *options.Train) { o.Data.Label = "y,p" }},
	{name: "weights", header: "x,z,w,y", row: func(r *rand.Rand) string {
		return fmt.Sprintf("%s,%s,%d,%s", number(r), number(r), 1+r.IntN(300), class(r))
	}, options: func(o *options.Train) {
		o.Data.Weight, o.Learner = "w", &ridge.LearnerOptions{Grid: "16", Solver: "gram", Weights: []string{"balanced"}}
	}},
	{name: "copies", header: "x,w,y", row: func(r *rand.Rand) string {
		return fmt.Sprintf("%d,%d,%s", r.IntN(2), 1+r.IntN(2), class(r))
	}, options: func(o *options.Train) { o.Data.Weight = "w" }},
	{name: "groups", header: "x,g,y", row: func(r *rand.Rand) string {
		return fmt.Sprintf("%s,g%d,%s", number(r), r.IntN(20), number(r))
	}, options: func(o *options.Train) { o.Split.Group = []string{"g"} }},
	{name: "times", header: "x,t,y", row: func(r *rand.Rand) string {
		return fmt.Sprintf("%s,%d,%s", number(r), r.IntN(90), class(r))
	}, options: func(o *options.Train) { o.Data.Time, o.Split.Time = "t", true }},
}

// train makes the recipe of the kind.
func (k *programKind) train(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	for range 80 {
		k.rows = append(k.rows, k.row(r))
	}
	root, m := newRoot(), disktest.New()
	defer disk.Swap(m)()
	m.Put(root+"/data.csv", []byte(k.header+"\n"+strings.Join(k.rows, "\n")+"\n"))
	o := options.Train{Prepare: options.Prepare{Data: dataset.Options{Files: []string{root + "/data.csv"}, Label: "y"},
		Kernel: &fourier.GaussianOptions{Features: 12}, Seed: 1}, Model: root + "/recipe", Lambda: lambdaOf(1e-3)}
	o.Lambda.Folds = 3
	if k.options != nil {
		k.options(&o)
	}
	if _, err := trainPlain(jobtest.Ctx, o); err != nil {
		t.Fatalf("%s: %v", k.name, err)
	}
	k.recipe = m.Files(root + "/recipe")
	if k.other != "" {
		k.rows = append(k.rows, k.other)
	}
}

// pile is rows with a directory of their sums.
type pile struct {
	dir    string
	rows   []string
	parts  []*pile // that it is the sum of; itself if it was summed at once
	forgot bool    // some of the rows of its parts
}

// world is a program under way.
type world struct {
	*programKind
	r     *rand.Rand // of the step
	m     *disktest.Mem
	root  string
	names int // of files and directories
	piles []*pile
	found map[string]string // by multisets of rows: the first digest of their sums, and of their model
	trace []string
	*programCounts
}

// programCounts counts what programs did.
type programCounts struct{ made, compared, killed, refused int }

// A step draws from random numbers of its own what it does, so programs without it stay as they
// are.
type step func(w *world) error

// steps in the order of their weight: one that needs piles does nothing while there are none.
var steps = []step{(*world).sumNew, (*world).sumNew, (*world).sumAgain, (*world).sumAgain, (*world).split, (*world).add,
	(*world).add, (*world).subtract, (*world).subtract, (*world).forget, (*world).forget, (*world).fit, (*world).fit,
	(*world).train, (*world).audit}

// runProgram runs a program. It returns an error if equal multisets of rows have given other bytes,
// or give others at once on one thread.
func (k *programKind) runProgram(seeds []uint64, counts *programCounts) (err error) {
	w := &world{programKind: k, programCounts: counts, m: disktest.New(), root: newRoot(), found: map[string]string{}}
	defer disk.Swap(w.m)()
	defer storage.Flush()
	defer func() { err = errors.Join(err, blas.SetLevel(blas.Levels()[0])) }()
	for name, content := range k.recipe {
		w.m.Put(w.root+"/recipe/"+name, []byte(content))
	}
	for _, seed := range seeds {
		w.r = rand.New(rand.NewPCG(seed, 1))
		if err := steps[w.r.IntN(len(steps))](w); err != nil {
			return fmt.Errorf("%w, after:\n\t%s", err, strings.Join(w.trace, "\n\t"))
		}
	}
	if err := w.atOnce(); err != nil {
		return fmt.Errorf("%w, at once on one thread, after:\n\t%s", err, strings.Join(w.trace, "\n\t"))
	}
	return nil
}

// atOnce sums the rows of all piles that were made of others, and trains on the rows of the last
// pile.
func (w *world) atOnce() (err error) {
	w.r = nil
	last := len(w.piles) - 1
	for i, p := range slices.Clone(w.piles) {
		if p.forgot || len(p.parts) > 1 {
			_, err = w.sum(p.rows)
		}
		if err == nil && i == last {
			if _, err = w.fitTo(p); err == nil {
				err = w.trainOn(p.rows)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *world) path(name string) string {
	w.names++
	return fmt.Sprintf("%s/%s-%d", w.root, name, w.names)
}

func (w *world) say(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

// pick returns one of the piles; nil if there is none.
func (w *world) pick(but func(*pile) bool) *pile {
	some := slices.DeleteFunc(slices.Clone(w.piles), but)
	if len(some) == 0 {
		return nil
	}
	return some[w.r.IntN(len(some))]
}

func none(*pile) bool { return false }

// files writes rows in any order into files, one after the other without draws.
func (w *world) files(rows []string) dataset.Options {
	rows, n := slices.Clone(rows), 1
	if w.r != nil {
		w.r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		n = 1 + w.r.IntN(3)
	}
	o := dataset.Options{}
	for i := range n {
		if some := rows[i*len(rows)/n : (i+1)*len(rows)/n]; len(some) > 0 {
			name := w.path("rows") + ".csv"
			w.m.Put(name, []byte(w.header+"\n"+strings.Join(some, "\n")+"\n"))
			o.Files = append(o.Files, name)
		}
	}
	return o
}

// do runs a job with options that change no bytes. It may be killed and resumed.
func (w *world) do(what string, run func(options.Job) error) error {
	var o options.Job
	o.Engine.Threads = 1
	if w.r == nil {
		return run(o)
	}
	o.Engine.Threads, o.ShardBytes = 1+w.r.IntN(3), int64(60+w.r.IntN(1200))
	if w.r.IntN(3) == 0 {
		o.Engine.Checkpoint = -1
	}
	level := blas.Levels()[w.r.IntN(len(blas.Levels()))]
	if err := blas.SetLevel(level); err != nil {
		return err
	}
	killed := ""
	if w.r.IntN(3) == 0 {
		f := &disktest.Fault{FS: w.m, At: 1 + w.r.IntN(60), Do: func() error { return errGone }, On: true, Writes: true}
		restore := disk.Swap(f)
		err := run(o)
		storage.Flush()
		restore()
		if f.Hit() == "" {
			w.say("%s: %d threads, shards of %d bytes, %s: %v", what, o.Engine.Threads, o.ShardBytes, level, err)
			return err
		}
		w.m.Kill()
		w.killed++
		killed = ", killed at " + strings.ReplaceAll(f.Hit(), w.root, "")
		o.Resume, o.Engine.Threads = true, 1+w.r.IntN(3)
	}
	err := run(o)
	if killed != "" && errors.Is(err, fs.ErrExist) {
		err = nil // it was killed after that
	}
	w.say("%s: %d threads, shards of %d bytes, %s%s: %v", what, o.Engine.Threads, o.ShardBytes, level, killed, err)
	return err
}

// same compares what was made of a multiset of rows with what was made of it before.
func (w *world) same(what string, rows []string, digest string) error {
	key := what + " of " + strings.Join(slices.Sorted(slices.Values(rows)), " ")
	was, ok := w.found[key]
	if ok && was != digest {
		return fmt.Errorf("another %s: %s was %s", key, digest, was)
	}
	if w.found[key] = digest; ok {
		w.compared++
	} else {
		w.made++
	}
	if digest == "refused" {
		w.refused++
	}
	return nil
}

// sameSums takes a directory of sums as a pile.
func (w *world) sameSums(p *pile) error {
	d, err := sums.Open(jobtest.Ctx, p.dir)
	if err != nil {
		return err
	}
	if len(p.parts) == 0 {
		p.parts = []*pile{p}
	}
	w.piles = append(w.piles, p)
	contents, err := d.ReadRowHashes(jobtest.Ctx)
	if err != nil {
		return err
	}
	return w.same("sums", p.rows, fmt.Sprintf("%.12s %x", d.Manifest.Sums, sha256.Sum256(contents))[:30])
}

// sameModel compares a model; failed is the error of the job that was to make it.
func (w *world) sameModel(dir string, rows []string, failed error) error {
	if code := exit.CodeOf(failed); failed != nil && code != exit.CodeData {
		return failed
	}
	digest := "refused"
	if failed == nil {
		files := w.m.Files(dir)
		delete(files, registry.LineageFile)
		delete(files, "report.html") // which shows the lineage
		h := sha256.New()
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(h, "%s %d %s", name, len(files[name]), files[name])
		}
		digest = fmt.Sprintf("%x", h.Sum(nil))[:16]
	}
	return w.same("model", rows, digest)
}

func (w *world) sum(rows []string) (*pile, error) {
	p := &pile{dir: w.path("sums"), rows: rows}
	data := w.files(rows)
	err := w.do(fmt.Sprintf("sum of %d rows in %d files", len(rows), len(data.Files)), func(o options.Job) error {
		_, err := Sum(jobtest.Ctx, options.Sum{Recipe: w.root + "/recipe", Data: data, Out: p.dir, Job: o})
		return err
	})
	if err == nil {
		err = w.sameSums(p)
	}
	return p, err
}

func (w *world) sumNew() error {
	var rows []string
	for range 1 + w.r.IntN(30) {
		rows = append(rows, w.rows[w.r.IntN(len(w.rows))])
	}
	_, err := w.sum(rows)
	return err
}

func (w *world) sumAgain() error {
	p := w.pick(none)
	if p == nil {
		return nil
	}
	_, err := w.sum(p.rows)
	return err
}

// split sums the rows of a pile in parts, and adds these.
func (w *world) split() error {
	p := w.pick(func(p *pile) bool { return len(p.rows) < 3 })
	if p == nil {
		return nil
	}
	rows := slices.Clone(p.rows)
	w.r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	var parts []*pile
	for _, some := range [][]string{rows[:len(rows)/3], rows[len(rows)/3:]} {
		part, err := w.sum(some)
		if err != nil {
			return err
		}
		parts = append(parts, part)
	}
	return w.addAll(parts...)
}

// addAll adds piles, and does nothing if they have parts in common.
func (w *world) addAll(piles ...*pile) error {
	all := &pile{dir: w.path("added")}
	var of []string
	for _, p := range piles {
		if slices.ContainsFunc(p.parts, func(q *pile) bool { return slices.Contains(all.parts, q) }) {
			return nil
		}
		of, all.rows, all.parts = append(of, p.dir), append(all.rows, p.rows...), append(all.parts, p.parts...)
		all.forgot = all.forgot || p.forgot
	}
	err := w.combine(fmt.Sprintf("add %d", len(piles)), options.SumDirs{Sums: of}, all)
	if err != nil && strings.Contains(err.Error(), "would count twice") {
		return nil // files with equal content
	}
	return err
}

func (w *world) combine(what string, of options.SumDirs, to *pile) error {
	err := w.do(what, func(o options.Job) error {
		_, err := AddSums(jobtest.Ctx, options.AddSums{SumDirs: of, Out: to.dir, Job: o})
		return err
	})
	if err != nil {
		return err
	}
	return w.sameSums(to)
}

func (w *world) add() error {
	p, q := w.pick(none), w.pick(none)
	if p == nil || p == q {
		return nil
	}
	return w.addAll(p, q)
}

// subtract takes a part of a pile away.
func (w *world) subtract() error {
	p := w.pick(func(p *pile) bool { return len(p.parts) < 2 || p.forgot })
	if p == nil {
		return nil
	}
	i := w.r.IntN(len(p.parts))
	rest := &pile{dir: w.path("rest"), parts: slices.Delete(slices.Clone(p.parts), i, i+1)}
	for _, q := range rest.parts {
		rest.rows = append(rest.rows, q.rows...)
	}
	return w.combine("subtract", options.SumDirs{Sums: []string{p.dir}, Without: []string{p.parts[i].dir}}, rest)
}

// fitTo fits a model to a pile; it is "" if the rows are refused.
func (w *world) fitTo(p *pile) (model string, err error) {
	model = w.path("model")
	failed := w.do("fit", func(o options.Job) error {
		_, err := Fit(jobtest.Ctx, options.Fit{SumDirs: options.SumDirs{Sums: []string{p.dir}}, Model: model, Job: o})
		return err
	})
	if err := w.sameModel(model, p.rows, failed); err != nil || failed != nil {
		return "", err
	}
	return model, nil
}

func (w *world) fit() error {
	if p := w.pick(none); p != nil {
		_, err := w.fitTo(p)
		return err
	}
	return nil
}

// forget lets a model of a pile forget some of its rows.
func (w *world) forget() error {
	p := w.pick(func(p *pile) bool { return len(p.rows) < 2 })
	if p == nil {
		return nil
	}
	model, err := w.fitTo(p)
	if err != nil || model == "" {
		return err
	}
	rows := slices.Clone(p.rows)
	w.r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	n := 1 + w.r.IntN(len(rows)-1)
	rest := &pile{dir: w.path("less"), rows: rows[n:], parts: p.parts, forgot: true}
	gone, out := w.files(rows[:n]), w.path("model")
	failed := w.do(fmt.Sprintf("forget %d", n), func(o options.Job) error {
		_, err := Forget(jobtest.Ctx, options.Forget{ForgottenRows: options.ForgottenRows{Model: model,
			SumDirs: options.SumDirs{Sums: []string{p.dir}}, Data: gone, Job: o}, Out: out, SaveSums: rest.dir})
		return err
	})
	if err := w.sameModel(out, rest.rows, failed); err != nil || failed != nil {
		return err
	}
	return w.sameSums(rest)
}

func (w *world) train() error {
	if p := w.pick(none); p != nil {
		return w.trainOn(p.rows)
	}
	return nil
}

func (w *world) trainOn(rows []string) error {
	model, data := w.path("model"), w.files(rows)
	failed := w.do("train", func(o options.Job) error {
		_, err := Train(jobtest.Ctx, options.Train{Prepare: options.Prepare{Data: data, Job: o}, Recipe: w.root + "/recipe",
			Model: model})
		return err
	})
	return w.sameModel(model, rows, failed)
}

// audit compares a pile with its rows.
func (w *world) audit() error {
	p := w.pick(none)
	if p == nil {
		return nil
	}
	data := w.files(p.rows)
	return w.do("audit", func(o options.Job) error {
		o.Resume = false // it keeps nothing
		_, err := AuditSums(jobtest.Ctx, options.AuditSums{SumDirs: options.SumDirs{Sums: []string{p.dir}}, Data: data, Job: o})
		return err
	})
}

// shrink drops steps of a program that fails as long as it still does.
func (k *programKind) shrink(seeds []uint64) []uint64 {
	for i := len(seeds) - 1; i >= 0; i-- {
		if fewer := slices.Delete(slices.Clone(seeds), i, i+1); k.runProgram(fewer, new(programCounts)) != nil {
			seeds = fewer
		}
	}
	return seeds
}

// Equal multisets of rows give the same bytes in random programs that sum, split, add, subtract, forget, fit,
// train and audit, with rows in any order and cut, on any number of threads, at any level of the CPU, killed
// and resumed. BOCHNER_PROGRAM repeats a program: its kind, a colon, and the seeds of its steps with commas.
func TestEqualRowsGiveEqualBytesInEveryProgram(t *testing.T) {
	// Temporary directories of other processes are locked on the disk, which a program does not
	// see.
	t.Setenv("TMPDIR", t.TempDir())
	for i, k := range programKinds {
		k.train(t, uint64(i))
	}
	report := func(k *programKind, seeds []uint64) {
		seeds = k.shrink(seeds)
		text := strings.Trim(strings.ReplaceAll(fmt.Sprint(seeds), " ", ","), "[]")
		t.Fatalf("BOCHNER_PROGRAM=%s:%s\n%v", k.name, text, k.runProgram(seeds, new(programCounts)))
	}
	if kind, list, ok := strings.Cut(os.Getenv("BOCHNER_PROGRAM"), ":"); ok {
		var seeds []uint64
		for text := range strings.SplitSeq(list, ",") {
			seed, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			seeds = append(seeds, seed)
		}
		for _, k := range programKinds {
			if k.name == kind && k.runProgram(seeds, new(programCounts)) != nil {
				report(k, seeds)
			}
		}
		return
	}
	var counts programCounts
	for n := range uint64(campaign.Pick(30, 10_000)) {
		r := rand.New(rand.NewPCG(n, 2))
		seeds := make([]uint64, 2+r.IntN(7))
		for i := range seeds {
			seeds[i] = r.Uint64()
		}
		k := programKinds[n%uint64(len(programKinds))]
		if k.runProgram(seeds, &counts) != nil {
			report(k, seeds)
		}
	}
	if t.Logf("%+v", counts); counts.compared < counts.made/2 || counts.killed == 0 || counts.refused > counts.made/4 {
		t.Errorf("programs compare too little: %+v", counts)
	}
}
