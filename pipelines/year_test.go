package pipelines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/disktest"
	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/storage/gcs"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/days"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// A year of partitions with all that happens to them, as numbers of days from 1.
type calendar struct {
	days      int
	broken    int         // its columns are in other units
	repeated  int         // it has the rows of the day before
	withdrawn [2]int      // a day, and that on which it is withdrawn
	late      map[int]int // days by the day on which they come
	lost      int         // before its night the models are lost; 0 for never
	forget    int         // every so many nights rows are to be forgotten, twice; 0 for never
	kills     int         // a night
	window    int
}

// year and season are the calendars of make test-year, and fortnight is the calendar of the tests.
var (
	year = calendar{days: 365, broken: 170, repeated: 80, withdrawn: [2]int{120, 150},
		late: map[int]int{43: 40, 230: 200}, lost: 60, kills: 3, forget: 7}
	season = calendar{days: 90, broken: 70, repeated: 30, withdrawn: [2]int{20, 50}, late: map[int]int{43: 40},
		lost: 25, kills: 3, window: 40}
	fortnight = calendar{days: 14, broken: 10, repeated: 7, withdrawn: [2]int{2, 9}, late: map[int]int{6: 4, 12: 11},
		lost: 5, kills: 1, forget: 3}
)

// dailyRows is the number of rows of a day.
const dailyRows = 60

// dailyCSV makes the rows of a day: two classes on both sides of a curve, which moves a little every day.
func dailyCSV(day int, unit float64) string {
	r := rand.New(rand.NewPCG(uint64(day), 77))
	shift := float64(0.3 * float64(day) / 365)
	var b strings.Builder
	b.WriteString("a,b,y\n")
	for range dailyRows {
		x, side := 4*r.Float64()-2, r.IntN(2)
		y := math.Sin(2*x) + shift + (2*float64(side)-1)*(0.5+0.3*r.Float64())
		fmt.Fprintf(&b, "%.6f,%.6f,%s\n", x*unit, y*unit, []string{"below", "above"}[side])
	}
	return b.String()
}

func dayName(day int) string {
	return time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// nights is a year under way.
type nights struct {
	calendar
	o     options.Retrain
	root  string // of the data
	disk  string // where a copy of the data is, for trainings from scratch
	reg   registry.Registry
	stops stops
	kills int
	table strings.Builder
}

// stops have runs stop at a call to the storage that changes something.
type stops interface {
	// stop makes a run that ends at that call. It returns false if there were fewer.
	stop(call int, run func(ctx context.Context)) bool
	// calls is about the number of calls of a run.
	calls() int
}

// diskStops fail the call and all after it.
type diskStops struct{}

func (diskStops) calls() int { return 150 }

func (diskStops) stop(call int, run func(ctx context.Context)) bool {
	f := &disktest.Fault{FS: disk.OS{}, At: call, Do: func() error { return errStopped }, On: true, Writes: true}
	defer disk.Swap(f)()
	run(jobtest.Ctx)
	return f.Hit() != ""
}

// bucketStops interrupt the run before the call. A process that is killed leaves a lease on a
// bucket, which another process takes over: see package main.
type bucketStops struct{ *gcstest.Server }

func (bucketStops) calls() int { return 60 }

func (s bucketStops) stop(call int, run func(ctx context.Context)) bool {
	ctx, cancel := context.WithCancel(jobtest.Ctx)
	defer cancel()
	var n atomic.Int64
	s.Faults.Before(func(kind, _ string) {
		if slices.Contains([]string{"write", "copy", "delete"}, kind) && n.Add(1) == int64(call) {
			cancel()
		}
	})
	defer s.Faults.Before(nil)
	run(ctx)
	return n.Load() >= int64(call)
}

func newNights(c calendar, s stops, models, data, disk string) *nights {
	n := &nights{calendar: c, root: data, disk: disk, reg: registry.Registry{Dir: models}, stops: s}
	n.o = options.Retrain{
		RetrainData: options.RetrainData{Models: models, Data: data + "/dt=YYYY-MM-DD/*.csv", MaxDrift: yearDrift,
			Window: options.Window{Days: c.window}, Author: options.Author{By: "test"}},
		Train: options.Train{Search: options.NoSearch, Prepare: options.Prepare{
			Data: dataset.Options{Label: "y"}, Kernel: &fourier.GaussianOptions{Features: 32}, Seed: 1,
		}, Lambda: lambdaOf(1e-4)},
		Gate: "accuracy>=0.8", PairedGate: "not worse by 10% at 80%",
	}
	return n
}

func (n *nights) put(t *testing.T, day int, text string) {
	t.Helper()
	for _, root := range slices.Compact([]string{n.root, n.disk}) {
		if err := storage.WriteFile(jobtest.Ctx, partition(root, day)+"/part-0.csv", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
}

func partition(root string, day int) string { return root + "/dt=" + dayName(day) }

// arrive lets the data of a day come, and what else happens on it.
func (n *nights) arrive(t *testing.T, day int) {
	isLate := false
	for on, of := range n.late {
		isLate = isLate || of == day && on > day
	}
	switch {
	case isLate:
	case day == n.broken:
		n.put(t, day, dailyCSV(day, 100))
	case day == n.repeated:
		n.put(t, day, dailyCSV(day-1, 1))
	default:
		n.put(t, day, dailyCSV(day, 1))
	}
	if of, ok := n.late[day]; ok {
		n.put(t, of, dailyCSV(of, 1))
	}
	if day == n.lost {
		if err := storage.Remove(jobtest.Ctx, n.reg.Dir); err != nil {
			t.Fatal(err)
		}
	}
	if day == n.withdrawn[1] {
		if err := storage.Remove(jobtest.Ctx, partition(n.root, n.withdrawn[0])); err != nil {
			t.Fatal(err)
		}
	}
}

var errStopped = errors.New("the process was stopped")

// run works for a day after runs that were stopped at calls of their own choice.
func (n *nights) run(t *testing.T, day int) (*results.Retrain, time.Duration) {
	t.Helper()
	n.o.Day = dayName(day)
	r := rand.New(rand.NewPCG(uint64(day), 5))
	for range n.calendar.kills {
		if n.stops.stop(1+r.IntN(n.stops.calls()), func(ctx context.Context) { _, _ = Retrain(ctx, n.o) }) {
			n.kills++
		}
	}
	begun := time.Now()
	report, err := Retrain(jobtest.Ctx, n.o)
	took := time.Since(begun)
	if report == nil {
		t.Fatalf("day %d: %v", day, err)
	}
	return report, took
}

// check compares the model of a night with one that is trained by its recipe on copies of the same
// files at once, and returns how long that took.
func (n *nights) check(t *testing.T, day int, report *results.Retrain) time.Duration {
	t.Helper()
	l, err := registry.ReadLineage(jobtest.Ctx, n.reg.ModelDir(report.Model))
	if err != nil || l == nil {
		t.Fatalf("day %d: %v", day, err)
	}
	var files []string
	for _, p := range l.Sources {
		if p.Name == l.HeldOut.Name || p.Name > dayName(day) {
			t.Errorf("day %d: %s was trained on %s, which judges it or is later", day, report.Model, p.Name)
		}
		for _, f := range p.Files {
			files = append(files, n.disk+strings.TrimPrefix(f.Name, n.root))
		}
	}
	dir := t.TempDir()
	begun := time.Now()
	if n.o.Train.Learner == nil {
		fromScratch(t, n.reg.ModelDir(l.Recipe), files, dir)
	} else {
		train := n.o.Train
		train.Model, train.Data.Files, train.Data.Ignore = dir+"/model", files, []string{"dt"}
		if _, err := Train(jobtest.Ctx, train); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(begun)
	names := []string{"weights.safetensors", "profile.json", "manifest.json"}
	if l.Redrawn != "" {
		names = names[:2] // the manifest of a recipe says more, such as the profile of its rows
	}
	for _, name := range names {
		got, errGot := storage.ReadFile(jobtest.Ctx, storage.Join(n.reg.ModelDir(report.Model), name), 1<<30)
		want, errWant := os.ReadFile(filepath.Join(dir, "model", name))
		if errGot != nil || errWant != nil || !slices.Equal(got, want) {
			t.Errorf("day %d: %s of %s differs from a training from scratch: %v %v\n%s\n%s", day, name, report.Model, errGot,
				errWant, string(got[:min(len(got), 2000)]), string(want[:min(len(want), 2000)]))
		}
	}
	return took
}

// forgetTwice has the model of a night forget some rows of its first partition, and then forget them again. The first
// gives the model of a training from scratch without these rows, the second is refused, from the saved sums and from
// the sums of the days.
func (n *nights) forgetTwice(t *testing.T, day int, report *results.Retrain) {
	t.Helper()
	l, err := registry.ReadLineage(jobtest.Ctx, n.reg.ModelDir(report.Model))
	if err != nil {
		t.Fatalf("day %d: %v", day, err)
	}
	var sums, files []string
	for _, p := range l.Sources {
		sums = append(sums, p.Sums)
		for _, f := range p.Files {
			files = append(files, n.disk+strings.TrimPrefix(f.Name, n.root))
		}
	}
	slices.Sort(sums)
	lines := strings.SplitAfter(contentOf(t, files[0]), "\n")
	dir := t.TempDir()
	write := func(name string, some []string) string {
		return jobtest.Write(t, dir, name, strings.Join(append(lines[:1:1], some...), ""))
	}
	files[0] = write("left.csv", lines[6:])
	o := options.Forget{
		ForgottenRows: options.ForgottenRows{Model: n.reg.ModelDir(report.Model), SumDirs: options.SumDirs{Sums: slices.Compact(sums)},
			Data: dataset.Options{Files: []string{write("gone.csv", lines[1:6])}, Label: "y"}},
		Out: dir + "/once", SaveSums: dir + "/once-sums", Certificate: dir + "/once.json",
	}
	if _, err := Forget(jobtest.Ctx, o); err != nil {
		t.Fatalf("day %d: %v", day, err)
	}
	fromScratch(t, n.reg.ModelDir(l.Recipe), files, dir)
	if contentOf(t, dir+"/once/weights.safetensors") != contentOf(t, dir+"/model/weights.safetensors") {
		t.Errorf("day %d: the model without rows differs from a training from scratch", day)
	}
	if contentOf(t, dir+"/once-sums/row_hashes.bin") != contentOf(t, dir+"/sums/row_hashes.bin") {
		t.Errorf("day %d: the sums without rows list others than the sums of the rows that are left", day)
	}
	o.Model, o.Out, o.Certificate = o.Out, dir+"/twice", dir+"/twice.json"
	_, err = Forget(jobtest.Ctx, o)
	jobtest.WantError(t, "from the sums of the days", err, exit.CodeData,
		"give all sums that it was fitted to, and no others")
	o.Sums, o.SaveSums = []string{o.SaveSums}, dir+"/twice-sums"
	_, err = Forget(jobtest.Ctx, o)
	jobtest.WantError(t, "from the saved sums", err, exit.CodeData, "gone.csv:2: the row is not in the sums",
		"(5 such rows in all)")
	if made, _ := filepath.Glob(dir + "/twice*"); len(made) > 0 {
		t.Errorf("day %d: rows that are forgotten again leave %q", day, made)
	}
}

// expected is the outcome of a day.
func (n *nights) expected(day int) results.Outcome {
	isLate := false
	for on, of := range n.late {
		isLate = isLate || of == day && on > day
	}
	switch {
	case day == 1, isLate: // a late day brings nothing that is new
		return results.Nothing
	case day == n.broken, day == n.repeated:
		return results.Refused
	}
	return results.Promoted
}

// Every night's model in a year equals, byte for byte, the model of a training run from scratch, by its recipe
// if it was fitted to sums. The year has drift, a break, late partitions, one that is withdrawn, one that
// occurs twice, lost models, and stopped processes. The break is not promoted, and the time of a night does not
// grow.
func TestRetrainForAYearMatchesTrainingOnTheSameFiles(t *testing.T) {
	c, iterative, learners := fortnight, fortnight, apprentices(2)[2:3]
	if os.Getenv("BOCHNER_YEAR") != "" {
		c, iterative, learners = year, season, apprentices(20)[2:]
	}
	for _, a := range learners {
		t.Run(a.name, func(t *testing.T) {
			dir := t.TempDir()
			n := newNights(iterative, diskStops{}, dir+"/models", dir+"/data", dir+"/data")
			n.o.Train.Learner, n.forget = a.learner, 0 // only sums can forget
			n.through(t)
		})
	}
	t.Run("disk", func(t *testing.T) { // where drivers are disturbed too
		campaign.Long(t)
		dir := t.TempDir()
		newNights(c, diskStops{}, dir+"/models", dir+"/data", dir+"/data").through(t)
	})
	t.Run("bucket", func(t *testing.T) {
		server, address := gcstest.Start(t)
		gcs.UseEmulator(func() string { return address })
		t.Cleanup(func() { gcs.UseEmulator(func() string { return "" }) })
		server.Faults.Set(gcstest.Rules{Share: 0.02, Seed: 3})
		newNights(c, bucketStops{server}, "gs://bucket/models", "gs://bucket/data", t.TempDir()).through(t)
		if seen := server.Faults.Seen(); seen["write unheard"] == 0 || seen["read cut"] == 0 {
			t.Errorf("requests have failed in too few ways: %v", seen)
		}
	})
}

func (n *nights) through(t *testing.T) {
	t.Helper()
	promoted, kept, forgets := 0, 0, 0
	fmt.Fprintf(&n.table, "night  partitions  retrain s  from scratch s\n")
	var first, last []time.Duration // of nights at the beginning and the end
	for day := 1; day <= n.days && !t.Failed(); day++ {
		if day%30 == 0 {
			t.Logf("night %d", day)
		}
		n.arrive(t, day)
		report, took := n.run(t, day)
		want := n.expected(day)
		switch {
		case report.Outcome == results.Kept && want == results.Promoted:
			kept++ // a model that is no better can fail to show that it is no worse
		case report.Outcome != want:
			t.Errorf("day %d: %s, want %s\n%s", day, report.Outcome, want, report.Text())
		case want == results.Promoted:
			promoted++
		}
		if report.Outcome == results.Promoted || report.Outcome == results.Kept {
			scratch := n.check(t, day, report)
			if n.forget > 0 && day%n.forget == 0 {
				n.forgetTwice(t, day, report)
				forgets++
			}
			if slices.Contains([]int{2, 3, 30, 100, 200, 300, n.days}, day) {
				// The time of a night that nothing disturbs, before it is repeated.
				fmt.Fprintf(&n.table, "%5d  %10d  %9.3f  %14.3f\n", day, report.Partitions, stepsOf(report).Seconds(),
					scratch.Seconds())
			}
			if day > 5 && len(first) < 20 {
				first = append(first, took)
			}
			last = append(last, took)
		}
	}
	if promoted < n.days/2 || n.forget > 0 && forgets < n.days/n.forget/2 {
		t.Errorf("%d promoted and %d kept in %d nights, rows forgotten after %d", promoted, kept, n.days, forgets)
	}
	n.story(t)
	slices.Sort(first)
	last = slices.Sorted(slices.Values(last[max(0, len(last)-20):]))
	t.Logf("%d nights: %d promoted, %d kept, stopped %d times, rows forgotten %d times; median night %.2f s at the beginning and %.2f s at the end\n%s",
		n.days, promoted, kept, n.kills, forgets, first[len(first)/2].Seconds(), last[len(last)/2].Seconds(),
		n.table.String())
}

// stepsOf adds the times of the steps of a run.
func stepsOf(r *results.Retrain) (sum time.Duration) {
	for _, s := range r.Steps {
		sum += time.Duration(s * float64(time.Second))
	}
	return sum
}

// story checks that the history has every night once, and rolls back.
func (n *nights) story(t *testing.T) {
	t.Helper()
	events, err := n.reg.History(jobtest.Ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]registry.Action{}
	for _, e := range events {
		if of[e.Day] != "" {
			t.Errorf("%s is in the history twice: %s and %s", e.Day, of[e.Day], e.Action)
		}
		of[e.Day] = e.Action
	}
	for _, day := range []int{n.broken, n.repeated} {
		if of[dayName(day)] != registry.Refused {
			t.Errorf("%s: %q", dayName(day), of[dayName(day)])
		}
	}
	s, err := n.reg.State(jobtest.Ctx)
	if err != nil {
		t.Fatal(err)
	}
	champion, previous := s.Champion, s.Previous
	if _, err := n.reg.Rollback(jobtest.Ctx, "", registry.Change{Why: "test"}); err != nil {
		t.Fatal(err)
	}
	report, err := InspectModel(jobtest.Ctx, options.InspectModel{Model: n.reg.Dir + "@champion"})
	if err != nil || report.Directory != n.reg.ModelDir(previous) {
		t.Errorf("after a rollback from %s: %v", champion, err)
	}
	// The night is not done again.
	if again, _ := Retrain(jobtest.Ctx, n.o); again == nil || again.Outcome == results.Promoted {
		t.Errorf("the model that was rolled back is promoted again: %+v", again)
	}
	var b strings.Builder
	(&registry.Events{Dir: n.reg.Dir, Events: events[:min(len(events), 8)]}).WriteTo(&b)
	io.WriteString(&n.table, "\n"+b.String())
}

// yearDrift is beyond what a year of slow drift reaches, and far below a column in other units.
const yearDrift = 0.2

func lambdaOf(v float64) options.Lambda { return options.Lambda{Path: []float64{v}} }

// fromScratch trains by the recipe of a model on files that are summed at once.
func fromScratch(t *testing.T, recipe string, files []string, dir string) {
	t.Helper()
	_, err := days.Sum(jobtest.Ctx, options.Sum{Recipe: recipe, Data: dataset.Options{Files: files, Label: "y"},
		Out: dir + "/sums"})
	if err == nil {
		_, err = days.Fit(jobtest.Ctx, options.Fit{SumDirs: options.SumDirs{Sums: []string{dir + "/sums"}},
			Model: dir + "/model"})
	}
	if err != nil {
		t.Fatal(err)
	}
}
