package days

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/disktest"
	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/storage/gcs"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// rowJobs are jobs on rows that are words. Sums are multisets of them, and a model is a
// function of its recipe and its rows.
type rowJobs struct {
	calls  []string // what was called, with the number of files or sums
	rounds bool     // models are not trained by sums
	unfit  bool     // models do not have the scores by which they are to be judged
	// meanwhile, if there is one, does what others do when a job begins.
	meanwhile func(call string)
}

func (j *rowJobs) call(format string, args ...any) {
	j.calls = append(j.calls, fmt.Sprintf(format, args...))
	if j.meanwhile != nil {
		j.meanwhile(j.calls[len(j.calls)-1])
	}
}

type multiset map[string]int

func rowsOf(ctx context.Context, files []string) (multiset, error) {
	rows := multiset{}
	for _, f := range files {
		data, err := storage.ReadFile(ctx, f, 1<<20)
		if err != nil {
			return nil, err
		}
		for _, row := range strings.Fields(string(data)) {
			if row == "unreadable" {
				return nil, exit.Dataf("%s: a row is not a number", f)
			}
			rows[row]++
		}
	}
	return rows, nil
}

func (m multiset) add(other multiset, sign int) error {
	for row, n := range other {
		if m[row] += sign * n; m[row] == 0 {
			delete(m, row)
		} else if m[row] < 0 {
			return fmt.Errorf("row %s was subtracted and not added", row)
		}
	}
	return nil
}

func (m multiset) hash(more string) uint64 {
	h := fnv.New64a()
	for _, row := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintln(h, row, m[row])
	}
	fmt.Fprint(h, more)
	return h.Sum64()
}

// modelOf is a model of rows: its seed is a function of them.
func modelOf(rows multiset, recipe string) ([]storage.File, error) {
	sealed, err := features.Seal(fourier.Gaussian{In: 2, Out: 4, Width: 1, Seed: 1})
	if err != nil {
		return nil, err
	}
	return models.Encode(&models.Model{
		Linear: &linear.Model{K: 2, D: 4, W: make([]float32, 8), B: make([]float32, 2)},
		Manifest: &models.Manifest{
			Program: recipe, Task: models.Classification, Recipe: sealed, Seed: rows.hash(recipe),
			Learner:      models.Learner{Kind: "ridge", Lambda: 1e-6, Folds: 1},
			Input:        models.Input{Format: "csv", Dim: 2},
			Targets:      models.Targets{Vocabulary: &schema.Vocabulary{Classes: []string{"no", "yes"}}},
			TrainingData: models.TrainingData{Fingerprint: strings.Join(slices.Sorted(maps.Keys(rows)), " ")},
		},
	})
}

var errUntrainable = errors.New("no recipe fits these rows")

// publish makes a directory unless it is there.
func publish(ctx context.Context, dir string, files []storage.File) error {
	if there, err := storage.Exists(ctx, dir); err != nil || there {
		return err
	}
	return storage.Publish(ctx, dir, files)
}

func (j *rowJobs) Train(ctx context.Context, model string, files []string) error {
	j.call("train %d", len(files))
	rows, err := rowsOf(ctx, files)
	if err != nil {
		return err
	}
	if rows["untrainable"] > 0 {
		return errUntrainable
	}
	made, err := modelOf(rows, fmt.Sprintf("r%x", rows.hash("")>>40))
	if err != nil {
		return err
	}
	return publish(ctx, model, made)
}

func (j *rowJobs) Accept(ctx context.Context, champion string) error {
	_, err := models.ReadManifest(ctx, champion)
	if err == nil && j.unfit {
		err = errUnfit
	}
	return err
}

var errUnfit = errors.New("models like this one do not have the score")

// Reference makes a recipe that has the rows of the files. Sums by it refuse other columns.
func (j *rowJobs) Reference(ctx context.Context, model string, files []string) error {
	j.call("reference %d", len(files))
	rows, err := rowsOf(ctx, files)
	if err != nil {
		return err
	}
	if rows["flag"] > 0 {
		return exit.Usagef("no column")
	}
	made, err := modelOf(rows, fmt.Sprintf("p%x", rows.hash("")>>40))
	if err != nil {
		return err
	}
	return publish(ctx, model, made)
}

// others reports whether rows have other columns, those with a z.
func others(rows []string) bool {
	return slices.ContainsFunc(rows, func(row string) bool { return strings.HasPrefix(row, "z") })
}

func (j *rowJobs) Recipe(ctx context.Context, model string) (string, error) {
	m, err := models.ReadManifest(ctx, model)
	if err != nil || j.rounds && strings.HasPrefix(m.Program, "r") {
		return "", err
	}
	return m.Program, nil
}

func (j *rowJobs) Sum(ctx context.Context, recipe string, files []string, out string) (*DaySums, error) {
	found, err := storage.Exists(ctx, out)
	if err == nil && !found {
		err = j.sum(ctx, recipe, files, out)
	}
	if err != nil {
		return nil, err
	}
	s, err := summed(ctx, out)
	if err == nil {
		s.Found = found
	}
	return s, err
}

func (j *rowJobs) sum(ctx context.Context, recipe string, files []string, out string) error {
	j.call("sum %d", len(files))
	rows, err := rowsOf(ctx, files)
	if err != nil {
		return err
	}
	m, err := models.ReadManifest(ctx, recipe)
	if err != nil {
		return err
	}
	if rows["flag"] > 0 {
		return exit.Dataf("no column")
	}
	if others(slices.Collect(maps.Keys(rows))) != others(strings.Fields(m.Fingerprint)) {
		return exit.Dataf("%s: has other columns", files[0])
	}
	return store(ctx, out, rows)
}

func store(ctx context.Context, out string, rows multiset) error {
	data, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	return publish(ctx, out, []storage.File{{Name: "manifest.json", Data: data}})
}

func stored(ctx context.Context, dir string) (rows multiset, err error) {
	data, err := storage.ReadFile(ctx, storage.Join(dir, "manifest.json"), 1<<20)
	if err == nil {
		err = json.Unmarshal(data, &rows)
	}
	return rows, err
}

func summed(ctx context.Context, dir string) (*DaySums, error) {
	rows, err := stored(ctx, dir)
	p := &DaySums{Rows: int64(len(rows)), Content: fmt.Sprint(rows.hash(""))}
	n := 0
	for row := range rows {
		if strings.HasPrefix(row, "m") {
			n++
		}
	}
	if n > 0 { // the share of rows that begin with an m
		p.Columns = []drift.Column{{Name: "first", Detail: "is an m", AtLeast: float64(n) / float64(len(rows))}}
	}
	return p, err
}

func totalOf(ctx context.Context, o options.SumDirs) (multiset, error) {
	rows := multiset{}
	for i, list := range [][]string{o.Sums, o.Without} {
		for _, dir := range list {
			part, err := stored(ctx, dir)
			if err == nil {
				err = rows.add(part, 1-2*i)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

func (j *rowJobs) Fit(ctx context.Context, o options.Fit) error {
	rows, err := totalOf(ctx, o.SumDirs)
	if o.Model == "" && err == nil {
		return store(ctx, o.SaveSums, rows)
	}
	j.call("fit %d-%d", len(o.Sums), len(o.Without))
	if err == nil && rows["unfit"] > 0 {
		err = exit.Dataf("these rows need another recipe")
	}
	if err != nil {
		return err
	}
	if o.SaveSums != "" {
		if err := store(ctx, o.SaveSums, rows); err != nil {
			return err
		}
	}
	recipe := path.Base(path.Dir(o.Sums[0])) // sums are in a directory with the name of their recipe
	made, err := modelOf(rows, recipe)
	if err != nil {
		return err
	}
	return publish(ctx, o.Model, made)
}

// Drift is the share of rows that begin with an x.
func (j *rowJobs) Drift(ctx context.Context, from string, o options.SumDirs) (*results.Drift, error) {
	rows, err := totalOf(ctx, o)
	n := 0
	for row := range rows {
		if strings.HasPrefix(row, "x") {
			n++
		}
	}
	if _, err := stored(ctx, from); err != nil {
		return nil, err
	}
	return &results.Drift{Value: float64(n) / float64(max(1, len(rows))), Text: "rows begin with x"}, err
}

// ChooseWindow takes the last days, from the newest on that has a row such as break or bad.
func (j *rowJobs) ChooseWindow(ctx context.Context, places []string, _ map[string][]float64) (*results.ChosenWindow,
	error) {
	j.call("choose %d", len(places))
	w := &results.ChosenWindow{Dates: len(places), Of: len(places), Chosen: &results.Forgetting{}, All: &results.Forgetting{}}
	for i, place := range places {
		rows, err := stored(ctx, place)
		if err != nil {
			return nil, err
		}
		for row := range rows {
			if row == "break" || strings.HasPrefix(row, "bad") {
				w.Dates = len(places) - i
			} else if row == "one-class" {
				return nil, exit.Dataf("all rows are of one class")
			}
		}
	}
	return w, nil
}

func (j *rowJobs) Compare(ctx context.Context, champion, challenger string, files []string) (gates []registry.Gate,
	r *results.CompareModels, err error) {
	m, err := models.ReadManifest(ctx, challenger)
	if err != nil {
		return nil, nil, err
	}
	rows, err := rowsOf(ctx, files)
	gates = []registry.Gate{{Condition: "many rows", Passed: len(rows) > 1}}
	if champion == "" || err != nil {
		return gates, nil, err
	}
	for row := range rows {
		for _, model := range []string{champion, challenger} {
			m, err := models.ReadManifest(ctx, model)
			if err == nil && slices.Contains(strings.Fields(m.Fingerprint), row) && !strings.HasPrefix(row, "common") {
				err = exit.Dataf("row %s judges %s, which was trained on it", row, model)
			}
			if err != nil {
				return nil, nil, err
			}
		}
	}
	return append(gates, registry.Gate{Condition: "not worse",
		Passed: !strings.Contains(m.Fingerprint, "bad")}), nil, nil
}

// shop is a place with data.
type shop struct {
	o    options.RetrainData
	jobs *rowJobs
	mem  *disktest.Mem
}

func newShop(t testing.TB) *shop {
	s := &shop{jobs: new(rowJobs), mem: disktest.New()}
	t.Cleanup(disk.Swap(s.mem))
	s.o = options.RetrainData{Models: "/shop/models", Data: "/shop/data/dt=YYYY-MM-DD/*", Author: options.Author{Program: "test", By: "tester"},
		Now: func() time.Time { return time.Unix(1.7e9, 0) }}
	s.mem.Put("/shop/data/readme", nil)
	return s
}

// put makes the data of a day of one file.
func (s *shop) put(day int, rows string) { s.mem.Put("/shop/data/"+dt(day)+"/a.csv", []byte(rows)) }

// stash stores the data of a day for reveal, in a version that does not depend on what
// happens until then.
func (s *shop) stash(day int, rows string) { s.mem.Put("/stash/"+dt(day)+"/a.csv", []byte(rows)) }

func (s *shop) reveal(t testing.TB, day int) {
	t.Helper()
	to := "/shop/data/" + dt(day)
	err := errors.Join(s.mem.Mkdir(to, 0o777), s.mem.Rename("/stash/"+dt(day)+"/a.csv", to+"/a.csv"), s.mem.Sync(to),
		s.mem.Sync("/shop/data"))
	if err != nil {
		t.Fatal(err)
	}
}

func (s *shop) withdraw(t testing.TB, day int) {
	t.Helper()
	if err := errors.Join(s.mem.RemoveAll("/shop/data/"+dt(day)), s.mem.Sync("/shop/data")); err != nil {
		t.Fatal(err)
	}
}

func dt(day int) string { return "dt=" + date(day) }

// date is the day of that number, from 1.
func date(day int) string {
	return time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC).Format(dayForm)
}

// night runs a day and compares its outcome.
func (s *shop) night(t testing.TB, day int, want results.Outcome, words ...string) *results.Retrain {
	t.Helper()
	s.o.Day = date(day)
	s.jobs.calls = nil
	r, err := Retrain(ctx, s.o, s.jobs)
	if r == nil {
		t.Fatalf("day %d: %v", day, err)
		return nil
	}
	if r.Outcome != want || (err == nil) != (want == results.Promoted) || exit.CodeOf(err) != r.ExitCode {
		t.Errorf("day %d: %s, %v; want %s\n%s", day, r.Outcome, err, want, r.Text())
	}
	for _, w := range words {
		if !strings.Contains(r.Text(), w) {
			t.Errorf("day %d: lacks %q\n%s", day, w, r.Text())
		}
	}
	return r
}

// rows are those that the champion was trained on.
func (s *shop) rows(t testing.TB) string {
	t.Helper()
	m, err := models.LoadURI(ctx, s.o.Models+"@champion")
	if err != nil {
		t.Fatal(err)
	}
	return m.Manifest.Fingerprint
}

func (s *shop) did(t testing.TB, want ...string) {
	t.Helper()
	if !slices.Equal(s.jobs.calls, want) {
		t.Errorf("%s: called %q, want %q", s.o.Day, s.jobs.calls, want)
	}
}

// A file of a partition is rejected as a held-out file, since models are trained on it.
func TestHeldOutFilesAreInNoPartition(t *testing.T) {
	s := newShop(t)
	s.put(1, "a1 b1")
	s.put(2, "a2 b2")
	s.mem.Put("/shop/held/c.csv", []byte("c1 c2"))
	s.o.HeldOut = "/shop/data/dt=2026-01-01/a.csv"
	s.o.Day = date(2)
	_, err := Retrain(ctx, s.o, s.jobs)
	if exit.CodeOf(err) != exit.CodeData || !strings.Contains(fmt.Sprint(err), "a file of the partition 2026-01-01") ||
		len(s.jobs.calls) > 0 {
		t.Errorf("%v, called %q", err, s.jobs.calls)
	}
	s.o.HeldOut = "/shop/held/missing.csv"
	if _, err := Retrain(ctx, s.o, s.jobs); err == nil || !strings.Contains(err.Error(), "--held_out") || len(s.jobs.calls) > 0 {
		t.Errorf("no such file: %v, called %q", err, s.jobs.calls)
	}
	s.o.HeldOut = "/shop/held/c.csv"
	s.night(t, 2, results.Promoted, "judged by  /shop/held/c.csv", "trained on 2 partitions")
}

func TestRetrainForAMonthHasTheExpectedHistory(t *testing.T) {
	s := newShop(t)
	s.o.MaxDrift = 0.5
	s.night(t, 1, results.Nothing, "no model can be trained: no files of --data are of 2026-01-01 or a day before")
	s.put(1, "a1 b1")
	s.night(t, 1, results.Nothing,
		"no model can be trained: the only partition, 2026-01-01, is held out; wait for another day, or name files of held-out rows with --held_out")
	s.put(2, "a2 b2")
	s.night(t, 2, results.Promoted, "recipe     drawn anew: there is no champion", "judged by  2026-01-02",
		"trained on 1 partition, 2026-01-01\n")
	s.did(t, "reference 1", "sum 1", "train 1")
	s.night(t, 2, results.Promoted, "nothing is left to do") // again
	s.did(t)
	s.put(3, "a3 b3")
	s.night(t, 3, results.Promoted, "trained on 2 partitions, 2026-01-01 to 2026-01-02", "judged by  2026-01-03")
	s.did(t, "sum 1", "sum 1", "sum 1", "fit 2-0")
	s.night(t, 3, results.Promoted, "nothing is left to do")
	s.put(4, "a4 b4")
	s.night(t, 4, results.Promoted)
	s.did(t, "sum 1", "fit 2-0") // the total before, and one day
	s.put(5, "a5 b5")
	s.night(t, 5, results.Promoted)
	s.did(t, "sum 1", "fit 2-0")

	s.night(t, 6, results.Nothing, "there is no data of 2026-01-06 yet", "trained on exactly the partitions")
	s.did(t)
	s.put(7, "x7 x8")
	s.night(t, 7, results.Refused, "refused    2026-01-07: drift 1, more than 0.5: rows begin with x")
	s.night(t, 7, results.Refused)
	s.put(8, "a8 b8")
	s.put(6, "a6 b6") // late
	s.night(t, 8, results.Promoted, "new        2026-01-05, 2026-01-06, 2026-01-08", "refused    2026-01-07")
	if got, want := s.rows(t), "a1 a2 a3 a4 a5 a6 b1 b2 b3 b4 b5 b6"; got != want {
		t.Errorf("trained on %s, want %s", got, want)
	}
	s.put(3, "c3 d3")
	s.mem.RemoveAll("/shop/data/" + dt(2))
	s.put(9, "a8 b8") // day 8 again
	s.night(t, 9, results.Refused, "2026-01-09: has the same 2 rows as 2026-01-08")
	s.put(10, "a10 b10")
	s.night(t, 10, results.Promoted, "replaced   2026-01-03", "withdrawn  2026-01-02", "refused    2026-01-09")
	if got, want := s.rows(t), "a1 a4 a5 a6 a8 b1 b4 b5 b6 b8 c3 d3"; got != want {
		t.Errorf("trained on %s, want %s", got, want)
	}
	s.put(11, "unreadable")
	s.night(t, 11, results.Refused, "a row is not a number")
	s.put(11, "bad11 b11")
	s.put(12, "a12 b12")
	r := s.night(t, 12, results.Kept, "not worse  no")
	if r.Champion != r.Before || r.Model == r.Champion {
		t.Errorf("%+v", r)
	}
	s.night(t, 12, results.Kept)
	s.mem.RemoveAll("/shop/data/" + dt(11))
	s.night(t, 12, results.Promoted)
	s.night(t, 9, results.Nothing, "was made for a later day")
	reg := registry.Registry{Dir: s.o.Models}
	if _, err := reg.Rollback(ctx, "", registry.Change{}); err != nil {
		t.Fatal(err)
	}
	s.night(t, 12, results.Kept, "it is not promoted twice")
	s.o.Window.Days = 4
	s.put(13, "a13 b13")
	s.night(t, 13, results.Promoted)
	if got, want := s.rows(t), "a10 a12 b10 b12"; got != want {
		t.Errorf("trained on %s, want %s", got, want)
	}
	s.o.Window.Days, s.o.Redraw = 0, 0.2
	s.put(14, "x1 a14 b14")
	s.put(15, "x2 x3 c15 d15 e15")
	s.put(16, "x4 x5 c16 d16")
	s.night(t, 16, results.Promoted, "drift      all rows: rows begin with x")
	s.put(17, "x6 x7 c17 d17")
	s.put(18, "x8 c18")
	s.put(19, "x9 c19")
	s.night(t, 19, results.Promoted, "recipe     drawn anew: the rows have drifted")
	s.o.Redraw = 0
	s.put(20, "a20 c20")
	s.night(t, 20, results.Promoted)
	if s.jobs.calls[len(s.jobs.calls)-1][:4] != "fit " || len(s.jobs.calls) < 10 {
		t.Errorf("%q: all partitions are summed under the new recipe", s.jobs.calls)
	}

	events, err := reg.History(ctx, 0)
	var story []string
	for _, e := range slices.Backward(events) {
		story = append(story, fmt.Sprintf("%s %s", strings.TrimPrefix(cmpDay(e.Day), "2026-01-"), e.Action))
	}
	const want = "02 promote, 03 promote, 04 promote, 05 promote, 07 refuse, 08 promote, 09 refuse, 10 promote, 11 refuse, 12 keep, 12 promote, by hand rollback, 13 promote, 16 promote, 19 promote, 20 promote"
	if got := strings.Join(story, ", "); err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// The report of a night states drift by day and column, and a column beyond the bound is rejected.
func TestDriftIsReportedByDayAndColumn(t *testing.T) {
	s := newShop(t)
	s.o.MaxDrift = 0.6
	s.put(1, "a1 b1")
	s.put(2, "a2 b2")
	s.night(t, 2, results.Promoted)
	s.put(3, "a3 m3 b3 x3")
	r := s.night(t, 3, results.Promoted, "drift      2026-01-03: first: is an m (at least 0.25)")
	last := len(r.Drifts) - 1
	if last < 0 || r.Drifts[last].Day != "2026-01-03" || r.Drifts[last].Columns[0].Name != "first" ||
		r.Drifts[last].Features.Value != 0.25 {
		t.Errorf("%+v", r.Drifts)
	}
	s.put(4, "m4 m5 m6 b4")
	r = s.night(t, 4, results.Refused, "refused    2026-01-04: drift 0.75, more than 0.6: first: is an m (at least 0.75)")
	if len(r.Drifts) != 2 || r.Drifts[1].Columns[0].AtLeast != 0.75 { // the champion was not trained on day 3 either
		t.Errorf("%+v", r.Drifts)
	}
}

// The folds of a recipe may follow the times of rows that have left the window.
func TestRowsThatTheRecipeDoesNotFitGetANewOne(t *testing.T) {
	s := newShop(t)
	s.o.Window.Days = 3
	for day := 1; day <= 3; day++ {
		s.put(day, fmt.Sprintf("a%d b%d", day, day))
	}
	s.night(t, 3, results.Promoted)
	s.put(4, "a4 b4 unfit")
	s.night(t, 4, results.Promoted)
	s.put(5, "a5 b5")
	r := s.night(t, 5, results.Promoted, "trained on 2 partitions, 2026-01-03 to 2026-01-04")
	if want := "the recipe does not fit the rows: these rows need another recipe"; r.Redrawn != want {
		t.Errorf("redrawn: %q, want %q", r.Redrawn, want)
	}
	s.did(t, "sum 1", "fit 2-0", "train 2")
	s.put(6, "a6 b6 unfit untrainable")
	s.put(7, "a7 b7")
	s.o.Day = date(7)
	if _, err := Retrain(ctx, s.o, s.jobs); !errors.Is(err, errUntrainable) ||
		!strings.Contains(err.Error(), "because the old one does not fit the rows: these rows need") {
		t.Errorf("neither recipe fits: %v", err)
	}
}

// A night whose model could not be judged ends before it sums or trains anything.
func TestRetrainRejectsUnjudgeableOptions(t *testing.T) {
	s := newShop(t)
	s.put(1, "a1 b1")
	s.put(2, "a2 b2")
	s.night(t, 2, results.Promoted)
	s.put(3, "a3 b3")
	for _, s.jobs.rounds = range []bool{false, true} {
		s.jobs.unfit, s.jobs.calls, s.o.Day = true, nil, date(3)
		if _, err := Retrain(ctx, s.o, s.jobs); !errors.Is(err, errUnfit) {
			t.Errorf("by rounds %t: %v", s.jobs.rounds, err)
		}
		s.did(t)
	}
	s.jobs.unfit, s.jobs.rounds = false, false
	s.night(t, 3, results.Promoted)
}

// Learners that are not trained by sums are trained again on all days.
func TestIterativeLearnersAreTrainedAnew(t *testing.T) {
	s := newShop(t)
	s.jobs.rounds = true
	s.put(1, "a1 b1")
	s.put(2, "a2 b2")
	s.night(t, 2, results.Promoted)
	s.night(t, 3, results.Nothing, "trained on exactly the partitions")
	s.put(3, "a3 b3")
	s.put(4, "a4 b4")
	s.night(t, 4, results.Promoted, "recipe     drawn anew: its learner is not trained by sums, or",
		"new        2026-01-02, 2026-01-03, 2026-01-04")
	s.did(t, "reference 1", "sum 1", "sum 1", "train 3")
	s.night(t, 4, results.Promoted)
	s.did(t)
}

func cmpDay(day string) string {
	if day == "" {
		return "by hand"
	}
	return day
}

var errDead = errors.New("the process is gone")

// month runs days with what happens on them, and returns the files that must not depend on
// how often a run was stopped.
func (s *shop) month(t testing.TB, run func(day int)) map[string]string {
	s.o.MaxDrift, s.o.Window.Days, s.o.KeepSums.Prune = 0.5, 5, true
	for day := 1; day <= 9; day++ {
		rows := map[int]string{5: "x5 x6", 6: "a6 bad6"}[day]
		s.stash(day, cmp.Or(rows, fmt.Sprintf("a%d b%[1]d common", day)))
	}
	for day := 1; day <= 9; day++ {
		switch day {
		case 4: // it is late
		case 6:
			s.reveal(t, 4)
			s.reveal(t, 6)
		case 8:
			s.withdraw(t, 6)
			s.reveal(t, 8)
		default:
			s.reveal(t, day)
		}
		s.o.Day = date(day)
		run(day)
		s.hasNeeded(t)
	}
	kept := map[string]string{}
	for name, content := range s.mem.Files("/shop") {
		switch {
		case strings.HasSuffix(name, ".retrain-lock"):
			// It names a process.
		case strings.Contains(name, "/.tmp-") && (!strings.Contains(name, ".tmp-index") || strings.HasSuffix(name, "-claim")):
			// The next job with that output would remove it; here there is none.
		case strings.HasPrefix(name, "models/reports/"), strings.HasPrefix(name, "models/history/"), strings.HasSuffix(name,
			"aliases.json"):
			// They have times and random marks.
		default:
			kept[name] = content
		}
	}
	events, err := (registry.Registry{Dir: s.o.Models}).History(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		e.ID = ""
		text, _ := json.Marshal(e)
		kept[fmt.Sprint("event ", e.Number)] = string(text)
	}
	return kept
}

// After a run was stopped at any call, any number of times, the next run makes the models of an undisturbed
// run, byte for byte, and the same history.
func TestStoppedRunIsRepeated(t *testing.T) {
	for _, c := range []struct{ rounds, auto bool }{{}, {rounds: true}, {auto: true}} {
		stoppedIsRepeated(t, c.rounds, c.auto)
	}
}

func stoppedIsRepeated(t *testing.T, rounds, auto bool) {
	t.Helper()
	s := newShop(t)
	s.jobs.rounds, s.o.Window.Auto = rounds, auto
	var calls []int
	want := s.month(t, func(day int) {
		f := &disktest.Fault{FS: s.mem, Writes: true}
		disk.Swap(f)
		Retrain(ctx, s.o, s.jobs)
		disk.Swap(s.mem)
		calls = append(calls, f.Calls())
	})
	const step = 7
	for _, way := range []struct {
		name  string
		after func(*disktest.Mem)
	}{{"killed", (*disktest.Mem).Kill}, {"a power cut", (*disktest.Mem).PowerCutZeros}} {
		killed := 0
		for from := 1; from <= step; from += campaign.Pick(3, 1) {
			s := newShop(t)
			s.jobs.rounds, s.o.Window.Auto = rounds, auto
			got := s.month(t, func(day int) {
				for at := from; at < 4*calls[day-1]+100; at += step {
					f := &disktest.Fault{FS: s.mem, At: at, Do: func() error { return errDead }, On: true, Writes: true}
					disk.Swap(f)
					_, err := Retrain(ctx, s.o, s.jobs)
					disk.Swap(s.mem)
					if f.Hit() == "" {
						return
					}
					killed++
					way.after(s.mem)
					s.hasNeeded(t)
					if err == nil {
						t.Logf("day %d, call %d (%s): no error", day, at, f.Hit())
					}
				}
			})
			if !maps.Equal(got, want) {
				for name := range want {
					if got[name] != want[name] {
						t.Errorf("%s from call %d: %s is\n%s\nwant\n%s", way.name, from, name, got[name], want[name])
					}
				}
				for name := range got {
					if _, ok := want[name]; !ok {
						t.Errorf("%s from call %d: %s is left", way.name, from, name)
					}
				}
				return
			}
		}
		t.Logf("%s: %d times", way.name, killed)
	}
}

func TestConcurrentRetrainsPromoteOnce(t *testing.T) {
	s := newShop(t)
	disk.Swap(disk.OS{})
	dir := t.TempDir()
	s.o.Models, s.o.Data, s.o.Day = dir+"/models", dir+"/data/dt=YYYY-MM-DD/*", date(9)
	for day := range 9 {
		write(t, fmt.Sprintf("%s/data/%s/a.csv", dir, dt(day+1)), fmt.Sprintf("a%d b%[1]d", day))
	}
	var all sync.WaitGroup
	outcomes := make(chan exit.Code, 4)
	for range 4 {
		all.Go(func() {
			_, err := Retrain(ctx, s.o, new(rowJobs))
			outcomes <- exit.CodeOf(err)
		})
	}
	all.Wait()
	close(outcomes)
	promoted := 0
	for code := range outcomes {
		if code == exit.CodeOK {
			promoted++
		} else if code != exit.CodeLost {
			t.Errorf("exit code %d", code)
		}
	}
	// One that begins after another has ended finds its work done.
	events, err := (registry.Registry{Dir: s.o.Models}).History(ctx, 0)
	if promoted < 1 || err != nil || len(events) != 1 {
		t.Errorf("%d promoted, %d events, %v", promoted, len(events), err)
	}
}

func TestRetrainRejectsInvalidOptions(t *testing.T) {
	s := newShop(t)
	for want, change := range map[string]func(*options.RetrainData){
		"--day is missing: name the day, such as":         func(o *options.RetrainData) { o.Day = "" },
		"--models is missing: name a directory of models": func(o *options.RetrainData) { o.Models = "" },
		"--window must be at least 0":                     func(o *options.RetrainData) { o.Window.Days = -1 },
		"is not a day":                                    func(o *options.RetrainData) { o.Day = "yesterday" },
		"different directories":                           func(o *options.RetrainData) { o.Sums = o.Models + "/sums" },
		"--redraw must be at least 0":                     func(o *options.RetrainData) { o.Redraw = -1 },
		"between 0 and 1":                                 func(o *options.RetrainData) { o.MaxDrift = 2 },
		"contain DD once (has it 0 times)":                func(o *options.RetrainData) { o.Data = "data/YYYY/MM" },
		"write it as 2026-11-20":                          func(o *options.RetrainData) { o.Day = "20.11.2026" },
		"must be in different di":                         func(o *options.RetrainData) { o.Sums = "/shop" },
	} {
		o := s.o
		o.Day = date(1)
		change(&o)
		if _, err := Retrain(ctx, o, s.jobs); exit.CodeOf(err) != exit.CodeUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// In a bucket whose requests fail, nights have the results that they have on a disk.
func TestRetrainSurvivesStorageFaults(t *testing.T) {
	server, address := gcstest.Start(t)
	gcs.UseEmulator(func() string { return address })
	t.Cleanup(func() { gcs.UseEmulator(func() string { return "" }) })
	s := &shop{jobs: new(rowJobs), o: options.RetrainData{Models: "gs://bucket/models",
		Data: "gs://bucket/data/dt=YYYY-MM-DD/*", Author: options.Author{Program: "test", By: "tester"}, MaxDrift: 0.5}}
	server.Faults.Set(gcstest.Rules{Share: 0.1, Seed: 9})
	put := func(day int, rows string) { server.Fill("data/"+dt(day)+"/a.csv", []byte(rows)) }
	put(1, "a1 b1")
	put(2, "a2 b2")
	s.night(t, 2, results.Promoted)
	put(4, "a4 b4")
	s.night(t, 4, results.Promoted)
	put(3, "a3 b3")
	put(5, "a5 b5")
	s.night(t, 5, results.Promoted, "late       2026-01-03")
	put(2, "c2 d2")
	put(6, "x6 y6 x7")
	s.night(t, 6, results.Refused)
	put(6, "a6 b6")
	s.night(t, 6, results.Promoted, "replaced   2026-01-02")
	server.Faults.Set(gcstest.Rules{})
	if got, want := s.rows(t), "a1 a3 a4 a5 b1 b3 b4 b5 c2 d2"; got != want {
		t.Errorf("trained on %s, want %s", got, want)
	}
	events, err := (registry.Registry{Dir: s.o.Models}).History(ctx, 0)
	if err != nil || len(events) != 5 {
		t.Errorf("%v: %+v", err, events)
	}
}

// Data that is replaced after a run has listed it, and before a job reads it, is not taken for the listed
// version: a training run ends, and a sum leaves its day out.
func TestReplacedDataIsNoticed(t *testing.T) {
	s := newShop(t)
	s.put(1, "a b")
	s.put(2, "c d")
	s.o.Day = date(2)
	s.jobs.meanwhile = func(call string) {
		if strings.HasPrefix(call, "train") {
			s.put(1, "e f")
		}
	}
	if _, err := Retrain(ctx, s.o, s.jobs); !errors.Is(err, storage.ErrChanged) {
		t.Errorf("a training on a file that is replaced: %v", err)
	}
	if left, err := storage.List(ctx, "/shop/models/*/manifest.json"); !errors.Is(err, storage.ErrNoMatch) {
		t.Errorf("left %v, %v", left, err)
	}
	s.jobs.meanwhile = nil
	s.night(t, 2, results.Promoted)
	s.put(3, "g h")
	s.put(4, "i j")
	s.jobs.meanwhile = func(call string) {
		if call == "sum 1" && s.rows(t) == "e f" {
			s.put(1, "k l")
			s.jobs.meanwhile = nil
		}
	}
	s.night(t, 4, results.Promoted, date(1), "the file has changed since it was listed")
	if got := s.rows(t); got != "c d g h" {
		t.Errorf("trained on %q", got)
	}
	s.put(5, "m n")
	s.night(t, 5, results.Promoted)
	if got := s.rows(t); got != "c d g h i j k l" {
		t.Errorf("trained on %q", got)
	}
}

// A day whose rows come again after they left the window is not known as a copy, but does not judge, since the
// champion was trained on them.
func TestDayThatCannotJudgeIsRejected(t *testing.T) {
	s := newShop(t)
	s.o.Window = options.Window{Days: 3}
	s.put(1, "a b")
	s.put(2, "c d")
	s.night(t, 2, results.Promoted)
	s.put(4, "a b")
	s.night(t, 4, results.Refused, "the data of "+date(4)+" cannot judge: row ", "which was trained on it")
	if got := s.rows(t); got != "a b" {
		t.Errorf("the champion was trained on %q", got)
	}
	s.put(5, "e f")
	s.put(6, "g h")
	s.night(t, 6, results.Promoted)
}

// The same is true if the other days get a new recipe.
func TestDayThatCannotJudgeANewRecipeIsRejected(t *testing.T) {
	s := newShop(t)
	s.o.Window = options.Window{Days: 3}
	s.put(1, "a b")
	s.put(2, "c d")
	s.night(t, 2, results.Promoted)
	s.put(3, "e f unfit")
	s.night(t, 3, results.Promoted)
	s.put(4, "a b")
	s.night(t, 4, results.Refused, "the data of "+date(4)+" cannot judge: row ", "which was trained on it")
	s.did(t, "sum 1", "fit 2-0", "train 2")
}

// A night that fails leaves its work directory, from which the same command continues. If the next day comes
// first, that directory is removed.
func TestNextNightRemovesTheWorkOfOneThatFailed(t *testing.T) {
	s := newShop(t)
	s.put(1, "a b")
	s.put(2, "c d")
	left := "/shop/models/.bochner-" + date(1) + "-0123abcd"
	sums := "/shop/models-sums/some-recipe/.bochner-" + date(1) + "-0123abcd"
	reference := "/shop/models-sums/.bochner-probe-0123abcd"
	hand := "/shop/models/.bochner-by-hand" // of a training that somebody else runs
	for _, dir := range []string{left, sums, reference, hand} {
		if err := errors.Join(storage.WriteFile(ctx, dir+"/bochner-work", nil),
			storage.WriteState(ctx, dir+"/state/sum.bin", []byte("state"))); err != nil {
			t.Fatal(err)
		}
	}
	total := "/shop/models-sums/some-recipe/.tmp-total-0123abcd-0123456789abcdef"
	report := "/shop/models/reports/.tmp-" + date(1) + ".json-0123456789abcdef"
	event := "/shop/models/history/.tmp-00000001.json-0123456789abcdef"
	for _, name := range []string{total + "/fold-00000.sums", report, event, storage.ClaimName(path.Dir(total) + "/total-0123abcd"),
		storage.ClaimName("/shop/models/history/00000001.json")} {
		s.mem.Put(name, nil)
	}
	other := "/shop/models/" + date(3) + "-0123abcd"
	claim, err := storage.AcquireClaim(ctx, other)
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Drop(ctx)
	s.night(t, 2, results.Promoted)
	for dir, want := range map[string]bool{left: false, sums: false, reference: false, hand: true, total: false, report: false,
		event: false, storage.ClaimName(path.Dir(total) + "/total-0123abcd"): false, storage.ClaimName(other): true} {
		if there, err := storage.Exists(ctx, dir); err != nil || there != want {
			t.Errorf("%s: there %t, want %t: %v", dir, there, want, err)
		}
	}
}
