package plan

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/internal/machine"
	"github.com/bochner-ml/bochner/pipelines/internal/days"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// FitPlan is an estimate of what a fit to sums will need, by the manifests of the sums.
type FitPlan struct {
	FitSums
	FitModel
	results.Memory
	Stored     int64   `json:"bytes_stored"` // largest size of the work directory
	Threads    int     `json:"threads"`
	Add        float64 `json:"seconds_to_add"` // assuming Rates
	Solve      float64 `json:"seconds_to_solve"`
	Rates      Rates   `json:"rates"`
	memoryNote string  // note on the machine's memory
}

// FitSums describes the sums that are added.
type FitSums struct {
	Sums  int   `json:"sums"`  // number of directories
	Parts int   `json:"parts"` // number of parts of the data
	Rows  int64 `json:"rows"`
	Read  int64 `json:"bytes"` // size of the sums
}

// FitModel describes the model of a plan.
type FitModel struct {
	Features   int `json:"features"`
	Components int `json:"components,omitempty"` // number of components of an embedding
	Folds      int `json:"folds"`
	Lambdas    int `json:"lambdas"`
	Outputs    int `json:"outputs"`
}

// addRate is the assumed number of bytes of packed sums that a CPU adds in a second: half the rate of a core of
// an AMD EPYC (Zen 5).
const addRate = 125e6

// Fit plans a fit to sums. It reads only the manifests of the sums.
func Fit(ctx context.Context, o options.Fit) (*FitPlan, error) {
	all, listed, err := days.OpenFit(ctx, o)
	if err != nil {
		return nil, err
	}
	e, rule := o.Job.Engine.WithDefaults(), all.Recipe.Rule
	shape, rows := all.Recipe.Shape(all.ClassCount()), all.Added.Rows.Used
	p := &FitPlan{
		FitSums: FitSums{Sums: len(all.Terms), Parts: len(all.Leaves), Rows: rows},
		FitModel: FitModel{Features: shape.Dim, Components: rule.Components, Folds: rule.Folds,
			Outputs: shape.Outputs, Lambdas: spec.Lambdas(all.Recipe, o.Lambda)},
		Memory: spec.MemoryOfSums(all.Recipe, all.ClassCount(), rows, listed, e.Threads),
		Stored: int64(rule.Folds) * shape.Bytes(), Threads: max(1, e.Threads),
		Rates: Rates{Read: addRate, Solve: assumedRates.Solve},
	}
	for _, d := range all.Terms {
		p.Read += d.Bytes()
	}
	p.Add = float64(p.Read) / (addRate * float64(p.Threads))
	seconds := solveSeconds(shape, rule.FoldPlan(), p.Rows, p.Lambdas, rule.Components == 0)
	p.Solve = 2 * seconds / float64(p.Threads) // see Plan.work
	if e.InProcess() {
		if have := machine.ReadMemory(); have.Limit > 0 && p.PeakBytes > have.Limit {
			p.memoryNote = fmt.Sprintf("%s allows %s", have.By, report.Bytes(have.Limit))
		}
	}
	return p, nil
}

// WriteTo prints the plan for people.
func (p *FitPlan) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "sums      %s, %s, of %s of the data\n", report.Counted(p.Sums, "directory"), report.Bytes(p.Read),
		report.Counted(p.Parts, "part"))
	fmt.Fprintf(&b, "rows      %s, of which none is read\n", report.Groups(p.Rows))
	if p.Components > 0 {
		fmt.Fprintf(&b, "model     %s, %s\n", report.Counted(p.Features, "feature"),
			report.Counted(p.Components, "component"))
	} else {
		fmt.Fprintf(&b, "model     %s, %s of lambda, %s\n", report.Counted(p.Features, "feature"),
			report.Counted(p.Lambdas, "value"), report.Counted(p.Folds, "fold"))
	}
	fmt.Fprintf(&b, "memory    at most %s in total: %s to add, %s to solve; it does not grow with the sums\n",
		report.Bytes(p.PeakBytes), report.Bytes(p.WorkerBytes), report.Bytes(p.Memory.SolveBytes))
	if p.memoryNote != "" {
		fmt.Fprintf(&b, "          %s\n", p.memoryNote)
	}
	fmt.Fprintf(&b, "disk      %s at most in files of the work directory\n", report.Bytes(p.Stored))
	fmt.Fprintf(&b,
		"time      about %.1f s to add, %.1f s to solve, if each of %s adds %.0f MB/s and solves with %.0f Gflop/s\n",
		p.Add, p.Solve, report.Counted(p.Threads, "thread"), p.Rates.Read/1e6, p.Rates.Solve/1e9)
	return b.WriteTo(w)
}
