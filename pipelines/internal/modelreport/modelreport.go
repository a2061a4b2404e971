// Package modelreport writes the report on a model, a page in HTML in the model directory (ReportFile).
//
// Read takes the files of an existing model directory, and New the files of a directory that is about to be published:
// manifest, lineage, statistics of the training rows, trials of the search, learning curve and rows set aside. A
// report needs neither the weights nor the data.
//
// Model.Page lists the sections in order: facts, columns (columns.go), the search for features, the errors by λ, the
// rounds of an iterative learner (fit.go) and the origin of the model. Edge, OnFirst and LearningCurve also serve
// other reports of a training run.
package modelreport

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/stretch"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// ReportFile is the name of the report in a model directory. The manifest does not list it.
const ReportFile = "report.html"

// CurveFile is the name of the file in a model directory with the reports on all rounds: a JSON list of
// iterative.Report.
const CurveFile = "curve.json"

// Model holds the data of a report on a model: the files of its directory.
type Model struct {
	*models.Manifest
	Stretch *stretch.Distances // how the metric stretches distances; nil without a metric
	Lineage *registry.Lineage  // nil if the model has none
	files   map[string][]byte  // content of reportFiles, by name
	schema  dataset.Schema
	profile sums.Profile
}

// reportFiles are the files that a report needs besides manifest and lineage.
var reportFiles = []string{sums.ProfileFile, tuning.SearchFile, CurveFile, results.SetAsideFile}

// Read reads the files of a loaded model.
func Read(ctx context.Context, dir string, m *models.Model) (a *Model, err error) {
	a = &Model{Manifest: m.Manifest, files: map[string][]byte{}}
	if a.Stretch, err = stretch.Describe(m.Manifest); err != nil {
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

// New takes the data of a report from the files of a directory that is about to be published.
func New(m *models.Manifest, metric *stretch.Distances, l *registry.Lineage, files []storage.File) (*Model, error) {
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
func (a *Model) Page() (*report.Page, error) {
	p := &report.Page{Title: fmt.Sprintf("Model: %s of %s", a.Task, a.predicted()), Headline: a.headline()}
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
func (a *Model) headline() *report.Headline {
	l := &a.Learner
	on := func(rows int64, tried int) string {
		return fmt.Sprintf("On %s held-out rows, by the model trained without them%s.", report.Groups(rows), report.LeastOf(tried))
	}
	if tried := len(l.Table) + len(l.RuledOut); tried > 0 {
		i := slices.IndexFunc(l.Table, func(r ridge.CVResult) bool { return r.Lambda == l.Lambda && r.Failed == "" && r.MSE != 0 })
		if i < 0 {
			return nil
		}
		row, lambdas := l.Table[i], a.lambdas()
		f, write := lambdas.Figure(row)
		about := fmt.Sprintf("On held-out rows, %s, by the model trained without them%s.", report.OneIn(max(2, l.Folds)),
			report.LeastOf(tried))
		switch {
		case row.HeldOutRows > 0 && a.Task == models.Classification:
			about = on(row.HeldOutRows, tried)
		case row.Folds > 1:
			by := "a model trained without it"
			if l.Split.Ordered() {
				by = "a model of earlier rows"
			}
			about = fmt.Sprintf("On the rows of %d folds, each predicted by %s%s.", row.Folds, by, report.LeastOf(tried))
		}
		return headlineOf(lambdas.Name(), f, write, about)
	}
	if l.Log == nil {
		return nil
	}
	heldOut := l.Log.HeldOut
	for _, trial := range l.Log.Path { // the trial before the final fit has the held-out errors
		if heldOut.HeldOutRows == 0 && trial.Lambda == l.Lambda {
			heldOut = trial.HeldOut
		}
	}
	switch about := on(heldOut.HeldOutRows, len(l.Log.Path)); {
	case heldOut.HeldOutRows == 0:
		return nil
	case a.Task != models.Classification:
		return headlineOf("held-out loss", report.WithHalfWidth(heldOut.HeldOutLoss, 0), report.Plain, about)
	default:
		return headlineOf("held-out error, %", report.RoundsRate(l.Split, heldOut.HeldOutErrors,
			heldOut.HeldOutRows, heldOut.HeldOutError),
			report.TwoDigits, about)
	}
}

func (a *Model) lambdas() report.Lambdas {
	return report.Lambdas{Task: a.Task, Targets: len(a.Input.Labels), Rows: a.Learner.Table}
}

// headlineOf formats a figure whose name may end with a unit.
func headlineOf(name string, f report.Figure, write func(float64) string, about string) *report.Headline {
	value, interval := f.Texts(write)
	name, unit, _ := strings.Cut(name, ", ")
	if unit == "%" {
		name, value, interval = "", value+"% "+name, interval+"%"
	} else if unit != "" {
		unit = " " + unit
	}
	h := &report.Headline{Figure: strings.TrimSpace(capitalize(name + " " + value)), About: about}
	if !math.IsNaN(f.Low) {
		h.Range = "95% interval " + interval + strings.TrimPrefix(unit, "%")
	}
	return h
}

// addFacts lists what the model is.
func (a *Model) addFacts(p *report.Page) {
	var t report.Facts
	if a.profile.Kernel != "" {
		t.Addf("features", "%s of the %s, seed %d", report.Groups(int64(a.Features)), a.profile.Kernel, a.Seed)
	} else {
		t.Addf("features", "%s, seed %d", report.Groups(int64(a.Features)), a.Seed)
	}
	report.AddFacts(&t, a.Manifest)
	s := p.Section("Model")
	s.List(t.Table)
	s.List(report.ComponentTable(a.Learner.Components))
}
