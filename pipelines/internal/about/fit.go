package about

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/report/page"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// rateOf returns the share of held-out rows that were wrong, in percent. By weight, it has no interval; rows that
// depend on each other are as good as effective ones, and 0 is all of them.
func rateOf(wrong, rows int64, byWeight, effective float64) figure {
	if byWeight > 0 {
		return figure{100 * byWeight, math.NaN(), math.NaN()}
	}
	share := float64(wrong) / float64(max(1, rows))
	if effective > 0 && effective < float64(rows) {
		wrong, rows = int64(math.Round(share*effective)), int64(math.Round(effective))
	}
	low, high := score.Interval(wrong, rows)
	return figure{100 * share, 100 * low, 100 * high}
}

// addSearch lists the trials of the search, and what its metric attends to.
func (a *Model) addSearch(p *page.Page) error {
	s := p.Section("Search for features")
	if data := a.files[tuning.SearchFile]; data != nil {
		var found tuning.Result
		if err := json.Unmarshal(data, &found); err != nil {
			return fmt.Errorf("%s: %w", tuning.SearchFile, err)
		}
		loss := "squared error, share of the variance"
		if found.Classes {
			loss = "log loss"
		}
		t := page.Table{Head: []string{"features", "rows", "features tried", "lambda", loss, "error, %", "cost, 10⁹ steps"}}
		for _, trial := range found.Trials {
			rate := "-"
			if found.Classes {
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
			if trial.String() == found.Chosen.String() && trial.Rows == found.Chosen.Rows {
				t.Marked = len(t.Rows)
			}
		}
		s.Say("%s were tried on %s of the training rows; losses are of other training rows. The chosen loss is the smallest "+
			"of all, hence optimistic. Cost is the number of multiplications of a fit and its "+
			"solves, because times differ from run to run.",
			report.Counted(found.Tried, "candidate"), report.Counted64(int64(found.Pilot), "row"))
		s.List(t)
	}
	if i := a.Stretch; i != nil {
		b := report.StretchPicture(i)
		t := page.Table{Head: []string{"column", "share, %"}}
		for _, c := range i.Columns {
			t.Add(report.Word(c.Name, 60), fmt.Sprintf("%.2f", 100*c.Share))
		}
		chart, err := b.Plot()
		if err != nil {
			return err
		}
		s.Draw(page.Chart{Drawer: chart, Title: b.Title, Height: 2 + 0.5*float64(len(b.Names)), Table: t,
			About: "Bars of the share of squared distances by column"})
	}
	return nil
}

// addPath lists the values of λ with their errors.
func (a *Model) addPath(p *page.Page) {
	if len(a.Learner.Table) == 0 {
		return
	}
	s := p.Section("Regularisation")
	by := "the least held-out squared error"
	if a.Learner.Select != "" {
		by = "the least " + strings.ReplaceAll(a.Learner.Select, "_", " ") + " of held-out rows"
	}
	s.Say("Lambda %g was chosen by %s. Larger values make smoother models.", a.Learner.Lambda, by)
	t := page.Table{Head: []string{"lambda", "", "95% interval", "mean squared error",
		"training mean squared error", "log loss",
		"folds"}}
	of, second, training := intervals{}, intervals{picture.Series{Name: "held out"}}, picture.Series{Name: "training"}
	name, criterion := "", "mean squared error"
	for _, row := range a.Learner.Table {
		if row.Failed != "" {
			t.Add(fmt.Sprintf("%g", row.Lambda), "-", row.Failed)
			continue
		}
		f, what, format := a.heldOutFigure(row)
		name = what
		value, interval := f.text(format)
		loss := "-"
		if row.HeldOutLogLoss > 0 {
			loss = fmt.Sprintf("%.5f", row.HeldOutLogLoss)
		}
		t.Add(fmt.Sprintf("%g", row.Lambda), value, interval, fmt.Sprintf("%.6g", row.MSE),
			fmt.Sprintf("%.6g", row.Train), loss,
			fmt.Sprint(row.Folds))
		if row.Lambda == a.Learner.Lambda {
			t.Marked = len(t.Rows)
		}
		if row.Lambda <= 0 || row.MSE == 0 {
			continue
		}
		of.add(row.Lambda, f)
		second.add(row.Lambda, figure{row.MSE, row.MSE - halfWidth(row), row.MSE + halfWidth(row)})
		training.X, training.Y = append(training.X, row.Lambda), append(training.Y, row.Train)
	}
	t.Head[1] = name
	if len(a.Learner.RuledOut) > 0 {
		t.More = Numbers(a.Learner.RuledOut) + ", which were ruled out early"
	}
	s.List(t)
	if len(of.X) < 2 {
		return
	}
	for _, l := range []picture.Lines{
		{Title: "Held-out figure by lambda", Y: name, Series: []picture.Series{of.Series}},
		{Title: "Squared errors by lambda", Y: criterion, Series: []picture.Series{second.Series, training}},
	} {
		l.X, l.LogX = "lambda, on the mean loss", true
		if chart, err := l.Plot(); err == nil {
			s.Draw(page.Chart{Drawer: chart, Title: l.Title, About: "Lines of errors by lambda", Table: t})
		}
	}
}

// addRounds shows the rounds of an iterative learner.
func (a *Model) addRounds(p *page.Page) error {
	c := a.Learner.Log
	if c == nil {
		return nil
	}
	s := p.Section("Training by rounds")
	s.Say("%s on %s with %s: %s after %s.", capital(a.Learner.Kind), c.Loss, report.Counted(c.Partitions, "partition"),
		c.Ended,
		report.Counted(c.Rounds, "round"))
	if len(c.Path) > 0 {
		s.List(a.trials(c.Path))
	}
	var history []iterative.Report
	if data := a.files[CurveFile]; data != nil {
		if err := json.Unmarshal(data, &history); err != nil {
			return fmt.Errorf("%s: %w", CurveFile, err)
		}
	}
	if len(history) < 2 {
		return nil
	}
	t := page.Table{Head: []string{"round", "objective", "duality gap", "training error, %", "held-out loss",
		"held-out error, %"}}
	for _, r := range history {
		gap, loss, wrong := "-", "-", "-"
		if g, known := r.Gap(); known {
			gap = fmt.Sprintf("%.4g", g)
		}
		if r.HeldOutRows > 0 {
			loss = fmt.Sprintf("%.5g", r.HeldOutLoss)
			wrong = fmt.Sprintf("%.2f", 100*float64(r.HeldOutErrors)/float64(r.HeldOutRows))
		}
		t.Add(fmt.Sprint(r.Round), fmt.Sprintf("%.6g", r.Objective), gap,
			fmt.Sprintf("%.2f", 100*float64(r.Errors)/float64(max(1, r.Rows))), loss, wrong)
	}
	lines := LearningCurve(history)
	chart, err := lines.Plot()
	if err == nil {
		s.Draw(page.Chart{Drawer: chart, Title: lines.Title, About: "Lines of losses and errors by round", Table: t})
	}
	return err
}

// trials lists the values of λ that an iterative learner tried.
func (a *Model) trials(tried []models.Trial) page.Table {
	t := page.Table{Head: []string{"lambda", "rounds", "objective", "held-out loss", "held-out error, %", "95% interval"}}
	for _, r := range tried {
		rate, interval := "-", "-"
		if a.Task == models.Classification && r.HeldOutRows > 0 {
			rate, interval = rateOf(r.HeldOutErrors, r.HeldOutRows, r.HeldOutError, 0).text("%.2f")
			if split := a.Learner.Split; split != nil && split.By == profile.ByGroup {
				interval = "-" // errors are not counted by groups
			}
		}
		t.Add(fmt.Sprintf("%g", r.Lambda), fmt.Sprint(r.Rounds), fmt.Sprintf("%.6g", r.Objective),
			fmt.Sprintf("%.5g", r.HeldOutLoss), rate, interval)
		if r.Lambda == a.Learner.Lambda {
			t.Marked = len(t.Rows)
		}
	}
	return t
}

// addOrigin says of what the model was made, and how to make it again.
func (a *Model) addOrigin(p *page.Page) {
	s := p.Section("Origin")
	t := page.Table{Head: []string{"item", "value"}}
	t.Add("program", "bochner "+a.Program)
	t.Add("fingerprint of the rows", a.Fingerprint)
	if w, has := a.File(models.WeightsFile); has {
		t.Add("SHA-256 of the weights", w.SHA256)
	}
	t.Add("SHA-256 of the manifest", a.SHA256)
	l := a.Lineage
	if l == nil {
		l = &registry.Lineage{}
	}
	if l.Recipe != "" {
		t.Add("recipe of", l.Recipe)
	}
	if l.RecipeSHA256 != "" {
		t.Add("SHA-256 of the recipe", l.RecipeSHA256)
	}
	for _, of := range []struct {
		name string
		*registry.Parent
	}{{"weights began with", l.Init}, {"learned features of", l.Features}} {
		if of.Parent != nil {
			t.Add(of.name, of.Name+", "+of.SHA256)
		}
	}
	if l.HeldOut != nil {
		t.Add("judged by", l.HeldOut.Name)
	}
	if n := len(l.Forgotten); n > 0 {
		t.Add("rows that were subtracted", report.Counted(n, "sum"))
	}
	s.List(t)
	files := page.Table{Caption: "Files of the training rows", Head: []string{"part", "file", "bytes", "version"}}
	for _, part := range l.Parts {
		for _, f := range part.Files {
			files.Add(part.Name, path.Base(f.Name), report.Groups(f.Bytes), f.Version)
		}
	}
	if len(files.Rows) > 0 {
		s.List(files)
	}
	switch {
	case l.Command != "":
		s.Say("This command, where these files are, makes a model with the same weights:")
		if strings.Contains(l.Command, "time=") {
			s.Say("A time limit was set, so the choices also depend on the machine.")
		}
		s.Add(page.Part{Code: l.Command})
	default:
		s.Say("The model was not made by one command on files of rows, so no single command makes it again.")
	}
}

// intervals is a series of figures.
type intervals struct{ picture.Series }

// add adds a figure. One without an interval ends where it is.
func (s *intervals) add(x float64, f figure) {
	if f.Low != f.Low {
		f.Low, f.High = f.Value, f.Value
	}
	s.X, s.Y, s.Low, s.High = append(s.X, x), append(s.Y, f.Value), append(s.Low, f.Low), append(s.High, f.High)
}
