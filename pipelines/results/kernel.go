package results

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/results/table"
)

// CompareKernel measures how well features approximate their kernel.
type CompareKernel struct {
	Kernel string       `json:"kernel"`
	Rows   int          `json:"rows"`
	Pairs  int          `json:"pairs"`
	Curves []ErrorCurve `json:"curves"`
	Bounds *ErrorBounds `json:"bounds,omitempty"` // of independent Fourier features
	Out    string       `json:"out,omitempty"`
}

// WriteTo prints the result for people.
func (r *CompareKernel) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "kernel    %s\n", r.Kernel)
	fmt.Fprintf(&b, "rows      %d, %s pairs; means over seeds ± half of a 95%% interval\n", r.Rows,
		report.Groups(int64(r.Pairs)))
	t := table.Table{Head: []string{"map", "features", "seeds", "MAE", "RMSE", "max", "correlation"}}
	for _, c := range r.Curves {
		for _, p := range c.Points {
			t.Add(c.Name, fmt.Sprint(p.Features), fmt.Sprint(p.Seeds), p.MAE.String(), p.RMSE.String(), p.Max.String(),
				p.Correlation.String())
		}
	}
	t.Write(&b)
	if r.Bounds != nil {
		r.Bounds.write(&b)
	}
	if r.Out != "" {
		fmt.Fprintf(&b, "table and plots are in %s\n", r.Out)
	}
	return b.WriteTo(w)
}

// ErrorCurve is the error of one way to draw features, by the number of features.
type ErrorCurve struct {
	Name   string         `json:"name"`
	Points []ErrorSummary `json:"points"`
}

// ErrorSummary holds the errors over several seeds for one number of features.
type ErrorSummary struct {
	Features    int           `json:"features"`
	Seeds       int           `json:"seeds"`
	MAE         ErrorInterval `json:"mae"`
	RMSE        ErrorInterval `json:"rmse"`
	Max         ErrorInterval `json:"max"`
	Correlation ErrorInterval `json:"correlation,omitzero"`
}

// ErrorInterval is a mean over seeds with its confidence interval.
type ErrorInterval struct {
	Mean float64 `json:"mean"`
	Half float64 `json:"half"` // half the width of the 95% interval; 0 for a single seed
}

// IsZero reports whether there is no mean: a correlation is not defined if all values of the kernel are equal.
func (i ErrorInterval) IsZero() bool { return math.IsNaN(i.Mean) }

// String formats the interval as mean ± half, or as the mean if half is 0; as - without a mean.
func (i ErrorInterval) String() string {
	switch {
	case i.IsZero():
		return "-"
	case i.Half == 0:
		return fmt.Sprintf("%.5f", i.Mean)
	}
	return fmt.Sprintf("%.5f ± %.5f", i.Mean, i.Half)
}

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

func (b *ErrorBounds) write(w io.Writer) {
	fmt.Fprintf(w,
		"bounds    with probability %g no error is larger (Hoeffding; rows of %s, a region of diameter %.4g):\n",
		1-BoundDelta, report.Counted(b.Dim, "number"), b.Diameter)
	t := table.Table{Head: []string{"features", "largest measured", "bound, pairs of the sample", "bound, whole region"}}
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

// BoundPoint holds the bounds for a number of features.
type BoundPoint struct {
	Features int      `json:"features"`
	Max      float64  `json:"max"`               // measured over the pairs of the sample, averaged over seeds
	Pairs    float64  `json:"pairs"`             // bound on Max
	Uniform  *float64 `json:"uniform,omitempty"` // bound for all pairs of points in a region of that diameter
}

// BoundDelta is the probability that a bound fails.
const BoundDelta = 0.05
