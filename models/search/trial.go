package search

import (
	"math"
	"slices"
	"sync"

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

// rung is a stage of the search: which rows its trials fit and judge, and with how many features.
type rung struct {
	train    [][]int // for each judging part, the rows to fit
	judge    [][]int // for each judging part, the rows to judge
	allRows  []int   // rows of all parts, for fits that no part judges
	features int
	exact    bool        // exact kernels instead of features, if the kernel is radial
	drawn    bool        // exact kernel matrices are products of random features
	rows     *radialRows // all rows that are fitted or judged
	factor   float64     // factor between neighbouring λ
	scale    float64     // variance of the targets of the judged rows, which divides losses; 1 for classes
	steps    int         // how often path multiplies or divides λ by factor
}

// size returns the number of rows of a fit, and the number of judged rows of all parts.
func (rung *rung) size() (train, judged int) {
	for _, j := range rung.judge {
		judged += len(j)
	}
	return len(rung.train[0]), judged
}

// entry is a candidate with its last trial.
type entry struct {
	Candidate
	start  []float64        // values of λ to try first
	lambda []float64        // chosen in the last trial, by part
	matrix *kernelMatrix    // during a trial; without metric, pairs and landmarks all parts share it
	metric []*learnedMetric // by part; nil without one
	pairs  []*pair          // by part; nil without one
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

// viewRows has the pilot's rows in a view (x, with d numbers each), and values that are derived from them on
// demand.
type viewRows struct {
	x       []float32
	d       int
	medians *medians
	mu      sync.Mutex // of near, bins and cut
	near    map[kernel.Distance]*distances

	mostHats int
	bins     *preprocess.Bins // of piecewise-linear columns, once they are cut
	cut      bool
}

func newEmptyRows(d int) *viewRows {
	return &viewRows{d: d, medians: new(medians), near: map[kernel.Distance]*distances{}}
}

// mapRows is the number of rows that a thread maps at a time.
const mapRows = 64

func newViewRows(p *Pilot, v View, most, threads int) (*viewRows, error) {
	s := newEmptyRows(p.D)
	s.x, s.mostHats = p.X, most
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

// median returns the median distance of the first rows of a view, which may include rows to judge: it uses no
// labels.
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
func (r *runner) try(e *entry, rung *rung, threads int) {
	train, judgedRows := rung.size()
	e.trial = Trial{Candidate: e.Candidate, Rows: train, Features: rung.features, Judged: judgedRows}
	e.judged, e.lambda = nil, make([]float64, len(rung.train))
	all := new(judged)
	start := e.start
	memory := r.borrow()
	defer r.giveBack(memory)
	defer func() { e.matrix = nil }()
	for part := range rung.train {
		best, err := r.fitPart(e, rung, part, start, memory, threads)
		if err != nil {
			e.trial.Failed = err.Error()
			return
		}
		all.add(best.judged)
		start = []float64{best.lambda}
		e.lambda[part] = best.lambda
	}
	if mean := all.mean(); !exact.Finite(mean) {
		e.trial.Failed = "scores are not finite"
		return
	}
	e.judged, e.start = all, []float64{e.lambda[0]}
	e.trial.Lambda, e.trial.Loss = e.lambda[0], all.mean()/rung.scale
	if r.grid == nil {
		e.trial.Error = all.wrong / all.weight
	}
}

// fitPart judges a part by fits of a candidate to the other rows, for several λ from start on, and returns the best.
// s is memory, and holds the scores of the last fit. errNoLambda means that no λ could be solved for.
func (r *runner) fitPart(e *entry, rung *rung, part int, start []float64, s *scratch, threads int) (*solved, error) {
	score, err := r.scorer(e, rung, part, s, threads)
	if err != nil {
		return nil, err
	}
	judge := rung.judge[part]
	s.scores = slices.Grow(s.scores[:0], len(judge)*r.outputs)[:len(judge)*r.outputs]
	best, solves := path(start, rung.factor, rung.steps, func(lambda float64) *solved {
		if score(lambda, s.scores) != nil {
			return nil
		}
		return &solved{lambda, r.judge(judge, s.scores)}
	})
	e.trial.Solves += solves
	if best == nil {
		return nil, errNoLambda
	}
	return best, nil
}

// scorer returns a function that fits a candidate, for some λ, to the rows outside one part and stores the scores of
// that part. s is memory.
func (r *runner) scorer(e *entry, rung *rung, part int, s *scratch, threads int) (
	score func(lambda float64, scores []float32) error, err error) {
	k, x := r.kernels[e.Kernel], r.views[e.View]
	if e.metric != nil {
		if x, err = r.inMetric(e.metric[part], x, rung); err != nil {
			return nil, err
		}
	}
	median, err := x.median(k.distance)
	if err != nil {
		return nil, err
	}
	width, out := float64(e.Width*median), rung.features
	if e.Pair > 0 {
		out /= 2
	}
	recipe, err := recipeOf(k.options, x.d, out, width, r.options.Seed)
	if err != nil {
		return nil, err
	}
	shape := fourier.RadialOf(recipe)
	if e.Landmarks {
		if recipe, err = x.landmarksOf(recipe, rung.train[part]); err != nil {
			return nil, err
		}
	}
	train, judge, isExact := rung.train[part], rung.judge[part], rung.exact && shape != nil
	if (rung.drawn || !isExact) && (e.Pair > 0 || e.PiecewiseLinear) {
		if recipe, err = r.joined(e, part, recipe, out); err != nil {
			return nil, err
		}
		x = r.views[e.View] // the joined recipe contains the metric
	}
	if !isExact {
		f, err := newFit(recipe, x.x, x.d, train, r.labels, threads)
		if err != nil {
			return nil, err
		}
		phi := f.features(x.x, x.d, judge)
		return func(lambda float64, scores []float32) error { return f.scores(lambda, phi, len(judge), scores) }, nil
	}
	switch {
	case e.matrix != nil && e.metric == nil && e.pairs == nil && !e.Landmarks: // the matrix of another part
	case rung.drawn:
		err = e.drawMatrix(rung, recipe, x, s, threads)
	default:
		near := x.distances(k.distance, rung.rows, threads)
		e.matrix = newKernelMatrix(shape.At, near, width, grow(&s.all, triangle(near.N)))
		err = r.addJoined(e, part, s, threads)
	}
	if err != nil {
		return nil, err
	}
	return newExactRidge(e.matrix, train, judge, r.labels, s, threads).scores, nil
}

// variance returns the weighted variance of the targets of those rows, scaled by the range of all targets. It is
// 1 for classes, and for equal targets.
func (l *labels) variance(rows []int) float64 {
	if l.grid == nil {
		return 1
	}
	var sum, weight float64
	for _, i := range rows {
		sum += float64(l.weight(i) * float64(l.scaled[i]))
		weight += l.weight(i)
	}
	mean := sum / weight
	var squares float64
	for _, i := range rows {
		e := float64(l.scaled[i]) - mean
		squares += float64(l.weight(i) * float64(e*e))
	}
	if v := squares / weight; v > 0 {
		return v
	}
	return 1
}

// sizes are the sizes of trials: rows to fit, rows to judge in each part, and features. Small ones use exact
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

// rungSizes returns the indices in sizes of the rungs for a pilot of n rows: few rows first, then one or two
// larger ones if there are more.
func rungSizes(n int) []int {
	switch n = n * (Parts - 1) / Parts; {
	case n > 5000:
		return []int{0, 2, 3}
	case n > 1200:
		return []int{0, 2}
	case n > 600:
		return []int{0, 1}
	}
	return []int{0}
}

// newRungs returns the rungs for rows of these parts. A part is judged by a fit to the other parts or, if ordered
// is true, to later parts only. At least two parts must have rows.
func newRungs(part []uint8, ordered bool) []*rung {
	var out []*rung
	for _, i := range rungSizes(len(part)) {
		size := sizes[i]
		rung := &rung{features: size.features, exact: size.exact, factor: 10, steps: 1}
		enough := fewJudged
		if len(out) > 0 {
			rung.factor, rung.steps, enough = math.Sqrt(10), 2, moreJudged
			if rung.exact { // a matrix of the rows is factored for each λ and part
				rung.steps, enough = 1, fewJudged
			}
		}
		has := make([]bool, len(part))
		for p, judged := uint8(0), 0; p < Parts && judged < enough; p++ {
			var train, judge []int
			for row, in := range part {
				switch {
				case in == p && len(judge) < size.judge:
					judge = append(judge, row)
				case (in > p || in < p && !ordered) && len(train) < size.train:
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
			rung.train, rung.judge = append(rung.train, train), append(rung.judge, judge)
		}
		rung.rows = newRadialRows(len(part), func(row int) bool { return has[row] })
		for row := range min(len(part), size.train*Parts/(Parts-1)) {
			rung.allRows = append(rung.allRows, row)
		}
		out = append(out, rung)
	}
	return out
}
