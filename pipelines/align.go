package pipelines

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/pipelines/alignment"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/job"
	"github.com/bochner-ml/bochner/pipelines/picture"
	"github.com/bochner-ml/bochner/pipelines/prepare"
	"github.com/bochner-ml/bochner/pipelines/report"
	"github.com/bochner-ml/bochner/pipelines/training"
)

// AlignOptions says which features to find in which labelled data.
type AlignOptions struct {
	prepare.Spec // Kernel is learned or harmonic
	Learned      alignment.Options
	Out          string // directory to make; it must not exist
	// Folds is how many parts the rows are cut into, the first of which is not looked at,
	// so that a training can judge by it; 0 is DefaultFolds, 1 learns from all rows.
	Folds int
	Curve string // file for a picture of how the game went, .png or .svg; "" for none
}

// AlignResult is what was found.
type AlignResult struct {
	Out  string     `json:"out"`
	Rows job.Counts `json:"rows"`
	*prepare.Learned
	Curve   []align.Report     `json:"curve,omitempty"` // of the game, by round
	Notes   []string           `json:"notes,omitempty"`
	Seconds map[string]float64 `json:"seconds"` // wall time by part of the job
}

// Align finds features in labelled rows, by the game between a kernel and a support vector
// machine or by weighing frequencies that were drawn, and publishes a directory that
// learned.Options and harmonic.Options take. It takes a pass that looks the data over, one that takes a sample, and
// for a round of the game two more.
func Align(ctx context.Context, o AlignOptions) (result *AlignResult, err error) {
	switch k := o.Kernel.(type) {
	case nil:
		o.Kernel = &learned.Options{}
	case *fourier.GaussianOptions: // the one that the search starts from
		o.Kernel = &learned.Options{Width: k.Width, Gamma: k.Gamma, Features: k.Features, Form: k.Form}
	}
	o.Learned = o.Learned.WithDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Learned.HeldOut = cmp.Or(o.Folds, training.DefaultFolds); o.Learned.HeldOut == 1 {
		o.Learned.HeldOut = 0
	}
	t, err := o.training().Begin(ctx, o.Out, prepare.Labeled)
	if err != nil {
		return nil, err
	}
	defer func() { err = t.Close(ctx, err) }()
	if o.Learned.HeldOut > 0 {
		if err := t.Timed(ctx, "copies", t.CountCopies); err != nil {
			return nil, err
		}
	}
	if err := t.Timed(ctx, "align", t.FindFeatures); err != nil {
		return nil, err
	}
	files := t.Recipe.Files
	if len(t.Counts.Listed) > 0 {
		files = append(files, storage.File{Name: job.SetAsideFile, Data: training.SetAsideLines(t.Counts.Listed)})
	}
	if err := t.Job.Publish(ctx, o.Out, files); err != nil {
		return nil, err
	}
	if o.Curve != "" {
		if err := report.WritePicture(ctx, o.Curve, gameCurve(t.Game), 14, 10); err != nil {
			return nil, err
		}
	}
	return &AlignResult{Out: o.Out, Rows: t.Counts, Learned: t.Learned, Curve: t.Game, Notes: t.Notes, Seconds: t.Seconds}, nil
}

// training returns the options of a training that finds these features.
func (o AlignOptions) training() TrainOptions {
	return TrainOptions{Spec: o.Spec, Learned: o.Learned}
}

func (o AlignOptions) validate() error {
	f, isFound := o.Kernel.(kernel.Found)
	switch {
	case o.Out == "":
		return exit.Usage("no directory for the features: name one with --out")
	case !isFound:
		return exit.Usage("--kernel %s: features are found for the kernels learned and harmonic", kernel.Of(o.Kernel).Name)
	case o.Folds < 0 || o.Folds > training.MaxFolds:
		return exit.Usage("--folds must be between 1 and %d (have %d)", training.MaxFolds, o.Folds)
	case f.Directory() != "":
		return exit.Usage("--frequencies: align finds frequencies; there is nothing to do for those that are there")
	}
	if err := report.ValidPicture(o.Curve); err != nil {
		return err
	}
	if err := o.training().Base().Validate(); err != nil {
		return err
	}
	if err := o.Learned.Validate(f); err != nil {
		return err
	}
	return o.Job.Validate(o.Data, o.Out, job.Place{Flag: "out", Name: o.Out})
}

// WriteTo prints the result for people.
func (r *AlignResult) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "out       %s\n", r.Out)
	fmt.Fprintf(&b, "rows      %s\n", r.Rows.WithList())
	fmt.Fprintf(&b, "features  %d of the %s\n", r.Features, r.Kernel)
	r.Learned.Write(&b)
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note      %s\n", note)
	}
	fmt.Fprintf(&b, "seconds   %.1f to look the data over, %.1f to find the features\n", r.Seconds["profile"], r.Seconds["align"])
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// gameCurve shows how the game went.
func gameCurve(game []align.Report) picture.Lines {
	lines := picture.Lines{Title: "The game of the features", X: "frequencies", Y: "value of the game"}
	value, upper, lower := picture.Series{Name: "of the round"}, picture.Series{Name: "upper bound"}, picture.Series{Name: "lower bound"}
	frequencies := 0.0
	for _, r := range game {
		frequencies += float64(r.Taken)
		add := func(s *picture.Series, y float64) { s.X, s.Y = append(s.X, frequencies), append(s.Y, y) }
		add(&value, r.Value)
		add(&lower, r.Lower)
		if r.Proven {
			add(&upper, r.Upper)
		}
	}
	for _, s := range []picture.Series{value, upper, lower} {
		if len(s.X) > 0 {
			lines.Series = append(lines.Series, s)
		}
	}
	return lines
}
