package modeldata

import (
	"math"
	"testing"

	"github.com/bochner-ml/bochner/io/labels"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/jobtest"
)

// classifier is the manifest of a classifier with that many classes.
func classifier(k int, probabilities bool) *models.Manifest {
	m := &models.Manifest{Task: models.Classification, Outputs: k, Vocabulary: labels.New([]string{"a", "b"})}
	if probabilities {
		m.Probabilities = &models.Probabilities{Kind: models.Softmax}
	}
	return m
}

func TestThresholdRefusals(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		value *float64
		of    *models.Manifest
		want  string
	}{
		{number(0.5), classifier(3, true), "two classes; the model is for classification with 3 outputs"},
		{number(0.5), &models.Manifest{Task: models.Regression, Outputs: 1}, "is for regression"},
		{number(math.NaN()), classifier(2, true), "not a finite float32 number"},
		{number(1e300), classifier(2, false), "not a finite float32 number"},
		{number(1.5), classifier(2, true), "between 0 and 1"},
	} {
		_, err := ThresholdOf(c.value, "m", c.of)
		jobtest.WantError(t, c.want, err, exit.CodeUsage, "--threshold", c.want)
	}
	if got, err := ThresholdOf(nil, "m", classifier(3, false)); got != nil || err != nil || got.Rounded() != nil {
		t.Errorf("%v, %v", got, err)
	}
}
