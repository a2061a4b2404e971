package search

import (
	"math"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// Trial is the result of trying a candidate.
type Trial struct {
	Candidate
	Rows     int     `json:"rows"`     // number of rows of a fit
	Features int     `json:"features"` // number of features of the kernel
	Judged   int     `json:"judged"`   // number of rows that the loss is measured on
	Lambda   float64 `json:"lambda"`
	// Loss is the mean log loss of classes, or the mean squared error of targets divided by their variance.
	Loss   float64 `json:"loss"`
	Error  float64 `json:"error"` // share of the judged rows that are classified incorrectly
	Solves int     `json:"solves"`
	Failed string  `json:"failed,omitempty"` // the reason if there is no loss
}

// trialSpec says which rows trials fit and judge, and with how many features. Each rung of the search has one.
type trialSpec struct {
	train    [][]int // for each judging fold, the rows to fit
	judge    [][]int // for each judging fold, the rows to judge
	allRows  []int   // rows of all folds, for fits that no fold judges
	features int
	exact    bool        // exact kernels instead of features, if the kernel is radial
	drawn    bool        // exact kernel matrices are products of random features
	rows     *radialRows // all rows that are fitted or judged
	factor   float64     // factor between neighbouring λ
	scale    float64     // variance of the targets of the judged rows, which divides losses; 1 for classes
	steps    int         // how often path multiplies or divides λ by factor
}

// trainOf returns the rows to fit for a fold; the fold after the last means all rows.
func (s *trialSpec) trainOf(fold int) []int {
	if fold < len(s.train) {
		return s.train[fold]
	}
	return s.allRows
}

// entry is a candidate with its last trial.
type entry struct {
	Candidate
	start  []float64        // values of λ to try first
	lambda []float64        // chosen in the last trial, by fold
	matrix *kernelMatrix    // during a trial; without metric, pairs and landmarks all folds share it
	metric []*learnedMetric // by fold; nil without one
	pairs  []*pair          // by fold; nil without one
	*judged
	trial Trial
}

// with returns a changed copy of the candidate, not yet tried. Its trial starts from the λ of e.
func (e *entry) with(change func(c *Candidate)) *entry {
	next := &entry{Candidate: e.Candidate, start: e.start, metric: e.metric, pairs: e.pairs}
	change(&next.Candidate)
	return next
}

// runner is the state of a search.
type runner struct {
	*labels
	pilot    *Pilot
	options  Options
	views    map[string]*viewRows
	kernels  map[string]kernelOf
	choices  []string // the kernels to choose from
	helper   string   // kernel to learn metrics from, if no choice is smooth; otherwise ""
	trials   []Trial
	standard *entry // the default candidate
	mu       sync.Mutex
	spare    []*scratch       // memory that no trial uses
	shared   []*learnedMetric // metrics whose rows are kept
}

// viewRows has the pilot's rows in a view (x, with d numbers each), and values that are derived from them on demand.
type viewRows struct {
	x       []float32
	d       int
	medians *medians
	mu      sync.Mutex // of near
	near    map[kernel.Distance]*distances

	// piecewise returns the recipe of the piecewise-linear columns of a view; nil if there are none.
	piecewise func() *preprocess.Bins
}

func newEmptyRows(d int) *viewRows {
	return &viewRows{d: d, medians: new(medians), near: map[kernel.Distance]*distances{}}
}

// mapRows is the number of rows that a thread maps at a time.
const mapRows = 64

// newViewRows applies the steps of a view to the rows of the pilot.
func newViewRows(p *Pilot, v View, most, threads int) (*viewRows, error) {
	s := newEmptyRows(p.D)
	s.x = p.X
	s.piecewise = sync.OnceValue(func() *preprocess.Bins { return preprocess.NewPiecewiseLinear(s.x, p.N, s.d, most) })
	for _, step := range v.Steps {
		m, err := step.New()
		if err != nil {
			return nil, err
		}
		_, out := m.Dims()
		dst := make([]float32, p.N*out)
		x, in := s.x, s.d
		parallel.Ranges(p.N, mapRows, threads, func(lo, hi int) { m.Apply(dst[lo*out:], x[lo*in:], hi-lo) })
		s.x, s.d = dst, out
	}
	return s, nil
}

// medianRows is the number of rows whose median distance is computed.
const medianRows = 500

// medians are median distances of the same rows. Each is computed when it is first needed; until then it is 0.
type medians struct {
	mu         sync.Mutex
	byDistance [kernel.L1 + 1]float64
}

// median returns the median distance of the first rows of a view, which may include rows to judge: it uses no labels.
func (s *viewRows) median(distance kernel.Distance) (_ float64, err error) {
	s.medians.mu.Lock()
	defer s.medians.mu.Unlock()
	if s.medians.byDistance[distance] == 0 {
		s.medians.byDistance[distance], err = kernel.MedianWidth(s.x, min(medianRows, len(s.x)/s.d), s.d, distance)
	}
	return s.medians.byDistance[distance], err
}

// distances returns the distances between rows. It keeps the distances for one set of rows until another is asked
// for.
func (s *viewRows) distances(distance kernel.Distance, rows *radialRows, threads int) *distances {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.near[distance]; d == nil || d.radialRows != rows {
		s.near[distance] = newDistances(s.x, s.d, rows, distance, threads)
	}
	return s.near[distance]
}

// borrow returns memory for a trial, which must be given back (giveBack).
func (r *runner) borrow() *scratch {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.spare); n > 0 {
		s := r.spare[n-1]
		r.spare = r.spare[:n-1]
		return s
	}
	return new(scratch)
}

func (r *runner) giveBack(s *scratch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spare = append(r.spare, s)
}

// try tries a candidate on a rung: it sets its losses, its λ and its trial, or Trial.Failed.
func (r *runner) try(e *entry, spec *trialSpec, threads int) {
	e.trial = Trial{Candidate: e.Candidate, Rows: len(spec.train[0]), Features: spec.features}
	for _, rows := range spec.judge {
		e.trial.Judged += len(rows)
	}
	e.judged, e.lambda = nil, make([]float64, len(spec.train))
	all := new(judged)
	start := e.start
	memory := r.borrow()
	defer r.giveBack(memory)
	defer func() { e.matrix = nil }()
	for fold := range spec.train {
		best, err := (&foldTrial{r, e, spec, fold, memory, threads}).run(start)
		if err != nil {
			e.trial.Failed = err.Error()
			return
		}
		all.add(best.judged)
		start = []float64{best.lambda}
		e.lambda[fold] = best.lambda
	}
	if mean := all.mean(); !exact.Finite(mean) {
		e.trial.Failed = "scores are not finite"
		return
	}
	e.judged, e.start = all, []float64{e.lambda[0]}
	e.trial.Lambda, e.trial.Loss = e.lambda[0], all.mean()/spec.scale
	if r.grid == nil {
		e.trial.Error = all.wrong / all.weight
	}
}

// foldTrial is the trial of a candidate on one fold.
type foldTrial struct {
	*runner
	e       *entry
	spec    *trialSpec
	fold    int
	memory  *scratch
	threads int
}

// run judges the fold by fits to the other rows, for several λ from start on, and returns the best. The scores of the
// last fit stay in memory. errNoLambda means that no λ could be solved for.
func (t *foldTrial) run(start []float64) (*solved, error) {
	score, err := t.scorer()
	if err != nil {
		return nil, err
	}
	judge := t.spec.judge[t.fold]
	scores := slices.Grow(t.memory.scores[:0], len(judge)*t.outputs)[:len(judge)*t.outputs]
	t.memory.scores = scores
	var failure error
	best, solves := path(start, t.spec.factor, t.spec.steps, func(lambda float64) *solved {
		err := score(lambda, scores)
		if err == nil {
			return &solved{lambda, t.judge(judge, scores)}
		}
		if !cannotFit(err) {
			failure = err
		}
		return nil
	})
	t.e.trial.Solves += solves
	switch {
	case failure != nil:
		return nil, failure
	case best == nil:
		return nil, errNoLambda
	}
	return best, nil
}

// scorer fits a candidate, for some λ, to the rows outside a fold and stores the scores of the fold.
type scorer func(lambda float64, scores []float32) error

// scorer returns the scorer of the candidate, with an exact kernel or with features.
func (t *foldTrial) scorer() (scorer, error) {
	e, spec := t.e, t.spec
	k, x := t.kernels[e.Kernel], t.views[e.View]
	if e.metric != nil {
		var err error
		if x, err = t.inMetric(e.metric[t.fold], x, spec); err != nil {
			return nil, err
		}
	}
	median, err := x.median(k.distance)
	if err != nil {
		return nil, err
	}
	width, out := float64(e.Width*median), spec.features
	if e.Pair > 0 {
		out /= 2
	}
	recipe, err := recipeOf(k.options, x.d, out, width, t.options.Seed)
	if err != nil {
		return nil, err
	}
	radial := fourier.RadialOf(recipe)
	isExact := spec.exact && radial != nil
	if isExact && !spec.drawn {
		return t.scorerOfKernel(radial, x, width)
	}
	if e.Landmarks {
		if recipe, err = x.landmarksOf(recipe, spec.train[t.fold]); err != nil {
			return nil, err
		}
	}
	if e.Pair > 0 || e.PiecewiseLinear {
		o, err := t.joinedOf(e, t.fold)
		if err != nil {
			return nil, err
		}
		recipe = o.join(recipe, out, t.options.Seed)
		x = t.views[e.View] // the joined recipe contains the metric
	}
	if isExact {
		return t.scorerOfProducts(recipe, x)
	}
	return t.scorerOfFeatures(recipe, x)
}

// scorerOfFeatures fits the features of a recipe.
func (t *foldTrial) scorerOfFeatures(recipe features.Recipe, x *viewRows) (scorer, error) {
	judge := t.spec.judge[t.fold]
	f, err := newFit(recipe, x, t.spec.train[t.fold], t.labels, t.threads)
	if err != nil {
		return nil, err
	}
	phi := f.features(x, judge)
	return func(lambda float64, scores []float32) error { return f.scores(lambda, phi, len(judge), scores) }, nil
}

// scorerOfKernel fits the closed form of a kernel, and of the additional features.
func (t *foldTrial) scorerOfKernel(radial *fourier.Radial, x *viewRows, width float64) (scorer, error) {
	if !t.sharesMatrix() {
		near := x.distances(t.kernels[t.e.Kernel].distance, t.spec.rows, t.threads)
		t.e.matrix = newKernelMatrix(radial.At, near, width, grow(&t.memory.all, triangle(near.N)))
		if err := t.addJoined(); err != nil {
			return nil, err
		}
	}
	return t.scorerOfMatrix(), nil
}

// scorerOfProducts fits a kernel matrix of the inner products of the features of a recipe.
func (t *foldTrial) scorerOfProducts(recipe features.Recipe, x *viewRows) (scorer, error) {
	if !t.sharesMatrix() {
		if err := t.drawMatrix(recipe, x); err != nil {
			return nil, err
		}
	}
	return t.scorerOfMatrix(), nil
}

// sharesMatrix reports whether an earlier fold has computed the kernel matrix.
func (t *foldTrial) sharesMatrix() bool {
	return t.e.matrix != nil && t.e.metric == nil && t.e.pairs == nil && !t.e.Landmarks
}

func (t *foldTrial) scorerOfMatrix() scorer {
	return newExactRidge(t.e.matrix, t.spec.train[t.fold], t.spec.judge[t.fold], t.labels, t.memory, t.threads).scores
}

// variance returns the weighted variance of the targets of those rows, scaled by the range of all targets. It is
// 1 for classes, and for equal targets.
func (l *labels) variance(rows []int) float64 {
	if l.grid == nil {
		return 1
	}
	var sum, weight float64
	for _, i := range rows {
		sum += float64(l.weights[i] * float64(l.scaled[i]))
		weight += l.weights[i]
	}
	mean := sum / weight
	var squares float64
	for _, i := range rows {
		e := float64(l.scaled[i]) - mean
		squares += float64(l.weights[i] * float64(e*e))
	}
	if v := squares / weight; v > 0 {
		return v
	}
	return 1
}

// sizes are the sizes of trials: rows to fit, rows to judge in each fold, and features. Small ones use exact
// kernels, which correspond to infinitely many features.
var sizes = []struct {
	train, judge, features int
	exact                  bool
}{
	{400, 500, 2048, true},
	{1200, 500, 2048, true},
	{4000, 2000, 1024, false},
	{8000, 2000, 2048, false},
}

// Numbers of judged rows that are enough on the first rung, and on later ones.
const (
	fewJudged  = 300
	moreJudged = 400
)

// maxRungs is the number of rungs for a large pilot. The training data usually have many more rows, and the best
// width falls as rows are added.
const maxRungs = 3

// rungSizes returns the indices in sizes of the rungs for a pilot of n rows, at most maxRungs: few rows first, then
// one or two larger ones if there are more.
func rungSizes(n int) []int {
	switch n = n * (Folds - 1) / Folds; {
	case n > 5000:
		return []int{0, 2, 3}
	case n > 1200:
		return []int{0, 2}
	case n > 600:
		return []int{0, 1}
	}
	return []int{0}
}

// newRungs returns a trialSpec for each rung, given the folds of the rows. A fold is judged by a fit to the other folds
// or, if ordered is true, to later folds only. At least two folds must have rows.
func newRungs(folds []uint8, ordered bool) []*trialSpec {
	var out []*trialSpec
	for _, i := range rungSizes(len(folds)) {
		size := sizes[i]
		spec := &trialSpec{features: size.features, exact: size.exact, factor: 10, steps: 1}
		enough := fewJudged
		if len(out) > 0 {
			spec.factor, spec.steps, enough = math.Sqrt(10), 2, moreJudged
			if spec.exact { // a matrix of the rows is factored for each λ and fold
				spec.steps, enough = 1, fewJudged
			}
		}
		has := make([]bool, len(folds))
		for fold, judged := uint8(0), 0; fold < Folds && judged < enough; fold++ {
			var train, judge []int
			for row, in := range folds {
				switch {
				case in == fold && len(judge) < size.judge:
					judge = append(judge, row)
				case (in > fold || in < fold && !ordered) && len(train) < size.train:
					train = append(train, row)
				default:
					continue
				}
				has[row] = true
			}
			if len(judge) == 0 || len(train) == 0 {
				continue
			}
			judged += len(judge)
			spec.train, spec.judge = append(spec.train, train), append(spec.judge, judge)
		}
		spec.rows = newRadialRows(len(folds), func(row int) bool { return has[row] })
		for row := range min(len(folds), size.train*Folds/(Folds-1)) {
			spec.allRows = append(spec.allRows, row)
		}
		out = append(out, spec)
	}
	return out
}
