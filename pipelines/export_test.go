package pipelines

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/options"
)

func TestExportDefaultsToONNX(t *testing.T) {
	dir := t.TempDir()
	_, err := Export(t.Context(), options.Export{Model: dir, Out: filepath.Join(dir, "model.onnx")})
	if !errors.Is(err, models.ErrBadModel) {
		t.Errorf("%v, want an error of the model", err)
	}
}
