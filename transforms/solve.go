package transforms

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/calibrate"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/ridge"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*storePartFn)(nil)))
	beam.RegisterDoFn(reflect.TypeOf((*indexFn)(nil)))
	beam.RegisterDoFn(reflect.TypeOf((*solveFn)(nil)))
}

// State names the files of the work directory between a ridge pass and its model.
type State struct {
	Dir     string // where the merged parts are
	Reports string // reports of the pass, as WriteLines writes them
	// Sum is the index of the merged parts: the sum is whole, and the reports are
	// there, when it is.
	Sum string
	Fit string // what was found: λ, the table of the path
	// Weights is a safetensors file of what was fitted.
	Weights string
	// Held is one of what was fitted without the first fold, if Fold.Held asks for it.
	Held string
	// Trials is one of what was fitted without the first fold for each λ that was tried,
	// one after the other.
	Trials string
}

// StoreParts writes every merged part as a file of the work directory and
// returns a line of JSON for each.
func StoreParts(s beam.Scope, sc Scan, st State, parts beam.PCollection) beam.PCollection {
	s = s.Scope("transforms.StoreParts")
	return beam.ParDo(s, &storePartFn{Dir: st.Dir, Threads: sc.Threads}, parts)
}

// stored is a part in a file.
type stored struct {
	Key    int    `json:"key"`
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
}

type storePartFn struct {
	Dir     string
	Threads int
	bundle  *partsBundle
}

// partsBundle is the parts of a bundle that are on their way to their files.
type partsBundle struct {
	*errgroup.Group
	ctx   context.Context // ends with the first error
	mu    sync.Mutex
	lines [][]byte
}

func (f *storePartFn) StartBundle(ctx context.Context, _ func([]byte)) {
	f.bundle = new(partsBundle)
	f.bundle.Group, f.bundle.ctx = errgroup.WithContext(ctx)
	f.bundle.SetLimit(max(1, f.Threads))
}

func (f *storePartFn) ProcessElement(_ context.Context, key int, p Part, _ func([]byte)) {
	b := f.bundle
	b.Go(func() error {
		return guard(func() error {
			line, err := f.store(b.ctx, key, p)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.lines = append(b.lines, line)
			return err
		})
	})
}

func (f *storePartFn) FinishBundle(_ context.Context, emit func([]byte)) error {
	if err := f.bundle.Wait(); err != nil {
		return asFault(Internal, err)
	}
	for _, line := range f.bundle.lines {
		emit(line)
	}
	return nil
}

// store writes a part and returns its line.
func (f *storePartFn) store(ctx context.Context, key int, p Part) ([]byte, error) {
	defer clock(storing)()
	data := encodePart(p)
	sum := sha256.Sum256(data)
	st := stored{Key: key, SHA256: hex.EncodeToString(sum[:])}
	st.File = fmt.Sprintf("part-%06d-%.16s", key, st.SHA256)
	_, err := storage.CreateState(ctx, storage.Join(f.Dir, st.File), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(st)
}

// Index writes the index of the parts that StoreParts wrote, and the reports of the
// pass, so that all that the pass has found is kept before the solve begins, which takes
// long: a run that is stopped then can go on from there. It returns one element when
// that is done.
func Index(s beam.Scope, st State, stored, reports beam.PCollection) beam.PCollection {
	s = s.Scope("transforms.Index")
	grouped := beam.CoGroupByKey(s, beam.ParDo(s, toOne, stored), beam.ParDo(s, toOne, reports))
	return beam.ParDo(s, &indexFn{State: st}, grouped)
}

// Solve makes the model on one worker, from the parts of the index: it writes the files
// of the State, and returns the content of State.Fit. It begins with the element of
// ready, which is that of Index, or an Impulse where an earlier pipeline has written it.
func Solve(s beam.Scope, sc Scan, st State, ready beam.PCollection) beam.PCollection {
	s = s.Scope("transforms.Solve")
	return beam.ParDo(s, &solveFn{Pass: sc.Pass, State: st, Threads: sc.SolveThreads}, ready)
}

type indexFn struct{ State State }

func (f *indexFn) ProcessElement(ctx context.Context, _ int, lines, reports func(*[]byte) bool) ([]byte, error) {
	if err := createLines(ctx, f.State.Reports, gather(reports)); err != nil {
		return nil, asFault(Internal, err)
	}
	index := bytes.Join(gather(lines), []byte("\n"))
	return nil, asFault(Internal, storage.WriteState(ctx, f.State.Sum, index))
}

type solveFn struct {
	Pass    string
	State   State
	Threads int
}

func (f *solveFn) ProcessElement(ctx context.Context, _ []byte) ([]byte, error) {
	index, err := storage.ReadState(ctx, f.State.Sum, maxPass)
	if err != nil {
		return nil, asFault(Internal, err)
	}
	return solve(ctx, f.Pass, f.State, f.Threads, index)
}

// FitReport is the content of State.Fit.
type FitReport struct {
	Lambda float64     `json:"lambda"`
	Rows   int64       `json:"rows"`
	Table  []ridge.Row `json:"table,omitempty"`

	Components []models.Component `json:"components,omitempty"` // of an embedding
	// WeightsSHA256 is that of State.Weights.
	WeightsSHA256 string `json:"weights_sha256"`
	// Floor is the λ that the rounding of features to their grid acts like.
	Floor      float64 `json:"floor"`
	HeldSHA256 string  `json:"held_sha256,omitempty"` // of State.Held
	// TrialsSHA256 is that of State.Trials, which has the fits of all rows of Table that
	// did not fail; "" if there is none.
	TrialsSHA256 string `json:"trials_sha256,omitempty"`
	// FirstRows is the number of rows of the first fold, without which they were fitted.
	FirstRows int64 `json:"first_rows,omitempty"`
}

func solve(ctx context.Context, pass string, st State, threads int, index []byte) ([]byte, error) {
	defer clock(solving)()
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0) // all that this worker has: nothing else is left to do
	}
	p, err := loadPass(ctx, pass)
	if err != nil {
		return nil, asFault(Internal, err)
	}
	m, err := openGridded(ctx, p.Fold.Recipe)
	if err != nil {
		return nil, asFault(Internal, err)
	}
	_, dim := m.Dims()
	shape := p.Shape(dim)
	parts, err := readIndex(index, p.Fold.Folds*ridge.NumParts(shape))
	if err != nil {
		return nil, asFault(Internal, err)
	}
	sum := ridge.NewSum(shape)
	load := func(fold int) (*ridge.Sum, error) {
		var loads errgroup.Group
		loads.SetLimit(threads)
		for k := range ridge.NumParts(shape) {
			loads.Go(func() error {
				return guard(func() error { return loadInto(ctx, sum.Part(k), st.Dir, parts[PartKey(shape, fold, k)]) })
			})
		}
		return sum, loads.Wait()
	}
	step, ranges := gridOf(m, p.Fold.Steps)
	var linear, held, trials *models.Linear
	var report FitReport
	if p.Fold.Components > 0 {
		linear, report, err = solveComponents(p, step, ranges, threads, load)
	} else {
		if p.Fold.Held && p.Target.Classes != nil {
			head, err := loadPart(ctx, st.Dir, parts[PartKey(shape, 0, 0)])
			if err != nil {
				return nil, asFault(Internal, err)
			}
			if err := checkHeld(head, shape, p.Target.Classes.Classes); err != nil {
				return nil, asFault(Data, err)
			}
		}
		linear, held, trials, report, err = solveRidge(p, shape, step, ranges, threads, load)
	}
	if err != nil {
		return nil, asFault(Data, err)
	}
	report.Floor = p.floor(m.Step()*blas.MostByte/float64(p.Fold.Steps), dim)
	if report.WeightsSHA256, err = StoreWeights(ctx, st.Weights, linear); err != nil {
		return nil, asFault(Internal, err)
	}
	if held != nil {
		if report.HeldSHA256, err = StoreWeights(ctx, st.Held, held); err != nil {
			return nil, asFault(Internal, err)
		}
	}
	if trials != nil {
		if report.TrialsSHA256, err = StoreWeights(ctx, st.Trials, trials); err != nil {
			return nil, asFault(Internal, err)
		}
	}
	return json.Marshal(report)
}

// gridOf returns what a step of the features' grid is worth: of all, or, with ranges,
// of one whose range is from −1 to 1.
func gridOf(m features.Gridded, most int) (step float64, ranges ridge.Ranges) {
	if r, ok := m.(features.Ranged); ok {
		ranges.Centre, ranges.Half = r.Ranges()
		return 1 / float64(most), ranges
	}
	return m.Step() * blas.MostByte / float64(most), ranges
}

// checkHeld returns an error if the first fold cannot show what scores of a class
// are worth, which is better known before the solve, which takes long. The head is
// that of the fold's sum.
func checkHeld(head Part, shape ridge.Shape, names []string) error {
	sum := ridge.NewSum(ridge.Shape{Dim: 1, Outputs: shape.Outputs}) // of the head alone
	if err := sum.SetPart(0, head.Values); err != nil {
		return err
	}
	return calibrate.Check(sum.ClassCounts(), names)
}

// floor is the λ that the rounding of features to a grid of that step acts like. Copies
// of a row are rounded alike: of m frequent rows features rounded are those of a kernel
// that has D·Step²/12 more on its diagonal, in directions that have an m-th of the rows
// each, by which weights tell rows apart that the features of a prediction may not.
func (p *Pass) floor(step float64, dim int) float64 {
	return ridge.Floor(step) * max(1, float64(dim)*p.Copies.MeanShare())
}

// FloorFactor times the floor is the least λ that the rounding of features leaves as
// it is.
const FloorFactor = 10

// solveRidge returns what was fitted to all rows and, if asked for, to those of all
// folds but the first; and the latter for each λ of a path, if that is not too large.
func solveRidge(p *Pass, shape ridge.Shape, step float64, ranges ridge.Ranges, threads int, load func(int) (*ridge.Sum, error)) (linear, held, trials *models.Linear, _ FitReport, _ error) {
	opts := ridge.Options{
		Lambda: p.Fold.Lambda, Smaller: p.Fold.Smaller, Folds: p.Fold.Folds, Held: p.Fold.Held,
		Given: p.Fold.Cut > p.Fold.Folds && !p.Fold.First, First: p.Fold.First,
		Step: step, Ranges: ranges, Grid: p.Target.Grid, Threads: threads, Load: load,
	}
	if p.Copies != nil {
		// No further than to where the errors of copies are those of predictions.
		least := FloorFactor * p.floor(step, shape.Dim)
		opts.Smaller = slices.DeleteFunc(slices.Clone(opts.Smaller), func(l float64) bool { return l < least })
	}
	if p.Target.Classes != nil {
		opts.Classes = p.Target.Classes.Classes
	}
	opts.Trials = opts.Folds > 1 && !opts.Given && ridge.TrialBytes(shape, len(opts.Lambda)+len(opts.Smaller)) <= ridge.MaxTrialBytes
	fit, err := ridge.Solve(opts)
	if err != nil {
		return nil, nil, nil, FitReport{}, err
	}
	weights := func(f *ridge.Fit) *models.Linear {
		return &models.Linear{W: f.Weights, B: f.Intercept, K: shape.Outputs, D: shape.Dim}
	}
	if fit.Held != nil {
		held = weights(fit.Held)
	}
	report := FitReport{Lambda: fit.Lambda, Rows: fit.Rows, Table: fit.Table}
	for _, f := range fit.Trials {
		if f != nil {
			report.FirstRows = fit.Rows - f.Rows
		}
	}
	return weights(fit), held, joined(fit.Trials, shape), report, nil
}

// joined returns the fits that are not nil as one model of the outputs of all; nil if
// there are none.
func joined(fits []*ridge.Fit, shape ridge.Shape) *models.Linear {
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

func solveComponents(p *Pass, step float64, ranges ridge.Ranges, threads int, load func(int) (*ridge.Sum, error)) (*models.Linear, FitReport, error) {
	sum, err := load(0)
	if err != nil {
		return nil, FitReport{}, err
	}
	fit, err := pca.Fit(sum, pca.Options{Components: p.Fold.Components, Step: step, Ranges: ranges, Seed: p.Seed, Threads: threads})
	if err != nil {
		return nil, FitReport{}, err
	}
	report := FitReport{Rows: sum.Rows()}
	for i, v := range fit.Variance {
		report.Components = append(report.Components, models.Component{Variance: v, Share: fit.Ratio[i]})
	}
	return fit.Linear, report, nil
}

// readIndex returns the stored parts in the order of their keys, of which there
// must be n, one for each key.
func readIndex(index []byte, n int) ([]stored, error) {
	var parts []stored
	for line := range bytes.Lines(index) {
		var st stored
		if err := json.Unmarshal(line, &st); err != nil {
			return nil, fmt.Errorf("transforms: index of the sum: %w", err)
		}
		parts = append(parts, st)
	}
	sort.Slice(parts, func(i, j int) bool { return parts[i].Key < parts[j].Key })
	if len(parts) != n {
		return nil, fmt.Errorf("transforms: %d parts of the sum arrived, want %d", len(parts), n)
	}
	for i, st := range parts {
		if st.Key != i {
			return nil, fmt.Errorf("transforms: part %d of the sum is missing", i)
		}
	}
	return parts, nil
}

func loadPart(ctx context.Context, dir string, st stored) (Part, error) {
	data, err := readPart(ctx, dir, st)
	if err != nil {
		return Part{}, err
	}
	return decodePart(data)
}

// loadInto reads a part into dst, without memory of its own for the numbers: there
// are as many as all that a fold holds.
func loadInto(ctx context.Context, dst []float64, dir string, st stored) error {
	data, err := readPart(ctx, dir, st)
	if err != nil {
		return err
	}
	n, err := partLen(data)
	if err != nil {
		return err
	}
	if n != len(dst) {
		return fmt.Errorf("transforms: %s has %d numbers, want %d; run again without --resume", st.File, n, len(dst))
	}
	decodeValues(dst, data)
	return nil
}

// readPart returns the content of a part's file.
func readPart(ctx context.Context, dir string, st stored) ([]byte, error) {
	uri := storage.Join(dir, st.File)
	data, err := storage.ReadFile(ctx, uri, 1<<28)
	if errors.Is(err, fs.ErrNotExist) {
		err = storage.Damaged(uri) // the index that names it has outlasted it
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if hex.EncodeToString(sum[:]) != st.SHA256 {
		return nil, storage.Damaged(uri)
	}
	return data, nil
}
