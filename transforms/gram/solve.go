package gram

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/ridge/discriminant"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

func init() { beam.RegisterDoFn(reflect.TypeOf((*solveFn)(nil))) }

// Solve computes the model on one worker, from the parts of the index: it writes the
// files of the State, and returns the content of State.Fit. It starts with the element of
// ready, which comes from Index, or from an Impulse if an earlier pipeline has written
// the index.
func Solve(s beam.Scope, sc transforms.Scan, st State, ready beam.PCollection) beam.PCollection {
	s = s.Scope("gram.Solve")
	return beam.ParDo(s, &solveFn{Fn: transforms.Fn{Scan: sc}, State: st}, ready)
}

type solveFn struct {
	transforms.Fn
	State State
}

func (f *solveFn) ProcessElement(ctx context.Context, _ []byte) ([]byte, error) {
	m := f.Worker.NewMeter()
	report, err := f.solve(ctx, m)
	m.Commit(ctx)
	return report, fault.New(fault.Internal, err)
}

// FitReport is the content of State.Fit.
type FitReport struct {
	Lambda float64     `json:"lambda"`
	Rows   int64       `json:"rows"`
	Table  []ridge.Row `json:"table,omitempty"`
	// FoldErrors is ridge.Solution.FoldErrors.
	FoldErrors [][]float64 `json:"fold_errors,omitempty"`
	// Variance of each of several targets.
	Variance []float64 `json:"variance,omitempty"`
	// FoldVariance is the variance over the rows of the first fold, if it was predicted.
	FoldVariance []float64          `json:"fold_variance,omitempty"`
	Components   []models.Component `json:"components,omitempty"` // of an embedding
	// Coarse says that the grid is too coarse for Lambda, the best λ on the first fold. There are no weights then.
	Coarse bool `json:"coarse,omitempty"`
	Written
	// Floor is the λ that is equivalent to rounding features to their grid.
	Floor float64 `json:"floor"`
	// FirstRows is the number of rows of the first fold, without which the trials and held-out weights were fitted.
	FirstRows int64 `json:"first_rows,omitempty"`
	// Sketch is the sketch of all rows, and FirstSketch judges the rows of the first fold; nil for none.
	Sketch      *Sketch `json:"spread,omitempty"`
	FirstSketch *Sketch `json:"first_spread,omitempty"`
	// Discriminants holds the discriminant of each class on the rows of the first fold, by the held-out weights.
	Discriminants []discriminant.Discriminant `json:"discriminants,omitempty"`
}

// Sketch describes a ridge.Sketch, which estimates how far features are from the features of the
// training rows.
type Sketch struct {
	Probes   int     `json:"probes"` // number of outputs of the Sketch
	Leverage float64 `json:"leverage"`
	Within   bool    `json:"within,omitempty"` // it judges rows that it was computed from
}

func sketchOf(s *ridge.Sketch, within bool) *Sketch { return &Sketch{s.Linear.K, s.Leverage, within} }

// Written holds the digests of the files that a solve writes.
type Written struct {
	// WeightsSHA256 belongs to State.Weights.
	WeightsSHA256 string `json:"weights_sha256"`
	HeldOutSHA256 string `json:"held_sha256,omitempty"` // of State.HeldOut
	SketchSHA256  string `json:"spread_sha256,omitempty"`
	// TrialsSHA256 belongs to State.Trials, which holds a fit for each row of Table that did
	// not fail; "" if there is no such file.
	TrialsSHA256 string `json:"trials_sha256,omitempty"`
}

func (f *solveFn) solve(ctx context.Context, meter *transforms.Meter) ([]byte, error) {
	defer meter.Clock(transforms.SolveTime)()
	st, threads := f.State, f.Scan.SolveThreads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0) // all threads of this worker: nothing else is running
	}
	index, err := storage.ReadState(ctx, st.Sum, transforms.MaxState)
	if err != nil {
		return nil, err
	}
	p, err := transforms.Load[Pass](ctx, f.Worker, f.Scan.Pass)
	if err != nil {
		return nil, err
	}
	m, err := f.Worker.Gridded(p.Spec.Recipe)
	if err != nil {
		return nil, err
	}
	_, dim := m.Dims()
	shape := p.Shape(dim)
	var rows *ridge.Rows
	var runs []stored
	if p.Spec.Rows {
		rows, err = loadRows(ctx, p, st, index, shape, threads)
	} else {
		runs, err = readIndex(index, p.Spec.Folds*ridge.NumParts(shape))
	}
	if err != nil {
		return nil, err
	}
	copies, err := readCopies(ctx, p, st)
	if err != nil {
		return nil, err
	}
	add := func(to *ridge.Sum, fold int) error {
		n := ridge.NumParts(shape)
		of := slices.DeleteFunc(slices.Clone(runs), func(st stored) bool { return st.Key/n != fold })
		if err := addAll(ctx, st.Dir, of, threads, func(key int) []float64 { return to.Part(key % n) }); err != nil {
			return err
		}
		return copies.add(to, fold, m, p, threads)
	}
	var found fits
	var report FitReport
	if p.Spec.Components > 0 {
		found.weights, report, err = solveComponents(p, shape, m, threads, add)
	} else {
		if p.Spec.FitWithoutFirst && p.Target.Classes != nil && !p.Spec.NoPassFollows {
			var head []float64
			if rows != nil {
				head = firstHead(rows)
			} else if head, err = loadPart(ctx, st.Dir, runs, 0); err != nil {
				return nil, err
			}
			if err := checkHeldOut(head, shape, p.Target.Classes.Classes); err != nil {
				return nil, fault.New(fault.Data, err)
			}
		}
		found, report, err = solveRidge(p, st.Chosen, shape, m, threads, add, rows)
	}
	if err != nil {
		return nil, fault.New(fault.Data, err)
	}
	report.Floor = p.floor(m, dim)
	if report.Coarse {
		return json.Marshal(report)
	}
	for _, file := range st.files(&report.Written, found) {
		if file.model == nil {
			continue
		}
		if *file.sha256, err = transforms.StoreWeights(ctx, file.name, file.model); err != nil {
			return nil, err
		}
	}
	return json.Marshal(report)
}

// fits are the models that a solve stores; nil for those that it does not have.
type fits struct{ weights, heldOut, trials, sketch *models.Linear }

// weightsFile is a file of weights with its digest, "" if there is none.
type weightsFile struct {
	name   string
	sha256 *string
	model  *models.Linear
}

// files returns the files of the models.
func (st State) files(w *Written, f fits) []weightsFile {
	return []weightsFile{{st.Weights, &w.WeightsSHA256, f.weights}, {st.HeldOut, &w.HeldOutSHA256, f.heldOut},
		{st.Trials, &w.TrialsSHA256, f.trials}, {st.Sketch, &w.SketchSHA256, f.sketch}}
}

// Check returns an error unless all files of weights are as the solve wrote them.
func (st State) Check(ctx context.Context, w Written) error {
	for _, file := range st.files(&w, fits{}) {
		if *file.sha256 == "" && file.name != st.Weights {
			continue
		}
		if err := transforms.CheckWeights(ctx, file.name, *file.sha256); err != nil {
			return err
		}
	}
	return nil
}

// checkHeldOut returns an error if the first fold is unsuitable for measuring the scores of a
// class. It is called before the solve, which takes long. head is the head of the fold's sum.
func checkHeldOut(head []float64, shape ridge.Shape, names []string) error {
	sum := ridge.NewSum(ridge.Shape{Dim: 1, Outputs: shape.Outputs, Weighted: shape.Weighted}) // of the head alone
	if err := sum.SetPart(0, head); err != nil {
		return err
	}
	return score.CheckCalibration(sum.ClassCounts(), names)
}

// floor returns the λ that is equivalent to rounding the features of m to the grid of the pass. All copies
// of a row are rounded in the same way. For m frequent rows, rounded features give a kernel with
// D·Step²/12 added to its diagonal, in directions that have 1/m of the rows each. Weights could use these
// directions to distinguish the rows, but the features of a prediction are not rounded.
func (p *Pass) floor(m features.Gridded, dim int) float64 {
	return ridge.Floor(m.Step()*blas.MostByte/float64(p.Spec.Steps)) * max(1, float64(dim)*p.meanShare())
}

// solveRidge returns the fit to all rows and the sketch of the rows. If requested, it also returns the fit
// without the first fold: one for each λ of a path, if that is not too large. chosen is State.Chosen.
func solveRidge(p *Pass, chosen []float64, shape ridge.Shape, m features.Gridded, threads int,
	add func(*ridge.Sum, int) error, rows *ridge.Rows) (fits, FitReport, error) {
	opts := p.ridgeOptions(chosen, shape, m)
	opts.Add, opts.Rows, opts.Threads = add, rows, threads
	solve := ridge.Solve
	if p.Rule.Ordered() {
		solve = ridge.SolveChain
	}
	fit, err := solve(opts)
	if err != nil {
		return fits{}, FitReport{}, err
	}
	if fit.Coarse {
		return fits{}, FitReport{Lambda: fit.Lambda, Rows: fit.Rows, Coarse: true}, nil
	}
	weights := func(f *ridge.Solution) *models.Linear {
		return &models.Linear{W: f.Weights, B: f.Intercept, K: shape.Outputs, D: shape.Dim}
	}
	found := fits{weights: weights(fit), trials: joined(fit.Trials, shape)}
	report := FitReport{Lambda: fit.Lambda, Rows: fit.Rows, Table: fit.Table, FoldErrors: fit.FoldErrors,
		Variance: fit.Variance, FoldVariance: fit.FoldVariance, FirstRows: fit.FirstRows}
	if h := fit.WithoutFirst; h != nil {
		if p.Target.Classes != nil && h.Discriminants == nil {
			return found, report, fmt.Errorf("gram: none of %d rows is in the first of %d folds, whose scores give the "+
				"probabilities; add sums of more rows, or leave out --calibrate", fit.Rows, p.Spec.AllFolds())
		}
		found.heldOut, report.Discriminants = weights(h), h.Discriminants
		report.FirstRows = max(fit.FirstRows, h.FirstRows)
	}
	if fit.Sketch == nil {
		return found, report, nil
	}
	found.sketch, report.Sketch = fit.Sketch.Linear, sketchOf(fit.Sketch, false)
	if trials := found.trials; trials != nil && shape.Regression && opts.FirstSketch {
		first := cmp.Or(fit.FirstSketch, fit.Sketch)
		report.FirstSketch = sketchOf(first, first == fit.Sketch)
		trials.W, trials.B = append(trials.W, first.Linear.W...), append(trials.B, first.Linear.B...)
		trials.K += first.Linear.K
	}
	return found, report, nil
}

// ridgeOptions returns the options of a solve, without its source and threads.
func (p *Pass) ridgeOptions(chosen []float64, shape ridge.Shape, m features.Gridded) ridge.Options {
	step, ranges := ridge.GridOf(m, p.Spec.Steps)
	opts := ridge.Options{
		Choice:  p.Spec.Choice,
		Results: ridge.Results{Sketch: p.Spec.Sketch != NoSketch, FirstSketch: p.Spec.Sketch == AllSketches, Seed: p.Seed},
		Source:  ridge.Source{Shape: shape}, FoldPlan: p.Spec.FoldPlan, Gap: p.Rule.Ordered() && p.Rule.Gap,
		Units: ridge.Units{Step: step, Ranges: ranges, Grid: p.Target.Grid, Weights: p.Spec.Weights},
	}
	if len(chosen) > 0 {
		opts.Lambda, opts.Smaller, opts.Judge = chosen, nil, ridge.JudgeNone
	}
	if (p.Copies != nil || p.Spec.Frequent != nil) && p.Spec.Steps > blas.MostByte {
		// Stop where the errors on copies are no longer the errors of predictions. On a grid of 8 bits a
		// smaller λ shows whether a finer grid is needed.
		least := ridge.FloorFactor * p.floor(m, shape.Dim)
		opts.Smaller = slices.DeleteFunc(slices.Clone(opts.Smaller), func(l float64) bool { return l < least })
	}
	if p.Spec.MayRefine {
		opts.CoarseBelow = ridge.FloorFactor * p.floor(m, shape.Dim)
	}
	if p.Target.Classes != nil {
		opts.Classes = p.Target.Classes.Classes
	}
	opts.Trials = opts.Validates() && !p.Spec.NoPassFollows &&
		ridge.TrialBytes(shape, len(opts.Lambda)+len(opts.Smaller)) <= ridge.MaxTrialBytes
	return opts
}

// joined returns the fits that are not nil as one model with the outputs of all; nil if
// there are none.
func joined(fits []*ridge.Solution, shape ridge.Shape) *models.Linear {
	var w, b [][]float32
	for _, f := range fits {
		if f != nil {
			w, b = append(w, f.Weights), append(b, f.Intercept)
		}
	}
	if len(w) == 0 {
		return nil
	}
	return &models.Linear{W: slices.Concat(w...), B: slices.Concat(b...), K: len(w) * shape.Outputs, D: shape.Dim}
}

func solveComponents(p *Pass, shape ridge.Shape, m features.Gridded, threads int,
	add func(*ridge.Sum, int) error) (*models.Linear, FitReport, error) {
	step, ranges := ridge.GridOf(m, p.Spec.Steps)
	sum := ridge.NewSum(shape)
	if err := add(sum, 0); err != nil {
		return nil, FitReport{}, err
	}
	fit, err := pca.Solve(sum, pca.Options{Components: p.Spec.Components, Step: step, Ranges: ranges, Seed: p.Seed,
		Threads: threads})
	if err != nil {
		return nil, FitReport{}, err
	}
	report := FitReport{Rows: sum.Rows()}
	for i, v := range fit.Variance {
		report.Components = append(report.Components, models.Component{Variance: v, Share: fit.Ratio[i]})
	}
	return fit.Linear, report, nil
}
