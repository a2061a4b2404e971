package pipelines

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/picture"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// EmbedOptions says what to find the components of.
type EmbedOptions struct {
	MapOptions
	Model      string // directory to make; it must not exist
	Components int    // k; 0 is DefaultComponents
	Grid       string // bits of the grid on which features are added up: 8 or 16; "" or auto chooses
	Picture    string // file for a picture of the first two, .png or .svg; "" for none
}

// DefaultComponents is the number of components where none is given.
const DefaultComponents = 2

// EmbedResult is what was found.
type EmbedResult struct {
	Model      string             `json:"model"` // directory
	Rows       Counts             `json:"rows"`
	Columns    int                `json:"columns"` // numbers in a row
	Kernel     string             `json:"kernel"`  // in words
	Recipe     features.Sealed    `json:"recipe"`
	Components []models.Component `json:"components"`
	Seconds    map[string]float64 `json:"seconds"` // wall time by part of the job

	Steps int `json:"steps"` // of the grid of the features' sums, from 0 to the bound: 127 are 8 bits

	dim int
}

// Embed makes a model that takes rows to their coordinates along the directions in
// which features vary most: kernel PCA by random features. It takes a pass that
// looks the data over, and one that adds up the features' second moments. Labels,
// if there are any, are for the picture alone.
func Embed(ctx context.Context, o EmbedOptions) (result *EmbedResult, err error) {
	if o.Components == 0 {
		o.Components = DefaultComponents
	}
	o.Kernel = o.Kernel.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	t, err := TrainOptions{MapOptions: o.MapOptions, Model: o.Model}.begin(ctx, o.Model, o.labeled)
	if err != nil {
		return nil, err
	}
	defer func() { err = t.close(ctx, err) }()
	switch {
	case o.Components > t.recipe.dim:
		return nil, usage("--components %d: there are only %d features", o.Components, t.recipe.dim)
	case o.Picture != "" && (t.target.Classes == nil || len(t.target.Classes.Classes) > mostClouds):
		return nil, usage("--picture: labels are to be classes, at most %d (see --task)", mostClouds)
	}
	if err := t.fits(t.memory(o.Components)); err != nil {
		return nil, err
	}
	err = t.timed(ctx, "train", func(ctx context.Context) error {
		steps := t.steps(o.Grid, againGram)
		fit, err := t.fitSums(ctx, nil, gram.Fold{Recipe: t.recipe.sealed, Outputs: 1, Folds: 1, Components: o.Components, Steps: steps})
		t.learner = models.Learner{Kind: "pca", Folds: 1, Components: fit.Components, Steps: steps}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := t.timed(ctx, "publish", t.publish); err != nil {
		return nil, err
	}
	if o.Picture != "" {
		if err := t.drawEmbedding(ctx, o.Picture); err != nil {
			return nil, err
		}
	}
	return &EmbedResult{
		Model: o.Model, Rows: t.counts, Columns: t.found.Dim, Kernel: t.recipe.name, Recipe: t.recipe.sealed,
		Components: t.learner.Components, Seconds: t.seconds, Steps: t.learner.Steps, dim: t.recipe.dim,
	}, nil
}

func (o EmbedOptions) validate() error {
	if o.Model == "" {
		return usage("no model directory: name one with --model")
	}
	if o.Components < 1 || o.Components > maxComponents {
		return usage("--components must be between 1 and %d (have %d)", maxComponents, o.Components)
	}
	if err := validGrid(o.Grid); err != nil {
		return err
	}
	if err := validPicture(o.Picture); err != nil {
		return err
	}
	if o.Picture != "" && o.Components < 2 {
		return usage("--picture takes 2 components or more (have %d)", o.Components)
	}
	if err := o.Job.validate(o.Data, o.Model, place{"model", o.Model}); err != nil {
		return err
	}
	return o.MapOptions.validate()
}

const maxComponents = 1024

// labeled returns an error unless the data have the labels that the picture takes.
func (o EmbedOptions) labeled(d *dataset.Dataset) error {
	if o.Picture == "" || d.Labeled {
		return nil
	}
	return usage("--picture colours rows by their labels; %w", unlabeled(d))
}

// mostClouds is how many classes a picture tells apart.
const mostClouds = 12

// drawEmbedding draws a sample of the rows along the first two components, coloured
// by their classes.
func (t *training) drawEmbedding(ctx context.Context, name string) error {
	found, err := t.sample(ctx)
	if err != nil {
		return err
	}
	k := t.linear.K
	scores := make([]float32, found.N*k)
	t.linear.Scores(scores, found.Phi, found.N)
	s := picture.Scatter{Title: fmt.Sprintf("%s, %d features", t.recipe.name, t.recipe.dim)}
	axis := func(i int) string {
		return fmt.Sprintf("component %d (%.1f %% of the variance)", i+1, 100*t.learner.Components[i].Share)
	}
	s.X, s.Y = axis(0), axis(1)
	for _, class := range t.target.Classes.Classes {
		s.Clouds = append(s.Clouds, picture.Cloud{Name: class})
	}
	for i, y := range found.Y {
		c := &s.Clouds[int(y)]
		c.X, c.Y = append(c.X, float64(scores[i*k])), append(c.Y, float64(scores[i*k+1]))
	}
	return writePicture(ctx, name, s, 15, 13)
}

// WriteTo prints the result for people.
func (r *EmbedResult) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "model     %s\n", r.Model)
	fmt.Fprintf(&b, "rows      %s\n", r.Rows.listed())
	fmt.Fprintf(&b, "features  %d of the %s, on a grid of %s\n", r.dim, r.Kernel, gridText(r.Steps))
	total := 0.0
	for i, c := range r.Components {
		total += c.Share
		fmt.Fprintf(&b, "component %-3d variance %.6g, %.2f %% of all; %.2f %% so far\n", i+1, c.Variance, 100*c.Share, 100*total)
	}
	fmt.Fprintf(&b, "seconds   %.1f to look the data over, %.1f to train\n", r.Seconds["profile"], r.Seconds["train"])
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}
