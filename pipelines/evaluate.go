package pipelines

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/transforms"
)

// EvaluateOptions says which model to score on which data.
type EvaluateOptions struct {
	Model string // directory
	Data  dataset.Options
	Gate  string // a score that must be reached: "accuracy>=0.95"; "" for none

	MaxBadFraction float64 // share of rows that may be set aside, 0 to 1

	Job JobOptions
}

// EvaluateResult is how well a model does.
type EvaluateResult struct {
	Model   string              `json:"model"`
	Rows    Counts              `json:"rows"`
	Aside   []dataset.SetAside  `json:"set_aside,omitempty"` // the first rows that cannot be used
	Classes *score.ClassReport  `json:"classes,omitempty"`   // of a classifier
	Targets *score.TargetReport `json:"targets,omitempty"`   // of a regression
	Gate    string              `json:"gate,omitempty"`      // that was passed
}

// Evaluate applies a model to labelled data and scores it. The error is a
// *GateError if the gate is not passed; the result is there all the same.
func Evaluate(ctx context.Context, o EvaluateOptions) (result *EvaluateResult, err error) {
	g, err := parseGate(o.Gate)
	if err != nil {
		return nil, err
	}
	if err := o.Job.Engine.validate(); err != nil {
		return nil, err
	}
	manifest, d, err := openModelData(ctx, o.Model, o.Data)
	if err != nil {
		return nil, err
	}
	if !d.Labeled {
		return nil, unlabeled(d)
	}
	dir, remove, err := scratch()
	if err != nil {
		return nil, err
	}
	defer remove()
	j, err := newJob(ctx, o.Job, storage.Join(dir, "evaluation"))
	if err != nil {
		return nil, err
	}
	defer func() { j.close(ctx, err) }()
	model, err := storage.Abs(o.Model)
	if err != nil {
		return nil, err
	}
	classes := manifest.Task == models.Classification
	pass := &transforms.Pass{
		Data: *d, Shards: j.opts.shards(d), Mode: mode(o.MaxBadFraction), Target: &transforms.Target{},
		Predict: &transforms.Predict{Model: model, SHA256: manifest.SHA256},
	}
	j.progress.phase("evaluating", 0)
	files, reports, err := j.scan(ctx, pass, "score", func(s beam.Scope, sc transforms.Scan, files passFiles) {
		sum, reports := transforms.Score(s, sc, classes)
		transforms.Write(s, files.sum, sum)
		transforms.WriteLines(s, files.reports, reports)
	})
	if err != nil {
		return nil, err
	}
	j.progress.done()
	result = &EvaluateResult{Model: o.Model, Gate: o.Gate}
	if result.Rows, err = count(d, reports, o.MaxBadFraction); err != nil {
		return nil, err
	}
	result.Aside = result.Rows.Listed
	data, err := storage.ReadFile(ctx, files.sum, maxState)
	if err != nil {
		return nil, err
	}
	if classes {
		var sum score.Classes
		if err := sum.UnmarshalBinary(data); err != nil {
			return nil, err
		}
		report := sum.Report(manifest.Vocabulary.Classes)
		result.Classes = &report
	} else {
		var sum score.Targets
		if err := sum.UnmarshalBinary(data); err != nil {
			return nil, err
		}
		report := sum.Report()
		result.Targets = &report
	}
	return result, g.check(result)
}

// gate is a bound on a score.
type gate struct {
	score string
	least bool // the score must be at least the bound, else at most
	bound float64
}

// gateScores are the scores that a gate can name.
var gateScores = map[string]func(*EvaluateResult) (float64, bool){
	"accuracy": func(r *EvaluateResult) (float64, bool) {
		return ofClasses(r, func(c *score.ClassReport) float64 { return c.Accuracy })
	},
	"error": func(r *EvaluateResult) (float64, bool) {
		return ofClasses(r, func(c *score.ClassReport) float64 { return c.Error })
	},
	"macro_f1": func(r *EvaluateResult) (float64, bool) {
		return ofClasses(r, func(c *score.ClassReport) float64 { return c.MacroF1 })
	},
	"r2": func(r *EvaluateResult) (float64, bool) {
		return ofTargets(r, func(t *score.TargetReport) float64 { return t.R2 })
	},
	"rmse": func(r *EvaluateResult) (float64, bool) {
		return ofTargets(r, func(t *score.TargetReport) float64 { return t.RMSE })
	},
	"mae": func(r *EvaluateResult) (float64, bool) {
		return ofTargets(r, func(t *score.TargetReport) float64 { return t.MAE })
	},
}

func ofClasses(r *EvaluateResult, f func(*score.ClassReport) float64) (float64, bool) {
	if r.Classes == nil {
		return 0, false
	}
	return f(r.Classes), true
}

func ofTargets(r *EvaluateResult, f func(*score.TargetReport) float64) (float64, bool) {
	if r.Targets == nil {
		return 0, false
	}
	return f(r.Targets), true
}

// parseGate reads a gate such as accuracy>=0.95 or rmse<=3; nil for the empty text.
func parseGate(text string) (*gate, error) {
	if text == "" {
		return nil, nil
	}
	for _, op := range []string{">=", "<="} {
		name, bound, found := strings.Cut(text, op)
		if !found {
			continue
		}
		g := &gate{score: strings.TrimSpace(name), least: op == ">="}
		if _, ok := gateScores[g.score]; !ok {
			return nil, usage("--gate: unknown score %q%s; have %s", g.score, DidYouMean(g.score, keys(gateScores)), strings.Join(keys(gateScores), ", "))
		}
		var err error
		if g.bound, err = strconv.ParseFloat(strings.TrimSpace(bound), 64); err != nil {
			return nil, usage("--gate: %q is not a number", bound)
		}
		return g, nil
	}
	return nil, usage("--gate: %q is not of the form accuracy>=0.95 or rmse<=3", text)
}

func (g *gate) check(r *EvaluateResult) error {
	if g == nil {
		return nil
	}
	value, ok := gateScores[g.score](r)
	if !ok {
		return usage("--gate: this model has no %s", g.score)
	}
	op := "<="
	passed := value <= g.bound
	if g.least {
		op, passed = ">=", value >= g.bound
	}
	if !passed {
		return &GateError{fmt.Sprintf("gate not passed: %s is %.6g, want %s %g", g.score, value, op, g.bound)}
	}
	return nil
}

// WriteTo prints the result for people.
func (r *EvaluateResult) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "model     %s\nrows      %s\n", r.Model, r.Rows)
	writeAside(&b, r.Aside)
	if r.Classes != nil {
		r.Classes.WriteTo(&b)
	} else {
		r.Targets.WriteTo(&b)
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}
