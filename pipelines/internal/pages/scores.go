// Package pages writes HTML reports. Report is the job for a report on a model. Evaluate and CompareModels call
// the functions of the same names in package evaluate and then write a report, if the options ask for one.
package pages

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/apply"
	"github.com/bochner-ml/bochner/pipelines/internal/evaluate"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Limits of a report on an evaluation.
const (
	worstColumns = 6 // columns of each of the worst rows
	maxCurves    = 5 // curves in a chart
	maxEffects   = 20
)

// evaluation is a result that can be written to a page.
type evaluation struct{ *results.Evaluate }

// Evaluate calls evaluate.Evaluate, and writes the report that the options ask for.
func Evaluate(ctx context.Context, o options.Evaluate) (*results.Evaluate, error) {
	r, err := evaluate.Evaluate(ctx, o)
	if o.Report == "" || r == nil {
		return r, err
	}
	return r, errors.Join(err, exit.AfterPublish("", evaluation{r}.writePage(ctx, o)))
}

// writePage writes the report on the model and its scores.
func (r evaluation) writePage(ctx context.Context, o options.Evaluate) error {
	m, p, err := modelPage(ctx, r.Model)
	if err != nil {
		return err
	}
	o.Job.Log = nil
	inspected, err := apply.InspectForReport(ctx, options.InspectModel{Model: r.Model, Data: o.Data,
		MaxBadFraction: o.MaxBadFraction, Job: o.Job})
	if err != nil {
		return err
	}
	test := &report.Page{}
	r.addScores(test)
	r.addCurves(test)
	r.addSlices(test)
	addEffects(test, inspected)
	r.addWorst(test, m, inspected)
	addDrift(test, inspected)
	p.Sections = append(test.Sections, p.Sections...)
	p.Headline = r.headline()
	_, err = write(ctx, p, o.Report)
	return err
}

// headline returns the figure for the rows that were scored.
func (r evaluation) headline() *report.Headline {
	h := &report.Headline{About: "On " + report.Counted64(r.Rows.Used, "labelled row") + "."}
	if r.TrainingRows > 0 {
		h.About = fmt.Sprintf("%s of the %s are of files that the model was trained on, so this does not tell how good it "+
			"is on new rows.", report.Groups(r.TrainingRows), report.Counted64(r.Rows.Used, "labelled row"))
	}
	switch {
	case r.Classes != nil:
		h.Figure = fmt.Sprintf("%.2f%% error", 100*r.Classes.Error)
		h.Range = fmt.Sprintf("95%% interval %.2f to %.2f%%", 100*r.Classes.ErrorLow, 100*r.Classes.ErrorHigh)
	case r.Targets != nil:
		h.Figure = fmt.Sprintf("RMSE %s, R² %s", picture.Number(r.Targets.RMSE, 5), report.R2Text(r.Targets.R2))
		if e := r.Targets.RMSEInterval; e != nil {
			h.Range = "95% interval of the RMSE " + picture.Range(e[0], e[1], 5)
		}
	default:
		h.Figure = "Mean R² " + report.R2Text(r.MeanR2)
	}
	return h
}

// addScores lists the scores, and adds confusions and reliability.
func (r evaluation) addScores(p *report.Page) {
	s := p.Section("Scores on labelled rows")
	s.List(r.scoreTable())
	t := r.TargetTable()
	t.Caption = "Targets; errors are in their units"
	s.List(t)
	if r.Threshold != nil {
		s.Sayf("%s", r.Threshold)
	}
	for _, note := range r.notes() {
		s.Sayf("%s", note)
	}
	r.addConfusion(s)
	if b := r.Probabilities; b != nil {
		h := evaluate.ReliabilityDiagram(b)
		h.Title = "Reliability"
		s.Draw(h, b.Table())
	}
}

// scoreTable lists the scores of all rows.
func (r evaluation) scoreTable() report.Table {
	t := report.Table{Head: []string{"score", "value", "95% interval"}}
	share := func(v float64) string { return fmt.Sprintf("%.2f", 100*v) }
	plain := func(v float64) string { return picture.Number(v, 5) }
	add := func(name string, write func(float64) string, v *float64, ends *[2]float64) {
		switch {
		case v == nil:
		case ends == nil:
			t.Add(name, write(*v), "-")
		default:
			t.Add(name, write(*v), write(ends[0])+" to "+write(ends[1]))
		}
	}
	if c := r.Classes; c != nil {
		add("error, %", share, &c.Error, &[2]float64{c.ErrorLow, c.ErrorHigh})
		add("balanced accuracy, %", share, &c.BalancedAccuracy, &[2]float64{c.BalancedLow, c.BalancedHigh})
		add("macro F1, %", share, &c.MacroF1, nil)
		if k := c.Ranking; k != nil {
			var ends *[2]float64
			if k.AUCLow != nil {
				ends = &[2]float64{*k.AUCLow, *k.AUCHigh}
			}
			add("area under the ROC curve", report.Decimals, k.AUC, ends)
			add("average precision", report.Decimals, k.AveragePrecision, nil)
		}
	}
	if b := r.Probabilities; b != nil {
		add("log loss", report.Decimals, &b.LogLoss, b.LogLossInterval)
		add("Brier score", report.Decimals, &b.Brier, nil)
		add("expected calibration error", report.Decimals, &b.ECE, nil)
	}
	for i := range r.Intervals {
		one, what, width := &r.Intervals[i], "intervals", "mean width"
		if r.Classes != nil {
			what, width = "sets of classes", "mean size"
		}
		what = fmt.Sprintf("%g%% %s", 100*one.Level, what)
		if one.Target != "" {
			what += " of " + report.Word(one.Target, 40)
		}
		add("coverage of "+what+", %", share, &one.Coverage, &one.Interval)
		add(width+" of "+what, plain, &one.Width, nil)
	}
	if one := r.Targets; one != nil {
		add("RMSE, units of the target", plain, &one.RMSE, one.RMSEInterval)
		add("mean absolute error, units of the target", plain, &one.MAE, one.MAEInterval)
		add("90% of errors are within, units of the target", plain, &one.P90, nil)
		add("R²", report.Decimals, one.R2, one.R2Interval)
	}
	return t
}

// addConfusion lists which classes were predicted as which others.
func (r evaluation) addConfusion(s *report.Section) {
	c := r.Classes
	if c == nil {
		return
	}
	t := report.Table{Caption: "Classes", Head: []string{"class", "rows", "predicted", "precision, %", "recall, %",
		"F1, %"}}
	confusion := report.Table{Caption: "Confusions: rows by true class (down) and predicted class (across); shades are " +
		"shares of a true class", Head: []string{"true class"}}
	worst := report.Table{Caption: "Classes that are confused most often", Head: []string{"true class",
		"predicted class", "rows"}}
	for i, x := range c.Classes {
		name := score.DisplayName(x.Class)
		t.Add(name, report.Groups(x.Rows), report.Groups(x.Predicted), fmt.Sprintf("%.2f", 100*x.Precision),
			fmt.Sprintf("%.2f", 100*x.Recall), fmt.Sprintf("%.2f", 100*x.F1))
		if len(c.Confusion) == 0 {
			continue
		}
		line, shades := []string{name}, []float64{0}
		for _, n := range c.Confusion[i] {
			line, shades = append(line, report.Groups(n)), append(shades, float64(n)/float64(max(1, x.Rows)))
		}
		confusion.Head = append(confusion.Head, name)
		confusion.Rows, confusion.Shades = append(confusion.Rows, line), append(confusion.Shades, shades)
	}
	for _, x := range c.Worst {
		worst.Add(score.DisplayName(x.Truth), score.DisplayName(x.Predicted), report.Groups(x.Rows))
	}
	s.List(t)
	s.List(confusion)
	s.List(worst)
}

// addCurves draws ROC and precision-recall curves.
func (r evaluation) addCurves(p *report.Page) {
	if len(r.Curves) == 0 {
		return
	}
	s := p.Section("Ranking")
	if len(r.Curves) > maxCurves {
		s.Sayf("Each class is compared with all others; drawn are the %d classes with the smallest areas of %d.", maxCurves,
			len(r.Curves))
	}
	roc := picture.Lines{Title: "ROC curve", X: "share of other rows (false positive rate)",
		Y: "share of rows of the class (true positive rate)", Square: true}
	pr := picture.Lines{Title: "Precision and recall", X: "recall, share of rows of the class",
		Y:      "precision, share of rows predicted",
		Square: true}
	points := report.Table{Head: []string{"class", "threshold", "false positive rate", "recall", "precision"}}
	for _, c := range r.Curves[:min(len(r.Curves), maxCurves)] {
		name := score.DisplayName(r.Classes.Classes[c.Class].Class)
		a, b := picture.Series{Name: name, Plain: true}, picture.Series{Name: name, Plain: true}
		step := 0.0
		for i, q := range c.Points {
			a.Add(q.FalsePositive, q.TruePositive)
			if i == 0 {
				continue
			}
			b.Add(q.TruePositive, q.Precision)
			if q.TruePositive >= step || i == len(c.Points)-1 {
				points.Add(name, picture.Number(q.Threshold, 4), fmt.Sprintf("%.4f", q.FalsePositive),
					fmt.Sprintf("%.4f", q.TruePositive), fmt.Sprintf("%.4f", q.Precision))
				step = math.Floor(10*q.TruePositive)/10 + 0.1
			}
		}
		roc.Series, pr.Series = append(roc.Series, a), append(pr.Series, b)
	}
	roc.Series = append(roc.Series, picture.Series{Name: "chance", X: []float64{0, 1}, Y: []float64{0, 1}, Plain: true,
		Dashed: true})
	s.Draw(roc, points)
	s.Draw(pr, points)
}

// addSlices lists the scores for the values of columns.
func (r evaluation) addSlices(p *report.Page) {
	s := p.Section("Slices")
	for i := range r.Slices {
		sliced := &r.Slices[i]
		if sliced.Many {
			s.Sayf("Column %s has more than %d values, too many to score each.", sliced.Column, score.MaxSlices)
			continue
		}
		t := report.SliceTable(sliced)
		t.Caption = strings.TrimSpace(sliced.Target + " by " + sliced.Column)
		s.List(t)
	}
}

// addEffects draws the effects of columns on predictions.
func addEffects(p *report.Page, inspected *results.InspectModel) {
	s := p.Section("Effects of columns")
	if inspected.NoEffects != "" {
		s.Sayf("%s", inspected.NoEffects)
		return
	}
	e := *inspected.Effects
	s.Sayf("The effect of a column is the share of the variance of predictions that changes if it alone gets the "+
		"values of other rows, for %s. Effects describe the model, not causes.", report.Counted64(int64(e.Rows), "row"))
	e.Columns = e.Columns[:min(len(e.Columns), maxEffects)]
	s.Draw(apply.EffectsPicture(&e))
	for _, d := range inspected.Dependences {
		s.Draw(dependence(inspected, d))
	}
}

// dependence draws the partial dependence on a column.
func dependence(inspected *results.InspectModel, d results.Dependence) picture.Figure {
	y := "mean prediction"
	switch {
	case inspected.Probabilities != nil:
		y = "mean probability"
	case inspected.Vocabulary != nil:
		y = "mean score"
	}
	column := report.Word(d.Column, 40)
	title, suffix := "Dependence on "+column, ""
	if inspected.Vocabulary != nil || inspected.Outputs > 1 {
		suffix = " of " + d.Outputs[0]
	}
	if !d.Numeric {
		b := picture.Bars{Title: title, X: y + suffix, Y: column}
		for i, text := range d.Values {
			mean, half := d.Mean[0][i], 1.96*d.StdErr[0][i]
			b.AddInterval(report.Word(text, 20), mean, mean-half, mean+half)
		}
		return b
	}
	l := picture.Lines{Title: title, X: "value of " + column, Y: y, Bands: true}
	if len(d.Outputs) == 1 {
		l.Y += suffix
	}
	for o, name := range d.Outputs {
		s := picture.Series{Name: name}
		for i, x := range d.X {
			mean, half := d.Mean[o][i], 1.96*d.StdErr[o][i]
			s.AddInterval(x, mean, mean-half, mean+half)
		}
		l.Series = append(l.Series, s)
	}
	return l
}

// addWorst lists the rows with the largest losses, with the values of the columns that have the largest
// effects.
func (r evaluation) addWorst(p *report.Page, m *models.Model, inspected *results.InspectModel) {
	if len(r.WorstRows) == 0 {
		return
	}
	loss, text := "error, units of the target", func(v float64) string { return picture.Number(v, 5) }
	switch {
	case r.Probabilities != nil:
		loss = "log loss"
	case r.Classes != nil:
		loss = "difference of scores"
	case len(r.ByTarget) > 0:
		loss = "error of " + report.Word(r.ByTarget[0].Target, 30) + ", in its unit"
	}
	if v := m.Manifest.Vocabulary; v != nil {
		text = func(c float64) string { return score.DisplayName(v.Classes[int(c)]) }
	}
	t := report.Table{Head: []string{loss, "label", "prediction"}}
	var names []string
	for _, e := range inspected.Effects.Columns {
		if len(names) < worstColumns && apply.ValueOf(m, r.WorstRows[0].Values, e.Column) != "" {
			names, t.Head = append(names, e.Column), append(t.Head, report.Word(e.Column, 30))
		}
	}
	for _, row := range r.WorstRows {
		line := []string{picture.Number(row.Loss, 4), text(row.Truth), text(row.Predicted)}
		for _, name := range names {
			line = append(line, apply.ValueOf(m, row.Values, name))
		}
		t.Rows = append(t.Rows, line)
	}
	s := p.Section("Worst rows")
	s.Sayf("The rows with the largest losses, with the columns that have the largest effects. Labels may be wrong here.")
	s.List(t)
}

// addDrift lists the columns that have drifted since training.
func addDrift(p *report.Page, inspected *results.InspectModel) {
	d := inspected.Drift
	if d == nil {
		return
	}
	s := p.Section("Drift")
	if d.Schema != nil {
		s.Sayf("%s", d.Schema)
	}
	if len(d.Columns) == 0 {
		s.Sayf("None of %s has certainly moved from the %s of the training run.", report.Counted(d.Compared, "column"),
			report.Counted64(d.Reference, "row"))
		return
	}
	var t report.Table
	report.AddDrift(&t, "", d.Columns)
	s.Sayf("Distances from the training rows are between 0 (the same) and 1. “At least” is certain, with " +
		"confidence 95%%, for all columns at once.")
	s.List(t.Filled())
}
