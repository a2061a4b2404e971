package pipelines

import (
	"math"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/apply"
)

func TestThresholdRejectsInvalidValues(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		value *float64
		of    *models.Manifest
		want  string
	}{
		{number(0.5), jobtest.Calibrated(3), "two classes; the model is for classification with 3 outputs"},
		{number(0.5), &models.Manifest{Task: models.Regression, Outputs: 1}, "is for regression"},
		{number(math.NaN()), jobtest.Calibrated(2), "not a finite float32 number"},
		{number(1e300), jobtest.Classifier(2), "not a finite float32 number"},
		{number(1.5), jobtest.Calibrated(2), "between 0 and 1"},
	} {
		_, err := apply.ThresholdOf(c.value, "m", c.of)
		jobtest.WantError(t, c.want, err, exit.CodeUsage, "--threshold", c.want)
	}
	if got, err := apply.ThresholdOf(nil, "m", jobtest.Classifier(3)); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
