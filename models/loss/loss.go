package loss

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/option"
)

// Loss is a loss of rows of scores. Create it with New. It is immutable.
type Loss struct {
	Scalar  Scalar // for each output; nil for softmax, which needs all scores of a row
	classes bool
}

// entry is a line of the table of losses.
type entry struct {
	name             string
	classes, targets bool
	scalar           func(epsilon float64) Scalar // nil for softmax
}

var table = []entry{
	{"squared", true, true, func(float64) Scalar { return squared{} }},
	{"logistic", true, false, func(float64) Scalar { return logistic{} }},
	{"softmax", true, false, nil},
	{"hinge", true, false, func(float64) Scalar { return hinge{} }},
	{"squared_hinge", true, false, func(float64) Scalar { return squaredHinge{} }},
	{"huber", false, true, func(e float64) Scalar { return huber{e} }},
	{"epsilon_insensitive", false, true, func(e float64) Scalar { return insensitive{e} }},
}

// Names lists the losses for classes, or for targets.
func Names(classes bool) []string {
	var names []string
	for _, e := range table {
		if classes && e.classes || !classes && e.targets {
			names = append(names, e.name)
		}
	}
	return names
}

// newLoss returns the loss of that name for classes or for targets. epsilon applies to huber
// and epsilon_insensitive, in units of the targets. Other losses ignore it.
func newLoss(name string, classes bool, epsilon float64) (*Loss, error) {
	if !(epsilon >= 0) || math.IsInf(epsilon, 0) {
		return nil, fmt.Errorf("loss: epsilon is %g, want a number of 0 or more", epsilon)
	}
	names := Names(classes)
	for _, e := range table {
		if e.name != name {
			continue
		}
		if classes && !e.classes || !classes && !e.targets {
			kinds := map[bool]string{true: "classes", false: "targets"}
			return nil, fmt.Errorf("loss: %s is for %s; for %s use one of %s", name, kinds[!classes], kinds[classes],
				strings.Join(names, ", "))
		}
		if name == "huber" && epsilon == 0 {
			return nil, errors.New("loss: huber needs an epsilon above 0")
		}
		l := &Loss{classes: classes}
		if e.scalar != nil {
			l.Scalar = e.scalar(epsilon)
		}
		return l, nil
	}
	return nil, fmt.Errorf("loss: unknown loss %q%s; have %s", name, option.DidYouMean(name, names),
		strings.Join(names, ", "))
}

// Code returns the target of output c for a row with label y: ±1 for classes, y itself for targets.
func (l *Loss) Code(y float32, c int) float64 {
	switch {
	case !l.classes:
		return float64(y)
	case int(y) == c:
		return 1
	}
	return -1
}

// Row returns the loss of a row with label y. Unless slopes is nil, it stores the derivatives with respect
// to the scores there. Both slices have a number for each output.
func (l *Loss) Row(slopes, scores []float32, y float32) float64 {
	if l.Scalar == nil {
		return softmax(slopes, scores, int(y))
	}
	var sum float64
	for c, s := range scores {
		code := l.Code(y, c)
		sum += l.Scalar.Value(code, float64(s))
		if slopes != nil {
			slopes[c] = float32(l.Scalar.Slope(code, float64(s)))
		}
	}
	return sum
}

// Smooth returns the Lipschitz constant of the slopes as a function of the scores of a row, in Euclidean
// norms; +Inf if there is none.
func (l *Loss) Smooth() float64 {
	if l.Scalar == nil {
		return 0.5 // largest possible eigenvalue of diag(p) − ppᵀ
	}
	return l.Scalar.Smooth()
}

// SoftmaxFactors are multiplied with the scores of a classifier before their softmax, to find the best factor.
// Scores of ridge are between −1 and 1 even where a class is certain, so their plain softmax would be far from
// probabilities. The best factor is a calibration with one parameter.
var SoftmaxFactors = [...]float64{0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}

// softmax returns log Σ_c exp(s_c − s_y). Unless slopes is nil, it stores the probabilities minus the
// indicator of class y there.
func softmax(slopes, scores []float32, y int) float64 {
	top := float64(slices.Max(scores))
	sum := SumExp(scores, top, 1)
	if slopes != nil {
		for c, s := range scores {
			slopes[c] = float32(blas.Exp(float64(s)-top) / sum)
		}
		// Compute 1 − p from the other classes, which is accurate even if p is near 1.
		var others float64
		for c, p := range slopes {
			if c != y {
				others += float64(p)
			}
		}
		slopes[y] = float32(-others)
	}
	return (top - float64(scores[y])) + Log(sum)
}
