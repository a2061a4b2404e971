package tuning

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// If several flags are wrong, the error is always about the same one.
func TestValidateGameNamesTheFirstWrongFlag(t *testing.T) {
	for range 20 {
		err := ValidateGame(options.Game{By: "x", Preset: "y"}, &learned.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "--align: ") {
			t.Fatalf("%v, want an error about --align", err)
		}
	}
}
