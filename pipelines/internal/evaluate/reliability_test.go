package evaluate

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/results"
)

func TestEmptyReportIsPrinted(t *testing.T) {
	r := &results.ProbabilityReport{ReliabilityReport: score.NewReliability(2, 10).Report(1), NotFinite: 3}
	var b strings.Builder
	if _, err := (&results.Evaluate{Probabilities: r}).WriteTo(&b); err != nil {
		t.Error(err)
	}
	if !strings.Contains(b.String(), "3 rows without finite scores are excluded") || math.IsNaN(r.ECE) {
		t.Errorf("%+v\n%s", r, b.String())
	}
	if err := report.WritePicture(jobtest.Ctx, filepath.Join(t.TempDir(), "r.svg"), ReliabilityDiagram(r), 14, 12); err != nil {
		t.Error(err)
	}
}
