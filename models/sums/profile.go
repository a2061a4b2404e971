package sums

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
)

// ProfileFile is the file of a model directory that holds a Profile.
const ProfileFile = models.ProfileFile

// Format is the version of the files of this package.
const Format = 1

// Profile is the content of ProfileFile: the parts of a recipe that are not in the model's manifest. Models
// trained by a recipe have the profile of the recipe.
type Profile struct {
	Format int    `json:"format"`
	Kernel string `json:"kernel"` // in words
	// Classes are the classes of the rows that the recipe was made from; a model trained by it may have more.
	Classes []string `json:"classes,omitempty"`
	// Positive is as in models.Manifest.
	Positive string `json:"positive,omitempty"`
	// Shapes are the shapes of Platt's curves for the Classes, fitted to held-out rows. They give
	// probabilities to models that are fitted to sums. They are nil if no such curves were fitted.
	Shapes []ridge.CurveShape `json:"shapes,omitempty"`
	// Rule says how rows are summed and sums solved; nil for learners that do not train on sums.
	Rule *Rule `json:"rule,omitempty"`
	// Rows are the statistics of the rows that the recipe was made from.
	Rows *profile.Statistics `json:"rows"`
}

// Rule says how rows are summed and how the sums are solved.
type Rule struct {
	Folds int `json:"folds"` // number of sums of a part, at least 1
	// Cut is the number of folds into which rows are cut, if it is more than Folds; see ridge.FoldPlan.
	Cut int `json:"cut,omitempty"`
	// First says that only the rows of the first fold are held out, because the recipe may depend on the
	// others: features were learned or searched on them, or categories encoded.
	First bool `json:"first,omitempty"`
	Steps int  `json:"steps"` // of the grid of the features, from 0 to their bound

	Lambda []float64 `json:"lambda,omitempty"` // values to choose from; empty means auto
	C      float64   `json:"c,omitempty"`      // an alternative to Lambda: λ = 1/(Cn)

	Components int `json:"components,omitempty"` // number of components of an embedding

	// WeightColumn is the column with the weights of rows; "" if they have none. If all weights are equal,
	// Weight is their value; otherwise it is 0.
	WeightColumn string  `json:"weight_column,omitempty"`
	Weight       float64 `json:"weight,omitempty"`
	// Weights is the grid of the weights of rows and classes; nil if they are all equal.
	Weights *profile.WeightGrid `json:"weights,omitempty"`

	// Split says which columns assign rows to folds; nil if their content does.
	Split *profile.FoldRule `json:"split,omitempty"`
	// Frequent are the rows whose copies are assigned to folds one by one; nil if there are none.
	Frequent *profile.FrequentHashes `json:"frequent,omitempty"`
}

// FoldPlan says how rows are divided into the sums of a part.
func (r *Rule) FoldPlan() ridge.FoldPlan {
	p := ridge.FoldPlan{Folds: r.Folds, Cut: r.Cut}
	switch {
	case r.First:
		p.Validation = ridge.FirstFold
	case r.Cut > 0:
		p.Validation = ridge.NoFold
	}
	return p
}

// Limits of a Rule, which may come from a damaged file.
const (
	maxFolds = 1 << 16
	maxPath  = 1 << 12
	maxSteps = 1 << 15
)

func (r *Rule) validate() error {
	switch {
	case r.Folds < 1 || r.Folds > maxFolds || r.Cut < 0 || r.Cut > maxFolds:
		return fmt.Errorf("%d sums of %d folds", r.Folds, r.Cut)
	case r.Steps < 1 || r.Steps > maxSteps:
		return fmt.Errorf("a grid of %d steps", r.Steps)
	case len(r.Lambda) > maxPath || !(r.C >= 0) || math.IsInf(r.C, 0) || r.Components < 0 || !(r.Weight >= 0) ||
		math.IsInf(r.Weight, 0):
		return fmt.Errorf("%d values of lambda, C %g, %d components, weight %g", len(r.Lambda), r.C, r.Components, r.Weight)
	}
	if err := r.Split.Validate(); err != nil {
		return err
	}
	for _, l := range r.Lambda {
		if !(l >= 0) || math.IsInf(l, 0) {
			return fmt.Errorf("lambda %g", l)
		}
	}
	return r.Weights.Validate()
}

// CheckWeight returns the reason why a row cannot have a weight, as in rowio.Block.Weights; "" if it can.
func (r *Rule) CheckWeight(w float64) string {
	switch g := r.Weights; {
	case g == nil && w != r.Weight:
		return fmt.Sprintf("has the weight %g, but all rows of the recipe had the weight %g", w, r.Weight)
	case g == nil:
		return ""
	case w > g.MaxWeight():
		return fmt.Sprintf("has the weight %g, more than %g, the largest that the recipe can sum", w, g.MaxWeight())
	case g.Exact && math.Mod(w, g.Unit) != 0:
		return fmt.Sprintf("has the weight %g, which is not a multiple of %g, the unit of the recipe", w, g.Unit)
	}
	return ""
}

// File encodes the profile as a file of a model directory.
func (p *Profile) File() ([]byte, error) {
	p.Format = Format
	data, err := json.Marshal(p)
	return append(data, '\n'), err
}

// decodeProfile decodes what File returns.
func decodeProfile(data []byte) (*Profile, error) {
	p := new(Profile)
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("%s: %w", ProfileFile, err)
	}
	switch {
	case p.Format < 1 || p.Format > Format:
		return nil, fmt.Errorf("%s: format version %d, this program reads up to %d; upgrade bochner", ProfileFile, p.Format,
			Format)
	case p.Rows == nil:
		return nil, fmt.Errorf("%s: has no statistics", ProfileFile)
	}
	if p.Rule != nil {
		if err := p.Rule.validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", ProfileFile, err)
		}
	}
	return p, nil
}

// ReadProfile returns the profile in a model directory with manifest m. The error is a models.ErrBadModel
// if the model has none.
func ReadProfile(ctx context.Context, dir string, m *models.Manifest) (*Profile, error) {
	if _, ok := m.File(ProfileFile); !ok {
		return nil, models.NewError(dir, fmt.Errorf("has no %s; train it again", ProfileFile))
	}
	data, err := models.ReadFile(ctx, dir, m, ProfileFile)
	if err != nil {
		return nil, err
	}
	p, err := decodeProfile(data)
	if err != nil {
		return nil, models.NewError(dir, err)
	}
	return p, nil
}

// Weigh returns the sum of the weights of rows that were summed by the rule, and the grid of the weights with their
// total; nil if all weights are equal. head is the head of a sum of the rows without copies: their number, or the
// total of their weights on the grid, followed for classes by the same for each class. Weigh adds the copies to head.
func (r *Rule) Weigh(head []float64, copies []profile.FrequentRow, regression bool) (mass float64,
	grid *profile.WeightGrid) {
	g := r.Weights
	for i := range copies {
		c := &copies[i]
		w := int64(1)
		if g != nil {
			b := rowio.Block{N: 1, Y: c.Y}
			if c.Weight > 0 {
				b.Weights = []float64{c.Weight}
			}
			w = g.AppendWeights(nil, &b, 0, 1)[0]
		}
		head[0] += float64(w * c.Copies)
		if !regression {
			head[1+int(c.Y[0])] += float64(w * c.Copies)
		}
	}
	switch {
	case g == nil && r.Weight > 0:
		return head[0] * r.Weight, nil
	case g == nil:
		return head[0], nil
	case g.Classes == nil:
		mass = head[0] * g.Unit
	default:
		for c := range g.Classes {
			mass += float64(head[1+c] / (g.Class(c) * g.One) * g.Unit)
		}
	}
	grid = new(profile.WeightGrid)
	*grid = *g
	grid.Total = int64(head[0])
	return mass, grid
}
