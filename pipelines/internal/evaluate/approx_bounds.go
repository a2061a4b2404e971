package evaluate

import (
	"fmt"
	"io"
	"math"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms"
)

// boundDelta is the probability that a bound fails.
const boundDelta = 0.05

// ErrorBounds has proven bounds on the errors of independent Fourier features, next to the measured errors.
// Each bound holds for a drawn map with probability 0.95.
type ErrorBounds struct {
	Dim      int          `json:"dim"`      // numbers per scaled row
	Diameter float64      `json:"diameter"` // largest distance of scaled rows of the sample
	Points   []BoundPoint `json:"points"`
	// PairsFeatures and UniformFeatures are the numbers of features for which the bounds are at most Epsilon.
	Epsilon         float64 `json:"epsilon"`
	PairsFeatures   int     `json:"pairs_features,omitempty"`
	UniformFeatures int     `json:"uniform_features,omitempty"`
	// Why explains that there is no uniform bound, or that it requires too many features to count.
	Why string `json:"why,omitempty"`
}

// BoundPoint has the bounds for a number of features.
type BoundPoint struct {
	Features int      `json:"features"`
	Max      float64  `json:"max"`               // measured over the pairs of the sample, averaged over seeds
	Pairs    float64  `json:"pairs"`             // bound on Max
	Uniform  *float64 `json:"uniform,omitempty"` // bound for all pairs of points in a region of that diameter
}

// fourierRecipe is a recipe of Fourier features.
type fourierRecipe interface {
	Dims() (in, out int)
	Drawn() (fourier.Form, fourier.Draw)
	SecondMoment() float64
}

// bounds returns the bounds for the points of a curve, nil unless features are Fourier features with
// independent frequencies.
func (o KernelOptions) bounds(l *prepare.Prepared, x []float32, n int, pairs int,
	curve ErrorCurve) (*ErrorBounds, error) {
	r, ok := l.Recipe.Choice.Recipe.(fourierRecipe)
	if !ok {
		return nil, nil
	}
	form, draw := r.Drawn()
	if draw != fourier.Iid {
		return nil, nil
	}
	dim, _ := r.Dims()
	scaled, err := l.Recipe.Scaling.Apply(x, n)
	if err != nil {
		return nil, err
	}
	b := &ErrorBounds{Dim: dim, Diameter: diameter(scaled, n, dim), Epsilon: o.Epsilon}
	paired := form == fourier.Paired
	given := kernel.Pairs{Paired: paired, Pairs: int64(pairs)}
	region := kernel.Uniform{Paired: paired, Dim: dim, Diameter: b.Diameter, Moment: r.SecondMoment()}
	for i, p := range curve.Points {
		b.Points = append(b.Points, BoundPoint{Features: p.Features, Max: p.Max.Mean})
		if b.Points[i].Pairs, err = kernel.Epsilon(given, p.Features, boundDelta); err != nil {
			return nil, err
		}
		if e, err := kernel.Epsilon(region, p.Features, boundDelta); err == nil {
			b.Points[i].Uniform = &e
		}
	}
	// An error means that there is no such bound, or that the number of features overflows.
	if b.PairsFeatures, err = kernel.Features(given, o.Epsilon, boundDelta); err != nil {
		b.Why = transforms.FaultText(err)
	} else if b.UniformFeatures, err = kernel.Features(region, o.Epsilon, boundDelta); err != nil {
		b.Why = transforms.FaultText(err)
	}
	return b, nil
}

// diameter returns the largest distance between n rows.
func diameter(x []float32, n, d int) (most float64) {
	for i := range n {
		for j := range i {
			var sum float64
			for c, v := range x[i*d : (i+1)*d] {
				e := float64(v) - float64(x[j*d+c])
				sum += float64(e * e)
			}
			most = max(most, sum)
		}
	}
	return math.Sqrt(most)
}

func (b *ErrorBounds) write(w io.Writer) {
	fmt.Fprintf(w,
		"bounds    with probability %g no error is larger (Hoeffding; rows of %s, a region of diameter %.4g):\n",
		1-boundDelta, report.Counted(b.Dim, "number"), b.Diameter)
	t := report.Table{Head: []string{"features", "largest measured", "bound, pairs of the sample", "bound, whole region"}}
	for _, p := range b.Points {
		region := "-"
		if p.Uniform != nil {
			region = fmt.Sprintf("%.5f", *p.Uniform)
		}
		t.Add(fmt.Sprint(p.Features), fmt.Sprintf("%.5f", p.Max), fmt.Sprintf("%.5f", p.Pairs), region)
	}
	t.Write(w)
	if b.PairsFeatures > 0 {
		fmt.Fprintf(w, "for %g at most: %s for the pairs of the sample", b.Epsilon,
			report.Counted64(int64(b.PairsFeatures), "feature"))
		if b.UniformFeatures > 0 {
			fmt.Fprintf(w, ", %s for the whole region", report.Groups(int64(b.UniformFeatures)))
		}
		fmt.Fprintln(w)
	}
	if b.Why != "" {
		fmt.Fprintf(w, "%s\n", b.Why)
	}
}
