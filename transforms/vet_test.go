package transforms_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/vet"

	"github.com/bochner-ml/bochner/io/messages"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/gram"
	"github.com/bochner-ml/bochner/transforms/learn"
	_ "github.com/bochner-ml/bochner/transforms/pubsub"
	"github.com/bochner-ml/bochner/transforms/rows"
	"github.com/bochner-ml/bochner/transforms/scoring"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// graphs are the pipelines that the jobs run, one for each of their passes.
var graphs = map[string]func(s beam.Scope, sc transforms.Scan){
	"survey.Profile":      sums(&survey.Profile{}),
	"survey.Columns":      sums(&survey.Columns{}),
	"survey.Sample":       sums(&survey.Sample{}),
	"gram.Audit":          sums(&gram.Audit{}),
	"survey.Contents":     sums(&survey.Contents{}),
	"survey.Weights":      sums(&survey.Weights{}),
	"survey.Targets":      sums(&survey.Targets{}),
	"scoring.Calibration": sums(&scoring.Calibration{}),
	"scoring.Trials":      sums(&scoring.Trials{}),
	"scoring.Threshold":   sums(&scoring.Threshold{}),
	"scoring.Compare":     sums(&scoring.Compare{}),
	"scoring.Score":       sums(&scoring.Score{}),
	"fold, merge, store and solve": func(s beam.Scope, sc transforms.Scan) {
		parts, reports := gram.Sums(s, sc, gram.State{})
		stored := gram.Merge(s, sc, gram.State{}, parts)
		transforms.Write(s, "fit", gram.Solve(s, sc, gram.State{}, gram.Index(s, sc, gram.State{}, stored, reports)))
	},
	"files": func(s beam.Scope, sc transforms.Scan) {
		f := &scoring.Files{Model: "models@champion", Out: "out", Content: scoring.Content{Format: "csv"}}
		transforms.WriteLines(s, "files", f.Predict(s, []scoring.Arrival{{Path: "a"}, {Path: "b"}}, 1))
	},
	"arriving files": func(s beam.Scope, sc transforms.Scan) {
		f := &scoring.Files{Model: "models@champion", Out: "out", Content: scoring.Content{Format: "csv"}}
		f.Arrive(s, scoring.WatchOptions{Patterns: []string{"in/*"}, Poll: time.Second, MaxFiles: 9}, 1)
	},
	"arriving files on Flink": func(s beam.Scope, sc transforms.Scan) {
		f := &scoring.Files{Model: "models@champion", Out: "out", Content: scoring.Content{Format: "csv"}}
		f.Arrive(s, scoring.WatchOptions{Patterns: []string{"in/*"}, Poll: time.Second, MaxFiles: 9, Flink: true}, 1)
	},
	"messages": func(s beam.Scope, sc transforms.Scan) {
		f := &scoring.Files{Model: "models@champion", Out: "pubsub://projects/p/topics/out",
			Dead: "pubsub://projects/p/topics/dead", Content: scoring.Content{Format: "csv"}}
		if _, err := f.Receive(s, "pubsub://projects/p/subscriptions/rows", messages.Settings{IDAttribute: "id"},
			1); err != nil {
			panic(err)
		}
	},
	"resolve": func(s beam.Scope, sc transforms.Scan) {
		transforms.Write(s, "fit", gram.Solve(s, sc, gram.State{}, beam.Impulse(s)))
	},
	"rounds": func(s beam.Scope, sc transforms.Scan) { learn.Rounds(s, sc, 0, 2, 0) },
	"predict": func(s beam.Scope, sc transforms.Scan) {
		transforms.WriteLines(s, "written", new(scoring.Predict).Write(s, sc))
	},
	"featurize": func(s beam.Scope, sc transforms.Scan) {
		transforms.WriteLines(s, "written", new(transforms.Featurize).Write(s, sc))
	},
	"rows": func(s beam.Scope, _ transforms.Scan) {
		col := beam.ParDo(s, aRow, beam.Impulse(s))
		m, r := rows.Model{Name: "model"}, rows.Recipe{Dir: "model", Digest: "digest"}
		rows.Predict(s, m, col)
		rows.Featurize(s, m, beam.ParDo(s, withKey, col))
		rows.WithPredictions(s, m, col)
		rows.Evaluate(s, m, col)
		stored := rows.Store(s, r, "sums", rows.Sum(s, r, col))
		rows.Store(s, r, "sums", rows.Sum(s, r, beam.ParDo(s, withKey, col)))
		r.Shards = 2
		rows.Sum(s, r, col)
		beam.ParDo(s, placeOf, stored)
	},
	"drive": func(s beam.Scope, _ transforms.Scan) { transforms.RunProgram(s, []string{"help"}) },
}

func init() {
	beam.RegisterFunction(aRow)
	beam.RegisterFunction(withKey)
	beam.RegisterFunction(placeOf)
}

func aRow([]byte) rows.Row                  { return rows.Row{} }
func withKey(r rows.Row) (string, rows.Row) { return r.Key, r }
func placeOf(st rows.Stored) string         { return st.Dir }

// sums is the pipeline of a pass that ends in one sum.
func sums(p transforms.AnyPass) func(beam.Scope, transforms.Scan) {
	return func(s beam.Scope, sc transforms.Scan) {
		sum, reports := transforms.Sum(s, sc, p)
		transforms.Write(s, "sum", sum)
		transforms.WriteLines(s, "reports", reports)
	}
}

func TestEveryKindOfSumIsAmongTheGraphs(t *testing.T) {
	kinds := transforms.SumKinds()
	if len(kinds) < 8 {
		t.Errorf("%d kinds", len(kinds))
	}
	for _, kind := range kinds {
		if _, ok := graphs[kind]; !ok {
			t.Errorf("no graph of %q is vetted", kind)
		}
	}
}

// All types and functions of the pipelines are registered, which runners in this process do not check and
// workers in other processes need. Beam's generated shims, which vet would also require, are left out on
// purpose: they save nothing if elements are blocks and sums.
func TestEveryPipelineIsRegistered(t *testing.T) {
	for name, build := range graphs {
		p, s := beam.NewPipelineWithRoot()
		build(s, transforms.Scan{Pass: "pass", Readers: 3, Threads: 2})
		build(s, transforms.Scan{Pass: "pass", Readers: 3, Threads: 2, Reshuffle: true})
		e, err := vet.Evaluate(context.Background(), p)
		if err != nil || e.RequiresRegistrations() {
			t.Errorf("%s: registrations are missing (%v)", name, err)
		}
	}
}

type strangerFn struct{}

func (strangerFn) ProcessElement([]byte) {}

func TestVetFindsUnregisteredTypes(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	beam.ParDo0(s, strangerFn{}, beam.Impulse(s))
	if e, err := vet.Evaluate(context.Background(), p); err != nil || !e.RequiresRegistrations() {
		t.Errorf("nothing missing: %v", err)
	}
}

// All fields of DoFns are exported, since DoFns travel as JSON, except those that Setup and StartBundle make.
func TestDoFnsHaveNoHiddenFields(t *testing.T) {
	made := []string{"Worker", "state", "sums", "last", "decoder", "watched"}
	seen := 0
	for name, build := range graphs {
		p, s := beam.NewPipelineWithRoot()
		build(s, transforms.Scan{Pass: "dir/pass", Readers: 1, Threads: 1})
		edges, _, err := p.Build()
		if err != nil {
			t.Fatal(err)
		}
		for _, edge := range edges {
			if edge.DoFn == nil || edge.DoFn.Recv == nil {
				continue
			}
			for _, f := range reflect.VisibleFields(reflect.TypeOf(edge.DoFn.Recv).Elem()) {
				seen++
				if f.Anonymous && f.Type.Kind() == reflect.Struct {
					continue // its fields travel
				}
				travels := f.IsExported() && f.Tag.Get("json") != "-"
				if !travels && len(f.Index) <= 2 && !slices.Contains(made, f.Name) {
					t.Errorf("%s: %T has the field %s", name, edge.DoFn.Recv, f.Name)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no fields seen")
	}
}
