// Package pages writes reports on models, scores and comparisons for people.
package pages

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/about"
	"github.com/bochner-ml/bochner/pipelines/internal/apply"
	"github.com/bochner-ml/bochner/pipelines/internal/evaluate"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/report/page"
)

// Limits of what a report shows of an evaluation.
const (
	worstColumns = 6 // of each of them
	mostCurves   = 5 // in a chart
)

// scored is a result with its page.
type scored struct{ *evaluate.EvaluateResult }

// Evaluate is evaluate.Evaluate, and writes the report that its options ask for.
func Evaluate(ctx context.Context, o evaluate.EvaluateOptions) (*evaluate.EvaluateResult, error) {
	r, err := evaluate.Evaluate(ctx, o)
	if o.Report == "" || !judged(err) {
		return r, err
	}
	if failed := (scored{r}).writePage(ctx, o); failed != nil {
		return nil, failed
	}
	return r, err
}

// judged tells that a job has a result, which a gate may have refused.
func judged(err error) bool {
	_, gated := errors.AsType[*exit.GateError](err)
	return err == nil || gated
}

// writePage writes the report on the model and its scores.
func (r scored) writePage(ctx context.Context, o evaluate.EvaluateOptions) error {
	m, err := models.LoadURI(ctx, r.Model)
	if err != nil {
		return err
	}
	a, err := about.Read(ctx, r.Model, m)
	if err != nil {
		return err
	}
	p, err := a.Page()
	if err != nil {
		return err
	}
	o.Job.Log = nil
	found, err := apply.InspectEffects(ctx, r.Model, apply.InspectOptions{Data: o.Data, MaxBadFraction: o.MaxBadFraction,
		Job: o.Job, Whole: true})
	if err != nil {
		return err
	}
	test := &page.Page{}
	r.addScores(test)
	r.addCurves(test)
	r.addSlices(test)
	addEffects(test, found)
	r.addWorst(test, m, found)
	addDrift(test, found)
	p.Sections = append(test.Sections, p.Sections...)
	p.Headline = r.headline()
	data, err := p.HTML()
	if err != nil {
		return err
	}
	return storage.WriteFile(ctx, o.Report, data)
}

// headline is the figure of the rows that were scored.
func (r scored) headline() *page.Headline {
	h := &page.Headline{About: "On " + report.Counted64(r.Rows.Used, "labelled row") + "."}
	if r.TrainingRows > 0 {
		h.About = fmt.Sprintf("%s of the %s are of files that the model was trained on, so this does not tell how good it is "+
			"on new rows.", report.Groups(r.TrainingRows), report.Counted64(r.Rows.Used, "labelled row"))
	}
	switch {
	case r.Classes != nil:
		h.Figure = fmt.Sprintf("%.2f%% error", 100*r.Classes.Error)
		h.Range = fmt.Sprintf("95%% interval %.2f to %.2f%%", 100*r.Classes.ErrorLow, 100*r.Classes.ErrorHigh)
	case r.Targets != nil:
		h.Figure = fmt.Sprintf("RMSE %.6g, R² %s", r.Targets.RMSE, evaluate.R2Text(r.Targets.R2))
		if e := r.Targets.RMSEInterval; e != nil {
			h.Range = fmt.Sprintf("95%% interval of the RMSE %.6g to %.6g", e[0], e[1])
		}
	default:
		h.Figure = "mean R² " + evaluate.R2Text(r.MeanR2)
	}
	return h
}

// addScores lists the scores, and draws confusions and reliability.
func (r scored) addScores(p *page.Page) {
	s := p.Section("Scores on labelled rows")
	t := page.Table{Head: []string{"score", "value", "95% interval"}}
	add := func(name, format string, v *float64, ends ...*float64) {
		if v == nil {
			return
		}
		interval := "-"
		if len(ends) == 2 && ends[0] != nil {
			interval = fmt.Sprintf(format+" to "+format, *ends[0], *ends[1])
		}
		t.Add(name, fmt.Sprintf(format, *v), interval)
	}
	pair := func(e *[2]float64) []*float64 {
		if e == nil {
			return nil
		}
		return []*float64{&e[0], &e[1]}
	}
	if c := r.Classes; c != nil {
		add("error, share of rows", "%.4f", &c.Error, &c.ErrorLow, &c.ErrorHigh)
		add("balanced accuracy", "%.4f", &c.BalancedAccuracy, &c.BalancedLow, &c.BalancedHigh)
		add("macro F1", "%.4f", &c.MacroF1)
		if k := c.Ranking; k != nil {
			add("area under the ROC curve", "%.4f", k.AUC, k.AUCLow, k.AUCHigh)
			add("average precision", "%.4f", k.AveragePrecision)
		}
	}
	if b := r.Probabilities; b != nil {
		add("log loss", "%.4f", &b.LogLoss, pair(b.LogLossInterval)...)
		add("Brier score", "%.4f", &b.Brier)
		add("expected calibration error", "%.4f", &b.ECE)
	}
	for i, one := range r.Intervals {
		name, width := fmt.Sprintf("coverage of %g%% intervals", 100*one.Level), "mean width of these"
		if r.Classes != nil {
			name, width = fmt.Sprintf("coverage of %g%% sets", 100*one.Level), "mean size of these"
		}
		if one.Target != "" {
			name += " of " + report.Word(one.Target, 40)
		}
		add(name, "%.4f", &r.Intervals[i].Coverage, &one.Interval[0], &one.Interval[1])
		add(width, "%.4g", &r.Intervals[i].Width)
	}
	for i, one := range append([]evaluate.TargetReport{}, r.ByTarget...) {
		name := report.Word(one.Target, 40) + ": "
		add(name+"RMSE", "%.6g", &r.ByTarget[i].RMSE, pair(one.RMSEInterval)...)
		add(name+"R²", "%.4f", one.R2, pair(one.R2Interval)...)
	}
	if one := r.Targets; one != nil {
		add("RMSE, units of the target", "%.6g", &one.RMSE, pair(one.RMSEInterval)...)
		add("mean absolute error, units of the target", "%.6g", &one.MAE)
		add("90% of errors are within, units of the target", "%.6g", &one.P90)
		add("R²", "%.4f", one.R2, pair(one.R2Interval)...)
	}
	s.List(t)
	if r.Threshold != nil {
		s.Say("%s", r.Threshold)
	}
	r.addConfusion(s)
	if b := r.Probabilities; b != nil {
		h := b.Diagram()
		t := page.Table{Head: []string{"probability", "rows", "mean probability", "share right", "95% interval"}}
		for _, b := range b.Bins {
			if b.Rows > 0 {
				t.Add(fmt.Sprintf("%g to %g", b.Low, b.High), report.Groups(b.Rows), fmt.Sprintf("%.4f", b.Confidence),
					fmt.Sprintf("%.4f", b.Accuracy), fmt.Sprintf("%.4f to %.4f", b.AccuracyLow, b.AccuracyHigh))
			}
		}
		h.Title, h.X = "Reliability", "probability of the predicted class (foot: rows)"
		if chart, err := h.Plot(); err == nil {
			s.Draw(page.Chart{Drawer: chart, Title: h.Title, Height: 7.5, Table: t,
				About: "Bars of the share of right predictions by their probability"})
		}
	}
}

// addConfusion lists what was taken for what.
func (r scored) addConfusion(s *page.Section) {
	c := r.Classes
	if c == nil {
		return
	}
	t := page.Table{Caption: "Classes", Head: []string{"class", "rows", "predicted", "precision", "recall", "F1"}}
	for _, x := range c.Classes {
		t.Add(score.Name(x.Class), report.Groups(x.Rows), report.Groups(x.Predicted), fmt.Sprintf("%.4f", x.Precision),
			fmt.Sprintf("%.4f", x.Recall), fmt.Sprintf("%.4f", x.F1))
	}
	s.List(t)
	switch {
	case len(c.Confusion) > 0:
		t := page.Table{Caption: "Confusions: rows by true class (down) and predicted class (across); shades are shares of a " +
			"true class",
			Head: []string{"true class"}}
		for _, x := range c.Classes {
			t.Head = append(t.Head, score.Name(x.Class))
		}
		for i, row := range c.Confusion {
			line, shades := []string{score.Name(c.Classes[i].Class)}, []float64{0}
			for _, n := range row {
				line = append(line, report.Groups(n))
				shades = append(shades, float64(n)/float64(max(1, c.Classes[i].Rows)))
			}
			t.Rows, t.Shades = append(t.Rows, line), append(t.Shades, shades)
		}
		s.List(t)
	case len(c.Worst) > 0:
		t := page.Table{Caption: "Classes that are confused most often",
			Head: []string{"true class", "predicted class", "rows"}}
		for _, x := range c.Worst {
			t.Add(score.Name(x.Truth), score.Name(x.Predicted), report.Groups(x.Rows))
		}
		s.List(t)
	}
}

// addCurves draws ROC and precision-recall curves.
func (r scored) addCurves(p *page.Page) {
	if len(r.Curves) == 0 {
		return
	}
	s := p.Section("Ranking")
	if len(r.Curves) > mostCurves {
		s.Say("Each class is compared with all others; drawn are the %d classes with the smallest areas of %d.", mostCurves,
			len(r.Curves))
	}
	roc := picture.Lines{Title: "ROC curve", X: "share of other rows (false positive rate)",
		Y: "share of rows of the class (true positive rate)", Square: true}
	pr := picture.Lines{Title: "Precision and recall", X: "recall", Y: "precision", Square: true}
	points := page.Table{Head: []string{"class", "threshold", "false positive rate", "recall", "precision"}}
	for _, c := range r.Curves[:min(len(r.Curves), mostCurves)] {
		name := score.Name(r.Classes.Classes[c.Class].Class)
		a, b := picture.Series{Name: name, Plain: true}, picture.Series{Name: name, Plain: true}
		step := 0.0
		for i, q := range c.Points {
			if a.X, a.Y = append(a.X, q.FalsePositive), append(a.Y, q.TruePositive); i > 0 {
				b.X, b.Y = append(b.X, q.TruePositive), append(b.Y, q.Precision)
			}
			if i > 0 && (q.TruePositive >= step || i == len(c.Points)-1) {
				points.Add(name, fmt.Sprintf("%.4g", q.Threshold), fmt.Sprintf("%.4f", q.FalsePositive),
					fmt.Sprintf("%.4f", q.TruePositive), fmt.Sprintf("%.4f", q.Precision))
				step = math.Floor(10*q.TruePositive)/10 + 0.1
			}
		}
		roc.Series, pr.Series = append(roc.Series, a), append(pr.Series, b)
	}
	roc.Series = append(roc.Series, picture.Series{Name: "chance", X: []float64{0, 1}, Y: []float64{0, 1}, Plain: true,
		Dashed: true})
	for _, l := range []picture.Lines{roc, pr} {
		if chart, err := l.Plot(); err == nil {
			s.Draw(page.Chart{Drawer: chart, Title: l.Title, Height: 8, Table: points,
				About: "Curves of " + l.Y + " by " + l.X})
		}
	}
}

// addSlices lists the scores by the values of columns.
func (r scored) addSlices(p *page.Page) {
	if len(r.Slices) == 0 {
		return
	}
	s := p.Section("Slices")
	for i := range r.Slices {
		of := &r.Slices[i]
		if of.Many {
			s.Say("Column %s has more than %d values, too many to score each.", of.Column, score.MaxSlices)
			continue
		}
		lines := evaluate.SliceTable(of.Column, evaluate.SliceRows(of))
		s.List(page.Table{Caption: strings.TrimSpace(of.Target + " by " + of.Column), Head: lines[0], Rows: lines[1:]})
	}
}

// addEffects draws what predictions depend on.
func addEffects(p *page.Page, found *apply.ModelReport) {
	s := p.Section("Effects of columns")
	if found.NoEffects != "" {
		s.Say("%s", found.NoEffects)
		return
	}
	e := found.Effects
	s.Say("The effect of a column is the share of the variance of predictions that changes if it alone gets the values of "+
		"other rows, for %s. Effects describe the model, not causes.", report.Counted64(int64(e.Rows), "row"))
	b := report.EffectsPicture(e)
	n := min(len(b.Names), 20)
	b.Names, b.Values, b.Low, b.High = b.Names[:n], b.Values[:n], b.Low[:n], b.High[:n]
	t := page.Table{Head: []string{"column", "effect, %", "± 95%"}}
	for _, c := range e.Columns {
		t.Add(report.Word(c.Column, 60), fmt.Sprintf("%.2f", 100*c.Share), fmt.Sprintf("%.2f", 100*1.96*c.StdErr))
	}
	b.Title, b.X = "Effects on predictions", "share of the variance, %, with 95% intervals"
	charts := []page.Chart{}
	if chart, err := b.Plot(); err == nil {
		charts = append(charts, page.Chart{Drawer: chart, Title: b.Title, Height: 2 + 0.5*float64(len(b.Names)), Table: t,
			About: "Bars of the effect of each column, with intervals"})
	}
	for _, d := range found.Dependences {
		if chart, ok := dependenceChart(found, d); ok {
			charts = append(charts, chart)
		}
	}
	s.Draw(charts...)
}

// dependenceChart draws the partial dependence on a column.
func dependenceChart(found *apply.ModelReport, d report.Dependence) (page.Chart, bool) {
	y := "mean prediction"
	switch {
	case found.Probabilities != nil:
		y = "mean probability of " + d.Outputs[0]
	case found.Vocabulary != nil:
		y = "mean score of " + d.Outputs[0]
	}
	if len(d.Outputs) > 1 {
		y = strings.TrimSuffix(y, " of "+d.Outputs[0])
	}
	title := "Dependence on " + report.Word(d.Column, 40)
	t := page.Table{Head: []string{report.Word(d.Column, 40)}}
	for _, o := range d.Outputs {
		t.Head = append(t.Head, o, "± 95%")
	}
	for i, text := range d.Values {
		line := []string{text}
		for o := range d.Outputs {
			line = append(line, fmt.Sprintf("%.5g", d.Mean[o][i]), fmt.Sprintf("%.2g", 1.96*d.StdErr[o][i]))
		}
		t.Rows = append(t.Rows, line)
	}
	c := page.Chart{Title: title, Table: t, About: "Mean predictions for rows that all get the same value, with intervals"}
	if !d.Numeric {
		b := picture.Bars{Title: title, X: y + ", with 95% intervals", Values: d.Mean[0]}
		if len(d.Outputs) > 1 {
			b.X = y + " of " + d.Outputs[0] + ", with 95% intervals"
		}
		for i, text := range d.Values {
			half := 1.96 * d.StdErr[0][i]
			b.Names = append(b.Names, report.Word(text, 20))
			b.Low, b.High = append(b.Low, b.Values[i]-half), append(b.High, b.Values[i]+half)
		}
		chart, err := b.Plot()
		c.Drawer, c.Height = chart, 2+0.5*float64(len(b.Names))
		return c, err == nil
	}
	l := picture.Lines{Title: title, X: "value of " + report.Word(d.Column, 30), Y: y + ", with 95% intervals", Bands: true}
	for o, name := range d.Outputs {
		s := picture.Series{Name: name, X: d.X, Y: d.Mean[o]}
		if len(d.Outputs) > 1 { // bands would hide each other
			l.Y = y
			l.Series = append(l.Series, s)
			continue
		}
		for i, e := range d.StdErr[o] {
			s.Low, s.High = append(s.Low, d.Mean[o][i]-1.96*e), append(s.High, d.Mean[o][i]+1.96*e)
		}
		l.Series = append(l.Series, s)
	}
	chart, err := l.Plot()
	c.Drawer = chart
	return c, err == nil
}

// addWorst lists the rows with the largest losses, with the values of the columns that matter most.
func (r scored) addWorst(p *page.Page, m *models.Model, found *apply.ModelReport) {
	if len(r.WorstRows) == 0 {
		return
	}
	loss, text := "error, units of the target", func(v float64) string { return fmt.Sprintf("%.6g", v) }
	switch {
	case r.Probabilities != nil:
		loss = "log loss"
	case r.Classes != nil:
		loss = "difference of scores"
	}
	if v := m.Manifest.Vocabulary; v != nil {
		text = func(c float64) string { return score.Name(v.Classes[int(c)]) }
	}
	t := page.Table{Head: []string{loss, "label", "prediction"}}
	var names []string
	for _, e := range found.Effects.Columns {
		if len(names) < worstColumns && report.ValueOf(m, r.WorstRows[0].Values, e.Column) != "" {
			names, t.Head = append(names, e.Column), append(t.Head, report.Word(e.Column, 30))
		}
	}
	for _, row := range r.WorstRows {
		line := []string{fmt.Sprintf("%.6g", row.Loss), text(row.Truth), text(row.Said)}
		for _, name := range names {
			line = append(line, report.ValueOf(m, row.Values, name))
		}
		t.Rows = append(t.Rows, line)
	}
	s := p.Section("Worst rows")
	s.Say("The rows with the largest losses, with the columns that have the largest effects. Labels may be wrong here.")
	s.List(t)
}

// addDrift lists the columns that have moved since the training.
func addDrift(p *page.Page, found *apply.ModelReport) {
	d := found.Drift
	if d == nil {
		return
	}
	s := p.Section("Drift")
	if d.Schema != nil {
		s.Say("%s", d.Schema)
	}
	if len(d.Columns) == 0 {
		s.Say("None of %s has certainly moved from the %s of the training run.", report.Counted(d.Compared, "column"),
			report.Counted64(d.Reference, "row"))
		return
	}
	t := page.Table{Head: []string{"column", "distance", "at least", "what"}}
	for _, c := range d.Columns {
		t.Add(report.Word(c.Name, 60), fmt.Sprintf("%.3f", c.Distance), fmt.Sprintf("%.3f", c.AtLeast), c.Detail)
	}
	s.Say("Distances from the training rows are between 0 (the same) and 1. “At least” is certain, with confidence 95%%, " +
		"for all columns at once.")
	s.List(t)
}
