package evaluate

import (
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/results"
)

func TestGatesPassOrFailByScore(t *testing.T) {
	area, precision, low, mape := 0.75, 0.6, 0.55, 0.25
	two := &results.Evaluate{
		Scores: results.Scores{Classes: &score.ClassReport{
			Accuracy: 0.9, Error: 0.1,
			ClassAverages: score.ClassAverages{MacroF1: 0.8, BalancedAccuracy: 0.7, MacroPrecision: 0.35, MacroRecall: 0.45},
			Classes: []score.ClassScore{{Class: "a", Rows: 10, Predicted: 15, Hits: 3, Precision: 0.2, Recall: 0.3, F1: 0.24},
				{Class: "b"}},
			Ranking: &score.RankingReport{Positive: "a", AUC: &area, Slack: 0.05, AveragePrecision: &precision,
				PrecisionLow: &low, PrecisionHigh: &precision},
		}},
		Probabilities: &results.ProbabilityReport{ReliabilityReport: score.ReliabilityReport{LogLoss: 0.5, Brier: 0.4, ECE: 0.02}},
	}
	many := &results.Evaluate{Scores: results.Scores{Classes: &score.ClassReport{Ranking: &score.RankingReport{Top: []score.TopAccuracy{{K: 3, Accuracy: 0.8}, {K: 5, Accuracy: 0.9}}}}}}
	targets := &results.Evaluate{Scores: results.Scores{Targets: &score.TargetReport{RMSE: 2, MAE: 1, MaxError: 9, MAPE: &mape,
		ErrorQuantiles: score.ErrorQuantiles{P50: 1, P90: 3, P95: 4, P99: 5, QuantileSlack: 0.5}}}}
	undefined := &results.Evaluate{Scores: results.Scores{Targets: &score.TargetReport{NoMAPE: 1}}}
	regression := &models.Manifest{Task: models.Regression, Outputs: 1}
	mean := 0.6
	several := &results.Evaluate{Scores: results.Scores{MeanR2: &mean, ByTarget: []results.TargetReport{
		{Target: "a", TargetReport: score.TargetReport{RMSE: 1}}, {Target: "b", TargetReport: score.TargetReport{RMSE: 3}},
	}},
	}
	partly := &results.Evaluate{Scores: results.Scores{ByTarget: []results.TargetReport{{Target: "a",
		TargetReport: score.TargetReport{R2: &mean}}, {Target: "b"}}}}
	none := &results.Evaluate{Scores: results.Scores{Classes: &score.ClassReport{Classes: []score.ClassScore{{Class: "a", Rows: 3,
		Predicted: 3}, {Class: "b"}}, Ranking: &score.RankingReport{Positive: "b"}}}}
	both := &models.Manifest{Task: models.Regression, Outputs: 2, Input: models.Input{Labels: []string{"a", "b"}}}
	seen := map[string]bool{}
	for _, c := range []struct {
		text   string
		result *results.Evaluate
		of     *models.Manifest
		fails  string // "" if the gate is passed
	}{
		{"accuracy>=0.9", two, jobtest.Classifier(2), ""},
		{" accuracy >= 0.91 ", two, jobtest.Classifier(2), "accuracy is 0.9, want >= 0.91"},
		{"accuracy<=0.5", two, jobtest.Classifier(2), "accuracy is 0.9, want <= 0.5"},
		{"error<=0.1,macro_f1>=1e-3, balanced_accuracy>=0.7,macro_precision>=0.35,macro_recall>=0.45", two,
			jobtest.Classifier(2), ""},
		{"error<=0.05,macro_f1>=1e-3,accuracy>=1", two, jobtest.Classifier(2),
			"error is 0.1, want <= 0.05; accuracy is 0.9, want >= 1"},
		{"precision>=0.2,recall>=0.3,f1<=0.24", two, jobtest.Classifier(2), ""},
		{"f1>=0.25", two, jobtest.Classifier(2), "f1 of class a is 0.24"},
		{"auc>=0.7", two, jobtest.Classifier(2), ""},
		{"auc>=0.71", two, jobtest.Classifier(2), "auc of class a is 0.7"}, // it may be as small
		{"auc<=0.79", two, jobtest.Classifier(2), "auc of class a is 0.8"},
		{"average_precision>=0.55,average_precision<=0.6", two, jobtest.Classifier(2), ""},
		{"average_precision>=0.56", two, jobtest.Classifier(2), "average_precision of class a is 0.55"},
		{"log_loss<=0.5,brier<=0.4,ece<=0.02", two, jobtest.Calibrated(2), ""},
		{"log_loss<=0.49", two, jobtest.Calibrated(2), "log_loss is 0.5"},
		{"top3>=0.8,top5>=0.9", many, jobtest.Classifier(10), ""},
		{"top3>=0.81", many, jobtest.Classifier(10), "top3"},
		{"auc>=0", many, jobtest.Classifier(10), "auc is not defined for these rows"},
		{"rmse<=2,max_error<=9,mape<=0.25,p50_error<=1,p90_error<=3,p95_error<=4,p99_error<=5", targets, regression, ""},
		{"rmse<=1.9", targets, regression, "rmse is 2"},
		{"mae>=0.5", targets, regression, ""},
		{"p90_error>=2.5", targets, regression, ""},
		{"p90_error>=2.6", targets, regression, "p90_error is 2.5"},
		{"r2>=-1", targets, regression, "r2 is not defined for these rows: the values of the target are all equal"},
		{"r2<=1", targets, regression, "r2 is not defined"},
		{"mape<=1", undefined, regression, "mape is not defined for these rows: a target is 0"},
		{"auc>=0", none, jobtest.Classifier(2),
			"auc of class b is not defined for these rows: the rows are all of one class"},
		{"average_precision>=0", none, jobtest.Classifier(2), "average_precision of class b is not defined"},
		{"precision>=0", none, jobtest.Classifier(2),
			"precision of class b is not defined for these rows: no row is predicted"},
		{"recall>=0", none, jobtest.Classifier(2), "recall of class b is not defined for these rows: no row is of"},
		{"f1>=0", none, jobtest.Classifier(2), "f1 of class b is not defined"},
		{"mean_r2>=-1", partly, both, "mean_r2 is not defined for these rows: the values of a target are all equal"},
		{"r2>=-1", partly, both, "of b, r2 is not defined"},
		{"mean_r2>=0.6,rmse:a<=1,rmse:b<=3", several, both, ""},
		{"mean_r2>=0.61", several, both, "mean_r2 is 0.6"},
		{"rmse<=2", several, both, "of b, rmse is 3"},
	} {
		g, err := ParseGates(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.CheckModel(c.of); err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		other := regression
		if c.result.Classes == nil {
			other = jobtest.Calibrated(2)
		}
		jobtest.WantError(t, c.text, g.CheckModel(other), exit.CodeUsage, "this model has no "+g[0].score)
		for _, one := range g {
			seen[one.score] = true
		}
		err = g.checkResult(c.result)
		if c.fails == "" && err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if c.fails != "" {
			jobtest.WantError(t, c.text, err, exit.CodeGate, c.fails)
		}
	}
	for _, name := range gateScoreNames() {
		if !seen[name] {
			t.Errorf("no test of %s", name)
		}
	}
}

// The scores that a gate can have depend on the classes of the model and on whether it has probabilities.
func TestAvailableGatesFollowFromClassesAndProbabilities(t *testing.T) {
	for _, c := range []struct {
		of       *models.Manifest
		has, not string
	}{
		{jobtest.Classifier(2), "auc precision recall f1 average_precision", "top3 log_loss rmse"},
		{jobtest.Calibrated(3), "auc log_loss brier ece", "top3 precision"},
		{jobtest.Classifier(10), "auc top3 top5", "recall brier"},
		{jobtest.Classifier(score.MaxRanked + 1), "top3 top5 accuracy", "auc average_precision"},
	} {
		for name, of := range gateScores {
			if slices.Contains(strings.Fields(c.has), name) && !of.has(c.of) || slices.Contains(strings.Fields(c.not), name) &&
				of.has(c.of) {
				t.Errorf("%d classes: %s", c.of.Outputs, name)
			}
		}
	}
}

// A gate fails for any bound if its score omits rows, because their predictions are not finite or their labels
// are no classes.
func TestGatesFailIfAScoreOmitsRows(t *testing.T) {
	counted := strings.Fields("accuracy error precision macro_precision top3 top5 log_loss brier ece") // rows of unknown labels are errors
	half, mape := 0.5, 0.5
	result := func(unseen, notFinite int64) *results.Evaluate {
		return &results.Evaluate{
			Scores: results.Scores{MeanR2: &half, Targets: &score.TargetReport{R2: &half, MAPE: &mape, NotFinite: notFinite},
				Classes: &score.ClassReport{
					Unseen: unseen, Classes: []score.ClassScore{{Class: "a", Rows: 3, Predicted: 3}},
					Ranking: &score.RankingReport{Positive: "a", AUC: &half, AveragePrecision: &half, NotFinite: notFinite,
						Top: []score.TopAccuracy{{K: 3}, {K: 5}}},
				}},
			Probabilities: &results.ProbabilityReport{NotFinite: notFinite},
		}
	}
	for _, name := range gateScoreNames() {
		of := gateScores[name].has(jobtest.Calibrated(2)) || gateScores[name].has(jobtest.Calibrated(10))
		for _, text := range []string{name + ">=-1e300", name + "<=1e300"} {
			g, err := ParseGates(text)
			if err != nil {
				t.Fatal(err)
			}
			if err := g.checkResult(result(0, 0)); err != nil {
				t.Errorf("%s: %v", text, err)
			}
			switch err := g.checkResult(result(62, 0)); {
			case !of || slices.Contains(counted, name):
				if err != nil {
					t.Errorf("%s counts such rows as errors: %v", text, err)
				}
			default:
				jobtest.WantError(t, text, err, exit.CodeGate, "62 rows whose labels are not classes of the model")
			}
			rows := result(0, 2)
			if name == meanR2 {
				rows.ByTarget = []results.TargetReport{{Target: "a", TargetReport: *rows.Targets}}
			}
			jobtest.WantError(t, text, g.checkResult(rows), exit.CodeGate, "2 rows whose predictions are not finite")
		}
	}
}

func TestParseGatesRejectsInvalidConditions(t *testing.T) {
	for text, word := range map[string]string{
		"acuracy>=1": `did you mean "accuracy"`, "accuracy": "not of the form", "accuracy>1": "not of the form",
		"accuracy=1": "not of the form",
		">=1":        "unknown score", "accuracy>=": "is not a finite number", "accuracy>=x": "is not a finite number",
		"accuracy>=1>=2": "is not a finite number", "accuracy>=NaN": "is not a finite number",
		"rmse<=inf":    "is not a finite number",
		"accuracy>=1,": "not of the form", "accuracy>=1,roc_auc>=1": `unknown score "roc_auc"`,
	} {
		_, err := ParseGates(text)
		jobtest.WantError(t, text, err, exit.CodeUsage, word)
	}
	if g, err := ParseGates(""); g != nil || err != nil || g.CheckModel(jobtest.Classifier(2)) != nil ||
		g.checkResult(nil) != nil {
		t.Error("no gate is not passed")
	}
}

// The report of a retraining states the score of the result for each condition, and reads as a gate again.
func TestVerdictsReportGateScores(t *testing.T) {
	mean := 0.6
	several := &results.Evaluate{Scores: results.Scores{MeanR2: &mean, ByTarget: []results.TargetReport{
		{Target: "a", TargetReport: score.TargetReport{RMSE: 1}}, {Target: "b", TargetReport: score.TargetReport{RMSE: 3}},
	}},
	}
	one := &results.Evaluate{Scores: results.Scores{Targets: &score.TargetReport{RMSE: 2}}}
	for _, c := range []struct {
		text   string
		r      *results.Evaluate
		result string
		passed bool
	}{
		{"rmse<=2.5", one, "rmse is 2", true},
		{"rmse<=1.5", one, "rmse is 2, want <= 1.5", false},
		{"rmse<=2", several, "of a, rmse is 1; of b, rmse is 3, want <= 2", false},
		{"rmse:a<=2", several, "of a, rmse is 1", true},
		{"mean_r2>=0.5", several, "mean_r2 is 0.6", true},
	} {
		all, err := Verdicts(c.text, c.r)
		if err != nil || len(all) != 1 || all[0].Condition != c.text || all[0].Result != c.result ||
			all[0].Passed != c.passed {
			t.Errorf("%s: %+v, %v", c.text, all, err)
		}
	}
}
