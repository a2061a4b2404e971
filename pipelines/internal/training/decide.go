package training

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// decider sets the decision of a fit by the first fold, which was not used to fit the weights that score it.
type decider struct {
	training     *Training
	fit          *Fit
	folds        int       // that assign rows; 0 if no rows are held out
	classWeights []float64 // in the loss; nil if all are 1
	// From sums: the scores of classes in the first fold, and the fits without it for each λ that was tried.
	discriminants []ridge.Discriminant
	trials        weightsFile
	kept          *score.HeldOutScores // held-out rows with scores by all fits, for probabilities; may be nil
	whyNotKept    string               // why kept is nil
	// Curves that were fitted to held-out rows and to each half of them; nil without curves, or if nothing can judge
	// curves because one half has no rows.
	halves *scoring.HeldOutProbabilities
	groups int64 // number of groups of dependent held-out rows; 0 if rows are independent
}

// weightsFile is a file with weights that were fitted without the held-out rows. The zero value is no file.
type weightsFile struct{ name, sha256 string }

// decide fits the curves of probabilities, the threshold and the intervals. held has the weights of the fit
// without the first fold.
func (d *decider) decide(ctx context.Context, held weightsFile) error {
	if d.training.spec.CalibrationRequested() {
		if err := d.calibrate(ctx, held); err != nil {
			return err
		}
	}
	if d.training.spec.ChoosesThreshold() {
		if err := d.chooseThreshold(ctx, held); err != nil {
			return err
		}
	}
	return d.addIntervals(ctx, held)
}

// scoring describes, for a pass, the first fold and the number of fits that score it.
func (d *decider) scoring(w weightsFile, fits int) scoring.HeldOut {
	p := d.training.Prepared
	return scoring.HeldOut{Folds: d.folds, Recipe: p.Recipe.Sealed, Outputs: p.Outputs(), Fits: fits, Weights: w.name,
		SHA256: w.sha256, Grid: profile.NewWeightGrid(p.Weights(), nil, nil)} // classes have no weights in scores
}

// futureManifest returns a manifest with the task, classes and targets of the model to come. Its Probabilities
// are not nil if it will have probabilities.
func (t *Training) futureManifest() *models.Manifest {
	p := t.Prepared
	m := &models.Manifest{Task: models.Regression, Outputs: p.Outputs(),
		Input: models.Input{Label: p.Data.Label, Labels: p.Data.Targets}}
	if p.Target.Classes != nil {
		m.Task, m.Vocabulary, m.Positive = models.Classification, p.Target.Classes, t.positive
	}
	if will, _ := t.willCalibrate(); will {
		m.Probabilities = new(models.Probabilities)
	} else {
		m.Probabilities = t.lossProbabilities()
	}
	return m
}

// chooseThreshold chooses the threshold by held-out scores, in a pass over the data.
func (d *decider) chooseThreshold(ctx context.Context, held weightsFile) error {
	t := d.training
	t.Job.Progress.Phase("choosing the threshold", t.Prepared.Counts.Used)
	defer t.Job.Progress.Done()
	positive := t.futureManifest().PositiveClass()
	pass := &scoring.Threshold{Pass: t.Pass(d.folds), HeldOut: d.scoring(held, 0), Probabilities: d.byHalf(),
		Positive: positive}
	var counts score.ThresholdCounts
	if _, err := t.Job.ScanSum(ctx, pass, "threshold", &counts); err != nil {
		return err
	}
	by := score.Criterion(t.spec.Threshold)
	usual, scale := float32(0), models.OfScore
	if d.fit.probabilities != nil {
		usual, scale = d.fit.probabilities.DefaultThreshold(positive), models.OfProbability
	}
	chosen, err := counts.Choose(by, usual)
	if err != nil {
		return &exit.DataError{Err: err}
	}
	d.fit.threshold = &models.Threshold{Value: chosen.Value, Of: scale, By: by, Rows: counts.Rows, Folds: d.folds}
	if chosen.Judged {
		d.fit.threshold.Expected, d.fit.threshold.Plain = &chosen.Expected, &chosen.Plain
	}
	return nil
}

// byHalf returns the probabilities by which rows of each half are judged, nil if the model has none. Without curves, or
// without halves, they are the model's.
func (d *decider) byHalf() *scoring.HeldOutProbabilities {
	p := d.fit.probabilities
	if p == nil || d.halves != nil {
		return d.halves
	}
	return &scoring.HeldOutProbabilities{All: p, Half: [2]*models.Probabilities{p, p}}
}

// givenThreshold returns the threshold that the user gives as a number, for a model with that manifest. It returns
// nil if the user gives none.
func (t *Training) givenThreshold(m *models.Manifest) (*models.Threshold, error) {
	value, err := strconv.ParseFloat(t.spec.Threshold, 64)
	if err != nil {
		return nil, nil
	}
	given, err := models.NewThreshold(value, m)
	if err != nil {
		return nil, &exit.UsageError{Err: fmt.Errorf("--threshold: %w", err)}
	}
	return given, nil
}

// calibrate fits the curves of probabilities to held-out scores, in a pass over the data.
func (d *decider) calibrate(ctx context.Context, held weightsFile) error {
	t := d.training
	t.Job.Progress.Phase("calibrating", t.Prepared.Counts.Used)
	defer t.Job.Progress.Done()
	pass := &scoring.Calibration{Pass: t.Pass(d.folds), HeldOut: d.scoring(held, 0)}
	var counts score.HalvedCounts
	if _, err := t.Job.ScanSum(ctx, pass, "calibrate", &counts); err != nil {
		return err
	}
	return d.fitCurves(&counts)
}

// stepRows is the number of held-out rows of each class that isotonic step functions need.
const stepRows = 1000

// leastRows is the number of held-out rows of each class, and of all other classes together, that a model needs
// to have probabilities, unless the user asked for them. With fewer rows the curve of a class may be decreasing,
// and then predictions of the class would be wrong.
const leastRows = 5

// tooFew describes a class with too few held-out rows for curves that the user did not ask for; "" if there is
// none.
func (d *decider) tooFew(c *score.CalibrationCounts) string {
	rows := classRows(c)
	for i, n := range rows {
		if least := min(n, float64(c.Rows())-n); least < leastRows {
			advice := "use more rows"
			if least > 0 { // a class without rows never has a curve
				advice += ", or --calibrate platt"
			}
			return fmt.Sprintf("%.4g of the %d held-out rows are of class %.80q; %d of each class and of others are needed: %s",
				n, c.Rows(), d.training.classes()[i], leastRows, advice)
		}
	}
	return ""
}

// classRows returns the number of rows of each class. With weights, it divides the rows among the classes in
// proportion to the weights of their rows.
func classRows(c *score.CalibrationCounts) (rows []float64) {
	var all int64
	for _, n := range c.ClassRows() {
		all += n
	}
	for _, n := range c.ClassRows() {
		rows = append(rows, float64(n)*float64(c.Rows())/float64(max(1, all)))
	}
	return rows
}

// willCalibrate reports whether scores will be calibrated. why is the reason if auto decides that they will
// not.
func (t *Training) willCalibrate() (will bool, why string) {
	if t.Prepared.Target.Classes == nil {
		return false, ""
	}
	return t.spec.WillCalibrate(t.Prepared.Outputs(), t.Prepared.Recipe.Dim)
}

// noteProbabilities adds a note on why a classifier has no probabilities, unless why is "".
func (t *Training) noteProbabilities(why string) {
	if why != "" {
		t.AddNotef("the model has scores, but no probabilities: %s", why)
	}
}

// judgeProbabilities scores the probabilities for each λ of the table on the kept rows. Each half of the rows is
// scored by curves that are fitted to the other half. It sets the errors in the table to the errors of the resulting
// decisions. It returns the log loss for each row of the table, 0 for rows without.
func (d *decider) judgeProbabilities() (losses []float64) {
	table, trial, kept := d.fit.Learner.Table, 0, d.kept
	rows, all := kept.Rows()
	losses = make([]float64, len(table))
	for i := range table {
		row := &table[i]
		if row.Failed != "" {
			continue
		}
		v := kept.Evaluate(trial, d.keptMethod(kept.Counts(trial)), d.classWeights)
		losses[i] = v.LogLoss
		row.HeldOutErrors, row.HeldOutRows = v.Errors, rows
		if row.HeldOutError > 0 {
			row.HeldOutError = v.Error
		}
		row.HeldOutEffective *= float64(rows) / float64(max(1, all))
		if !math.IsInf(v.LogLoss, 1) {
			row.HeldOutLogLoss = v.LogLoss
		}
		trial++
	}
	return losses
}

// method returns the calibration method for these scores.
func (d *decider) method(c *score.CalibrationCounts) score.Method {
	switch {
	case d.training.spec.CalibrationRequested():
		return d.training.spec.Calibrate
	case slices.Min(classRows(c)) < stepRows:
		return score.Platt
	}
	return score.Isotonic
}

// fitProbabilities fits the curves for the chosen λ to the kept rows, unless calibrate does it in a pass.
func (d *decider) fitProbabilities() error {
	t := d.training
	will, why := t.willCalibrate()
	if !will || t.spec.CalibrationRequested() {
		t.noteProbabilities(why)
		return nil
	}
	kept := d.kept
	if kept == nil {
		t.noteProbabilities(cmp.Or(d.whyNotKept, "no rows are in the first fold"))
		return nil
	}
	_, trial := d.fit.tried()
	counts := kept.Counts(trial)
	method := d.keptMethod(counts)
	return d.takeCurves(counts.Rows(), kept.Divided(), func(inHalf func(int) bool) *score.Calibration {
		return kept.Fit(trial, method, inHalf)
	})
}

// keptMethod returns the calibration method for scores of kept rows. Unless the user asked for a method, it is
// score.SharedPlatt instead of score.Platt for more than two classes: with few rows, separate curves would move the
// decisions between classes more than the rows justify. Class weights move scores of one class against the others,
// which only separate curves undo.
func (d *decider) keptMethod(c *score.CalibrationCounts) score.Method {
	if m := d.method(c); m != score.Platt || d.training.spec.CalibrationRequested() || d.classWeights != nil ||
		d.training.Prepared.Outputs() == 2 {
		return m
	}
	return score.SharedPlatt
}

// fitCurves fits the curves to held-out scores. If these rows are too few, the model has no probabilities, unless the
// user asked for them.
func (d *decider) fitCurves(halved *score.HalvedCounts) error {
	t, counts := d.training, halved.Both()
	if !t.spec.CalibrationRequested() {
		if why := d.tooFew(counts); why != "" {
			t.noteProbabilities(why)
			return nil
		}
	} else if err := score.CheckCalibration(counts.ClassRows(), t.classes()); err != nil {
		return &exit.DataError{Err: err}
	}
	method := d.method(counts)
	err := d.takeCurves(counts.Rows(), halved.Divided(), func(inHalf func(int) bool) *score.Calibration {
		switch {
		case inHalf == nil:
			return counts.Fit(method)
		case inHalf(0):
			return halved[0].Fit(method)
		}
		return halved[1].Fit(method)
	})
	if err == nil && method == score.Platt && t.spec.CalibrationRequested() {
		d.fit.shapes = ridge.CurveShapes(d.fit.probabilities.Curves, d.discriminants)
	}
	return err
}

// takeCurves sets the probabilities of the model to curves that fit fits to all held-out rows, whose number is rows. If
// they can be divided, it also sets the curves that judge each half.
func (d *decider) takeCurves(rows int64, divided bool, fit func(inHalf func(int) bool) *score.Calibration) error {
	curves := func(inHalf func(int) bool) *models.Probabilities {
		c := fit(inHalf)
		return &models.Probabilities{Kind: c.Method, Curves: c.Curves, Rows: rows, Folds: d.folds, Weights: d.classWeights}
	}
	p := curves(nil)
	c := score.Calibration{Method: p.Kind, Curves: p.Curves}
	if err := c.Validate(); err != nil {
		return &exit.DataError{Err: err}
	}
	d.fit.probabilities, d.halves = p, nil
	if !divided {
		d.training.AddNotef("%s", d.undivided())
		return nil
	}
	d.halves = &scoring.HeldOutProbabilities{All: p}
	for h := range d.halves.Half {
		d.halves.Half[h] = curves(func(half int) bool { return half == h })
	}
	return nil
}

// undivided returns a note for held-out rows that are not divided into two halves that judge each other's curves.
func (d *decider) undivided() string {
	why := "there are too few"
	if r := d.training.Prepared.Rule; r != nil {
		why = map[profile.FoldBy]string{profile.ByGroup: "they are of too few groups", profile.ByTime: "they have one time",
			profile.ByFold: "rows of a given fold may depend on each other"}[r.By]
	}
	return fmt.Sprintf("no held-out rows can judge the curves of probabilities, because %s: held-out errors are those of "+
		"scores, and there are no prediction sets", why)
}

// tried returns the number of fits without the first fold, and the position of the fit with the learner's λ.
func (f *Fit) tried() (fits, chosen int) {
	for _, row := range f.Learner.Table {
		if row.Failed != "" {
			continue
		}
		if row.Lambda == f.Learner.Lambda {
			chosen = fits
		}
		fits++
	}
	return fits, chosen
}

// addIntervals gives the model intervals or sets of classes, by the conformity scores of the first fold. It uses
// rows that the trials have kept, or makes a pass over the data. Without held, it uses the weights of the trials.
func (d *decider) addIntervals(ctx context.Context, held weightsFile) error {
	t := d.training
	classes := t.Prepared.Target.Classes != nil
	fits, chosen := 1, 0
	if held.sha256 == "" && classes {
		held = d.trials
		fits, chosen = d.fit.tried()
	}
	if held.sha256 == "" || t.spec.Intervals == options.IntervalsNone || classes && d.fit.probabilities == nil {
		return nil
	}
	if p := d.fit.probabilities; classes && len(p.Curves) > 0 && d.halves == nil {
		return nil // nothing can judge the curves
	}
	if kept := d.kept; kept != nil { // no pass is needed
		_, chosen = d.fit.tried() // kept rows have the scores of all fits, not only of held
		c := kept.Conformal(chosen, d.keptMethod(kept.Counts(chosen)))
		d.keepIntervals([]score.Conformal{*c}, d.groups, false)
		return nil
	}
	t.Job.Progress.Phase("measuring intervals", t.Prepared.Counts.Used)
	defer t.Job.Progress.Done()
	pass := &scoring.Trials{Pass: t.Pass(d.folds), HeldOut: d.scoring(held, fits), Grouped: t.Prepared.Dependent(),
		Conformal: &scoring.Conformal{Fit: chosen, Probabilities: d.byHalf()}}
	var sum scoring.TrialScores
	if _, err := t.Job.ScanSum(ctx, pass, "conformal", &sum); err != nil {
		return err
	}
	d.keepIntervals(sum.Conformal, sum.Clusters(), false)
	return nil
}

// keepIntervals sets the intervals of the model from conformity scores of each target, or of classes. groups is
// the number of groups of dependent rows, 0 for independent rows.
func (d *decider) keepIntervals(all []score.Conformal, groups int64, scaled bool) {
	d.fit.intervals = nil
	if len(all) == 0 || all[0].Rows() == 0 {
		return
	}
	d.fit.intervals = &models.Intervals{Rows: all[0].Rows(), Folds: d.folds, Scaled: scaled}
	if groups > 0 {
		d.fit.intervals.Groups = min(groups, d.fit.intervals.Rows)
	}
	for i := range all {
		d.fit.intervals.Scores = append(d.fit.intervals.Scores, all[i].Kept())
	}
}

// resultInterval returns nil unless the model predicts one target with intervals.
func (m *Model) resultInterval() *results.TrainInterval {
	v := m.Fit.intervals
	if v == nil {
		return nil
	}
	half, one := report.IntervalHalfWidth(v, m.Fit.sketch, m.Training.Prepared.Target.Grid)
	if !one {
		return nil
	}
	return &results.TrainInterval{Level: models.DefaultLevel, Rows: v.Rows, Groups: v.Groups, Half: half}
}
