package pipelines

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// A visit has a field that could be a column, if it had another type.
type visit struct {
	Day     time.Time `bochner:"day"`
	Pages   int
	Request []byte `bochner:"-"`
	Bought  bool   `bochner:",label"`
}

func TestTrainRowsRejectsRowsItWouldNotUse(t *testing.T) {
	for want, train := range map[string]func(beam.Scope){
		"Sample must be at least 0 (have -1)": func(s beam.Scope) {
			TrainRows(s, TrainRowsOptions{Sample: -1}, beam.Impulse(s))
		},
		"pipelines.visit.Day is of the type time.Time, which cannot be a column: make it a text, number or boolean, or " +
			"tag it `bochner:\"-\"`": func(s beam.Scope) { TrainRows(s, TrainRowsOptions{}, beam.Create(s, visit{})) },
	} {
		func() {
			defer func() {
				if why, _ := recover().(string); !strings.Contains(why, want) {
					t.Errorf("panics with %q, want %q", why, want)
				}
			}()
			_, s := beam.NewPipelineWithRoot()
			train(s)
		}()
	}
}
