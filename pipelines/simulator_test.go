package pipelines

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/disktest"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// simulation is a few nights on one disk, with two drivers. A seed decides what they do, in which
// order they call the disk, and which calls fail or are the last of their driver.
type simulation struct {
	simPlan
	simStory
	r     *rand.Rand // for what is decided before the drivers begin, and when data changes
	turns *disktest.Turns
	texts map[string]string            // of all files of data that there were, by name and version, and by SHA-256
	clean map[string]map[string]string // what undisturbed jobs make, by recipe and content
}

// simPlan is what a simulation consists of.
type simPlan struct {
	nights   int
	o        options.Retrain
	calm     bool        // nothing fails
	registry bool        // drivers change the registry by hand most of the time
	events   []dataEvent // still to come
}

// simStory is what has happened.
type simStory struct {
	mu       sync.Mutex // after a power cut, both drivers end at the same time
	log      []string   // what drivers and data did
	problems []string
	count    map[string]int   // of what happened
	told     []registry.Event // that drivers believe to have happened
	stuck    map[string]bool  // files whose removal failed, and their directories
	last     results.Outcome  // of a night
}

// A dataEvent changes the data of a day.
type dataEvent struct {
	day  int
	text string // "" removes it
	what string
}

// task is a job of a driver. Those that are not repeatable are done once.
type task struct {
	name       string
	run        func(ctx context.Context) error
	repeatable bool
}

const (
	simRoot = "/simulation"
	noRows  = "a,b,y\n"
)

// basis is what simulations read: a model by whose recipe days are summed.
type basis struct {
	model map[string]string
	clean map[string]map[string]string // what undisturbed jobs make, by recipe and content
}

// newSimulation decides what happens.
func newSimulation(seed uint64, turns *disktest.Turns, b *basis) *simulation {
	r := rand.New(rand.NewPCG(seed, 2))
	s := &simulation{r: r, turns: turns, texts: map[string]string{}, clean: b.clean}
	s.nights, s.count, s.stuck = 2+r.IntN(3), map[string]int{}, map[string]bool{}
	if s.registry = r.IntN(4) == 0; s.registry {
		s.nights = 4
	}
	s.o = newNights(calendar{window: []int{0, 0, 3}[r.IntN(3)]}, nil, simRoot+"/models", simRoot+"/data", "").o
	s.o.Train.Kernel, s.o.Train.Job.Engine.Threads = &fourier.GaussianOptions{Features: 8}, 1
	s.o.Gate, s.o.PairedGate = "", []string{options.NoGate, options.NoGate, "not worse by 10% at 80%"}[r.IntN(3)]
	s.o.MaxDrift = []float64{0, yearDrift}[r.IntN(2)]
	s.o.KeepSums.Prune = r.IntN(2) == 0
	s.turns.Stick = []float64{0.5, 0.9, 0.99, 0.999}[r.IntN(4)]
	if s.calm = r.IntN(8) == 0; !s.calm {
		rate := func(most float64) float64 { return float64(r.IntN(2)) * r.Float64() * most }
		s.turns.Rates = disktest.Rates{Fail: rate(0.003), Full: rate(0.003), Break: rate(0.001), Lose: rate(0.006),
			Kill: rate(0.002), Cut: rate(0.0005)}
	}
	s.turns.Rates.Delay = float64(r.IntN(2)) * 0.02
	for name, content := range b.model {
		s.turns.Mem.Put(simRoot+"/basis/"+name, []byte(content))
	}
	for day := 1; day <= s.nights; day++ {
		s.turns.Mem.Put(kept(day), []byte(dailyCSV(day, 1)))
		s.hash(dailyCSV(day, 1))
		lines := strings.SplitAfter(dailyCSV(day, 1), "\n")
		s.turns.Mem.Put(gone(day), []byte(lines[0]+lines[3]+lines[5]))
		if day <= 2 || r.IntN(3) > 0 {
			s.put(dataEvent{day, dailyCSV(day, 1), "arrives"})
		} else {
			s.events = append(s.events, dataEvent{day, dailyCSV(day, 1), "arrives late"})
		}
	}
	for range r.IntN(4) {
		day := 1 + r.IntN(s.nights)
		s.events = append(s.events, []dataEvent{
			{day, dailyCSV(day+100*(1+r.IntN(2)), 1), "is replaced"}, {day, noRows, "is emptied"}, {day, "", "is withdrawn"},
			{day, dailyCSV(1+day%s.nights, 1), "is replaced by a copy of another"}, {day, dailyCSV(day, 100), "breaks"},
		}[r.IntN(5)])
	}
	return s
}

// kept names the file of a day's rows that do not change, and gone the file of the rows among them
// that are forgotten.
func kept(day int) string { return fmt.Sprintf("%s/kept/day-%d.csv", simRoot, day) }
func gone(day int) string { return fmt.Sprintf("%s/kept/gone-%d.csv", simRoot, day) }

// put changes the data.
func (s *simulation) put(e dataEvent) {
	s.logf("data of %s %s", dayName(e.day), e.what)
	dir := partition(simRoot+"/data", e.day)
	name := dir + "/part-0.csv"
	if e.text == "" {
		s.turns.Mem.RemoveAll(dir)
		s.turns.Mem.Sync(simRoot + "/data")
		return
	}
	s.turns.Mem.Put(name, []byte(e.text))
	s.hash(e.text)
	if o, err := storage.Stat(jobtest.Ctx, name); err == nil {
		s.texts[name+" "+o.Version] = e.text
	}
}

func (s *simulation) hash(text string) {
	s.texts[fmt.Sprintf("%x", sha256.Sum256([]byte(text)))] = text
}

func (s *simulation) logf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf("%6d  ", len(s.turns.Log))+fmt.Sprintf(format, args...))
}

func (s *simulation) counted(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[what]++
}

func (s *simulation) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
	s.logf("PROBLEM: "+format, args...)
}

// tasks returns what drivers do.
func (s *simulation) tasks() (all []task) {
	o := options.Job{Resume: true}
	o.Engine.Threads = 1
	at := func(format string, args ...any) string { return simRoot + "/" + fmt.Sprintf(format, args...) }
	var summed []string
	for day := 1; day <= s.nights; day++ {
		night := s.o
		night.Day = dayName(day)
		all = append(all, task{"retrain " + night.Day, func(ctx context.Context) error {
			return s.retrain(ctx, night)
		}, true})
		data := dataset.Options{Files: []string{kept(day)}, Label: "y"}
		out := at("sums/dt=%s", dayName(day))
		all = append(all, s.making("sum", func(ctx context.Context) error {
			_, err := Sum(ctx, options.Sum{Recipe: at("basis"), Data: data, Out: out, Job: o})
			return err
		}, out))
		summed = append(summed, out)
		if day == 1 {
			continue
		}
		fit := options.Fit{SumDirs: options.SumDirs{Sums: slices.Clone(summed)}, Model: at("fit-%d", day),
			SaveSums: at("fit-%d-sums", day), Job: o}
		all = append(all, s.making("fit", func(ctx context.Context) error {
			_, err := Fit(ctx, fit)
			return err
		}, fit.SaveSums, fit.Model))
		forget := options.Forget{ForgottenRows: options.ForgottenRows{Model: fit.Model, SumDirs: fit.SumDirs,
			Data: dataset.Options{Files: []string{gone(day)}, Label: "y"}, Job: o},
			Out: at("forgot-%d", day), SaveSums: at("forgot-%d-sums", day)}
		all = append(all, s.making("forget", func(ctx context.Context) error {
			if s.turns.Mem.Files(fit.Model)[models.ManifestFile] == "" {
				return errNoModel
			}
			_, err := Forget(ctx, forget)
			return err
		}, forget.SaveSums, forget.Out))
	}
	return all
}

var errNoModel = errors.New("there is no model yet")

// making is a job that creates directories.
func (s *simulation) making(name string, run func(context.Context) error, outs ...string) task {
	return task{name + " " + path.Base(outs[len(outs)-1]), func(ctx context.Context) error {
		err := run(ctx)
		for _, out := range outs {
			if err != nil {
				continue
			}
			if s.turns.Mem.Files(out)[models.ManifestFile] == "" {
				s.problem("%s is said to be done, but has no manifest", out)
			}
		}
		return err
	}, true}
}

// retrain is a night.
func (s *simulation) retrain(ctx context.Context, o options.Retrain) error {
	report, err := Retrain(ctx, o)
	if report == nil {
		return err
	}
	s.last = report.Outcome
	s.counted(string(report.Outcome))
	s.logf("outcome of %s: %s, champion %s; %s", o.Day, report.Outcome, report.Champion, report.Why)
	if report.Outcome == results.Promoted {
		s.hears(registry.Event{Action: registry.Promoted, Day: o.Day, Subject: registry.Subject{Model: report.Model}})
	}
	return nil
}

// hears remembers what a driver was told that the registry has done.
func (s *simulation) hears(e registry.Event) {
	s.told = append(s.told, e)
	s.counted("told " + string(e.Action))
}

// changes returns tasks that change the registry by hand.
func (s *simulation) changes() []task {
	reg := registry.Registry{Dir: s.o.Models}
	change := func(name string, run func(ctx context.Context) (*registry.Event, error)) task {
		return task{name, func(ctx context.Context) error {
			e, err := run(ctx)
			if err == nil {
				s.hears(*e)
			}
			return err
		}, false}
	}
	rollback := change("rollback", func(ctx context.Context) (*registry.Event, error) {
		return reg.Rollback(ctx, "", registry.Change{Why: "simulated"})
	})
	return []task{rollback, rollback,
		change("promote another", func(ctx context.Context) (*registry.Event, error) {
			l, err := reg.List(ctx)
			if err != nil {
				return nil, err
			}
			for _, m := range slices.Backward(l.Models) {
				if !slices.Contains(m.Aliases, models.Champion) {
					return reg.Promote(ctx, m.Name, registry.Change{Why: "simulated"})
				}
			}
			return nil, errNoModel
		}),
		{"load champion", func(ctx context.Context) error {
			if s.turns.Mem.Files(s.o.Models)[models.AliasFile] == "" {
				return errNoModel
			}
			_, err := models.LoadURI(ctx, s.o.Models+"@"+models.Champion)
			return err
		}, false},
	}
}

// lists gives each driver its tasks.
func (s *simulation) lists() (lists [2][]task) {
	all, changes := s.tasks(), s.r.IntN(6)
	if s.registry {
		all, changes = s.begun(all), 20
	}
	for _, x := range all {
		switch i := s.r.IntN(4); i {
		case 0, 1:
			lists[i] = append(lists[i], x)
		default:
			lists[0], lists[1] = append(lists[0], x), append(lists[1], x)
		}
	}
	for range changes {
		c, i := s.changes(), s.r.IntN(2)
		lists[i] = slices.Insert(lists[i], s.r.IntN(len(lists[i])+1), c[s.r.IntN(len(c))])
	}
	return lists
}

// begun has undisturbed nights before the drivers begin, so that there are models, and returns the last one.
func (s *simulation) begun(all []task) []task {
	nights := slices.DeleteFunc(all, func(x task) bool { return !strings.HasPrefix(x.name, "retrain") })
	for _, x := range nights[:len(nights)-1] {
		if err := x.run(jobtest.Ctx); err != nil {
			s.problem("%s, before the drivers begin: %v", x.name, err)
		}
	}
	return nights[len(nights)-1:]
}

// drive is a driver: it does its tasks, and repeats those that fail a few times. If it is killed, another
// one takes its place.
func (s *simulation) drive(name string, life int, list []task) {
	s.turns.Start(fmt.Sprintf("%s%d", name, life), func(d *disktest.Driver) {
		for len(list) > 0 && !d.Gone() {
			for try := 1; try <= 2; try++ {
				s.logf("%s begins %s", d.Name, list[0].name)
				err := list[0].run(jobtest.Ctx)
				if d.Gone() {
					break
				}
				s.logf("%s ends %s: %v", d.Name, list[0].name, err)
				d.Aside(func() { s.ended(list[0], err) })
				if err == nil || !list[0].repeatable || exit.CodeOf(err) == exit.CodeLost || errors.Is(err, fs.ErrExist) {
					break
				}
			}
			if !d.Gone() {
				list = list[1:]
			}
		}
		if d.Gone() {
			s.counted("killed")
			if life > 20 {
				s.turns.Rates = disktest.Rates{}
			}
			s.drive(name, life+1, list)
		}
	})
}

// ended looks whether a job has ended as it should.
func (s *simulation) ended(x task, err error) {
	harmless := []exit.Code{exit.CodeOK, exit.CodeData, exit.CodeGate, exit.CodeRefused, exit.CodeNothing, exit.CodeLost}
	if s.calm && err != errNoModel && !slices.Contains(harmless, exit.CodeOf(err)) {
		s.problem("%s, although nothing fails: exit code %d: %v", x.name, exit.CodeOf(err), err)
	}
	s.registryWhole()
}

// run does all, and looks at the disk after each call that could hurt.
func (s *simulation) run() {
	begin := s.lists()
	for i, name := range []string{"A", "B"} {
		s.drive(name, 1, begin[i])
	}
	for {
		turn, more := s.turns.Step()
		if !more {
			break
		}
		if len(s.events) > 0 && s.r.IntN(400) == 0 {
			s.put(s.events[0])
			s.events = s.events[1:]
		}
		if turn == nil {
			continue
		}
		if turn.What != "" {
			s.counted(turn.What)
			if turn.Op == "remove" {
				s.stuck[turn.Name], s.stuck[path.Dir(turn.Name)] = true, true
			}
			s.logf("%s", turn)
		}
		if slices.Contains([]string{"rename", "remove"}, turn.Op) && strings.HasPrefix(turn.Name, s.o.Models+"/") {
			s.registryWhole()
		}
		if len(s.turns.Log) > 1e6 {
			panic("the drivers do not end:\n" + strings.Join(s.log, "\n"))
		}
	}
	s.finish()
}

// Two drivers on one disk, on which calls fail, seem to have failed, are late or are the last of their process,
// while data changes under them, keep the registry consistent: it names whole models at any moment, no driver
// reports a change that did not happen, and in the end models and sums equal, byte for byte, the results of
// undisturbed runs on the same data. BOCHNER_SEED=N repeats one run.
func TestDisturbedDriversConverge(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := newBasis(t)
	first, last := uint64(1), uint64(campaign.Pick(12, 3000))
	if n, err := strconv.ParseUint(os.Getenv("BOCHNER_SEED"), 10, 64); err == nil {
		first, last = n, n
	}
	runs, calls, failures, count := 0, 0, 0, map[string]int{}
	for seed := first; seed <= last && failures < 3; seed++ {
		s := b.simulate(t, seed)
		runs, calls = runs+1, calls+len(s.turns.Log)
		for what, n := range s.count {
			count[what] += n
		}
		if len(s.problems) > 0 || first == last {
			t.Logf("seed %d:\n%s", seed, strings.Join(s.log, "\n"))
		}
		failures += min(1, len(s.problems))
		for _, p := range s.problems {
			t.Errorf("seed %d (BOCHNER_SEED=%[1]d go test -run %s ./pipelines): %s", seed, t.Name(), p)
		}
	}
	t.Logf("%d runs, %d calls: %v", runs, calls, count)
	for _, what := range []string{"FAILS", "FAILS: disk full", "FAILS for good", "is done and FAILS", "killed",
		"POWER CUT", string(results.Promoted), string(results.Nothing), "told " + string(registry.RolledBack)} {
		if runs > 10 && count[what] == 0 {
			t.Errorf("%s did not happen in %d runs", what, runs)
		}
	}
}

// Two simulations with the same seed have the same events.
func TestSimulationIsRepeatedByItsSeed(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := newBasis(t)
	for seed := range uint64(campaign.Pick(1, 100)) {
		first, second := b.simulate(t, 1000+seed).turns.Log, b.simulate(t, 1000+seed).turns.Log
		for i := range min(len(first), len(second)) {
			if first[i] != second[i] {
				t.Fatalf("seed %d, call %d: %v, and then %v", 1000+seed, i, first[i], second[i])
			}
		}
		if len(first) != len(second) || len(first) < 100 {
			t.Errorf("seed %d: %d calls, and then %d", 1000+seed, len(first), len(second))
		}
	}
}

func (b *basis) simulate(t *testing.T, seed uint64) (s *simulation) {
	synctest.Test(t, func(t *testing.T) {
		turns := disktest.NewTurns(seed)
		defer disk.Swap(turns.FS())()
		s = newSimulation(seed, turns, b)
		s.run()
	})
	return s
}

// newBasis trains the model whose recipe is used.
func newBasis(t *testing.T) *basis {
	m := disktest.New()
	defer disk.Swap(m)()
	m.Put(kept(1), []byte(dailyCSV(1, 1)))
	o := options.Train{Search: options.SearchNone, Prepare: options.Prepare{
		Data: dataset.Options{Files: []string{kept(1)}, Label: "y"}, Kernel: &fourier.GaussianOptions{Features: 8}, Seed: 1},
		Model: simRoot + "/basis", Lambda: lambdaOf(1e-4)}
	if _, err := Train(jobtest.Ctx, o); err != nil {
		t.Fatal(err)
	}
	storage.Flush()
	return &basis{m.Files(simRoot + "/basis"), map[string]map[string]string{}}
}
