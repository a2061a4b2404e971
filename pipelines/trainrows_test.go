package pipelines

import (
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

func TestTrainRowsRefusesANegativeSample(t *testing.T) {
	defer func() {
		if why, _ := recover().(string); !strings.Contains(why, "Sample must be at least 0 (have -1)") {
			t.Errorf("panics with %q", why)
		}
	}()
	_, s := beam.NewPipelineWithRoot()
	TrainRows(s, TrainRowsOptions{Sample: -1}, beam.Impulse(s))
}
