package search

import (
	"errors"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/agop"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/ridge"
)

// fit is ridge regression with a feature map, on the sums of its training rows.
type fit struct {
	m       features.Gridded
	out     int
	sum     *ridge.Sum
	options ridge.Options
	labels  *labels
}

var (
	errNotFinite = errors.New("search: features are not finite")
	errNoLambda  = errors.New("search: no lambda can be solved for")
)

// cannotFit reports whether an error means that nothing follows from the numbers of a trial, such as a matrix that is
// not positive definite or gradients that are 0. Other trials may succeed.
func cannotFit(err error) bool {
	if _, ok := errors.AsType[ridge.NoSolutionError](err); ok {
		return true
	}
	return slices.ContainsFunc([]error{errNotFinite, errNoLambda, errNotDefinite, agop.ErrNoMetric, agop.ErrNotDefinite,
		agop.ErrNoWaves, kernel.ErrEqualRows, kernel.ErrNotFinite}, func(e error) bool { return errors.Is(err, e) })
}

// newFit adds up the features of the rows train of a view. It fails if a feature is not finite.
func newFit(recipe features.Recipe, x *viewData, train []int, l *labels, threads int) (*fit, error) {
	made, err := recipe.New()
	if err != nil {
		return nil, err
	}
	m, ok := made.(features.Gridded)
	if !ok {
		return nil, errors.New("search: the map has no grid")
	}
	_, out := m.Dims()
	f := &fit{m: m, out: out, labels: l}
	shape := ridge.Shape{Dim: out, Outputs: l.outputs, Regression: l.grid != nil, Weighted: l.weightGrid != nil}
	f.sum = ridge.NewSum(shape)
	// Solve overwrites a sum that is the only one, and this one is solved for several λ.
	add := func(to *ridge.Sum, _ int) error { to.Merge(f.sum); return nil }
	f.options = ridge.Options{Plan: ridge.FoldPlan{Folds: 1}, From: ridge.Source{Shape: shape, Add: add},
		Units: ridge.Units{Weights: l.weightGrid}, Threads: threads}
	if l.grid != nil {
		f.options.Units.Grid = linear.Grids{*l.grid}
	}
	steps := features.ByteSteps
	if features.Wide(m) {
		total := int64(len(train))
		if l.weightGrid != nil {
			total = l.weightGrid.Total
		}
		steps = shape.Fine(total)
	}
	f.options.Units.Step, f.options.Units.Ranges = ridge.GridOf(m, steps)
	saturated := ridge.SumRows([]*ridge.Sum{f.sum}, m, steps, &f.options,
		func(add func(fold int, x []float32, y []float64, w float64)) {
			for _, i := range train {
				add(0, x.x[i*x.d:(i+1)*x.d], l.y[i:i+1], l.weights[i])
			}
		})
	if saturated > 0 {
		return nil, errNotFinite
	}
	return f, nil
}

// solve returns the linear model for λ.
func (f *fit) solve(lambda float64) (*linear.Model, error) {
	f.options.Search.Lambda = []float64{lambda}
	s, err := ridge.Solve(f.options)
	if err != nil {
		return nil, err
	}
	return &linear.Model{W: s.Weights, B: s.Intercept, K: f.labels.outputs, D: f.out}, nil
}

// features returns the features of the rows of x with these indices, row-major.
func (f *fit) features(x *viewData, indices []int) []float32 {
	phi := make([]float32, 0, len(indices)*f.out)
	for chunk := range slices.Chunk(indices, rowio.MaxRows) {
		n := len(chunk)
		f.m.Apply(phi[len(phi):][:n*f.out], (&radialRows{rows: chunk}).gather(x.x, x.d), n)
		phi = phi[:len(phi)+n*f.out]
	}
	return phi
}

// scores stores the scores of n rows with features phi for λ.
func (f *fit) scores(lambda float64, phi []float32, n int, scores []float32) error {
	m, err := f.solve(lambda)
	if err != nil {
		return err
	}
	m.Scores(scores, phi, n)
	return nil
}

// solved holds the losses of a fit for one λ.
type solved struct {
	lambda float64
	*judged
}

// Limits of λ.
const (
	leastLambda = 1e-9
	maxLambda   = 1
)

// coarse are the λ to try first, if no earlier trial suggests one.
var coarse = []float64{1e-5, 1e-3, 1e-7, 1e-1}

// path returns the λ with the smallest loss. From the best of the start values it moves by a factor, at most
// steps times, while the loss falls. best is nil if no λ could be solved for; solves counts the solutions.
func path(start []float64, factor float64, steps int, solve func(lambda float64) *solved) (best *solved, solves int) {
	tried := map[float64]bool{}
	try := func(lambda float64) bool {
		if lambda < leastLambda || lambda > maxLambda || tried[lambda] {
			return false
		}
		tried[lambda] = true
		solves++
		s := solve(lambda)
		if s == nil || best != nil && !(s.mean() < best.mean()) {
			return false
		}
		best = s
		return true
	}
	for _, lambda := range start {
		try(lambda)
	}
	if best == nil {
		return nil, solves
	}
	from := best.lambda
	for range steps {
		if !try(best.lambda / factor) {
			break
		}
	}
	if best.lambda == from {
		for range steps {
			if !try(best.lambda * factor) {
				break
			}
		}
	}
	return best, solves
}

// judged holds the losses of a fit on rows that it was not fitted to.
type judged struct {
	loss   []float64 // of each row times its weight
	weight float64   // of the rows
	wrong  float64   // weight of the rows with another class
}

// mean returns the weighted mean loss, +Inf without rows.
func (j *judged) mean() float64 {
	if len(j.loss) == 0 {
		return math.Inf(1)
	}
	var sum float64
	for _, v := range j.loss {
		sum += v
	}
	return sum / j.weight
}

// add adds the rows of another fold.
func (j *judged) add(k *judged) {
	j.loss = append(j.loss, k.loss...)
	j.weight += k.weight
	j.wrong += k.wrong
}

// judge returns the losses of rows with those scores (row-major, one per output): squared errors of targets as
// fractions of their range, or log losses of classes with the best of loss.SoftmaxFactors.
func (l *labels) judge(rows []int, scores []float32) *judged {
	j := &judged{loss: make([]float64, len(rows))}
	for _, i := range rows {
		j.weight += l.weights[i]
	}
	if l.grid != nil {
		for at, i := range rows {
			e := float64(scores[at]) - float64(l.scaled[i])
			j.loss[at] = float64(l.weights[i] * float64(e*e))
		}
		return j
	}
	k := l.outputs
	for at, i := range rows {
		row, best := scores[at*k:(at+1)*k], 0
		for c, s := range row {
			if s > row[best] {
				best = c
			}
		}
		if best != int(l.y[i]) {
			j.wrong += l.weights[i]
		}
	}
	least := math.Inf(1)
	losses := make([]float64, len(rows))
	for _, beta := range loss.SoftmaxFactors {
		var sum float64
		for at, i := range rows {
			losses[at] = float64(l.weights[i] * logLoss(scores[at*k:(at+1)*k], int(l.y[i]), beta))
			sum += losses[at]
		}
		if sum < least {
			least = sum
			copy(j.loss, losses)
		} else if sum > 2*least {
			break // convex in the factor
		}
	}
	if math.IsInf(least, 1) { // scores are not finite
		for at := range j.loss {
			j.loss[at] = math.Inf(1)
		}
	}
	return j
}

// logLoss returns −log p of the class, where p is the softmax of the scores times beta.
func logLoss(scores []float32, class int, beta float64) float64 {
	most := float64(scores[0])
	for _, s := range scores {
		most = max(most, float64(s))
	}
	return loss.Log(loss.SumExp(scores, most, beta)) - float64(beta*(float64(scores[class])-most))
}

// worse returns the mean loss of a minus the mean loss of b, for the same judged rows, and the standard error of
// the difference.
func worse(a, b *judged) (by, se float64) {
	n := float64(len(a.loss))
	var sum, squares float64
	for i, v := range a.loss {
		d := v - b.loss[i]
		sum += d
		squares += float64(d * d)
	}
	mean := sum / n
	variance := max(0, squares/n-float64(mean*mean))
	return sum / a.weight, math.Sqrt(variance/max(1, n-1)) * n / a.weight
}
