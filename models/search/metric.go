package search

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/agop"
)

const (
	// Largest numbers of rounds of learning a metric, on many rows and on few.
	maxRounds = 8
	fewRounds = 2
	// A further round needs a loss below roundRatio times the previous loss, or below lateRoundRatio times that loss
	// after lateRound rounds or more.
	roundRatio     = 0.995
	lateRoundRatio = 0.95
	lateRound      = 4
	// fullColumns is the largest row length of full metrics.
	fullColumns = 1000
	// Number of features of the fits that metrics are learned from: about one for each row.
	leastFeatures = 256
	maxFeatures   = 1024
)

// root says how a metric follows from the average outer product of gradients.
var root = agop.Root{Floor: 0.001, Power: 1}

// learnedMetric is a metric. A candidate has one per fold, learned from the rows outside it, and a last one for
// all rows.
type learnedMetric struct {
	recipe features.Recipe
	file   []byte // that the recipe names; nil for a diagonal one
	mu     sync.Mutex
	rows   *viewRows                      // a view's rows in the metric, while trials of few rows use them
	later  func() (*learnedMetric, error) // learns it when it is needed; nil once it is learned
	median medians                        // of a view's rows in the metric, which several candidates share
}

// ready learns the metric if that was put off (later).
func (m *learnedMetric) ready() error {
	if m.later == nil {
		return nil
	}
	learned, err := m.later()
	if err != nil {
		return err
	}
	m.recipe, m.file, m.later = learned.recipe, learned.file, nil
	return nil
}

// inMetric returns the rows of a view in a metric. On rungs with exact kernels it keeps them, with their distances,
// for other trials.
func (r *runner) inMetric(m *learnedMetric, s *viewRows, spec *trialSpec) (*viewRows, error) {
	if !spec.exact {
		return m.apply(s)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rows != nil {
		return m.rows, nil
	}
	var err error
	m.rows, err = m.apply(s)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shared = append(r.shared, m)
	return m.rows, err
}

// release drops the kept rows of metrics that none of the candidates uses.
func (r *runner) release(candidates []*entry) {
	r.shared = slices.DeleteFunc(r.shared, func(m *learnedMetric) bool {
		used := slices.ContainsFunc(candidates, func(e *entry) bool { return slices.Contains(e.metric, m) })
		if !used {
			m.rows = nil
		}
		return !used
	})
}

// apply returns the rows of a view in the metric.
func (m *learnedMetric) apply(s *viewRows) (*viewRows, error) {
	made, err := m.recipe.New()
	if err != nil {
		return nil, err
	}
	t := newEmptyRows(s.d)
	t.medians = &m.median
	t.x = make([]float32, len(s.x))
	made.Apply(t.x, s.x, len(s.x)/s.d)
	return t, nil
}

// smooth reports whether metrics can be learned from the candidate's kernel.
func (r *runner) smooth(e *entry) bool { return r.kernels[e.Kernel].smooth }

// metrics tries learned metrics in the view of the best candidate, in the view of the best smooth one, which
// gains more from them, and in a view with levels. Among many irrelevant columns, levels help only once a metric
// has found the relevant ones.
func (r *runner) metrics(ctx context.Context, candidates []*entry, spec *trialSpec) ([]*entry, error) {
	views := []string{candidates[0].View}
	smooth := slices.IndexFunc(candidates, func(e *entry) bool { return e.judged != nil && r.smooth(e) })
	if smooth >= 0 && candidates[smooth].View != views[0] {
		views = append(views, candidates[smooth].View)
	}
	kinds := []string{diagonalMetric, fullMetric}
	levels := r.levelsFor(candidates)
	for _, v := range views {
		var err error
		if candidates, err = r.metricsIn(ctx, v, kinds, candidates, spec); err != nil {
			return candidates, err
		}
	}
	if levels == "" || slices.Contains(views, levels) {
		return candidates, nil
	}
	return r.metricsIn(ctx, levels, kinds[:1], candidates, spec)
}

// metricsIn tries metrics of these kinds in a view: first learned from the best smooth candidate there, then from the
// best one with such a metric, while the loss falls. It skips full metrics if a metric in another view does better.
func (r *runner) metricsIn(ctx context.Context, view string, kinds []string, candidates []*entry,
	spec *trialSpec) ([]*entry, error) {
	first := r.plain(candidates, view)
	leads := view == candidates[0].View && candidates[0].Metric == noMetric // the best is here, and has no metric
	if first == nil {
		base := &entry{Candidate: Candidate{Kernel: r.helper, Width: 1}, start: coarse}
		if at := slices.IndexFunc(candidates, func(e *entry) bool { return r.plain([]*entry{e}, e.View) != nil }); at >= 0 {
			base = candidates[at]
		} else if r.helper == "" {
			return candidates, nil
		}
		first = base.with(func(c *Candidate) { c.View = view })
		if err := r.tryAll(ctx, []*entry{first}, spec); err != nil {
			return candidates, err
		}
		if first.judged == nil {
			return candidates, nil
		}
		candidates = r.withoutHelper(append(candidates, first))
	}
	kernels := r.kernelsFor(candidates, first, spec.exact || !leads)
	for _, kind := range kinds {
		beaten := candidates[0].Metric != noMetric && candidates[0].View != view
		if kind == fullMetric && (beaten || r.views[view].d > fullColumns) {
			continue
		}
		var err error
		if candidates, err = r.rounds(ctx, first, kind, kernels, candidates, spec); err != nil {
			return candidates, err
		}
		order(candidates)
	}
	return candidates, nil
}

// rounds tries metrics learned from the candidate parent, then from the best smooth one that has such a metric,
// while the loss falls. It returns the candidates with all of these added.
func (r *runner) rounds(ctx context.Context, parent *entry, kind string, kernels []string, candidates []*entry,
	spec *trialSpec) ([]*entry, error) {
	most, least := maxRounds, leastLoss(candidates)
	if spec.exact {
		most = fewRounds
	}
	for round := 1; round <= most && parent != nil; round++ {
		next, err := r.refine(ctx, parent, kind, round, kernels, spec)
		if err != nil {
			return candidates, err
		}
		previous, ratio := parent, roundRatio
		if round >= lateRound {
			ratio = lateRoundRatio
		}
		parent = nil
		for _, e := range next {
			if e.judged != nil && r.smooth(e) && e.mean() < ratio*previous.mean() && e.mean() < maxLossRatio*least &&
				(parent == nil || e.mean() < parent.mean()) {
				parent = e
			}
		}
		candidates = append(candidates, r.withoutHelper(next)...)
		if parent != nil && r.helper == "" {
			kernels = r.leading(next, parent.Kernel)
		}
	}
	return candidates, nil
}

// A candidate, kernel or view whose loss exceeds maxLossRatio times the smallest is not tried further.
const maxLossRatio = 1.1

// leading returns the kernels for the next metric: the parent's, the best candidate's, and smooth ones with
// losses not far from the best.
func (r *runner) leading(candidates []*entry, parent string) []string {
	names, least := []string{parent}, leastLoss(candidates)
	for _, e := range candidates {
		if e.judged != nil && !slices.Contains(names, e.Kernel) &&
			(e.mean() == least || r.smooth(e) && e.mean() < maxLossRatio*least) {
			names = append(names, e.Kernel)
		}
	}
	return names
}

// leastLoss returns the smallest loss of the candidates, +Inf if all failed.
func leastLoss(candidates []*entry) float64 {
	least := math.Inf(1)
	for _, e := range candidates {
		if e.judged != nil {
			least = min(least, e.mean())
		}
	}
	return least
}

// withoutHelper returns the candidates without those whose kernel only serves to learn metrics.
func (r *runner) withoutHelper(candidates []*entry) []*entry {
	return slices.DeleteFunc(slices.Clone(candidates), func(e *entry) bool {
		return r.helper != "" && e.Kernel == r.helper
	})
}

// kernelsFor returns the kernels to try with a metric: the best of each family, because few rows favour smooth
// kernels. If few is true, it returns only the kernels of first and of the best candidate.
func (r *runner) kernelsFor(candidates []*entry, first *entry, few bool) []string {
	names, families := []string{first.Kernel}, []string{r.kernels[first.Kernel].family}
	for _, e := range candidates {
		family := r.kernels[e.Kernel].family
		if !slices.Contains(families, family) && (!few || e.Kernel == candidates[0].Kernel) {
			names, families = append(names, e.Kernel), append(families, family)
		}
	}
	return names
}

// plain returns the best smooth candidate without a metric in a view; nil if there is none.
func (r *runner) plain(candidates []*entry, view string) *entry {
	for _, e := range candidates {
		if e.judged != nil && e.View == view && e.Metric == noMetric && r.smooth(e) {
			return e
		}
	}
	return nil
}

// refine learns a metric from the fits of parent, one for each fold, and tries the kernels with it. It returns
// the tried candidates; none if no metric can be learned, because gradients are 0, say.
func (r *runner) refine(ctx context.Context, parent *entry, kind string, round int, kernels []string,
	spec *trialSpec) ([]*entry, error) {
	metrics := make([]*learnedMetric, len(spec.train)+1)
	errs := make([]error, len(spec.train))
	threads := max(1, r.options.Threads)
	workers := min(threads, len(errs))
	parallel.Ranges(len(errs), 1, workers, func(lo, hi int) {
		for fold := lo; fold < hi && ctx.Err() == nil; fold++ {
			metrics[fold], errs[fold] = r.learn(parent, kind, fold, spec, threads/workers)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil && !cannotFit(err) }); i >= 0 {
		return nil, errs[i]
	}
	if slices.ContainsFunc(errs, cannotFit) {
		return nil, nil
	}
	from := *parent // later trials of the parent find another λ
	metrics[len(errs)] = &learnedMetric{later: func() (*learnedMetric, error) {
		return r.learn(&from, kind, len(errs), spec, threads)
	}}
	var next []*entry
	for _, k := range kernels {
		if kind == fullMetric && r.kernels[k].distance != kernel.Euclidean {
			continue
		}
		widths := []float64{parent.Width}
		if round == 1 && parent.Width != 1 {
			widths = append(widths, 1)
		}
		for _, w := range widths {
			if w != 1 && round == 1 && k != parent.Kernel {
				continue
			}
			c := Candidate{View: parent.View, Kernel: k, Width: w, Metric: kind, Rounds: round, Products: parent.Products}
			next = append(next, &entry{Candidate: c, start: parent.start, metric: metrics})
		}
	}
	if err := r.tryAll(ctx, next, spec); err != nil || round > 1 {
		return next, err
	}
	order(next)
	return r.climb(ctx, next, spec, 1, func(best Candidate) []Candidate {
		best.Width /= 2
		return []Candidate{best}
	})
}

// learn learns a metric from a fit of parent to the rows outside one fold; the fold after the last means all rows.
func (r *runner) learn(parent *entry, kind string, fold int, spec *trialSpec, threads int) (*learnedMetric, error) {
	x, steps := r.views[parent.View], []features.Recipe(nil)
	if parent.metric != nil {
		m := parent.metric[fold]
		err := m.ready()
		if err != nil {
			return nil, err
		}
		if x, err = r.inMetric(m, x, spec); err != nil {
			return nil, err
		}
		steps = append(steps, m.recipe)
	}
	train, lambda := spec.trainOf(fold), parent.lambda[fold%len(spec.train)]
	k := r.kernels[parent.Kernel]
	median, err := x.median(k.distance)
	if err != nil {
		return nil, err
	}
	recipe, err := recipeOf(k.options, x.d, min(maxFeatures, max(leastFeatures, len(train)/64*64)),
		float64(parent.Width*median), r.options.Seed)
	if err != nil {
		return nil, err
	}
	f, err := newFit(recipe, x, train, r.labels, threads)
	if err != nil {
		return nil, err
	}
	model, err := f.solve(lambda)
	if err != nil {
		return nil, err
	}
	waves, err := agop.WavesOf(features.Chain{Steps: append(steps, recipe)})
	if err != nil {
		return nil, err
	}
	if kind == diagonalMetric {
		d, err := root.Diagonal(waves.Diagonal(f.sum, model.W, f.options.Units, threads))
		return &learnedMetric{recipe: d}, err
	}
	matrix, err := root.Full(waves.Outer(f.sum, model.W, f.options.Units, threads), threads)
	if err != nil {
		return nil, err
	}
	m := new(learnedMetric)
	if m.file, err = preprocess.EncodeMetric(matrix); err != nil {
		return nil, err
	}
	m.recipe, err = preprocess.MetricOf(m.file)
	return m, err
}
