package results

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/svm"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// VerifyOptimum holds the values that were recorded when the model was trained, and the same values recomputed
// from the data. It leaves out values that were not recomputed, such as the training log and held-out errors.
type VerifyOptimum struct {
	Model       string          `json:"model"`
	Problem     Problem         `json:"problem"` // the solved problem
	Recorded    Optimum         `json:"recorded"`
	Certificate svm.Certificate `json:"certificate"`
	Holds       bool            `json:"holds"`
	Why         []string        `json:"why,omitempty"` // reasons why the certificate does not hold
}

// WriteTo prints the result for people.
func (r *VerifyOptimum) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "model      %s\n", r.Model)
	p := r.Problem
	fmt.Fprintf(&b, "problem    %s loss, lambda %g, %s rows, ", strings.ReplaceAll(p.Loss, "_", " "), p.Lambda,
		report.Groups(p.Rows))
	if !p.Regression {
		fmt.Fprintf(&b, "%d classes, ", p.Outputs)
	}
	fmt.Fprintf(&b, "%s, ", report.Counted(p.Dim, "feature"))
	if p.Bias > 0 {
		fmt.Fprintf(&b, "a constant feature of %g\n", p.Bias)
	} else {
		b.WriteString("no intercept\n")
	}
	if p.Weights != nil {
		fmt.Fprintf(&b, "           weights of the classes %v\n", p.Weights)
	}
	fmt.Fprintf(&b, "           %14s %14s %12s\n", "objective", "dual", "gap")
	fmt.Fprintf(&b, "recorded   %14.9g %14.9g %12.4g\n", r.Recorded.Objective, r.Recorded.Dual, r.Recorded.Gap)
	fmt.Fprintf(&b, "computed   %14.9g %14.9g %12.4g\n", r.Certificate.Primal, r.Certificate.Dual, r.Certificate.Gap)
	if r.Holds {
		fmt.Fprintf(&b, "the certificate holds: no weights have an objective lower by more than %.3g\n", r.Certificate.Gap)
	}
	return b.WriteTo(w)
}

// Problem is the optimisation problem that the certificate is about.
type Problem struct {
	loss.Problem
	Bias float64 `json:"bias"` // value of the constant feature whose weight is the intercept; 0 for no intercept
}

// Optimum holds the bound of a manifest on the distance of the weights from the optimum.
type Optimum struct {
	Objective float64 `json:"objective"`
	Dual      float64 `json:"dual"`
	Gap       float64 `json:"gap"`
}
