// Package about describes models for people. Read reads the files of a model directory, and Of takes those of a
// directory that is about to be published. Model.Page is the report; functions such as PathTable and WriteFacts
// are shared with the text output of commands.
package about

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/stretch"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/report/page"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// ReportFile is the name of the report in a model directory. The manifest does not list it.
const ReportFile = "report.html"

// NoReport is the value of options.Reporting.Report that turns the report off.
const NoReport = "none"

// CurveFile is the name of the file in a model directory with the reports on all rounds: a JSON list of
// iterative.Report.
const CurveFile = "curve.json"

// Model has the data of a report on a model: the files of its directory.
type Model struct {
	*models.Manifest
	Stretch *stretch.Distances // how the metric stretches distances; nil without a metric
	Lineage *registry.Lineage  // nil for none
	files   map[string][]byte  // content of reportFiles, by name
	schema  dataset.Schema
	profile sums.Profile
}

// reportFiles are the files that a report needs besides manifest and lineage.
var reportFiles = []string{sums.ProfileFile, tuning.SearchFile, CurveFile, job.SetAsideFile}

// Read reads the files of a loaded model.
func Read(ctx context.Context, dir string, m *models.Model) (a *Model, err error) {
	a = &Model{Manifest: m.Manifest, files: map[string][]byte{}}
	if a.Stretch, err = stretch.Of(m.Manifest); err != nil {
		return nil, models.NewError(dir, err)
	}
	if a.Lineage, err = registry.ReadLineage(ctx, dir); err != nil {
		return nil, err
	}
	for _, name := range reportFiles {
		if _, has := m.Manifest.File(name); has {
			if a.files[name], err = models.ReadFile(ctx, dir, m.Manifest, name); err != nil {
				return nil, err
			}
		}
	}
	return a, a.decode()
}

// Of takes the data of a report from the files of a directory that is about to be published.
func Of(m *models.Manifest, metric *stretch.Distances, l *registry.Lineage,
	files []storage.File) (*Model, error) {
	a := &Model{Manifest: m, Stretch: metric, Lineage: l, files: map[string][]byte{}}
	for _, f := range files {
		if _, listed := m.File(f.Name); listed && slices.Contains(reportFiles, f.Name) {
			a.files[f.Name] = f.Data
		}
	}
	return a, a.decode()
}

func (a *Model) decode() error {
	if err := json.Unmarshal(a.Input.Options, &a.schema); err != nil {
		return fmt.Errorf("%s: input options: %w", models.ManifestFile, err)
	}
	if data := a.files[sums.ProfileFile]; data != nil {
		if err := json.Unmarshal(data, &a.profile); err != nil {
			return fmt.Errorf("%s: %w", sums.ProfileFile, err)
		}
	}
	return nil
}

// Page returns the report on the model.
func (a *Model) Page() (*page.Page, error) {
	p := &page.Page{Title: fmt.Sprintf("Model: %s of %s", a.Task, a.predicted()), Headline: a.headline()}
	p.Lead = fmt.Sprintf("%s, from %s of %s.", capitalize(a.learned()), report.Counted64(a.Rows.Used, "row"),
		a.what())
	a.addFacts(p)
	a.addColumns(p)
	if err := a.addSearch(p); err != nil {
		return nil, err
	}
	a.addPath(p)
	if err := a.addRounds(p); err != nil {
		return nil, err
	}
	a.addOrigin(p)
	return p, nil
}

// Report returns the report as a file of the directory.
func (a *Model) Report() (storage.File, error) {
	p, err := a.Page()
	if err != nil {
		return storage.File{}, err
	}
	data, err := p.HTML()
	return storage.File{Name: ReportFile, Data: data}, err
}

// predicted describes what the model predicts.
func (a *Model) predicted() string {
	switch {
	case a.Task == models.Embedding:
		return "rows"
	case len(a.Input.Labels) > 1:
		return report.Counted(len(a.Input.Labels), "target")
	case a.Input.Label != "":
		return report.Word(a.Input.Label, 60)
	}
	return "labels"
}

func (a *Model) what() string {
	if a.schema.Table != nil {
		return a.schema.Table.String()
	}
	return report.Counted(a.Input.Dim, "number")
}

func (a *Model) learned() string {
	if a.Vocabulary != nil {
		return report.Counted(len(a.Vocabulary.Classes), "class")
	}
	return report.Counted(a.Outputs, "output")
}

func capitalize(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// headline returns the held-out figure of the model, nil if there is none.
func (a *Model) headline() *page.Headline {
	l := &a.Learner
	on := func(rows int64, tried int) string {
		return fmt.Sprintf("On %s held-out rows, by the model trained without them%s.", report.Groups(rows), LeastOf(tried))
	}
	if tried := len(l.Table) + len(l.RuledOut); tried > 0 {
		i := slices.IndexFunc(l.Table, func(r ridge.Row) bool { return r.Lambda == l.Lambda && r.Failed == "" && r.MSE != 0 })
		if i < 0 {
			return nil
		}
		row, of := l.Table[i], a.lambdas()
		f, write := of.figure(row)
		about := fmt.Sprintf("On held-out rows, %s, by the model trained without them%s.", report.OneIn(max(2, l.Folds)),
			LeastOf(tried))
		switch {
		case row.HeldOutRows > 0 && a.Task == models.Classification:
			about = on(row.HeldOutRows, tried)
		case row.Folds > 1:
			about = fmt.Sprintf("On the rows of %d folds, each predicted by a model trained without it%s.", row.Folds,
				LeastOf(tried))
		}
		return headlineOf(of.name(), f, write, about)
	}
	if l.Log == nil {
		return nil
	}
	of := l.Log.HeldOut
	for _, trial := range l.Log.Path { // held-out errors are those of the trial, before the final fit
		if of.HeldOutRows == 0 && trial.Lambda == l.Lambda {
			of = trial.HeldOut
		}
	}
	switch about := on(of.HeldOutRows, len(l.Log.Path)); {
	case of.HeldOutRows == 0:
		return nil
	case a.Task != models.Classification:
		return headlineOf("held-out loss", withHalfWidth(of.HeldOutLoss, 0), plain, about)
	default:
		return headlineOf("held-out error, %", RoundsRate(l.Split, of.HeldOutErrors, of.HeldOutRows, of.HeldOutError),
			twoDigits, about)
	}
}

func (a *Model) lambdas() lambdas { return lambdas{a.Task, len(a.Input.Labels), a.Learner.Table} }

// headlineOf formats a figure whose name may end with a unit.
func headlineOf(name string, f Figure, write func(float64) string, about string) *page.Headline {
	value, interval := f.Texts(write)
	name, unit, _ := strings.Cut(name, ", ")
	if unit == "%" {
		name, value, interval = "", value+"% "+name, interval+"%"
	} else if unit != "" {
		unit = " " + unit
	}
	h := &page.Headline{Figure: strings.TrimSpace(capitalize(name + " " + value)), About: about}
	if f.Low == f.Low {
		h.Range = "95% interval " + interval + strings.TrimPrefix(unit, "%")
	}
	return h
}

// addFacts lists what the model is.
func (a *Model) addFacts(p *page.Page) {
	var t report.Facts
	if a.profile.Kernel != "" {
		t.Add("features", "%s of the %s, seed %d", report.Groups(int64(a.Features)), a.profile.Kernel, a.Seed)
	} else {
		t.Add("features", "%s, seed %d", report.Groups(int64(a.Features)), a.Seed)
	}
	addFacts(&t, a.Manifest)
	s := p.Section("Model")
	s.List(t.Table)
	s.List(ComponentTable(a.Learner.Components))
}

// addFacts adds facts about a model, except for its features.
func addFacts(t *report.Facts, m *models.Manifest) {
	t.Add("learner", "%s, lambda %g", m.Learner.Kind, m.Learner.Lambda)
	if m.Learner.Steps > 0 {
		t.Add("grid", "%s", GridText(m.Learner.Steps))
	}
	if split := m.Learner.Split; split != nil {
		t.Add("held out", "by %s of %s", split.By, prepare.SomeOf(split.Columns))
	}
	if m.Probabilities == nil && m.Task == models.Classification {
		t.Add("output", "no probabilities; %s", HowToGetProbabilities)
	}
	t.Add("output", "%s", ProbabilitiesText(m.Probabilities))
	if m.Threshold != nil {
		t.Add("output", "%s", ThresholdText(m.Threshold, m.Vocabulary.Classes[m.PositiveClass()]))
	}
	if v := m.Intervals; v != nil {
		by := fmt.Sprintf("from %s held-out rows, for levels up to %.4g (predict --interval)", report.Groups(v.Rows),
			v.Highest())
		if half, one := HalfWidth(v, m.Sketch, m.TargetGrid); one {
			by = fmt.Sprintf("%g%% of new rows within ±%s of the prediction, %s", 100*models.UsualLevel,
				picture.Number(half, 3), by)
		}
		t.Add("interval", "%s", by)
	}
	if s := m.Segments; s != nil {
		t.Add("segments", "%s of %s with weights of their own", report.Counted(len(s.Of), "value"), report.Word(s.Column, 40))
	}
	for c, r2 := range m.Learner.TargetR2 {
		t.Add("R²", "%.4f on held-out rows for %s", r2, report.Word(m.Input.Labels[c], 40))
	}
	if m.Weights != nil {
		t.Add("weights", "%s", WeightsText(m.Weights))
	}
	t.Add("rows", "%s", job.Counts{Read: m.Rows.Read, Used: m.Rows.Used, SetAside: m.Rows.SetAside})
}

// addLineage adds what a model was made from, nothing for nil.
func addLineage(t *report.Facts, l *registry.Lineage) {
	if l == nil {
		return
	}
	var files, parts []string
	for _, p := range l.Sources {
		parts = append(parts, p.Name)
		for _, f := range p.Files {
			files = append(files, f.Name)
		}
	}
	if len(parts) == 1 {
		t.Add("made of", "%s", prepare.SomeOf(files))
	} else if len(parts) > 1 {
		t.Add("made of", "%s of the data with %s: %s", report.Counted(len(parts), "part"), report.Counted(len(files), "file"),
			prepare.SomeOf(parts))
	}
	if n := len(l.Forgotten); n > 0 {
		t.Add("forgotten", "%s of rows, whose sums were subtracted", report.Counted(n, "set"))
	}
	switch {
	case l.Redrawn != "":
		t.Add("recipe", "drawn for this model: %s", l.Redrawn)
	case l.Recipe != "":
		t.Add("recipe", "of %s", l.Recipe)
	case l.RecipeSHA256 != "":
		t.Add("recipe", "of the sums, %.16s", l.RecipeSHA256)
	}
	for _, x := range []struct {
		what string
		of   *registry.Parent
	}{{"initial weights", l.Init}, {"learned features", l.Features}} {
		if x.of != nil {
			t.Add("follows", "%s, its %s (%.16s)", x.of.Name, x.what, x.of.SHA256)
		}
	}
	if l.HeldOut != nil {
		t.Add("judged by", "%s", l.HeldOut.Name)
	}
}

// WriteFacts prints facts about a model, except for its features, and what it was made from.
func WriteFacts(w io.Writer, m *models.Manifest, l *registry.Lineage) {
	var t report.Facts
	addFacts(&t, m)
	t.Add("data", "fingerprint %s", m.Fingerprint)
	addLineage(&t, l)
	t.Write(w, 10)
}

// HalfWidth returns half the width of the intervals of the default level, for a row with the mean leverage of
// the training rows. It returns false for models with more or less than one target.
func HalfWidth(v *models.Intervals, sketch *models.Sketch, targets linear.Grids) (half float64, one bool) {
	if v == nil || len(targets) != 1 {
		return 0, false
	}
	score, err := v.Score(0, models.UsualLevel)
	if err != nil {
		return 0, false
	}
	half = score * targets[0].Half()
	if v.Scaled {
		half *= math.Sqrt(1 + sketch.Leverage)
	}
	return half, true
}
