package days

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// Jobs are the jobs that a retraining runs. Each may be repeated, because its output is complete or absent.
type Jobs interface {
	// Train draws a recipe from the files and trains a model by it.
	Train(ctx context.Context, model string, files []string) error
	// Compare checks the gates of a model and, unless champion is "", compares it with the champion on
	// the rows of the files.
	Compare(ctx context.Context, champion, model string, files []string) ([]registry.Gate, *results.CompareModels,
		error)
	// Accept returns an error if models like the champion do not have the scores that Compare needs.
	// Train checks the same before it trains.
	Accept(ctx context.Context, champion string) error
	// Reference draws a small recipe from the files, to compare days, unless it exists.
	Reference(ctx context.Context, model string, files []string) error

	// Recipe returns an identifier of the recipe of a model, equal for equal recipes. It is "" if the
	// model was not fitted to sums, or if its recipe lacks what the settings need. The jobs below are
	// then called only for reference recipes.
	Recipe(ctx context.Context, model string) (string, error)
	// Sum sums files by the recipe of a model and creates the directory out. If out exists, it reads no files.
	Sum(ctx context.Context, recipe string, files []string, out string) (*DaySums, error)
	// Fit adds and subtracts sums and fits a model to them. It creates o.SaveSums, with the sums of
	// the model, before o.Model. If o.Model is "" and o.SaveSums exists, it does nothing.
	Fit(ctx context.Context, o options.Fit) error
	// Drift returns the distance between the rows of the sums o and the rows of the sums in the directory from.
	Drift(ctx context.Context, from string, o options.SumDirs) (*results.Drift, error)
	// ChooseWindow chooses how many of the last days to train on, given the sums of each. known
	// has errors that an earlier run computed; ChooseWindow replaces its content, unless reading or
	// solving fails.
	ChooseWindow(ctx context.Context, sums []string, known map[string][]float64) (*results.ChosenWindow, error)
}

// DaySums describes the sums of a day.
type DaySums struct {
	Rows    int64    `json:"rows"`
	Content string   `json:"content"`       // digest; equal for equal rows, however they are split into files
	New     []string `json:"new,omitempty"` // columns that the recipe does not have
	// Columns are the columns with significant drift from the rows of the recipe, the largest first,
	// at most MaxColumns.
	Columns []drift.Column `json:"columns,omitempty"`
	Found   bool           `json:"-"` // the sums existed, and no files were read
}

// MaxColumns is the largest number of DaySums.Columns.
const MaxColumns = 5

// Retrain makes and judges the model of a day; see pipelines.Retrain.
func Retrain(ctx context.Context, o options.RetrainData, jobs Jobs) (*results.Retrain, error) {
	if err := validateRetrain(&o); err != nil {
		return nil, err
	}
	pattern, err := parsePattern(o.Data, o.Where)
	if err != nil {
		return nil, err
	}
	r := &retrainRun{
		options: o, jobs: jobs, registry: registry.Registry{Dir: o.Models, Now: o.Now}, pattern: pattern,
		report: &results.Retrain{Day: o.Day, Models: o.Models,
			ReportedWork: results.ReportedWork{Steps: map[string]float64{}}},
	}
	unlock, err := storage.Lock(ctx, storage.Join(o.Models, ".retrain-lock"))
	if errors.Is(err, storage.ErrBusy) {
		return nil, &exit.OutcomeError{Code: exit.CodeLost,
			Message: fmt.Sprintf("another retraining of %s is running: %v", o.Models, err)}
	}
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := r.run(ctx); err != nil {
		return nil, err
	}
	slices.SortStableFunc(r.report.Refused, func(a, b results.RefusedDay) int { return cmp.Compare(a.Day, b.Day) })
	// Several reference recipes may have refused the same day.
	r.report.Refused = slices.CompactFunc(r.report.Refused, func(a, b results.RefusedDay) bool { return a.Day == b.Day })
	if err := r.prune(ctx); err != nil {
		return nil, err
	}
	r.sweep(ctx)
	r.report.ExitCode = exitCode(r.report)
	page, err := reportPage(r.report, r.compared).HTML()
	if err != nil {
		return nil, err
	}
	if err := r.registry.WriteReport(ctx, o.Day, r.report, r.report.Text(), page); err != nil {
		return nil, err
	}
	return r.report, outcomeError(r.report)
}

func validateRetrain(o *options.RetrainData) error {
	switch {
	case o.Day == "":
		return exit.Usagef("--day is missing: name the day, such as --day %s", time.Now().UTC().Format(dayForm))
	case o.Models == "":
		return exit.Usagef("--models is missing: name a directory of models")
	}
	_, err := parseDay(o.Day)
	if err = cmp.Or(err, prepare.CheckAtLeast("window", o.Window.Days, 0), prepare.CheckAtLeast("redraw", o.Redraw, 0),
		prepare.CheckDrift(o.MaxDrift)); err != nil {
		return err
	}
	o.Sums = cmp.Or(o.Sums, strings.TrimRight(o.Models, "/")+"-sums")
	for _, d := range []struct{ dir, other string }{{o.Sums, o.Models}, {o.Models, o.Sums}} {
		inside, err := storage.Within(d.dir, d.other)
		if err != nil {
			return err
		}
		if inside {
			return exit.Usagef("retrain: the sums %s and the models %s must be in different directories", o.Sums, o.Models)
		}
	}
	return nil
}

// retrainRun is the state of a run of Retrain.
type retrainRun struct {
	options  options.RetrainData
	jobs     Jobs
	registry registry.Registry
	pattern  *pattern
	report   *results.Retrain
	compared *results.CompareModels // of the new model with the champion; nil if there is no champion

	firstDay string // first day of the window; "" if it has no bound
	days     []Day  // days of the window
	champion string // its name; "" if there is none or its directory is lost
	lineage  *registry.Lineage
	index    *index // of the champion's recipe, or of a reference recipe
	copies   int    // days that were refused because they copy another
}

func (r *retrainRun) notef(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.report.Notes = append(r.report.Notes, text)
	if r.options.Log != nil {
		fmt.Fprintf(r.options.Log, "note: %s\n", text)
	}
}

// time begins a step. The function that it returns adds the step's time to the report.
func (r *retrainRun) time(name string) (end func()) {
	begun := time.Now()
	return func() { r.report.Steps[name] += time.Since(begun).Seconds() }
}

// run makes and judges a model, or ends without one, in the order of the package comment. The report has the outcome.
func (r *retrainRun) run(ctx context.Context) error {
	s, err := r.registry.State(ctx)
	if err != nil {
		return err
	}
	if s.Rebuilt != "" {
		r.notef("%s", s.Rebuilt)
	}
	r.champion = s.Champion
	r.report.Champion, r.report.Before = s.Champion, s.Champion
	if r.champion != "" {
		switch exists, err := storage.Exists(ctx, storage.Join(r.registry.ModelDir(r.champion), models.ManifestFile)); {
		case err != nil:
			return err
		case !exists:
			r.notef("the champion %s is lost: its directory has no model", r.champion)
			r.champion = ""
		}
	}
	if r.options.Window.Days > 0 {
		r.firstDay = r.since(r.options.Window.Days)
	}
	if err := r.listDays(ctx); err != nil {
		return err
	}
	if r.champion == "" {
		return r.drawNew(ctx, "there is no champion")
	}
	if r.lineage, err = registry.ReadLineage(ctx, r.registry.ModelDir(r.champion)); err != nil {
		return err
	}
	if r.lineage == nil || r.lineage.Day == "" { // the champion was trained and promoted by hand
		r.lineage = nil
		return r.drawNew(ctx, fmt.Sprintf("it is not known on which days %s was trained", r.champion))
	}
	done, err := r.isDone(ctx)
	if err != nil || done {
		return err
	}
	if err := r.jobs.Accept(ctx, r.registry.ModelDir(r.champion)); err != nil {
		return err
	}
	return r.retrainByRecipe(ctx)
}

// listDays sets the days of the window.
func (r *retrainRun) listDays(ctx context.Context) (err error) {
	defer r.time("list")()
	if r.days, err = r.pattern.days(ctx, r.firstDay, r.options.Day); err != nil {
		return err
	}
	return r.checkHeldOut(ctx)
}

// isDone reports whether the champion was made for this day from the same data: a stopped or
// earlier run has already promoted it.
func (r *retrainRun) isDone(ctx context.Context) (bool, error) {
	l := r.lineage
	if l.Day != r.options.Day || l.Seen != hashOf(r.days, r.options.Settings) {
		return false, nil
	}
	e, err := r.lastEvent(ctx, r.champion)
	if err != nil || e == nil || e.To != r.champion {
		return false, err
	}
	r.report.Model, r.report.Champion, r.report.Before = r.champion, r.champion, e.From
	r.report.Gates, r.report.Outcome, r.report.Why = e.Gates, results.Promoted, e.Why
	r.fromLineage(l)
	r.notef("the champion %s was made for this day from the same data: nothing is left to do", r.champion)
	return true, nil
}

// recentEvents is the number of last events among which events of the day are searched.
const recentEvents = 100

// lastEvent returns the last event of the day about a model, nil if there is none.
func (r *retrainRun) lastEvent(ctx context.Context, model string) (*registry.Event, error) {
	events, err := r.registry.History(ctx, recentEvents)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if e.Model == model && e.Day == r.options.Day {
			return &e, nil
		}
	}
	return nil, nil
}

// drawRecipe trains a model with a new recipe on days, except those that judge it, and judges it.
func (r *retrainRun) drawRecipe(ctx context.Context, days []Day, why string) error {
	judge, train := r.splitJudge(days)
	switch {
	case len(train) == 0:
		if len(days) == 0 {
			return r.endWithoutModel(fmt.Sprintf("no model can be trained: no files of --data are of %s or a day before",
				r.options.Day))
		}
		return r.endWithoutModel(fmt.Sprintf("no model can be trained: the only partition, %s, is held out; wait for "+
			"another day, or name files of held-out rows with --held_out", judge.name))
	case judge == nil:
		return r.endWithoutModel("no model can be judged: the champion was trained on every partition")
	case r.trainedOn(train):
		return r.endWithoutModel(fmt.Sprintf("the champion %s was trained on exactly the partitions before %s",
			r.champion, judge.name))
	}
	o := &r.options
	model := o.Day + "-" + hashOf(train, "draw", judge.name, o.Settings)
	l := &registry.Lineage{Program: o.Program, Day: o.Day, Origins: registry.Origins{Recipe: model, Redrawn: why},
		Command: o.Command, Seen: hashOf(r.days, o.Settings), Sources: sourcesOf(train, nil), HeldOut: judge.source()}
	r.fromLineage(l)
	end := r.time("train")
	err := r.makeOnce(ctx, model, l, func(dir string) error {
		if err := r.jobs.Train(ctx, dir, uris(train)); err != nil {
			return err
		}
		if err := checkUnchanged(ctx, train...); err != nil { // the files do not match the model's name
			return errors.Join(err, storage.Remove(ctx, dir))
		}
		return nil
	})
	end()
	if err != nil {
		return err
	}
	return r.judge(ctx, model, judge)
}

// makeOnce creates a model unless an earlier run has created it, and stores its lineage.
func (r *retrainRun) makeOnce(ctx context.Context, model string, l *registry.Lineage,
	create func(dir string) error) error {
	dir := r.registry.ModelDir(model)
	exists, err := storage.Exists(ctx, storage.Join(dir, models.ManifestFile))
	if err != nil {
		return err
	}
	if exists {
		r.notef("found the model %s of an earlier run", model)
		if err := errors.Join(removeWork(ctx, dir), storage.ClearUnfinished(ctx, dir)); err != nil {
			return err
		}
	} else if err := create(dir); err != nil {
		return err
	}
	m, err := models.ReadManifest(ctx, dir)
	if err != nil {
		return err
	}
	r.report.Rows = m.Rows
	written, err := registry.ReadLineage(ctx, dir)
	if err != nil {
		return err
	}
	l.Follow(written)
	return r.registry.WriteLineage(ctx, model, l)
}

// removeWork removes the work directory of a job that was stopped after it had created its output.
func removeWork(ctx context.Context, out string) error {
	dir, name := path.Split(out)
	return storage.Remove(ctx, dir+".bochner-"+name)
}

// judgeRows are the held-out rows on which models are judged.
type judgeRows struct {
	name  string
	files []string
	day   *Day // nil for a fixed set
}

func (j *judgeRows) source() *registry.Source {
	if j.day == nil {
		return &registry.Source{Name: j.name, Files: []registry.File{}}
	}
	return &sourcesOf([]Day{*j.day}, nil)[0]
}

// checkHeldOut returns an error if a file of HeldOut is in a partition: models are trained on its rows.
func (r *retrainRun) checkHeldOut(ctx context.Context) error {
	if r.options.HeldOut == "" {
		return nil
	}
	files, err := storage.List(ctx, r.options.HeldOut)
	if err != nil {
		return fmt.Errorf("retrain: --held_out: %w", err)
	}
	held := map[string]bool{} // by URI
	for _, f := range files {
		held[f.URI] = true
	}
	for _, day := range r.days {
		for _, f := range day.Files {
			if held[f.URI] {
				return exit.Dataf("retrain: --held_out: models are trained on %s, a file of the partition %s; name files "+
					"outside all partitions", f.Name, day.Date)
			}
		}
	}
	return nil
}

// splitJudge returns the rows that judge and the days to train on. The rows are a fixed set,
// or the newest day that the champion has not seen, neither in its training nor when its
// recipe was drawn. judge is nil if there are none.
func (r *retrainRun) splitJudge(days []Day) (judge *judgeRows, train []Day) {
	if r.options.HeldOut != "" {
		return &judgeRows{name: r.options.HeldOut, files: []string{r.options.HeldOut}}, days
	}
	for i, day := range slices.Backward(days) {
		if r.seen(day.Date) {
			continue
		}
		return &judgeRows{name: day.Date, files: uris(days[i : i+1]), day: &days[i]},
			slices.Delete(slices.Clone(days), i, i+1)
	}
	return nil, days
}

// seen reports whether the champion or its recipe has used any version of the data of a day, or may
// have used it, because the day is before the chosen window.
func (r *retrainRun) seen(day string) bool {
	if r.lineage == nil {
		return false
	}
	return r.beforeWindow(day) || slices.Contains(r.lineage.Drawn, day) ||
		slices.ContainsFunc(r.lineage.Sources, func(p registry.Source) bool { return p.Name == day })
}

// judge compares the model with the champion, and promotes it if it passes.
func (r *retrainRun) judge(ctx context.Context, model string, judge *judgeRows) (err error) {
	r.report.Model = model
	champion := ""
	if r.champion != "" {
		champion = r.registry.ModelDir(r.champion)
	}
	end := r.time("judge")
	r.report.Gates, r.compared, err = r.jobs.Compare(ctx, champion, r.registry.ModelDir(model), judge.files)
	end()
	if c := r.compared; c != nil {
		var b strings.Builder
		c.WriteTo(&b)
		r.report.Comparison = b.String()
	}
	if judge.day != nil && isUnfit(err) {
		// for instance, the champion was trained on these rows, of a day that has left the window
		return r.refuse(ctx, fmt.Sprintf("the data of %s cannot judge: %s", judge.name, fault.Text(err)))
	}
	if err != nil {
		return err
	}
	return r.decide(ctx, model)
}

// decide promotes the model, or records that the champion stays.
func (r *retrainRun) decide(ctx context.Context, model string) error {
	defer r.time("promote")()
	report, o := r.report, &r.options
	passed := !slices.ContainsFunc(report.Gates, func(g registry.Gate) bool { return !g.Passed })
	change := registry.Change{By: o.By, Gates: report.Gates, Day: o.Day, Command: o.Command, Why: report.Reason(),
		IfChampion: registry.ChampionIs(report.Before)}
	e, err := r.lastEvent(ctx, model)
	if err != nil {
		return err
	}
	if passed && e != nil && e.Action == registry.Promoted {
		// Somebody has rolled it back.
		report.Outcome, report.Why = results.Kept,
			fmt.Sprintf("the model was promoted for this day, and the champion is %s since; it is not promoted twice",
				cmp.Or(r.champion, "none"))
		return nil
	}
	if passed {
		_, err := r.registry.Promote(ctx, model, change)
		if conflict, ok := errors.AsType[*registry.ConflictError](err); ok {
			report.Outcome, report.Why = results.Lost, conflict.Message
			return nil
		}
		if err != nil {
			return err
		}
		report.Outcome, report.Champion = results.Promoted, model
		return nil
	}
	report.Outcome, report.Why = results.Kept, "the model did not pass: "+failedGates(report.Gates)
	if e != nil && e.Action == registry.Kept {
		return nil // an earlier run has recorded it
	}
	change.Why, change.IfChampion = report.Why, registry.Precondition{}
	_, err = r.registry.Keep(ctx, model, change)
	return err
}

// endWithoutModel ends a run that has no new model to judge. why is the reason. It returns nil, the result of the run.
func (r *retrainRun) endWithoutModel(why string) error {
	r.report.Outcome, r.report.Why = results.Nothing, why
	return nil
}

// uris returns the URIs of the files of days.
func uris(days []Day) (all []string) {
	for _, day := range days {
		for _, o := range day.Files {
			all = append(all, o.URI)
		}
	}
	return all
}

// sourcesOf describes days for a lineage. sumsDirs has the directories of their sums, by day.
func sourcesOf(days []Day, sumsDirs map[string]string) []registry.Source {
	all := []registry.Source{}
	for _, day := range days {
		x := registry.Source{Name: day.Date, Sums: sumsDirs[day.Date], Digest: day.Digest}
		for _, o := range day.Files {
			x.Files = append(x.Files, registry.File{Name: o.URI, Bytes: o.Size, Version: o.Version})
		}
		all = append(all, x)
	}
	return all
}
