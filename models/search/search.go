package search

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// Options of a search.
type Options struct {
	// Views and Kernels to choose from. The default candidate has the first of each, at the median width. Kernels
	// have the options width and features, which the search sets.
	Views   []View
	Kernels []kernel.Options

	// Levels reports whether the values of a column of numbers may become levels, as categories are, in
	// additional views of standardised columns; nil if none may.
	Levels func(column int) bool

	Seed     uint64 // of the features
	Features int    // number of features of the model; 0 is kernel.DefaultFeatures
	// Landmarks allows kernel values at rows of the pilot as features: for ridge regression on few rows.
	Landmarks bool
	Threads   int // to compute with; at least 1 is used; the result does not depend on it
	// Stop is called before each trial. Once it returns true, the search ends with the best candidate so far;
	// nil never ends it. The first trials, of the kernels in the first view, are made in any case.
	Stop func() bool
}

// Result is the result of a search.
type Result struct {
	// Default is the last trial of the default candidate, Chosen the last one of the chosen candidate.
	Default Trial   `json:"default"`
	Chosen  Trial   `json:"chosen"`
	Tried   int     `json:"tried"` // candidates
	Trials  []Trial `json:"trials"`
	// Stopped is true if Options.Stop ended the search.
	Stopped bool `json:"stopped,omitempty"`

	// Kernel is the kernel with the chosen width, for rows after Steps and the Metric of Joined, which apply to rows of
	// the pilot. Kernel and the fields below are zero if nothing could be tried.
	Kernel    kernel.Options    `json:"-"`
	Joined    *Joined           `json:"-"` // the kernel with additional features; nil without
	Steps     []features.Recipe `json:"-"`
	Width     float64           `json:"width"`
	Metric    []byte            `json:"-"` // the file of a full metric among the steps
	Landmarks []byte            `json:"-"` // the file of landmarks that Joined refers to; nil for none
	Levels    []int             `json:"-"` // columns of the pilot, from 0, that the steps make levels of
}

// Run searches. It fails if the pilot or the options are invalid, or if the context has ended.
func Run(ctx context.Context, p *Pilot, o Options) (*Result, error) {
	r, rungs, err := newRunner(p, o)
	if err != nil {
		return nil, err
	}
	chosen, stopped, err := r.choose(ctx, rungs)
	if err != nil {
		return nil, err
	}
	to := &Result{Default: r.standard.trial, Chosen: chosen.trial, Tried: r.tried(), Trials: r.trials, Stopped: stopped}
	return to, r.finish(to, chosen)
}

// newRunner checks the pilot, computes its views, and returns the search with its rungs.
func newRunner(p *Pilot, o Options) (r *runner, rungs []*rung, err error) {
	if err := p.validate(); err != nil {
		return nil, nil, err
	}
	r = &runner{pilot: p, options: o, views: map[string]*viewData{}, kernels: map[string]kernelOf{}}
	if r.labels, err = p.labels(); err != nil {
		return nil, nil, err
	}
	if p.N < fewRows && len(o.Views) > 1 {
		o.Views = o.Views[:1]
	}
	r.options.Views = nil
	for _, v := range o.Views {
		if err := r.addView(v); err != nil {
			return nil, nil, err
		}
	}
	if err := r.addLevels(); err != nil {
		return nil, nil, err
	}
	if err := r.addKernels(); err != nil {
		return nil, nil, err
	}
	rungs = newRungs(p.split(), p.Ordered)
	for _, rung := range rungs {
		rung.scale = r.variance(slices.Concat(rung.judge...))
	}
	return r, rungs, nil
}

// addKernels adds the kernels to choose from. If none is smooth, it adds a Gaussian, only to learn metrics from.
func (r *runner) addKernels() error {
	smooth := false
	add := func(name string, k kernel.Options) (err error) {
		r.kernels[name], err = newKernelOf(k)
		smooth = smooth || r.kernels[name].smooth
		return err
	}
	for _, k := range r.options.Kernels {
		name := KernelName(k)
		if err := add(name, k); err != nil {
			return err
		}
		r.choices = append(r.choices, name)
	}
	if smooth {
		return nil
	}
	r.helper = "gaussian"
	return add(r.helper, &fourier.GaussianOptions{})
}

// addView adds a view, unless another one has equal rows.
func (r *runner) addView(v View) error {
	most := min(maxPiecewise, kernel.Count(r.options.Features)/piecewiseShare)
	s, err := newViewData(r.pilot, v, most, r.options.Threads)
	if err != nil {
		return err
	}
	for _, known := range r.views {
		if known.d == s.d && slices.Equal(known.x, s.x) {
			return nil
		}
	}
	r.views[v.Name], r.options.Views = s, append(r.options.Views, v)
	return nil
}

// choose tries candidates on the rungs and returns the best. If the search was stopped, it returns the best so far.
func (r *runner) choose(ctx context.Context, rungs []*rung) (chosen *trialled, stopped bool, err error) {
	candidates, err := r.tryRungs(ctx, rungs)
	if err != nil && !errors.Is(err, errStopped) {
		return nil, false, err
	}
	order(candidates)
	chosen = r.simplest(candidates)
	if len(rungs) == maxRungs {
		chosen = r.narrowest(candidates, chosen)
	}
	last := rungs[len(rungs)-1]
	if err == nil {
		chosen, err = r.confirm(ctx, candidates, chosen, last)
	}
	if err == nil {
		chosen, err = r.landmarks(ctx, chosen, last)
	}
	if errors.Is(err, errStopped) {
		return chosen, true, nil
	}
	return chosen, false, err
}

// tryRungs tries candidates on all rungs. It handles errors as a step does.
func (r *runner) tryRungs(ctx context.Context, rungs []*rung) ([]*trialled, error) {
	candidates, err := r.screen(ctx, rungs[0])
	if err != nil {
		return candidates, err
	}
	plans := [maxRungs]plan{
		{nil, []step{r.widths(2, 2)}},
		{r.survivors, []step{r.widths(2, 1)}}, // metrics change the best width
		{r.finalists, []step{r.widths(math.Sqrt2, 2)}},
	}
	if r.pilot.N >= fewRows {
		deriving := &plans[min(1, len(rungs)-1)] // the second rung, or the only one
		deriving.steps = append(deriving.steps, r.metrics, r.products, r.rougher, r.widths(2, 1), r.addPair,
			r.pairOfResiduals, r.addPiecewise)
	}
	for i, rung := range rungs {
		if candidates, err = r.nextRung(ctx, candidates, rung, plans[i]); err != nil {
			return candidates, err
		}
	}
	return candidates, nil
}

// plan holds the candidates and steps that a rung tries.
type plan struct {
	keep  func([]*trialled) []*trialled // the candidates of the rung before to try; nil on the first rung
	steps []step                        // try new candidates that are derived from them
}

// step tries more candidates on a rung and adds them. With an error, it leaves out the candidates
// whose trials are unfinished.
type step func(ctx context.Context, candidates []*trialled, rung *rung) ([]*trialled, error)

// nextRung tries the best candidates on a rung, and new ones derived from them. It handles errors as a step does.
func (r *runner) nextRung(ctx context.Context, candidates []*trialled, rung *rung, p plan) (_ []*trialled, err error) {
	if p.keep != nil {
		r.spare = nil // memory for other sizes
		kept := p.keep(candidates)
		if !slices.Contains(kept, r.standard) {
			kept = append(kept, r.standard)
		}
		if err := r.tryAll(ctx, kept, rung); err != nil {
			return candidates, err
		}
		candidates = kept
		order(candidates)
	}
	for _, try := range p.steps {
		if candidates, err = try(ctx, candidates, rung); err != nil {
			return candidates, err
		}
	}
	return candidates, nil
}

// firstWidths are the first widths to try, as multiples of the median distance.
var firstWidths = []float64{1, 0.5}

// screen tries kernels in the first view, and the best of them in the other views. Rough kernels of the Euclidean
// distance are left to rougher.
func (r *runner) screen(ctx context.Context, rung *rung) ([]*trialled, error) {
	var candidates []*trialled
	add := func(view, name string) {
		for _, w := range firstWidths {
			c := Candidate{View: view, Kernel: name, Width: w}
			candidates = append(candidates, &trialled{Candidate: c, start: coarse})
		}
	}
	for i, name := range r.choices {
		if k := r.kernels[name]; i == 0 || k.smooth || k.distance == kernel.L1 || r.helper != "" {
			add(r.options.Views[0].Name, name)
		}
	}
	r.standard = candidates[0]
	if err := r.tryAll(ctx, candidates, rung); err != nil {
		return candidates, err
	}
	order(candidates)
	var kernels []string
	smooth := false
	for _, e := range candidates {
		if !slices.Contains(kernels, e.Kernel) && (len(kernels) < 2 || !smooth && r.smooth(e)) {
			kernels = append(kernels, e.Kernel)
		}
		smooth = smooth || r.smooth(e)
	}
	first := len(candidates)
	for _, v := range r.options.Views[1:] {
		for _, k := range kernels {
			add(v.Name, k)
		}
	}
	if err := r.tryAll(ctx, candidates[first:], rung); err != nil {
		return candidates[:first], err
	}
	order(candidates)
	return candidates, nil
}

// widths returns a step that divides and multiplies the best candidate's width by a factor, at most limit times,
// while the loss falls.
func (r *runner) widths(factor float64, limit int) step {
	return func(ctx context.Context, candidates []*trialled, rung *rung) ([]*trialled, error) {
		return r.climb(ctx, candidates, rung, limit, func(best Candidate) (next []Candidate) {
			for _, w := range []float64{best.Width / factor, best.Width * factor} {
				best.Width = w
				next = append(next, best)
			}
			return next
		})
	}
}

// rougher tries the kernels just before and after the best candidate's in the list, while the loss falls. Rougher
// kernels have larger widths.
func (r *runner) rougher(ctx context.Context, candidates []*trialled, rung *rung) ([]*trialled, error) {
	return r.climb(ctx, candidates, rung, len(r.choices), func(best Candidate) (next []Candidate) {
		fit := slices.DeleteFunc(slices.Clone(r.choices), func(k string) bool {
			return best.Metric == fullMetric && r.kernels[k].distance != kernel.Euclidean
		})
		at := slices.Index(fit, best.Kernel)
		for _, to := range []struct {
			kernel int
			factor float64
		}{{at - 1, 1 / math.Sqrt2}, {at + 1, math.Sqrt2}} {
			if to.kernel >= 0 && to.kernel < len(fit) {
				c := best
				c.Kernel, c.Width = fit[to.kernel], best.Width*to.factor
				next = append(next, c)
			}
		}
		return next
	})
}

// climb tries the neighbours of the best candidate, at most limit times, while the loss falls.
func (r *runner) climb(ctx context.Context, candidates []*trialled, rung *rung, limit int,
	neighbours func(best Candidate) []Candidate) (_ []*trialled, err error) {
	for range limit {
		best := candidates[0]
		var more []*trialled
		for _, c := range neighbours(best.Candidate) {
			if !slices.ContainsFunc(candidates, func(e *trialled) bool {
				return math.Abs(e.Width/c.Width-1) < 1e-9 && e.kind() == c.kind() && e.Pair == c.Pair
			}) {
				more = append(more, best.with(func(to *Candidate) { *to = c }))
			}
		}
		if candidates, err = r.tryMore(ctx, candidates, more, rung); err != nil || candidates[0] == best {
			return candidates, err
		}
	}
	return candidates, nil
}

// tryMore tries candidates and adds them to the others. With an error, it returns only the others.
func (r *runner) tryMore(ctx context.Context, candidates, more []*trialled, rung *rung) ([]*trialled, error) {
	if err := r.tryAll(ctx, more, rung); err != nil {
		return candidates, err
	}
	candidates = append(candidates, more...)
	order(candidates)
	return candidates, nil
}

// tried returns the number of different candidates that were tried.
func (r *runner) tried() int {
	seen := map[Candidate]bool{}
	for _, t := range r.trials {
		seen[t.Candidate] = true
	}
	return len(seen)
}

// finish stores the recipe of the chosen candidate in the result.
func (r *runner) finish(to *Result, chosen *trialled) (err error) {
	if chosen.judged == nil {
		return nil
	}
	v := slices.IndexFunc(r.options.Views, func(v View) bool { return v.Name == chosen.View })
	to.Steps = r.options.Views[v].Steps
	for _, step := range to.Steps {
		if bins, ok := step.(preprocess.BinLevels); ok {
			for _, c := range bins.Columns {
				to.Levels = append(to.Levels, c.Index)
			}
		}
	}
	k, x := r.kernels[chosen.Kernel], r.views[chosen.View]
	joined := chosen.Pair > 0 || chosen.PiecewiseLinear || chosen.Landmarks
	if chosen.metric != nil {
		m := chosen.metric[len(chosen.metric)-1]
		if err = m.ready(); err != nil {
			return err
		}
		if x, err = m.apply(x); err != nil {
			return err
		}
		to.Metric = m.file
		if !joined {
			to.Steps = append(slices.Clip(to.Steps), m.recipe)
		}
	}
	median, err := x.median(k.distance)
	if err != nil {
		return err
	}
	to.Width = float64(chosen.Width * median)
	if to.Kernel, err = kernel.With(k.options, "width",
		strconv.FormatFloat(to.Width, 'g', -1, 64)); err != nil || !joined {
		return err
	}
	if to.Joined, err = r.joinedOf(chosen, max(len(chosen.metric), len(chosen.pairs))-1); err != nil {
		return err
	}
	to.Joined.Kernel = to.Kernel
	if !chosen.Landmarks {
		return nil
	}
	return r.finishLandmarks(to, x)
}

// maxWorkers is the largest number of trials that run at the same time.
const maxWorkers = 4

// errStopped is returned once Options.Stop has ended the search.
var errStopped = errors.New("search: stopped")

// tryAll tries the candidates on a rung, several at the same time. The last few, which would leave threads idle,
// get all threads. If it returns errStopped, no candidate has changed.
func (r *runner) tryAll(ctx context.Context, candidates []*trialled, rung *rung) error {
	stop := func() bool { return r.trials != nil && r.options.Stop != nil && r.options.Stop() }
	before := make([]trialled, len(candidates))
	for i, e := range candidates {
		before[i] = *e
	}
	var stopped atomic.Bool
	r.release(candidates)
	threads := max(1, r.options.Threads)
	workers := min(threads, maxWorkers)
	last := len(candidates) - len(candidates)%workers
	for _, group := range [][]*trialled{candidates[:last], candidates[last:]} {
		running := min(workers, len(group))
		parallel.Ranges(len(group), 1, running, func(lo, hi int) {
			for i := lo; i < hi && ctx.Err() == nil && !stopped.Load(); i++ {
				if stop() {
					stopped.Store(true)
					break
				}
				r.tryCandidate(group[i], rung, threads/running)
			}
		})
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if stopped.Load() {
		for i, e := range candidates {
			*e = before[i]
		}
		return errStopped
	}
	for _, e := range candidates {
		r.trials = append(r.trials, e.trial)
	}
	return nil
}
