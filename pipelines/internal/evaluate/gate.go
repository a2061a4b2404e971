package evaluate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// gate is a bound that a score must satisfy.
type gate struct {
	score string // one of gateScores
	// target is the name of one of several targets; "" for all
	target string
	least  bool    // the score must be at least the bound; otherwise at most
	bound  float64 // finite
}

// Gates are conditions that must all be satisfied.
type Gates []gate

// gateScore is a score that a gate can name.
type gateScore struct {
	// has reports whether evaluations of the model have the score.
	has func(*models.Manifest) bool
	// value returns bounds on the score, which are equal if it is exact, and NaN if it is not defined for the
	// rows. excluded is the number of rows that are left out because their predictions are not finite.
	value func(*results.Evaluate) (low, high float64, excluded int64)
	// undefined is the reason why the score may be undefined.
	undefined string
	// knownClassesOnly is true if the score leaves out rows whose labels are not classes of the model: no recall
	// includes them, and they have no rank.
	knownClassesOnly bool
}

// gateScores holds the scores by their names in JSON.
var gateScores = map[string]gateScore{
	"accuracy":          ofClasses(func(c *score.ClassReport) float64 { return c.Accuracy }),
	"error":             ofClasses(func(c *score.ClassReport) float64 { return c.Error }),
	"balanced_accuracy": ofClasses(func(c *score.ClassReport) float64 { return c.BalancedAccuracy }).ofKnownClasses(),
	"macro_f1":          ofClasses(func(c *score.ClassReport) float64 { return c.MacroF1 }).ofKnownClasses(),
	"macro_precision":   ofClasses(func(c *score.ClassReport) float64 { return c.MacroPrecision }),
	"macro_recall":      ofClasses(func(c *score.ClassReport) float64 { return c.MacroRecall }).ofKnownClasses(),

	"precision": ofPositive(func(c score.ClassScore) (float64, int64) { return c.Precision, c.Predicted }).
		unless("no row is predicted to be of the positive class"),
	"recall": ofPositive(func(c score.ClassScore) (float64, int64) { return c.Recall, c.Rows }).
		unless("no row is of the positive class").ofKnownClasses(),
	"f1": ofPositive(func(c score.ClassScore) (float64, int64) { return c.F1, c.Rows + c.Predicted }).
		unless("no row is of the positive class or predicted to be").ofKnownClasses(),

	"auc": ofRanking(func(r *score.RankingReport) (low, high float64) {
		if r.AUC == nil {
			return math.NaN(), math.NaN()
		}
		return *r.AUC - r.Slack, *r.AUC + r.Slack
	}).unless(oneClass).ofKnownClasses(),
	"average_precision": ofRanking(func(r *score.RankingReport) (low, high float64) {
		switch {
		case r.AveragePrecision == nil:
			return math.NaN(), math.NaN()
		case r.PrecisionLow != nil:
			return *r.PrecisionLow, *r.PrecisionHigh
		}
		return *r.AveragePrecision, *r.AveragePrecision
	}).unless(oneClass).ofKnownClasses(),
	"top3": ofTop(3),
	"top5": ofTop(5),

	"log_loss": ofProbabilities(func(t *score.ReliabilityReport) float64 { return t.LogLoss }),
	"brier":    ofProbabilities(func(t *score.ReliabilityReport) float64 { return t.Brier }),
	"ece":      ofProbabilities(func(t *score.ReliabilityReport) float64 { return t.ECE }),

	meanR2: {
		has: func(m *models.Manifest) bool { return regresses(m) && m.Outputs > 1 },
		value: func(r *results.Evaluate) (low, high float64, excluded int64) {
			for i := range r.ByTarget {
				excluded += r.ByTarget[i].NotFinite
			}
			return orNaN(r.MeanR2), orNaN(r.MeanR2), excluded
		},
		undefined: "the values of a target are all equal, so there is no variance to explain",
	},
	"r2": ofTargets(func(t *score.TargetReport) float64 { return orNaN(t.R2) }).
		unless("the values of the target are all equal, so there is no variance to explain"),
	"rmse":      ofTargets(func(t *score.TargetReport) float64 { return t.RMSE }),
	"mae":       ofTargets(func(t *score.TargetReport) float64 { return t.MAE }),
	"max_error": ofTargets(func(t *score.TargetReport) float64 { return t.MaxError }),
	"mape":      ofTargets(func(t *score.TargetReport) float64 { return orNaN(t.MAPE) }).unless("a target is 0 or nearly 0"),
	"p50_error": ofQuantile(func(t *score.TargetReport) float64 { return t.P50 }),
	"p90_error": ofQuantile(func(t *score.TargetReport) float64 { return t.P90 }),
	"p95_error": ofQuantile(func(t *score.TargetReport) float64 { return t.P95 }),
	"p99_error": ofQuantile(func(t *score.TargetReport) float64 { return t.P99 }),
}

// meanR2 is the score for all of several targets.
const meanR2 = "mean_r2"

// oneClass is the reason why rows cannot be ranked.
const oneClass = "the rows are all of one class"

// unless returns the score with its field undefined set.
func (s gateScore) unless(undefined string) gateScore {
	s.undefined = undefined
	return s
}

// ofKnownClasses returns the score with its field knownClassesOnly set.
func (s gateScore) ofKnownClasses() gateScore {
	s.knownClassesOnly = true
	return s
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

func classifies(m *models.Manifest) bool { return m.Task == models.Classification }

func regresses(m *models.Manifest) bool { return m.Task == models.Regression }

func ofClasses(figure func(*score.ClassReport) float64) gateScore {
	return gateScore{has: classifies, value: func(r *results.Evaluate) (low, high float64, excluded int64) {
		v := figure(r.Classes)
		return v, v, r.Classes.Ranking.NotFinite
	}}
}

// ofPositive returns a rate of the positive class of two. figure returns the rate, and the number of rows of which
// it is a share.
func ofPositive(figure func(score.ClassScore) (float64, int64)) gateScore {
	g := ofClasses(func(c *score.ClassReport) float64 {
		rate, rows := figure(c.Classes[slices.IndexFunc(c.Classes,
			func(s score.ClassScore) bool { return s.Class == c.Ranking.Positive })])
		if rows == 0 {
			return math.NaN()
		}
		return rate
	})
	g.has = func(m *models.Manifest) bool { return classifies(m) && m.Outputs == 2 }
	return g
}

func ofRanking(interval func(*score.RankingReport) (low, high float64)) gateScore {
	return gateScore{
		has: func(m *models.Manifest) bool { return classifies(m) && m.Outputs <= score.MaxRanked },
		value: func(r *results.Evaluate) (low, high float64, excluded int64) {
			low, high = interval(r.Classes.Ranking)
			return low, high, r.Classes.Ranking.NotFinite
		},
	}
}

func ofTop(few int) gateScore {
	g := ofClasses(func(c *score.ClassReport) float64 {
		for _, t := range c.Ranking.Top {
			if t.K == few {
				return t.Accuracy
			}
		}
		return math.NaN()
	})
	g.has = func(m *models.Manifest) bool { return classifies(m) && m.Outputs >= score.MinTopClasses }
	return g
}

func ofProbabilities(figure func(*score.ReliabilityReport) float64) gateScore {
	return gateScore{
		has: func(m *models.Manifest) bool { return m.Probabilities != nil },
		value: func(r *results.Evaluate) (low, high float64, excluded int64) {
			v := figure(&r.Probabilities.ReliabilityReport)
			return v, v, r.Probabilities.NotFinite
		},
	}
}

func ofTargets(figure func(*score.TargetReport) float64) gateScore {
	return gateScore{has: regresses, value: func(r *results.Evaluate) (low, high float64, excluded int64) {
		v := figure(r.Targets)
		return v, v, r.Targets.NotFinite
	}}
}

// ofQuantile returns a score that is measured only up to a slack: the quantile is at most v, and at least v
// minus the slack.
func ofQuantile(figure func(*score.TargetReport) float64) gateScore {
	return gateScore{has: regresses, value: func(r *results.Evaluate) (low, high float64, excluded int64) {
		v := figure(r.Targets)
		return v - r.Targets.QuantileSlack, v, r.Targets.NotFinite
	}}
}

// gateScoreNames returns the names of the scores that gates can name, sorted.
func gateScoreNames() []string { return option.SortedNames(gateScores) }

// ParseGates parses gates such as accuracy>=0.95, rmse<=3 or, for the target price, rmse:price<=3, separated by
// commas. It returns nil for the empty text.
func ParseGates(text string) (Gates, error) { return parseAll(text, parseGate) }

// parseGate parses a condition such as accuracy>=0.95.
func parseGate(text string) (g gate, err error) {
	for _, op := range []string{">=", "<="} {
		name, bound, found := strings.Cut(text, op)
		if !found {
			continue
		}
		name, target, _ := strings.Cut(strings.TrimSpace(name), ":")
		g = gate{score: name, target: target, least: op == ">="}
		if _, ok := gateScores[g.score]; !ok {
			return g, exit.Usagef("--gate: unknown score %q%s; have %s", g.score, option.DidYouMean(g.score, gateScoreNames()),
				strings.Join(gateScoreNames(), ", "))
		}
		if g.bound, err = strconv.ParseFloat(strings.TrimSpace(bound), 64); err != nil || !exact.Finite(g.bound) {
			return g, exit.Usagef("--gate: %q is not a finite number", bound)
		}
		return g, nil
	}
	return g, exit.Usagef("--gate: %q is not of the form accuracy>=0.95 or rmse<=3", text)
}

// CheckModel returns an error if evaluations of the model do not have the score of a gate. It uses the task, the
// outputs, the probabilities and the names of targets in the manifest.
func (all Gates) CheckModel(m *models.Manifest) error {
	for _, g := range all {
		if gateScores[g.score].has(m) {
			if err := g.checkTarget(m); err != nil {
				return err
			}
			continue
		}
		have := slices.DeleteFunc(gateScoreNames(), func(name string) bool { return !gateScores[name].has(m) })
		return exit.Usagef("--gate: this model has no %s; it has %s", g.score, strings.Join(have, ", "))
	}
	return nil
}

// checkTarget returns an error if the model does not have the target of a gate.
func (g gate) checkTarget(m *models.Manifest) error {
	if g.target == "" {
		return nil
	}
	names := (&models.Model{Manifest: m}).Outputs()
	switch {
	case !regresses(m) || g.score == meanR2:
		return exit.Usagef("--gate: %s is not of one target; leave out :%s", g.score, g.target)
	case !slices.Contains(names, g.target):
		return exit.Usagef("--gate: the model has no target %q%s; it has %s", g.target, option.DidYouMean(g.target, names),
			strings.Join(names, ", "))
	}
	return nil
}

// checkResult returns an *exit.GateError that names the gates that the result does not satisfy. The gates must fit
// the model.
func (all Gates) checkResult(r *results.Evaluate) error {
	var failed []string
	for _, g := range all {
		g.eachTarget(r, func(target string, one *results.Evaluate) {
			if why := g.failure(one); why != "" {
				failed = append(failed, target+why)
			}
		})
	}
	return exit.NotPassed(failed)
}

// eachTarget calls f with the results that the gate applies to: one for each target that it names. target is the
// beginning of a sentence about the result.
func (g gate) eachTarget(r *results.Evaluate, f func(target string, one *results.Evaluate)) {
	if len(r.ByTarget) == 0 || g.score == meanR2 {
		f("", r)
		return
	}
	for i := range r.ByTarget {
		if name := r.ByTarget[i].Target; g.target == "" || g.target == name {
			f("of "+name+", ", forTarget(r, i))
		}
	}
}

// Verdicts returns the gates in text, and whether the result satisfies them.
func Verdicts(text string, r *results.Evaluate) (all []registry.Gate, err error) {
	conditions, err := ParseGates(text)
	for _, g := range conditions {
		v := registry.Gate{Condition: g.String(), Passed: true}
		var texts []string
		g.eachTarget(r, func(target string, one *results.Evaluate) {
			v.Passed = v.Passed && g.failure(one) == ""
			texts = append(texts, target+g.result(one))
		})
		v.Result = strings.Join(texts, "; ")
		all = append(all, v)
	}
	return all, err
}

// String formats the gate as ParseGates parses it.
func (g gate) String() string {
	name, op := g.score, "<="
	if g.target != "" {
		name += ":" + g.target
	}
	if g.least {
		op = ">="
	}
	return fmt.Sprintf("%s%s%g", name, op, g.bound)
}

// result describes the score.
func (g gate) result(r *results.Evaluate) string {
	if why := g.failure(r); why != "" {
		return why
	}
	low, high, _ := gateScores[g.score].value(r)
	if g.least {
		return fmt.Sprintf("%s is %.6g", g.scoreName(r), low)
	}
	return fmt.Sprintf("%s is %.6g", g.scoreName(r), high)
}

// scoreName returns the name of the score, with the positive class if it is a score of this class.
func (g gate) scoreName(r *results.Evaluate) string {
	if r.Classes == nil || r.Classes.Ranking == nil || r.Classes.Ranking.Positive == "" ||
		!slices.Contains(positiveClassScores, g.score) {
		return g.score
	}
	return g.score + " of class " + score.DisplayName(r.Classes.Ranking.Positive)
}

// positiveClassScores are the scores of the positive class of two.
var positiveClassScores = []string{"precision", "recall", "f1", "auc", "average_precision"}

// failure returns why the gate is not passed, or "". A score fails if it is not defined, or if it leaves out rows
// because their predictions are not finite or their labels are not classes of the model. Of bounds, the worse
// one counts.
func (g gate) failure(r *results.Evaluate) string {
	low, high, excluded := gateScores[g.score].value(r)
	value, op := high, "<="
	if g.least {
		value, op = low, ">="
	}
	switch {
	case excluded > 0:
		return fmt.Sprintf("%s does not judge %s whose predictions are not finite", g.scoreName(r),
			report.Counted64(excluded, "row"))
	case gateScores[g.score].knownClassesOnly && r.Classes.Unseen > 0:
		return fmt.Sprintf("%s excludes %s whose labels are not classes of the model: correct these labels, or put the "+
			"gate on accuracy, which counts the rows as errors",
			g.scoreName(r), report.Counted64(r.Classes.Unseen, "row"))
	case math.IsNaN(value):
		return fmt.Sprintf("%s is not defined for these rows%s", g.scoreName(r), report.Prefixed(": ", gateScores[g.score].undefined))
	case g.least && value >= g.bound, !g.least && value <= g.bound:
		return ""
	}
	return fmt.Sprintf("%s is %.6g, want %s %g", g.scoreName(r), value, op, g.bound)
}
