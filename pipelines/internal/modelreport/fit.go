package modelreport

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// addSearch lists the trials of the search, and the columns along which its metric stretches distances.
func (m *Model) addSearch(p *report.Page) error {
	s := p.Section("Search for features")
	if data := m.files[tuning.SearchFile]; data != nil {
		var result tuning.Result
		if err := json.Unmarshal(data, &result); err != nil {
			return fmt.Errorf("%s: %w", tuning.SearchFile, err)
		}
		loss := "squared error, share of the variance"
		if result.Classes {
			loss = "log loss"
		}
		t := report.Table{Head: []string{"features", "rows", "features tried", "lambda", loss, "error, %", "cost, 10⁹ steps"}}
		for _, trial := range result.Trials {
			rate := ""
			if result.Classes {
				rate = fmt.Sprintf("%.2f", 100*trial.Error)
			}
			if trial.Failed != "" {
				t.Add(trial.String(), report.Groups(int64(trial.Rows)), report.Groups(int64(trial.Features)), "-", trial.Failed)
				continue
			}
			n, d := float64(trial.Rows), float64(trial.Features)
			cost := (n*d*min(n, d) + float64(trial.Solves)*math.Pow(min(n, d), 3)/3) / 1e9
			t.Add(trial.String(), report.Groups(int64(trial.Rows)), report.Groups(int64(trial.Features)),
				fmt.Sprintf("%.2g", trial.Lambda), fmt.Sprintf("%.5f", trial.Loss), rate, fmt.Sprintf("%.3g", cost))
			t.Mark(trial.String() == result.Chosen.String() && trial.Rows == result.Chosen.Rows)
		}
		s.Sayf("%s were tried on %s of the training rows; losses are of other training rows. The chosen loss is the "+
			"smallest of all, hence optimistic. Cost is the number of multiplications of a fit and its "+
			"solves, because times differ from run to run.",
			report.Counted(result.Tried, "candidate"), report.Counted64(int64(result.Pilot), "row"))
		s.List(t.Filled())
	}
	m.addSizes(s)
	if m.Stretch != nil {
		s.Draw(report.StretchPicture(m.Stretch))
	}
	return nil
}

// addSizes shows the errors by the number of features, if several were tried.
func (m *Model) addSizes(s *report.Section) {
	if m.Lineage == nil || len(m.Lineage.Sizes) == 0 {
		return
	}
	root := m.Task == models.Regression && len(m.Input.Labels) < 2
	t := report.SizeTable(m.Lineage.Sizes, root)
	lines := picture.Lines{Title: "Held-out error by number of features", X: "number of features",
		Y:      m.lambdas().Name(),
		LogX:   true,
		Series: []picture.Series{{}}}
	for _, size := range m.Lineage.Sizes {
		if v := size.Loss; root && v > 0 {
			lines.Series[0].Add(float64(size.Features), math.Sqrt(v))
		} else if v > 0 {
			lines.Series[0].Add(float64(size.Features), v)
		}
	}
	s.Sayf("These numbers of features were tried on all training rows. The rows that chose among them are also those of " +
		"the errors by lambda, so these errors may be slightly too small.")
	s.List(t)
	if len(lines.Series[0].X) > 1 {
		s.Draw(lines, t)
	}
}

// addPath lists the values of λ with their errors.
func (m *Model) addPath(p *report.Page) {
	if len(m.Learner.Table) == 0 {
		return
	}
	s := p.Section("Regularisation")
	by := "the least held-out squared error"
	if m.Learner.Select != "" {
		by = "the least " + strings.ReplaceAll(m.Learner.Select, "_", " ") + " of held-out rows"
	}
	s.Sayf("Lambda %g was chosen by %s. Larger values make smoother models.", m.Learner.Lambda, by)
	t := report.PathTable(m.Task, len(m.Input.Labels), m.Learner.Table, m.Learner.Lambda)
	if len(m.Learner.RuledOut) > 0 {
		t.More = report.Numbers(m.Learner.RuledOut) + ", which were ruled out early"
	}
	s.List(t)
	heldOut, training := picture.Series{Name: "held out"}, picture.Series{Name: "training"}
	squared := heldOut
	for _, row := range m.Learner.Table {
		if row.Failed != "" || row.MSE == 0 {
			continue
		}
		f, _ := m.lambdas().Figure(row)
		heldOut.AddInterval(row.Lambda, f.Value, f.Low, f.High)
		f = report.WithHalfWidth(row.MSE, report.HalfWidth(row))
		squared.AddInterval(row.Lambda, f.Value, f.Low, f.High)
		if m.Task == models.Classification {
			training.Add(row.Lambda, row.Train)
		} else {
			training.Add(row.Lambda, math.Sqrt(row.Train))
		}
	}
	if len(heldOut.X) < 2 {
		return
	}
	const x = "lambda, the penalty on squared weights"
	name := m.lambdas().Name()
	l := picture.Lines{Title: "Held-out error by lambda", X: x, Y: name, LogX: true, Series: []picture.Series{heldOut}}
	if m.Task != models.Classification {
		l.Title, l.Y, l.Series = "Errors by lambda", strings.TrimPrefix(name, "held-out "), append(l.Series, training)
	}
	s.Draw(l, t)
	if name == "held-out error, %" {
		s.Draw(picture.Lines{Title: "Squared errors by lambda", X: x, Y: "mean squared error of ±1 codes", LogX: true,
			Series: []picture.Series{squared, training}}, t)
	}
}

// addRounds shows the rounds of an iterative learner.
func (m *Model) addRounds(p *report.Page) error {
	c := m.Learner.Log
	if c == nil {
		return nil
	}
	s := p.Section("Training by rounds")
	s.Sayf("Learner %s on %s loss with %s: %s after %s.", m.Learner.Kind, c.Loss, report.Counted(c.Partitions, "partition"),
		c.Ended, report.Counted(c.Rounds, "round"))
	s.List(report.Trials(m.Task, m.Learner.Split, c.Path, m.Learner.Lambda))
	var history []iterative.Report
	if data := m.files[CurveFile]; data != nil {
		if err := json.Unmarshal(data, &history); err != nil {
			return fmt.Errorf("%s: %w", CurveFile, err)
		}
	}
	if len(history) > 1 {
		s.Draw(LearningCurve(history))
	}
	return nil
}

// addOrigin adds the data and models that the model was made from, and the command that makes it again.
func (m *Model) addOrigin(p *report.Page) {
	s := p.Section("Origin")
	var t report.Facts
	t.Addf("program", "bochner %s", m.Program)
	report.AddLineage(&t, m.Lineage)
	t.Addf("fingerprint of the rows", "%s", m.Fingerprint)
	if w, has := m.File(models.WeightsFile); has {
		t.Addf("SHA-256 of the weights", "%s", w.SHA256)
	}
	t.Addf("SHA-256 of the manifest", "%s", m.SHA256)
	s.List(t.Table)
	l := m.Lineage
	if l == nil {
		l = &registry.Lineage{}
	}
	files := report.Table{Caption: "Files of the training rows", Head: []string{"part", "file", "bytes", "version"}}
	for _, part := range l.Sources {
		for _, f := range part.Files {
			files.Add(part.Name, path.Base(f.Name), report.Groups(f.Bytes), f.Version)
		}
	}
	s.List(files.Filled())
	switch {
	case l.Command != "":
		s.Sayf("This command, where these files are, makes a model with the same weights:")
		if strings.Contains(l.Command, "time=") {
			s.Sayf("A time limit was set, so the choices also depend on the machine.")
		}
		s.Show(l.Command)
	default:
		s.Sayf("The model was not made by one command on files of rows, so no single command makes it again.")
	}
}

// LearningCurve plots the training log.
func LearningCurve(history []iterative.Report) picture.Lines {
	objective, dual := picture.Series{Name: "objective"}, picture.Series{Name: "duality gap"}
	loss, wrong := picture.Series{Name: "held-out loss"}, picture.Series{Name: "held-out error"}
	training := picture.Series{Name: "training error"}
	for _, r := range history {
		x := float64(r.Round)
		objective.Add(x, r.Objective)
		training.Add(x, float64(r.Errors)/float64(max(r.Rows, 1)))
		if gap, known := r.Gap(); known {
			dual.Add(x, gap)
		}
		if r.HeldOutRows > 0 {
			loss.Add(x, r.HeldOutLoss)
			wrong.Add(x, float64(r.HeldOutErrors)/float64(r.HeldOutRows))
		}
	}
	lines := picture.Lines{Title: "Learning curve", X: "round", Y: "mean loss; error as a share of rows", LogY: true}
	for _, s := range []picture.Series{objective, dual, training, loss, wrong} {
		if len(s.X) > 0 {
			lines.Series = append(lines.Series, s)
		}
	}
	return lines
}
