package search

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/option"
)

// View is a preparation of the columns: fixed steps from the rows of a pilot to the rows that a kernel takes.
type View struct {
	Name  string
	Steps []features.Recipe // Fixed
}

// Metrics.
const (
	noMetric       = ""         // the distance of the kernel
	diagonalMetric = "diagonal" // columns are scaled by their importance
	fullMetric     = "full"     // rows are multiplied by a matrix
)

// Candidate is a choice of features.
type Candidate struct {
	View   string `json:"view"`
	Kernel string `json:"kernel"`
	// Width is a multiple of the median distance of rows in the view and the metric.
	Width float64 `json:"width"`
	// Metric is the kind of the learned metric, "diagonal", "full" or "" for none, and Rounds how often it was learned.
	Metric string `json:"metric,omitempty"`
	Rounds int    `json:"rounds,omitempty"`
	// Products is true if the first metric comes from products of two columns (package pairs); Rounds follow it.
	Products bool `json:"products,omitempty"`
	// Pair is the width of an additional Gaussian kernel of two columns, in median distances of these; 0 for none.
	Pair float64 `json:"pair,omitempty"`
	// InResiduals is true if these two columns were found in the residuals of another candidate.
	InResiduals bool `json:"in_residuals,omitempty"`
	// PiecewiseLinear adds piecewise-linear columns.
	PiecewiseLinear bool `json:"piecewise_linear,omitempty"`
	// Landmarks is true if the features are values of the kernel at rows (package landmarks), not random.
	Landmarks bool `json:"landmarks,omitempty"`
}

// String describes the candidate, such as "standard, gaussian, width 0.5, diagonal metric (2 rounds), landmarks".
func (c Candidate) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, width %.3g", c.View, c.Kernel, c.Width)
	if c.Metric != noMetric {
		fmt.Fprintf(&b, ", %s metric", c.Metric)
		if c.Rounds > 1 {
			fmt.Fprintf(&b, " (%d rounds)", c.Rounds)
		}
		if c.Products {
			b.WriteString(" of columns that matter together")
		}
	}
	if c.Pair > 0 {
		b.WriteString(", two columns")
		if c.InResiduals {
			b.WriteString(" found in residuals")
		}
		fmt.Fprintf(&b, " at width %.3g", c.Pair)
	}
	if c.PiecewiseLinear {
		b.WriteString(", piecewise-linear columns")
	}
	if c.Landmarks {
		b.WriteString(", landmarks")
	}
	return b.String()
}

// complexity ranks candidates: the simpler of two has the smaller number. Additional features count 5 each, a
// diagonal metric as much as two of them, and a full metric more than a diagonal one of any number of rounds.
func (c Candidate) complexity() int {
	const feature, diagonal, full = 5, 10, 20
	n := 0
	switch c.Metric {
	case diagonalMetric:
		n = diagonal + c.Rounds
	case fullMetric:
		n = full + c.Rounds
	}
	switch c.View {
	case levelsView, wholeView:
		n += feature
	case bothView: // also keeps the numbers
		n += feature + 1
	case differencesView: // also has distances of two columns
		n += feature + 2
	}
	if c.PiecewiseLinear {
		n += feature
	}
	if c.Pair > 0 {
		n += feature
	}
	return n
}

// kind returns the candidate without its widths, to compare the rest.
func (c Candidate) kind() Candidate {
	c.Width = 0
	if c.Pair > 0 {
		c.Pair = 1
	}
	return c
}

// recipeOf returns the recipe of a kernel with a width and a number of features, for rows of length in.
func recipeOf(k kernel.Options, in, out int, width float64, seed uint64) (features.Recipe, error) {
	k, err := kernel.With(k, "width", strconv.FormatFloat(width, 'g', -1, 64))
	if err == nil {
		k, err = kernel.With(k, "features", strconv.Itoa(out))
	}
	if err != nil {
		return nil, err
	}
	c, err := k.Choose(&kernel.Data{In: in, Seed: seed})
	if err != nil {
		return nil, err
	}
	return c.Recipe, nil
}

// KernelName returns the name of a kernel's family, followed by its numeric options that are not the default:
// "exponential 1.4".
func KernelName(k kernel.Options) string {
	family := kernel.FamilyOf(k)
	name, usual := family.Name, map[string]string{}
	for _, o := range option.List(family.New()) {
		usual[o.Name] = o.Default
	}
	for _, o := range option.List(k) {
		v, err := strconv.ParseFloat(o.Default, 64)
		if err == nil && v != 0 && o.Name != "width" && o.Name != "features" && o.Default != usual[o.Name] {
			name += " " + o.Default
		}
	}
	return name
}

// kernelOf is a kernel with the properties that the search uses.
type kernelOf struct {
	options  kernel.Options
	family   string
	distance kernel.Distance // of its width
	// smooth is true if gradients of its features are good for a metric: frequencies have a finite second moment.
	smooth bool
}

func newKernelOf(k kernel.Options) (kernelOf, error) {
	result := kernelOf{options: k, family: kernel.FamilyOf(k).Name}
	r, err := recipeOf(k, 1, 2, 1, 0)
	if err != nil {
		return result, err
	}
	d, ok := r.(kernel.OfDistance)
	if !ok {
		return result, fmt.Errorf("search: the kernel %s has no distance", result.family)
	}
	result.distance = d.Distance()
	result.smooth = result.distance == kernel.Euclidean && !math.IsInf(d.SecondMoment(), 1)
	return result, nil
}
