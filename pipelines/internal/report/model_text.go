package report

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
)

// ComponentTable returns a table of the components of an embedding.
func ComponentTable(components []models.Component) Table {
	t := Table{Head: []string{"component", "variance", "share of the variance, %", "so far, %"}}
	total := 0.0
	for i, c := range components {
		total += 100 * c.Share
		t.Add(fmt.Sprint(i+1), Plain(c.Variance), TwoDigits(100*c.Share), TwoDigits(total))
	}
	return t
}

// HowToGetProbabilities is the advice for users whose model has no probabilities.
const HowToGetProbabilities = "train with --calibrate platt or isotonic, or with --loss softmax or logistic, to " +
	"have them"

// ProbabilitiesText describes how probabilities are computed, "" if the model has none.
func ProbabilitiesText(p *models.Probabilities) string {
	if p == nil {
		return ""
	}
	how := ""
	switch p.Kind {
	case models.Softmax:
		how = "the softmax of the scores"
	case models.Logistic:
		how = "the sigmoid of each score, divided by their sum"
	case score.Platt:
		how = "a sigmoid for each class (platt)"
		if a, b := p.Curves[0], p.Curves[1]; len(p.Curves) > 2 && a.Slope == b.Slope && a.Offset == b.Offset {
			how = "a sigmoid that all classes share (platt)"
		}
	case score.Isotonic:
		how = "an increasing step function for each class (isotonic)"
	}
	if p.Rows > 0 {
		how += fmt.Sprintf(", fitted to the scores of %s rows, %s, by weights that were trained without them",
			Groups(p.Rows), OneIn(p.Folds))
	}
	if p.Weights != nil {
		how += "; the class has the largest " + Criterion(p)
	}
	return "probabilities by " + how
}

// PositiveText names the positive class of two, "" if there is none.
func PositiveText(class string) string {
	if class == "" {
		return ""
	}
	return ", positive: " + score.DisplayName(class)
}

// Criterion names what is largest for the class that a model with probabilities predicts.
func Criterion(p *models.Probabilities) string {
	if p.Weights != nil {
		return "product of probability and class weight"
	}
	return "probability"
}

// DecisionRule describes how a model assigns classes, "" if it takes the largest score or probability.
func DecisionRule(m *models.Manifest) string {
	switch {
	case m.Threshold != nil:
		return DecidedBy(m.Threshold, m.Vocabulary.Classes[m.PositiveClass()])
	case m.Probabilities != nil && m.Probabilities.Weights != nil:
		return "the largest " + Criterion(m.Probabilities)
	}
	return ""
}

// DecidedBy describes how a threshold decides for a class.
func DecidedBy(t *models.Threshold, class string) string {
	what := "half the difference of its score and the other"
	if t.Of == models.OfProbability {
		what = "its probability"
	}
	return fmt.Sprintf("threshold %g: a row is of class %q if %s is at least that", t.Value, class, what)
}

// ThresholdText describes a threshold between two classes, in lines, "" if there is none.
func ThresholdText(t *models.Threshold, positive string) string {
	switch {
	case t == nil:
		return ""
	case t.By == "":
		return DecidedBy(t, positive)
	}
	name := map[score.Criterion]string{score.ByError: "error", score.ByBalanced: "balanced accuracy",
		score.ByF1: "F1 of the class"}[t.By]
	text := DecidedBy(t, positive) + fmt.Sprintf("\nchosen by the %s on %s held-out rows, %s, by weights that were "+
		"trained without them; ", name, Groups(t.Rows), OneIn(t.Folds))
	if t.Expected == nil {
		return text + "no other held-out rows can judge it"
	}
	expected, plain := *t.Expected, *t.Plain
	if t.By == score.ByError {
		expected, plain = 1-expected, 1-plain
	}
	return text + fmt.Sprintf("expect %.2f%%, without it %.2f%%\n(each half of these rows decided by the threshold that "+
		"the other half chooses)", 100*expected, 100*plain)
}

// WeightsText describes the weights of rows.
func WeightsText(w *models.RowWeights) string {
	text := fmt.Sprintf("column %q: from %.4g to %.4g, sum %.6g", w.Column, w.Min, w.Max, w.Sum)
	switch g := w.Grid; {
	case w.Equal():
		return text + "; all are equal, so they change nothing"
	case g == nil:
		return text
	case g.Exact:
		return text + fmt.Sprintf("; whole multiples of %.4g, used exactly", g.Unit)
	}
	return text + "; rounded to 8 significant bits"
}

// GridText describes a grid by its number of steps.
func GridText(steps int) string {
	if steps == blas.MaxByte {
		return "8 bits"
	}
	bits := 1 + int(math.Ceil(math.Log2(float64(steps))))
	return fmt.Sprintf("%d bits (%s steps on either side)", bits, Groups(int64(steps)))
}
