package pipelines

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/retrain"
)

// Drift compares rows in the features of the model, by their sums.
func (n *nightJobs) Drift(ctx context.Context, from string, o retrain.Fitted) (*retrain.Drift, error) {
	was, err := featuresOf(ctx, retrain.Fitted{Add: []string{from}})
	if err != nil {
		return nil, err
	}
	is, err := featuresOf(ctx, o)
	if err != nil {
		return nil, err
	}
	f := drift.OfSums(was.sum, is.sum, min(was.effective, is.effective), n.o.Train.Job.Engine.WithDefaults().Threads)
	return &retrain.Drift{
		Value: f.AtLeast,
		Text:  fmt.Sprintf("in the features of the model rows are %.3g apart, for certain %.3g (p = %.2g)", f.Distance, f.AtLeast, f.P),
	}, nil
}

// featureSum is the sum of rows without their labels.
type featureSum struct {
	sum       *ridge.Sum
	effective float64 // rows as a share of the sum of their weights, at most 1
}

// featuresOf adds and subtracts directories of sums, all folds and without labels, which may have
// other classes.
func featuresOf(ctx context.Context, o retrain.Fitted) (*featureSum, error) {
	r, err := sums.NewReader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var (
		out           *ridge.Sum
		means         []float64 // Σz
		rows, weights float64
	)
	terms := append(append([]string{}, o.Add...), o.Without...)
	for k, place := range terms {
		d, err := sums.Open(ctx, place)
		if err != nil {
			return nil, err
		}
		sign := 1.0
		if k >= len(o.Add) {
			sign = -1
		}
		shape := d.Shape()
		if out == nil {
			out, means = ridge.NewSum(ridge.Shape{Dim: shape.Dim, Outputs: 1}), make([]float64, shape.Dim)
		}
		if shape.Dim != len(means) {
			return nil, exit.Refuse("pipelines: %s and %s are sums by different recipes", terms[0], place)
		}
		rows += sign * float64(d.Rows.Used)
		layout := ridge.LayoutOf(shape)
		var buf []float64
		for fold := range d.Folds {
			for i := range layout.Parts() {
				buf = append(buf[:0], make([]float64, layout.Len(i))...)
				if err := r.Read(ctx, buf, d, fold, i); err != nil {
					return nil, err
				}
				for j := range buf {
					buf[j] *= sign
				}
				if i == 0 {
					weights += buf[0]
				} else if layout.Tile(i) {
					err = out.AddPart(i, buf)
				} else {
					addMeans(means, layout, i, buf)
				}
				if err != nil {
					return nil, err
				}
			}
		}
	}
	if out == nil {
		return nil, exit.Refuse("pipelines: no sums")
	}
	head := out.Part(0)
	for i := range head {
		head[i] = weights
	}
	layout := ridge.LayoutOf(out.Shape())
	for i := range layout.Parts() {
		if from, _, ok := layout.Cross(i); ok {
			if err := out.SetPart(i, means[from:from+layout.Len(i)]); err != nil {
				return nil, err
			}
		}
	}
	f := &featureSum{sum: out, effective: 1}
	if weights > 0 {
		f.effective = min(1, rows/weights)
	}
	return f, nil
}

// addMeans adds the cross products of a part to Σz: those of all classes, or, with targets, the
// last column.
func addMeans(means []float64, layout ridge.Layout, i int, cross []float64) {
	from, width, _ := layout.Cross(i)
	for at, v := range cross {
		if !layout.Regression || at%width == width-1 {
			means[from+at/width] += v
		}
	}
}
