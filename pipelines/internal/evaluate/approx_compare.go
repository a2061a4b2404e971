package evaluate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/skeleton"
	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// maxCompareRows is the largest number of rows in the sample: 2 million pairs.
const maxCompareRows = 2000

// CompareKernel draws feature maps of several sizes with several seeds, and compares inner products of features
// with the kernel on all pairs of a sample of rows. The sample has the rows with the least hashes, so it does
// not depend on the order of the rows.
func CompareKernel(ctx context.Context, o options.CompareKernel) (result *results.CompareKernel, err error) {
	if err := prepare.LoadKernel(ctx, &o.Prepare); err != nil {
		return nil, err
	}
	if len(o.Budgets) == 0 {
		o.Budgets = []int{64, 256, 1024, 4096}
	}
	o.Seeds, o.Rows, o.Epsilon = cmp.Or(o.Seeds, 10), cmp.Or(o.Rows, 200), cmp.Or(o.Epsilon, 0.1)
	if err := validateCompare(o); err != nil {
		return nil, err
	}
	if o.Out != "" {
		if err := job.CheckOutput(ctx, o.Job, o.Out); err != nil {
			return nil, err
		}
	}
	d, err := prepare.OpenData(ctx, &o.Types, o.Data, o.Job.Log)
	if err != nil {
		return nil, err
	}
	d.Labeled = false // labels are not used
	var j *job.Job
	if o.Out == "" {
		j, err = job.NewScratch(ctx, o.Job)
	} else {
		j, err = job.New(ctx, o.Job, o.Out)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = j.Close(ctx, err) }()
	l, err := prepare.New(ctx, j, d, prepare.Options{Prepare: o.Prepare})
	if err != nil {
		return nil, err
	}
	if result, err = compare(ctx, j, o, l); err != nil || o.Out == "" {
		return result, err
	}
	result.Out = o.Out
	files, err := errorFiles(result)
	if err != nil {
		return nil, err
	}
	together, err := cooccurrence(l.Recipe, slices.Max(o.Budgets))
	if err != nil {
		return nil, err
	}
	files = append(files, together...)
	return result, j.Publish(ctx, o.Out, files)
}

func validateCompare(o options.CompareKernel) error {
	name := kernel.FamilyOf(o.Kernel).Name
	_, varied := o.Kernel.(kernel.Varied)
	switch {
	case o.Seeds < 1:
		return exit.Usagef("--seeds must be at least 1 (have %d)", o.Seeds)
	case !(o.Epsilon > 0) || math.IsInf(o.Epsilon, 0):
		return exit.Usagef("--epsilon must be above 0 (have %g)", o.Epsilon)
	case o.Rows < 2 || o.Rows > maxCompareRows:
		return exit.Usagef("--rows must be 2 to %d (have %d)", maxCompareRows, o.Rows)
	case o.All && !varied:
		return exit.Usagef("--draw all: the %s kernel has only one way to draw features", name)
	}
	for _, n := range o.Budgets {
		k, err := kernel.With(o.Kernel, "features", strconv.Itoa(n))
		if _, found := k.(kernel.Learned); found || err != nil {
			return exit.Usagef("the %s kernel is exactly its features' inner product, so it cannot be compared", name)
		}
		if err := k.Validate(); err != nil {
			return &exit.UsageError{Err: err}
		}
	}
	return cmp.Or(prepare.Validate(o.Prepare), job.Validate(o.Job, o.Data, o.Out, job.Dir{Flag: "out", Name: o.Out}))
}

// kernelSample has rows of the data and the exact kernel of all pairs of them, with which features are compared.
type kernelSample struct {
	options  options.CompareKernel
	job      *job.Job
	prepared *prepare.Prepared
	x        []float32 // n rows
	n        int
	exact    []float64
}

// compare measures all maps on the sample.
func compare(ctx context.Context, j *job.Job, o options.CompareKernel, l *prepare.Prepared) (*results.CompareKernel, error) {
	x, n, _ := l.Sum.Sample()
	n = min(n, o.Rows)
	if n < 2 {
		return nil, exit.Dataf("pipelines: the sample has %d distinct rows; comparing needs at least 2", n)
	}
	exact, err := kernelOfPairs(l.Recipe.Scaled(l.Recipe.Choice.Recipe), x, n, l.Profile.Dim, j.Engine.Threads)
	if err != nil {
		return nil, err
	}
	sample := &kernelSample{o, j, l, x[:n*l.Profile.Dim], n, exact}
	result := &results.CompareKernel{Kernel: l.Recipe.Name, Rows: n, Pairs: len(exact)}
	variants := []kernel.Variant{{Options: o.Kernel}}
	if o.All {
		variants = o.Kernel.(kernel.Varied).Variants()
	}
	budgets := slices.Clone(o.Budgets)
	slices.Sort(budgets)
	for _, v := range variants {
		choice, err := l.Recipe.ChoiceFor(v.Options)
		if err != nil {
			return nil, err
		}
		if choice.Draw == nil {
			return nil, exit.Usagef("the features of the %s are not drawn, so they cannot be compared", choice.Summary)
		}
		curve := results.ErrorCurve{Name: strings.TrimSuffix(kernel.FamilyOf(o.Kernel).Name+", "+v.Name, ", ")}
		for _, dim := range budgets {
			j.Progress.Notef("%s: %d features, %d seeds", curve.Name, dim, o.Seeds)
			point, err := sample.measure(ctx, dim, func(seed uint64) features.Recipe {
				return l.Recipe.Scaled(choice.Draw(dim, seed))
			})
			if err != nil {
				return nil, err
			}
			curve.Points = append(curve.Points, point)
		}
		result.Curves = append(result.Curves, curve)
	}
	result.Bounds, err = sample.bounds(result.Curves[0])
	return result, err
}

// measure draws one map with several seeds.
func (k *kernelSample) measure(ctx context.Context, dim int,
	draw func(seed uint64) features.Recipe) (results.ErrorSummary, error) {
	var runs []approximationErrors
	for s := range k.options.Seeds {
		if err := ctx.Err(); err != nil {
			return results.ErrorSummary{}, err
		}
		e, err := measureErrors(draw(k.options.Seed+uint64(s)), k.exact, k.x, k.n, k.job.Engine.Threads)
		if err != nil {
			return results.ErrorSummary{}, &exit.UsageError{Err: err}
		}
		runs = append(runs, e)
	}
	return summariseErrors(dim, runs), nil
}

// errorFiles returns the files of the result: the table as JSON, and the plots.
func errorFiles(r *results.CompareKernel) ([]storage.File, error) {
	table, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	files := []storage.File{{Name: "errors.json", Data: append(table, '\n')}}
	pictures, err := report.PictureFiles("errors", errorChart(r), 16, 11)
	return append(files, pictures...), err
}

// errorChart plots the root mean squared error against the number of features.
func errorChart(r *results.CompareKernel) picture.Lines {
	chart := picture.Lines{
		Title: fmt.Sprintf("Approximation of the %s", r.Kernel),
		X:     "number of features", Y: fmt.Sprintf("RMSE over %s pairs of rows (band: 95%%)",
			report.Groups(int64(r.Pairs))),
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

// cooccurFeatures is the number of features for the plot, as in the paper, unless the skeleton has fewer or the
// user requested more.
const cooccurFeatures = 500_000

// cooccurrence plots which pixels occur together in the features of an image skeleton: for four pixels, the
// correlation between their occurrence and the occurrence of every other pixel, as in Daniely, Frostig, Gupta and
// Singer ("Random Features for Compositional Kernels", 2017, Fig. 4). The first channel represents a pixel. It
// returns no files unless the skeleton is for images.
func cooccurrence(r prepare.Recipe, requested int) ([]storage.File, error) {
	recipe, ok := r.Choice.Recipe.(skeleton.Compositional)
	s := &recipe.Skeleton
	if !ok || s.Image.Height == 0 {
		return nil, nil
	}
	recipe.Out, recipe.Sampler = max(requested, cooccurFeatures), skeleton.RFS
	drawn, err := recipe.New()
	if err != nil { // the skeleton has fewer distinct features
		recipe.Out = requested
		drawn, err = recipe.New()
	}
	if err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	m := drawn.(*skeleton.Map)
	side := s.Image.Crop
	height, width, top, left := side, side, (s.Image.Height-side)/2, (s.Image.Width-side)/2
	if side == 0 {
		height, width, top, left = s.Image.Height, s.Image.Width, 0, 0
	}
	column := func(y, x int) int {
		pixel := (top+y)*s.Image.Width + left + x
		if s.Image.Planar {
			return pixel
		}
		return pixel * s.Image.Channels
	}
	pixels := [4][2]int{{height / 4, width / 4}, {height / 4, 3 * width / 4}, {3 * height / 4, width / 4},
		{3 * height / 4, 3 * width / 4}}
	var columns []int
	for _, p := range pixels {
		columns = append(columns, column(p[0], p[1]))
	}
	in, _ := m.Dims()
	pairs, single, draws := m.Cooccurrences(columns), m.Occurrences(), float64(m.Draws())

	// Four images, two by two, separated by a line.
	heat := picture.Heat{
		Title: fmt.Sprintf("Pixels that occur together in %s features", report.Groups(int64(recipe.Out))),
		X:     "column of pixels", Y: "row of pixels (four images, the pixel in question is black)",
		Z: "correlation", Rows: 2*height + 1, Cols: 2*width + 1,
	}
	heat.Values = make([]float64, heat.Rows*heat.Cols)
	for i, p := range pixels {
		for y := range height {
			for x := range width {
				c := column(y, x)
				at := (y+(i/2)*(height+1))*heat.Cols + x + (i%2)*(width+1)
				if [2]int{y, x} != p {
					heat.Values[at] = correlation(float64(pairs[i*in+c])/draws, float64(single[columns[i]])/draws,
						float64(single[c])/draws)
				}
			}
		}
	}
	return report.PictureFiles("cooccurrence", heat, 14, 14)
}

// correlation returns the correlation of two events with probabilities a and b and joint probability both. It
// is 0 if an event is certain or impossible.
func correlation(both, a, b float64) float64 {
	v := a * (1 - a) * b * (1 - b)
	if v <= 0 {
		return 0
	}
	return (both - a*b) / math.Sqrt(v)
}
