package days

import (
	"context"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// within returns a *exit.GateError if a column, the labels or the rows of a part have certainly moved
// farther than the bound; 0 is none.
func within(bound float64, p *sums.DriftReport) error {
	switch {
	case bound == 0:
		return nil
	case p == nil:
		return exit.Usage("--max_drift: the part or its recipe has no statistics of columns")
	}
	return exit.NotPassed(p.Exceeds(bound, 0))
}

// FeatureDrift compares the features of the rows of sums with those of others, added and subtracted.
func FeatureDrift(ctx context.Context, from []string, of Parts, threads int) (sums.FeatureDrift, error) {
	was, err := featuresAt(ctx, Parts{Sums: from})
	if err != nil {
		return sums.FeatureDrift{}, err
	}
	is, err := featuresAt(ctx, of)
	if err != nil {
		return sums.FeatureDrift{}, err
	}
	return sums.FeatureDriftOfSums(was.sum, is.sum, min(was.effective, is.effective), threads), nil
}

// apart returns in words which of the parts that are added have certainly moved farther than the
// bound: by a column, the labels or the rows from those of the recipe; and the one whose features are
// farthest from those of all other parts, which are off from the others because of it.
func apart(ctx context.Context, terms []term, bound float64, threads int) (failed []string, err error) {
	all, err := featuresOf(ctx, terms)
	if err != nil {
		return nil, err
	}
	farthest, place := sums.FeatureDrift{AtLeast: bound}, ""
	for _, d := range terms {
		if d.sign < 0 {
			continue
		}
		if d.Drift != nil {
			for _, why := range d.Drift.Exceeds(bound, 0) {
				failed = append(failed, d.Place+": "+why)
			}
		}
		rows, means, err := meansOf(ctx, d)
		if err != nil {
			return nil, err
		}
		if f := sums.FeatureDriftOfPart(all.sum, rows, means, all.effective, threads); f.AtLeast > farthest.AtLeast {
			farthest, place = f, d.Place
		}
	}
	if place != "" {
		failed = append(failed, fmt.Sprintf("%s: in the features of the model its rows are %.3g from all others, for certain %.3g, above %g", place, farthest.Distance, farthest.AtLeast, bound))
	}
	return failed, nil
}

// featureSum is the sum of rows without their labels.
type featureSum struct {
	sum       *ridge.Sum
	effective float64 // rows, of those in a group one, as a share of the sum of their weights; at most 1
}

// featuresAt is featuresOf for directories.
func featuresAt(ctx context.Context, of Parts) (*featureSum, error) {
	var terms []term
	for i, place := range slices.Concat(of.Sums, of.Without) {
		d, err := sums.Open(ctx, place)
		if err != nil {
			return nil, err
		}
		sign := 1.0
		if i >= len(of.Sums) {
			sign = -1
		}
		terms = append(terms, term{d, sign})
	}
	return featuresOf(ctx, terms)
}

// featuresOf adds and subtracts sums, all folds and without labels, which may have other classes.
func featuresOf(ctx context.Context, terms []term) (*featureSum, error) {
	if len(terms) == 0 {
		return nil, exit.Refuse("pipelines: no sums")
	}
	dim := terms[0].Shape().Dim
	out, means := ridge.NewSum(ridge.Shape{Dim: dim, Outputs: 1}), make([]float64, dim)
	var used, weights float64
	for _, d := range terms {
		if d.Shape().Dim != dim {
			return nil, exit.Refuse("pipelines: %s and %s are sums by different recipes", terms[0].Place, d.Place)
		}
		used += d.sign * float64(d.Rows.Used)
		err := eachPart(ctx, d, true, func(layout ridge.Layout, i int, part []float64) error {
			for j := range part {
				part[j] *= d.sign
			}
			if layout.Tile(i) {
				return out.AddPart(i, part)
			}
			weights += addMeans(means, layout, i, part)
			return nil
		})
		if err != nil {
			return nil, err
		}
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
		f.effective = min(1, used/weights)
	}
	f.effective /= terms[0].Recipe.Rule.Split.GroupSize()
	return f, nil
}

// meansOf returns the number of rows of a directory of sums, by weight, and the sums of their
// features.
func meansOf(ctx context.Context, d term) (rows float64, means []float64, err error) {
	means = make([]float64, d.Shape().Dim)
	err = eachPart(ctx, d, false, func(layout ridge.Layout, i int, part []float64) error {
		rows += addMeans(means, layout, i, part)
		return nil
	})
	return rows, means, err
}

// eachPart reads the parts of the sums of all folds of a directory, tiles or not.
func eachPart(ctx context.Context, d term, tiles bool, use func(layout ridge.Layout, i int, part []float64) error) error {
	r, err := sums.NewReader()
	if err != nil {
		return err
	}
	defer r.Close()
	layout := ridge.LayoutOf(d.Shape())
	var buf []float64
	for fold := range d.Folds {
		for i := range layout.Parts() {
			if layout.Tile(i) && !tiles {
				continue
			}
			buf = append(buf[:0], make([]float64, layout.Len(i))...)
			if err := r.Read(ctx, buf, d.Dir, fold, i); err != nil {
				return err
			}
			if err := use(layout, i, buf); err != nil {
				return err
			}
		}
	}
	return nil
}

// addMeans adds the cross products of a part to Σz: those of all classes, or, with targets, the
// last column. It returns the number of rows if the part is the head, and 0 otherwise.
func addMeans(means []float64, layout ridge.Layout, i int, part []float64) (rows float64) {
	if i == 0 {
		return part[0]
	}
	if from, width, ok := layout.Cross(i); ok {
		for at, v := range part {
			if !layout.Regression || at%width == width-1 {
				means[from+at/width] += v
			}
		}
	}
	return 0
}
