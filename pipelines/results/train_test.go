package results

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
)

// The summary names the held-out figure that chose λ; a table has several, and another one may be smallest at
// another λ.
func TestSummaryNamesTheFigureThatChoseLambda(t *testing.T) {
	one, five := []ridge.CVResult{{Lambda: 1, Folds: 1}, {Lambda: 0.1, Folds: 1}}, []ridge.CVResult{{Lambda: 1, Folds: 5},
		{Lambda: 0.1, Folds: 5}}
	four := []ridge.CVResult{{Lambda: 1, Folds: 4}, {Lambda: 0.1, Folds: 4}}
	trials := &models.TrainingLog{Path: []models.LambdaTrial{{Lambda: 1}, {Lambda: 0.1}}}
	for want, r := range map[string]Train{
		"the held-out MSE of 5 folds (the smallest of 2":                        {TrainRows: TrainRows{Task: models.Classification}, TrainFit: TrainFit{Path: five}},
		"the MSE of held-out rows, one in 5 (the smallest of 2":                 {TrainRows: TrainRows{Task: models.Classification}, TrainFit: TrainFit{Path: one}},
		"the log loss of held-out rows, one in 5 (the smallest of 2":            {TrainRows: TrainRows{Task: models.Classification}, TrainFit: TrainFit{Path: one, Select: "log_loss"}},
		"the MSE of all 5 folds; shown are figures of the first":                {TrainRows: TrainRows{Task: models.Classification}, TrainFit: TrainFit{Path: one, Select: models.ByAllFolds}},
		"the held-out error of 5 folds (":                                       {TrainRows: TrainRows{Task: models.Regression}, TrainFit: TrainFit{Path: five}},
		"the held-out error of 4 folds (":                                       {TrainRows: TrainRows{Task: models.Regression}, TrainFit: TrainFit{Path: four}},
		"the error of held-out rows, one in 5 (":                                {TrainRows: TrainRows{Task: models.Regression}, TrainFit: TrainFit{Path: one}},
		"the share of the variance of targets, averaged over them, of held-out": {TrainRows: TrainRows{Task: models.Regression, Targets: []string{"a", "b"}}, TrainFit: TrainFit{Path: one}},
		"the error of held-out rows, one in 5 (the smallest of 2,":              {TrainRows: TrainRows{Task: models.Classification}, TrainFit: TrainFit{Log: trials}},
		"the loss of held-out rows, one in 5 (":                                 {TrainRows: TrainRows{Task: models.Regression}, TrainFit: TrainFit{Log: trials}},
	} {
		r.Folds, r.Lambda = 5, 1
		var b strings.Builder
		if _, err := r.WriteTo(&b); err != nil || !strings.Contains(b.String(), "lambda    1, by "+want) {
			t.Errorf("%v: no %q in\n%s", err, want, b.String())
		}
	}
}

// The table of errors states how their classes are decided, if it has errors.
func TestSummarySaysHowHeldOutClassesAreDecided(t *testing.T) {
	plain := &models.Probabilities{Kind: models.Softmax}
	weighted := &models.Probabilities{Kind: models.Softmax, Weights: []float64{1, 2}}
	for i, c := range []struct {
		judged        bool
		probabilities *models.Probabilities
		want          string // after "classes have the largest"; "" for no such line
	}{
		{true, plain, "probability, each half"},
		{true, weighted, "product of probability and class weight, each half"},
		{false, nil, ""},
		{false, plain, ""}, // of sums, or of rows that are not divided
	} {
		r := Train{TrainRows: TrainRows{Task: models.Classification},
			TrainFit:      TrainFit{Path: []ridge.CVResult{{Lambda: 1}}, Lambda: 1, JudgedByHalves: c.judged},
			TrainDecision: TrainDecision{Probabilities: c.probabilities}}
		var b strings.Builder
		_, err := r.WriteTo(&b)
		_, line, found := strings.Cut(b.String(), " classes have the largest ")
		if err != nil || found != (c.want != "") || !strings.HasPrefix(line, c.want) {
			t.Errorf("%d: want %q in\n%s", i, c.want, b.String())
		}
	}
}
