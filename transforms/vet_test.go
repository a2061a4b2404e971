package transforms

import (
	"context"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/vet"
)

// graphs are the pipelines that the jobs run, one for each of their passes.
var graphs = map[string]func(s beam.Scope, sc Scan){
	"profile": func(s beam.Scope, sc Scan) {
		sum, reports := Profile(s, sc)
		Write(s, "sum", sum)
		WriteLines(s, "reports", reports)
	},
	"census": func(s beam.Scope, sc Scan) {
		sum, reports := Census(s, sc)
		Write(s, "sum", sum)
		WriteLines(s, "reports", reports)
	},
	"tally": func(s beam.Scope, sc Scan) {
		sum, reports := Tallies(s, sc)
		Write(s, "sum", sum)
		WriteLines(s, "reports", reports)
	},
	"fold, merge, store and solve": func(s beam.Scope, sc Scan) {
		parts, reports := FoldRidge(s, sc)
		Write(s, "fit", Solve(s, sc, State{}, Index(s, State{}, StoreParts(s, sc, State{}, Merge(s, parts)), reports)))
	},
	"resolve":   func(s beam.Scope, sc Scan) { Write(s, "fit", Solve(s, sc, State{}, beam.Impulse(s))) },
	"predict":   func(s beam.Scope, sc Scan) { WriteLines(s, "written", Predictions(s, sc)) },
	"featurize": func(s beam.Scope, sc Scan) { WriteLines(s, "written", Featurize(s, sc)) },
	"calibrate": func(s beam.Scope, sc Scan) {
		counts, reports := Calibrations(s, sc)
		Write(s, "counts", counts)
		WriteLines(s, "reports", reports)
	},
	"trials": func(s beam.Scope, sc Scan) {
		sum, reports := Trials(s, sc)
		Write(s, "sum", sum)
		WriteLines(s, "reports", reports)
	},
	"score classes": func(s beam.Scope, sc Scan) {
		sum, reports := Score(s, sc, true)
		Write(s, "sum", sum)
		WriteLines(s, "reports", reports)
	},
	"score targets": func(s beam.Scope, sc Scan) {
		sum, reports := Score(s, sc, false)
		Write(s, "sum", sum)
		WriteLines(s, "reports", reports)
	},
}

// Runners in this process hide what is not registered; workers elsewhere fail.
// Beam's generated shims, which vet would have too, are left out on purpose: they
// save nothing where elements are blocks and sums.
func TestEveryPipelineIsRegistered(t *testing.T) {
	for name, build := range graphs {
		p, s := beam.NewPipelineWithRoot()
		build(s, Scan{Pass: "pass", Lanes: 3, Threads: 2})
		build(s, Scan{Pass: "pass", Lanes: 3, Threads: 2, Spread: true})
		e, err := vet.Evaluate(context.Background(), p)
		if err != nil || e.RequiresRegistrations() {
			t.Errorf("%s: registrations are missing (%v)", name, err)
		}
	}
}

type strangerFn struct{}

func (strangerFn) ProcessElement([]byte) {}

func TestVetSeesWhatIsNotRegistered(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	beam.ParDo0(s, strangerFn{}, beam.Impulse(s))
	if e, err := vet.Evaluate(context.Background(), p); err != nil || !e.RequiresRegistrations() {
		t.Errorf("nothing missing: %v", err)
	}
}

// DoFns travel as JSON: what is not exported is zero on the workers, as is right for
// what StartBundle makes.
func TestDoFnsHaveNoHiddenFields(t *testing.T) {
	seen := 0
	for name, build := range graphs {
		p, s := beam.NewPipelineWithRoot()
		build(s, Scan{Pass: "pass", Lanes: 1, Threads: 1})
		edges, _, err := p.Build()
		if err != nil {
			t.Fatal(err)
		}
		for _, edge := range edges {
			if edge.DoFn == nil || edge.DoFn.Recv == nil {
				continue
			}
			fields := reflect.TypeOf(edge.DoFn.Recv).Elem()
			for i := range fields.NumField() {
				seen++
				if f := fields.Field(i); !f.IsExported() && f.Type != reflect.TypeFor[*partsBundle]() {
					t.Errorf("%s: %v has the field %s", name, fields, f.Name)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no fields seen")
	}
}
