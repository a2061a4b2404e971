package training

import (
	"testing"

	"github.com/bochner-ml/bochner/features/landmarks"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/transforms"
)

func TestAllFoldsJudgeAfterASearchOfFewRows(t *testing.T) {
	for name, c := range map[string]struct {
		rows     int64
		searched *tuning.Result
		files    []storage.File
		want     bool
	}{
		"few rows":  {3000, new(tuning.Result), nil, true},
		"more rows": {3001, new(tuning.Result), nil, false},
		"no search": {3000, nil, nil, false},
		"landmarks": {3000, new(tuning.Result), []storage.File{{Name: landmarks.FileName}}, false},
	} {
		p := &prepare.Prepared{Target: &transforms.Labeling{Grid: linear.Grids{{}}}}
		p.Counts.Used, p.Recipe.Files = c.rows, c.files
		tr := &Training{Session: &prepare.Session{Prepared: p}}
		if got := tr.allJudge(FeatureChoice{Searched: c.searched}); got != c.want {
			t.Errorf("%s: all folds judge: %t", name, got)
		}
	}
}
