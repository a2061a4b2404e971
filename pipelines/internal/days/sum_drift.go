package days

import (
	"context"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/sumdirs"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// checkDrift returns an *exit.GateError if the lower bound of a drift of a part exceeds the bound;
// a bound of 0 allows everything.
func checkDrift(bound float64, p *drift.Report) error {
	switch {
	case bound == 0:
		return nil
	case p == nil:
		return exit.Usagef("--max_drift: the part or its recipe has no statistics of columns")
	}
	return exit.NotPassed(p.Exceeds(bound, 0))
}

// FeatureDrift returns the distance in features between the rows of the sums in the directories
// from and the rows of the sums compared.
func FeatureDrift(ctx context.Context, from []string, compared options.SumDirs, threads int) (drift.Features, error) {
	var all [2]*featureSum
	for i, dirs := range []options.SumDirs{{Sums: from}, compared} {
		var terms []sumdirs.Term
		for k, dir := range slices.Concat(dirs.Sums, dirs.Without) {
			d, err := sums.Open(ctx, dir)
			if err != nil {
				return drift.Features{}, err
			}
			sign := int64(1)
			if k >= len(dirs.Sums) {
				sign = -1
			}
			terms = append(terms, sumdirs.Term{Dir: d, Sign: sign})
		}
		var err error
		if all[i], err = featuresOf(ctx, terms); err != nil {
			return drift.Features{}, err
		}
	}
	before, now := all[0], all[1]
	return drift.CompareFeatures(before.FeatureSum, now.FeatureSum, min(before.effective, now.effective), threads), nil
}

// driftedParts returns texts about the added terms whose drift from the recipe's rows, in a column,
// the labels or repeated rows, significantly exceeds the bound, and about the term whose features
// are farthest from all others, if they are beyond it. It names only the farthest, because an
// outlier also moves the mean that the others are compared with.
func driftedParts(ctx context.Context, terms []sumdirs.Term, bound float64, threads int) (failed []string, err error) {
	all, err := featuresOf(ctx, terms)
	if err != nil {
		return nil, err
	}
	farthest, dir := drift.Features{AtLeast: bound}, ""
	for _, d := range terms {
		if d.Sign < 0 {
			continue
		}
		if d.Drift != nil {
			for _, why := range d.Drift.Exceeds(bound, 0) {
				failed = append(failed, d.Path+": "+why)
			}
		}
		part := drift.FeatureSum{Features: make([]float64, d.Shape().Dim)}
		if err := addFeatures(ctx, d, &part); err != nil {
			return nil, err
		}
		if f := drift.CompareFeatures(part, all.Without(part), all.effective, threads); f.AtLeast > farthest.AtLeast {
			farthest, dir = f, d.Path
		}
	}
	if dir != "" {
		failed = append(failed,
			fmt.Sprintf("%s: in the features of the model its rows are %.3g from all others, for certain %.3g, above %g", dir,
				farthest.Distance, farthest.AtLeast, bound))
	}
	return failed, nil
}

// featureSum holds the sums of the features of rows.
type featureSum struct {
	drift.FeatureSum
	effective float64 // independent rows, one per group, as a share of the sum of weights; at most 1
}

// featuresOf adds and subtracts the features of sums, whose classes may differ.
func featuresOf(ctx context.Context, terms []sumdirs.Term) (*featureSum, error) {
	if len(terms) == 0 {
		return nil, exit.Dataf("there are no sums to compare")
	}
	dim := terms[0].Shape().Dim
	f := &featureSum{effective: 1}
	f.Features, f.Products = make([]float64, dim), ridge.NewSum(ridge.Shape{Dim: dim, Outputs: 1})
	var used float64
	for _, d := range terms {
		if d.Shape().Dim != dim {
			return nil, exit.Dataf("%s and %s are sums by different recipes", terms[0].Path, d.Path)
		}
		used += float64(d.Sign * d.Rows.Used)
		if err := addFeatures(ctx, d, &f.FeatureSum); err != nil {
			return nil, err
		}
	}
	if f.Weight > 0 {
		f.effective = min(1, used/f.Weight)
	}
	f.effective /= terms[0].Recipe.Rule.Split.GroupSize()
	return f, nil
}

// addFeatures adds the sums of features of all folds of a directory, and of their products if to
// stores them.
func addFeatures(ctx context.Context, d sumdirs.Term, to *drift.FeatureSum) error {
	r, err := sums.NewReader()
	if err != nil {
		return err
	}
	defer r.Close()
	shape := d.Shape()
	var part []float64
	for key := range len(d.Folds) * shape.NumParts() {
		fold, i := key/shape.NumParts(), key%shape.NumParts()
		if shape.IsTile(i) && to.Products == nil {
			continue
		}
		part = slices.Grow(part[:0], shape.PartLen(i))[:shape.PartLen(i)]
		if err := r.Read(ctx, part, d.Dir, fold, i); err != nil {
			return err
		}
		for j := range part {
			part[j] *= float64(d.Sign)
		}
		if err := to.AddPart(shape, i, part); err != nil {
			return err
		}
	}
	return nil
}
