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
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

func init() { beam.RegisterDoFn(reflect.TypeFor[*solveFn]()) }

// Solve computes the model on one worker, from the parts of the index: it writes the
// files of the State, and returns the content of State.FitReport. It starts with the element of
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
	return report, fault.Wrap(fault.Internal, err)
}

// FitReport is the content of State.FitReport. A Coarse report has only Lambda, Rows and Floor; the report on an embedding
// has only Rows, Components, Floor and WeightsSHA256.
type FitReport struct {
	Lambda float64          `json:"lambda"`
	Rows   int64            `json:"rows"`
	Table  []ridge.CVResult `json:"table,omitempty"`
	// FoldErrors is ridge.Solution.FoldErrors.
	FoldErrors [][]float64 `json:"fold_errors,omitempty"`
	// Variance of each of several targets.
	Variance []float64 `json:"variance,omitempty"`
	// FoldVariance is the variance over the rows of the first fold, if it was predicted.
	FoldVariance []float64          `json:"fold_variance,omitempty"`
	Components   []models.Component `json:"components,omitempty"` // of an embedding
	// Coarse is true if the grid is too coarse for Lambda, the best λ on the first fold. There are no weights then.
	Coarse bool `json:"coarse,omitempty"`
	WeightDigests
	// Floor is the λ that is equivalent to rounding features to their grid.
	Floor float64 `json:"floor"`
	// FirstRows is the number of rows of the first fold, without which the trials and held-out weights were fitted.
	FirstRows int64 `json:"first_rows,omitempty"`
	// Sketch is the sketch of all rows, and FirstSketch judges the rows of the first fold; nil for none.
	Sketch      *SketchReport `json:"sketch,omitempty"`
	FirstSketch *SketchReport `json:"first_sketch,omitempty"`
	// Discriminants, for classes, are the discriminants on the rows of the first fold, by the weights of HeldOutSHA256.
	Discriminants []ridge.Discriminant `json:"discriminants,omitempty"`
}

// SketchReport describes a ridge.Sketch, which estimates how far features are from the features of the
// training rows.
type SketchReport struct {
	Probes   int     `json:"probes"` // number of outputs of the Sketch
	Leverage float64 `json:"leverage"`
	Within   bool    `json:"within,omitempty"` // it judges rows that it was computed from
}

func newSketchReport(s *ridge.Sketch) *SketchReport {
	return &SketchReport{Probes: s.Linear.K, Leverage: s.Leverage}
}

// WeightDigests holds the digests of the files that a solve writes.
type WeightDigests struct {
	// WeightsSHA256 belongs to State.Weights.
	WeightsSHA256 string `json:"weights_sha256"`
	HeldOutSHA256 string `json:"held_sha256,omitempty"` // of State.HeldOut
	SketchSHA256  string `json:"sketch_sha256,omitempty"`
	// TrialsSHA256 belongs to State.Trials, which holds a fit for each row of Table that did
	// not fail; "" if there is no such file.
	TrialsSHA256 string `json:"trials_sha256,omitempty"`
}

// solve reads the sums, chooses λ, solves, and stores the weights and other models of the fit. If the grid is too
// coarse, it stores none.
func (f *solveFn) solve(ctx context.Context, meter *transforms.Meter) ([]byte, error) {
	defer meter.Clock(transforms.SolveTime)()
	s, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	stored, report, err := s.fit(ctx)
	if err != nil {
		return nil, err
	}
	report.Floor = s.floor()
	if report.Coarse {
		return json.Marshal(report)
	}
	for _, file := range f.State.files(&report.WeightDigests, stored) {
		if file.model == nil {
			continue
		}
		if *file.sha256, err = transforms.StoreWeights(ctx, file.name, file.model); err != nil {
			return nil, err
		}
	}
	return json.Marshal(report)
}

// solver computes a model from the sums or the rows that a pass has stored.
type solver struct {
	pass    *Pass
	state   State
	m       features.Gridded
	source  ridge.Source
	runs    []storedRun // of the sums, in the order of their keys; nil for rows
	threads int
}

// open reads the index of the sums, or the rows.
func (f *solveFn) open(ctx context.Context) (*solver, error) {
	s := &solver{state: f.State, threads: f.Scan.SolveThreads}
	if s.threads == 0 {
		s.threads = runtime.GOMAXPROCS(0) // all threads of this worker: nothing else is running
	}
	index, err := storage.ReadState(ctx, f.State.Sum, transforms.MaxState)
	if err != nil {
		return nil, err
	}
	if s.pass, err = transforms.LoadPass[Pass](ctx, f.Worker, f.Scan.Pass); err != nil {
		return nil, err
	}
	if s.m, err = f.Worker.Gridded(s.pass.Spec.Recipe); err != nil {
		return nil, err
	}
	_, dim := s.m.Dims()
	s.source.Shape = s.pass.Shape(dim)
	if s.pass.Spec.Rows {
		s.source.Rows, err = s.loadRows(ctx, index)
		return s, err
	}
	if s.runs, err = readIndex(index, s.pass.Spec.Folds*s.source.Shape.NumParts()); err != nil {
		return nil, err
	}
	copies, err := readCopies(ctx, s.pass, f.State)
	if err != nil {
		return nil, err
	}
	s.source.Add = func(to *ridge.Sum, fold int) error {
		if err := s.addRuns(ctx, to, fold); err != nil {
			return err
		}
		return copies.add(to, fold, s.m, s.pass, s.threads)
	}
	return s, nil
}

// addRuns adds the stored sum of a fold.
func (s *solver) addRuns(ctx context.Context, to *ridge.Sum, fold int) error {
	n := s.source.Shape.NumParts()
	runs := slices.DeleteFunc(slices.Clone(s.runs), func(run storedRun) bool { return run.Key/n != fold })
	return addAll(ctx, s.state.Dir, runs, s.threads, func(key int) []float64 { return to.Part(key % n) })
}

// fit returns the models of a solve.
func (s *solver) fit(ctx context.Context) (stored storedModels, report FitReport, err error) {
	spec := s.pass.Spec
	if spec.Components > 0 { // the rows have no labels
		stored, report, err = s.components()
		return stored, report, fault.Wrap(fault.Data, err)
	}
	if classes := s.pass.Target.Classes; spec.FitWithoutFirst && classes != nil && spec.PassFollows {
		head, err := s.firstHead(ctx)
		if err != nil {
			return stored, report, err
		}
		if err := checkHeldOut(head, s.source.Shape, classes.Classes); err != nil {
			return stored, report, fault.Wrap(fault.Data, err)
		}
	}
	stored, report, err = s.ridge()
	return stored, report, fault.Wrap(fault.Data, err)
}

// firstHead returns the head of the sum of the first fold.
func (s *solver) firstHead(ctx context.Context) ([]float64, error) {
	if rows := s.source.Rows; rows != nil {
		sum := ridge.NewPartSum(rows.Shape, 0, 1)
		sum.AddGridRows(rows.Steps, 1, rows.Folds[0])
		return sum.Part(0), nil
	}
	return loadPart(ctx, s.state.Dir, s.runs, 0)
}

// storedModels are the models that a solve stores; nil for those that it does not have.
type storedModels struct{ weights, heldOut, trials, sketch *linear.Model }

// weightsFile is a file of weights with its digest, "" if there is none.
type weightsFile struct {
	name   string
	sha256 *string
	model  *linear.Model
}

// files returns the files of the models.
func (st State) files(w *WeightDigests, f storedModels) []weightsFile {
	return []weightsFile{{st.Weights, &w.WeightsSHA256, f.weights}, {st.HeldOut, &w.HeldOutSHA256, f.heldOut},
		{st.Trials, &w.TrialsSHA256, f.trials}, {st.Sketch, &w.SketchSHA256, f.sketch}}
}

// Check returns an error unless all files of weights are as the solve wrote them.
func (st State) Check(ctx context.Context, w WeightDigests) error {
	for _, file := range st.files(&w, storedModels{}) {
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
	sum := ridge.NewSum(ridge.Shape{Dim: 1, Outputs: shape.Outputs, Weighted: shape.Weighted}) // only of the head
	if err := sum.SetPart(0, head); err != nil {
		return err
	}
	return score.CheckCalibration(sum.ClassCounts(), names)
}

// floor returns the λ that is equivalent to rounding the features to the grid of the pass. All copies
// of a row are rounded in the same way. For m frequent rows, rounded features give a kernel with
// D·Step²/12 added to its diagonal, in directions that have 1/m of the rows each. Weights could use these
// directions to distinguish the rows, but the features of a prediction are not rounded.
func (s *solver) floor() float64 {
	step := s.m.Step() * blas.MaxByte / float64(s.pass.Spec.Steps)
	return ridge.LambdaFloor(step) * max(1, float64(s.source.Shape.Dim)*s.pass.meanShare())
}

// ridge returns the fit to all rows and the sketch of the rows. If requested, it also returns the fit
// without the first fold: one for each λ of a path, if that is not too large.
func (s *solver) ridge() (storedModels, FitReport, error) {
	p, shape, opts := s.pass, s.source.Shape, s.ridgeOptions()
	solve := ridge.Solve
	if p.Rule.Ordered() {
		solve = ridge.SolveChain
	}
	solution, err := solve(opts)
	if err != nil {
		return storedModels{}, FitReport{}, err
	}
	if solution.Coarse {
		return storedModels{}, FitReport{Lambda: solution.Lambda, Rows: solution.Rows, Coarse: true}, nil
	}
	weights := func(f *ridge.Solution) *linear.Model {
		return &linear.Model{W: f.Weights, B: f.Intercept, K: shape.Outputs, D: shape.Dim}
	}
	stored := storedModels{weights: weights(solution), trials: joined(solution.Trials, shape)}
	report := FitReport{Lambda: solution.Lambda, Rows: solution.Rows, Table: solution.Table,
		FoldErrors: solution.FoldErrors, Variance: solution.Variance, FoldVariance: solution.FoldVariance,
		FirstRows: solution.FirstRows}
	if h := solution.WithoutFirst; h != nil {
		if p.Target.Classes != nil && h.Discriminants == nil {
			return stored, report, fmt.Errorf("gram: none of %d rows is in the first of %d folds, whose scores "+
				"give the probabilities; add sums of more rows, or leave out --calibrate", solution.Rows,
				p.Spec.AllFolds())
		}
		stored.heldOut, report.Discriminants = weights(h), h.Discriminants
		report.FirstRows = max(solution.FirstRows, h.FirstRows)
	}
	if solution.Sketch == nil {
		return stored, report, nil
	}
	stored.sketch, report.Sketch = solution.Sketch.Linear, newSketchReport(solution.Sketch)
	if trials := stored.trials; trials != nil && shape.Regression && opts.Return.FirstSketch {
		first := cmp.Or(solution.FirstSketch, solution.Sketch)
		report.FirstSketch = newSketchReport(first)
		report.FirstSketch.Within = first == solution.Sketch
		trials.W, trials.B = append(trials.W, first.Linear.W...), append(trials.B, first.Linear.B...)
		trials.K += first.Linear.K
	}
	return stored, report, nil
}

// ridgeOptions returns the options of a solve.
func (s *solver) ridgeOptions() ridge.Options {
	p := s.pass
	step, ranges := ridge.GridOf(s.m, p.Spec.Steps)
	opts := ridge.Options{
		Search: p.Spec.LambdaSearch,
		Return: ridge.Request{Sketch: p.Spec.Sketch != NoSketch, FirstSketch: p.Spec.Sketch == allSketches,
			Seed: p.Seed},
		From: s.source, Plan: p.Spec.FoldPlan, Gap: p.Rule.Ordered() && p.Rule.Gap,
		Units:   ridge.Units{Step: step, Ranges: ranges, Grid: p.Target.Grid, Weights: p.Spec.Weights},
		Threads: s.threads,
	}
	if len(s.state.Chosen) > 0 {
		opts.Search.Lambda, opts.Search.Smaller, opts.Plan.Validation = s.state.Chosen, nil, ridge.NoFold
	}
	if (p.Copies != nil || p.Spec.Frequent != nil) && p.Spec.Steps > blas.MaxByte {
		// Stop where the errors on copies are no longer the errors of predictions. On a grid of 8 bits a
		// smaller λ shows whether a finer grid is needed.
		least := ridge.FloorFactor * s.floor()
		smaller := slices.Clone(opts.Search.Smaller)
		opts.Search.Smaller = slices.DeleteFunc(smaller, func(l float64) bool { return l < least })
	}
	if p.Spec.MayRefine {
		opts.Return.CoarseBelow = ridge.FloorFactor * s.floor()
	}
	if p.Target.Classes != nil {
		opts.Units.Classes = p.Target.Classes.Classes
	}
	opts.Return.Trials = opts.Plan.HoldsOut() && p.Spec.PassFollows &&
		ridge.TrialBytes(s.source.Shape, len(opts.Search.Lambda)+len(opts.Search.Smaller)) <= ridge.MaxTrialBytes
	return opts
}

// joined returns the fits that are not nil as one model with the outputs of all; nil if
// there are none.
func joined(fits []*ridge.Solution, shape ridge.Shape) *linear.Model {
	var w, b [][]float32
	for _, f := range fits {
		if f != nil {
			w, b = append(w, f.Weights), append(b, f.Intercept)
		}
	}
	if len(w) == 0 {
		return nil
	}
	return &linear.Model{W: slices.Concat(w...), B: slices.Concat(b...), K: len(w) * shape.Outputs, D: shape.Dim}
}

// components returns the principal components of the features.
func (s *solver) components() (storedModels, FitReport, error) {
	p := s.pass
	step, ranges := ridge.GridOf(s.m, p.Spec.Steps)
	sum := ridge.NewSum(s.source.Shape)
	if err := s.source.Add(sum, 0); err != nil {
		return storedModels{}, FitReport{}, err
	}
	fit, err := pca.Solve(sum, pca.Options{Components: p.Spec.Components, Step: step, Ranges: ranges, Seed: p.Seed,
		Threads: s.threads})
	if err != nil {
		return storedModels{}, FitReport{}, err
	}
	report := FitReport{Rows: sum.Rows()}
	for i, v := range fit.Variance {
		report.Components = append(report.Components, models.Component{Variance: v, Share: fit.Ratio[i]})
	}
	return storedModels{weights: fit.Linear}, report, nil
}
