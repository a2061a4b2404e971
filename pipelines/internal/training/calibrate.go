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

// calibrator sets the outputRules of a fit by the first fold, which was not used to fit the weights that score it.
type calibrator struct {
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

// fitOutputRules fits the curves of probabilities, the threshold and the intervals. held has the weights of the fit
// without the first fold.
func (c *calibrator) fitOutputRules(ctx context.Context, held weightsFile) error {
	if c.training.spec.CalibrationRequested() {
		if err := c.calibrate(ctx, held); err != nil {
			return err
		}
	}
	if c.training.spec.ChoosesThreshold() {
		if err := c.chooseThreshold(ctx, held); err != nil {
			return err
		}
	}
	return c.addIntervals(ctx, held)
}

// scoring describes, for a pass, the first fold and the number of fits that score it.
func (c *calibrator) scoring(w weightsFile, fits int) scoring.HeldOut {
	p := c.training.Prepared
	return scoring.HeldOut{Folds: c.folds, Recipe: p.Recipe.Sealed, Outputs: p.Outputs(), Fits: fits, Weights: w.name,
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
func (c *calibrator) chooseThreshold(ctx context.Context, held weightsFile) error {
	t := c.training
	t.Job.Progress.Phase("choosing the threshold", t.Prepared.Counts.Used)
	defer t.Job.Progress.Done()
	positive := t.futureManifest().PositiveClass()
	pass := &scoring.Threshold{Pass: t.Pass(c.folds), HeldOut: c.scoring(held, 0), Probabilities: c.byHalf(),
		Positive: positive}
	var counts score.ThresholdCounts
	if _, err := t.Job.ScanSum(ctx, pass, "threshold", &counts); err != nil {
		return err
	}
	by := score.Criterion(t.spec.Threshold)
	usual, scale := float32(0), models.OfScore
	if c.fit.probabilities != nil {
		usual, scale = c.fit.probabilities.DefaultThreshold(positive), models.OfProbability
	}
	chosen, err := counts.Choose(by, usual)
	if err != nil {
		return &exit.DataError{Err: err}
	}
	c.fit.threshold = &models.Threshold{Value: chosen.Value, Of: scale, By: by, Rows: counts.Rows, Folds: c.folds}
	if chosen.Judged {
		c.fit.threshold.Expected, c.fit.threshold.Plain = &chosen.Expected, &chosen.Plain
	}
	return nil
}

// byHalf returns the probabilities by which rows of each half are judged, nil if the model has none. Without curves, or
// without halves, they are the model's.
func (c *calibrator) byHalf() *scoring.HeldOutProbabilities {
	p := c.fit.probabilities
	if p == nil || c.halves != nil {
		return c.halves
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
func (c *calibrator) calibrate(ctx context.Context, held weightsFile) error {
	t := c.training
	t.Job.Progress.Phase("calibrating", t.Prepared.Counts.Used)
	defer t.Job.Progress.Done()
	pass := &scoring.Calibration{Pass: t.Pass(c.folds), HeldOut: c.scoring(held, 0)}
	var counts score.HalvedCounts
	if _, err := t.Job.ScanSum(ctx, pass, "calibrate", &counts); err != nil {
		return err
	}
	return c.fitCurves(&counts)
}

// stepRows is the number of held-out rows of each class that isotonic step functions need.
const stepRows = 1000

// leastRows is the number of held-out rows of each class, and of all other classes together, that a model needs
// to have probabilities, unless the user asked for them. With fewer rows the curve of a class may be decreasing,
// and then predictions of the class would be wrong.
const leastRows = 5

// tooFew describes a class with too few held-out rows for curves that the user did not ask for; "" if there is
// none.
func (c *calibrator) tooFew(counts *score.CalibrationCounts) string {
	rows := classRows(counts)
	for i, n := range rows {
		if least := min(n, float64(counts.Rows())-n); least < leastRows {
			advice := "use more rows"
			if least > 0 { // a class without rows never has a curve
				advice += ", or --calibrate platt"
			}
			return fmt.Sprintf("%.4g of the %d held-out rows are of class %.80q; %d of each class and of others are needed: %s",
				n, counts.Rows(), c.training.classes()[i], leastRows, advice)
		}
	}
	return ""
}

// classRows returns the number of rows of each class. With weights, it divides the rows among the classes in
// proportion to the weights of their rows.
func classRows(counts *score.CalibrationCounts) (rows []float64) {
	var all int64
	for _, n := range counts.ClassRows() {
		all += n
	}
	for _, n := range counts.ClassRows() {
		rows = append(rows, float64(n)*float64(counts.Rows())/float64(max(1, all)))
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
func (c *calibrator) judgeProbabilities() (losses []float64) {
	table, trial, kept := c.fit.Learner.Table, 0, c.kept
	rows, all := kept.Rows()
	losses = make([]float64, len(table))
	for i := range table {
		row := &table[i]
		if row.Failed != "" {
			continue
		}
		v := kept.Evaluate(trial, c.keptMethod(kept.Counts(trial)), c.classWeights)
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
func (c *calibrator) method(counts *score.CalibrationCounts) score.Method {
	switch {
	case c.training.spec.CalibrationRequested():
		return c.training.spec.Calibrate
	case slices.Min(classRows(counts)) < stepRows:
		return score.Platt
	}
	return score.Isotonic
}

// fitProbabilities fits the curves for the chosen λ to the kept rows, unless calibrate does it in a pass.
func (c *calibrator) fitProbabilities() error {
	t := c.training
	will, why := t.willCalibrate()
	if !will || t.spec.CalibrationRequested() {
		t.noteProbabilities(why)
		return nil
	}
	kept := c.kept
	if kept == nil {
		t.noteProbabilities(cmp.Or(c.whyNotKept, "no rows are in the first fold"))
		return nil
	}
	_, trial := c.fit.tried()
	counts := kept.Counts(trial)
	method := c.keptMethod(counts)
	return c.takeCurves(counts.Rows(), kept.Divided(), func(inHalf func(int) bool) *score.Calibration {
		return kept.Fit(trial, method, inHalf)
	})
}

// keptMethod returns the calibration method for scores of kept rows. Unless the user asked for a method, it is
// score.SharedPlatt instead of score.Platt for more than two classes: with few rows, separate curves would move the
// decisions between classes more than the rows justify. Class weights move scores of one class against the others,
// which only separate curves undo.
func (c *calibrator) keptMethod(counts *score.CalibrationCounts) score.Method {
	if m := c.method(counts); m != score.Platt || c.training.spec.CalibrationRequested() || c.classWeights != nil ||
		c.training.Prepared.Outputs() == 2 {
		return m
	}
	return score.SharedPlatt
}

// fitCurves fits the curves to held-out scores. If these rows are too few, the model has no probabilities, unless the
// user asked for them.
func (c *calibrator) fitCurves(halved *score.HalvedCounts) error {
	t, counts := c.training, halved.Both()
	if !t.spec.CalibrationRequested() {
		if why := c.tooFew(counts); why != "" {
			t.noteProbabilities(why)
			return nil
		}
	} else if err := score.CheckCalibration(counts.ClassRows(), t.classes()); err != nil {
		return &exit.DataError{Err: err}
	}
	method := c.method(counts)
	err := c.takeCurves(counts.Rows(), halved.Divided(), func(inHalf func(int) bool) *score.Calibration {
		switch {
		case inHalf == nil:
			return counts.Fit(method)
		case inHalf(0):
			return halved[0].Fit(method)
		}
		return halved[1].Fit(method)
	})
	if err == nil && method == score.Platt && t.spec.CalibrationRequested() {
		c.fit.shapes = ridge.CurveShapes(c.fit.probabilities.Curves, c.discriminants)
	}
	return err
}

// takeCurves sets the probabilities of the model to curves that fit fits to all held-out rows, whose number is rows. If
// they can be divided, it also sets the curves that judge each half.
func (c *calibrator) takeCurves(rows int64, divided bool, fit func(inHalf func(int) bool) *score.Calibration) error {
	curves := func(inHalf func(int) bool) (*models.Probabilities, error) {
		f := fit(inHalf)
		return &models.Probabilities{Kind: f.Method, Curves: f.Curves, Rows: rows, Folds: c.folds, Weights: c.classWeights},
			f.Validate()
	}
	p, err := curves(nil)
	if err != nil {
		return &exit.DataError{Err: err}
	}
	c.fit.probabilities, c.halves = p, nil
	if divided {
		first, err := curves(func(half int) bool { return half == 0 })
		second, err2 := curves(func(half int) bool { return half == 1 })
		if err == nil && err2 == nil {
			c.halves = &scoring.HeldOutProbabilities{All: p, Half: [2]*models.Probabilities{first, second}}
			return nil
		}
	}
	c.training.AddNotef("%s", c.undivided())
	return nil
}

// undivided returns a note for held-out rows that are not divided into two halves that judge each other's curves.
func (c *calibrator) undivided() string {
	why := "there are too few"
	if r := c.training.Prepared.Rule; r != nil {
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
func (c *calibrator) addIntervals(ctx context.Context, held weightsFile) error {
	t := c.training
	classes := t.Prepared.Target.Classes != nil
	fits, chosen := 1, 0
	if held.sha256 == "" && classes {
		held = c.trials
		fits, chosen = c.fit.tried()
	}
	if held.sha256 == "" || t.spec.Intervals == options.IntervalsNone || classes && c.fit.probabilities == nil {
		return nil
	}
	if p := c.fit.probabilities; classes && len(p.Curves) > 0 && c.halves == nil {
		return nil // nothing can judge the curves
	}
	if kept := c.kept; kept != nil { // no pass is needed
		_, chosen = c.fit.tried() // kept rows have the scores of all fits, not only of held
		conformal := kept.Conformal(chosen, c.keptMethod(kept.Counts(chosen)))
		c.keepIntervals([]score.Conformal{*conformal}, c.groups, false)
		return nil
	}
	t.Job.Progress.Phase("measuring intervals", t.Prepared.Counts.Used)
	defer t.Job.Progress.Done()
	pass := &scoring.Trials{Pass: t.Pass(c.folds), HeldOut: c.scoring(held, fits), Grouped: t.Prepared.Dependent(),
		Conformal: &scoring.Conformal{Fit: chosen, Probabilities: c.byHalf()}}
	var sum scoring.TrialScores
	if _, err := t.Job.ScanSum(ctx, pass, "conformal", &sum); err != nil {
		return err
	}
	c.keepIntervals(sum.Conformal, sum.Clusters(), false)
	return nil
}

// keepIntervals sets the intervals of the model from conformity scores of each target, or of classes. groups is
// the number of groups of dependent rows, 0 for independent rows.
func (c *calibrator) keepIntervals(all []score.Conformal, groups int64, scaled bool) {
	c.fit.intervals = nil
	if len(all) == 0 || all[0].Rows() == 0 {
		return
	}
	c.fit.intervals = &models.Intervals{Rows: all[0].Rows(), Folds: c.folds, Scaled: scaled}
	if groups > 0 {
		c.fit.intervals.Groups = min(groups, c.fit.intervals.Rows)
	}
	for i := range all {
		c.fit.intervals.Scores = append(c.fit.intervals.Scores, all[i].Kept())
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
