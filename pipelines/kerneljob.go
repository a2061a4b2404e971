package pipelines

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/bochner-ml/bochner/features/approx"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/picture"
)

// CompareOptions says which kernel to compare with its features, on which rows.
type CompareOptions struct {
	MapOptions
	Budgets []int   // numbers of features; none is 64, 256, 1024 and 4096
	Seeds   int     // draws of each map, from MapOptions.Seed on; 0 is 10
	Rows    int     // rows of the sample, all pairs of which are compared; 0 is 200
	Epsilon float64 // error for which the bounds tell how many features are enough; 0 is 0.1
	All     bool    // compare all draws of the kernel's frequencies
	Out     string  // directory to make for the table and the pictures; "" for none
}

// maxCompareRows bounds the sample: 2 million pairs.
const maxCompareRows = 2000

// CompareResult is how well features approximate their kernel.
type CompareResult struct {
	Kernel string       `json:"kernel"`
	Rows   int          `json:"rows"`
	Pairs  int          `json:"pairs"`
	Curves []ErrorCurve `json:"curves"`
	Bounds *ErrorBounds `json:"bounds,omitempty"` // of independent Fourier features
	Out    string       `json:"out,omitempty"`
}

// ErrorCurve is the error of one way to draw features, by their number.
type ErrorCurve struct {
	Name   string           `json:"name"`
	Points []approx.Summary `json:"points"`
}

// Compare draws maps of a kernel of several sizes and seeds, and compares inner
// products of features with the kernel on the pairs of a sample of rows. The
// sample are the rows with the smallest hashes, so it is the same whatever the
// order of the rows.
func Compare(ctx context.Context, o CompareOptions) (result *CompareResult, err error) {
	o.Kernel = o.Kernel.withDefaults()
	if len(o.Budgets) == 0 {
		o.Budgets = []int{64, 256, 1024, 4096}
	}
	if o.Seeds == 0 {
		o.Seeds = 10
	}
	if o.Rows == 0 {
		o.Rows = 200
	}
	if o.Epsilon == 0 {
		o.Epsilon = 0.1
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Out != "" {
		if err := o.Job.vacant(ctx, o.Out); err != nil {
			return nil, err
		}
	}
	d, err := openData(ctx, o.Data, o.Job.Log)
	if err != nil {
		return nil, err
	}
	d.Labeled = false // a kernel does not look at labels
	var j *job
	if o.Out == "" {
		j, err = newScratchJob(ctx, o.Job)
	} else {
		j, err = newJob(ctx, o.Job, o.Out)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = j.close(ctx, err) }()
	l, err := look(ctx, j, d, o.MapOptions)
	if err != nil {
		return nil, err
	}
	if result, err = compare(ctx, j, o, l); err != nil || o.Out == "" {
		return result, err
	}
	result.Out = o.Out
	files, err := result.files()
	if err != nil {
		return nil, err
	}
	together, err := cooccurrence(l.recipe, slices.Max(o.Budgets))
	if err != nil {
		return nil, err
	}
	files = append(files, together...)
	return result, j.publish(ctx, o.Out, files)
}

func (o CompareOptions) validate() error {
	for _, n := range o.Budgets {
		k := o.Kernel
		k.Features = n
		if err := k.validate(); err != nil {
			return err
		}
	}
	switch {
	case o.Seeds < 1:
		return usage("--seeds must be at least 1 (have %d)", o.Seeds)
	case !(o.Epsilon > 0) || math.IsInf(o.Epsilon, 0):
		return usage("--epsilon must be a number above 0 (have %g)", o.Epsilon)
	case o.Rows < 2 || o.Rows > maxCompareRows:
		return usage("--rows must be between 2 and %d (have %d)", maxCompareRows, o.Rows)
	case o.All && families[o.Kernel.Name].variants == nil:
		return usage("--draw all: the features of the %s kernel are drawn in one way only", o.Kernel.Name)
	case families[o.Kernel.Name].fixed:
		return usage("the %s kernel is its features' inner product: there is nothing to compare", o.Kernel.Name)
	}
	if err := o.MapOptions.validate(); err != nil {
		return err
	}
	return o.Job.validate(o.Data, o.Out, place{"out", o.Out})
}

// compare measures all maps on the sample.
func compare(ctx context.Context, j *job, o CompareOptions, l *looked) (*CompareResult, error) {
	x, n, _ := l.sum.Sample()
	n = min(n, o.Rows)
	if n < 2 {
		return nil, refuse("pipelines: the sample has %d different rows, and comparing takes 2", n)
	}
	exact := l.recipe.of(func(*mapping) {})
	kernel := approx.Kernel(exact, x, n, l.found.Dim, j.engine.Threads)
	result := &CompareResult{Kernel: l.recipe.name, Rows: n, Pairs: len(kernel)}
	variants := []variant{{"", func(*mapping) {}}}
	if o.All {
		variants = families[o.Kernel.Name].variants
	}
	budgets := slices.Clone(o.Budgets)
	slices.Sort(budgets)
	for _, v := range variants {
		curve := ErrorCurve{Name: strings.TrimSuffix(o.Kernel.Name+", "+v.name, ", ")}
		for _, dim := range budgets {
			j.progress.note("%s: %d features, %d seeds", curve.Name, dim, o.Seeds)
			point, err := measure(ctx, j, l.recipe, v, dim, o, kernel, x, n)
			if err != nil {
				return nil, err
			}
			curve.Points = append(curve.Points, point)
		}
		result.Curves = append(result.Curves, curve)
	}
	var err error
	result.Bounds, err = o.bounds(l, x[:n*l.found.Dim], n, len(kernel), result.Curves[0])
	return result, err
}

// measure draws one map with several seeds.
func measure(ctx context.Context, j *job, r recipe, v variant, dim int, o CompareOptions, kernel []float64, x []float32, n int) (approx.Summary, error) {
	var runs []approx.Errors
	for s := range o.Seeds {
		if err := ctx.Err(); err != nil {
			return approx.Summary{}, err
		}
		drawn := r.of(func(m *mapping) {
			m.Features, m.seed = dim, o.Seed+uint64(s)
			v.choose(m)
		})
		e, err := approx.Measure(drawn, kernel, x, n, j.engine.Threads)
		if err != nil {
			return approx.Summary{}, &UsageError{err}
		}
		runs = append(runs, e)
	}
	return approx.Summarise(dim, runs)
}

// files returns the table as JSON and the pictures.
func (r *CompareResult) files() ([]storage.File, error) {
	table, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	files := []storage.File{{Name: "errors.json", Data: append(table, '\n')}}
	pictures, err := pictureFiles("errors", r.chart(), 16, 11)
	return append(files, pictures...), err
}

// chart shows the root mean squared error by the number of features.
func (r *CompareResult) chart() picture.Lines {
	chart := picture.Lines{
		Title: fmt.Sprintf("Features against the %s", r.Kernel),
		X:     "number of features", Y: fmt.Sprintf("RMSE over %s pairs of rows (band: 95 %%)", groups(int64(r.Pairs))),
		LogX: true, LogY: true,
	}
	for _, c := range r.Curves {
		s := picture.Series{Name: c.Name}
		for _, p := range c.Points {
			s.X = append(s.X, float64(p.Features))
			s.Y = append(s.Y, p.RMSE.Mean)
			s.Low, s.High = append(s.Low, p.RMSE.Mean-p.RMSE.Half), append(s.High, p.RMSE.Mean+p.RMSE.Half)
		}
		chart.Series = append(chart.Series, s)
	}
	return chart
}

// WriteTo prints the result for people.
func (r *CompareResult) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel    %s\n", r.Kernel)
	fmt.Fprintf(&b, "rows      %d, %s pairs; means over seeds ± half of a 95 %% interval\n", r.Rows, groups(int64(r.Pairs)))
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "map\tfeatures\tseeds\tMAE\tRMSE\tmax\tcorrelation\t\n")
	for _, c := range r.Curves {
		for _, p := range c.Points {
			fmt.Fprintf(tw, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t\n", c.Name, p.Features, p.Seeds, p.MAE, p.RMSE, p.Max, p.Correlation)
		}
	}
	tw.Flush()
	if r.Bounds != nil {
		r.Bounds.write(&b)
	}
	if r.Out != "" {
		fmt.Fprintf(&b, "table and pictures are in %s\n", r.Out)
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}
