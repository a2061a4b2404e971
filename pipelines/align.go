package pipelines

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/align"
)

// AlignOptions says which features to find in which labelled data.
type AlignOptions struct {
	MapOptions // Kernel is learned or harmonic
	Learned    LearnedOptions
	Out        string // directory to make; it must not exist
	// Folds is how many parts the rows are cut into, the first of which is not looked at,
	// so that a training can judge by it; 0 is DefaultFolds, 1 learns from all rows.
	Folds int
	Curve string // file for a picture of how the game went, .png or .svg; "" for none
}

// AlignResult is what was found.
type AlignResult struct {
	Out  string `json:"out"`
	Rows Counts `json:"rows"`
	*Found
	Curve   []align.Report     `json:"curve,omitempty"` // of the game, by round
	Notes   []string           `json:"notes,omitempty"`
	Seconds map[string]float64 `json:"seconds"` // wall time by part of the job
}

// Align finds features in labelled rows, by the game between a kernel and a support vector
// machine or by weighing frequencies that were drawn, and publishes a directory that
// KernelOptions.Frequencies takes. It takes a pass that looks the data over, one that takes a sample, and
// for a round of the game two more.
func Align(ctx context.Context, o AlignOptions) (result *AlignResult, err error) {
	o.Kernel, o.Learned = o.Kernel.withDefaults(), o.Learned.withDefaults()
	if o.Kernel.Name == "gaussian" {
		o.Kernel.Name = "learned"
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Learned.Held = cmp.Or(o.Folds, DefaultFolds); o.Learned.Held == 1 {
		o.Learned.Held = 0
	}
	t, err := o.training().begin(ctx, o.Out, labeled)
	if err != nil {
		return nil, err
	}
	defer func() { err = t.close(ctx, err) }()
	if o.Learned.Held > 0 {
		if err := t.timed(ctx, "copies", t.countCopies); err != nil {
			return nil, err
		}
	}
	if err := t.timed(ctx, "align", t.findFeatures); err != nil {
		return nil, err
	}
	files := t.recipe.files
	if len(t.counts.Listed) > 0 {
		files = append(files, storage.File{Name: SetAsideFile, Data: setAsideLines(t.counts.Listed)})
	}
	if err := t.job.publish(ctx, o.Out, files); err != nil {
		return nil, err
	}
	if o.Curve != "" {
		if err := writePicture(ctx, o.Curve, gameCurve(t.game), 14, 10); err != nil {
			return nil, err
		}
	}
	return &AlignResult{Out: o.Out, Rows: t.counts, Found: t.learned, Curve: t.game, Notes: t.notes, Seconds: t.seconds}, nil
}

// training returns the options of a training that finds these features.
func (o AlignOptions) training() TrainOptions {
	return TrainOptions{MapOptions: o.MapOptions, Learned: o.Learned}
}

func (o AlignOptions) validate() error {
	switch {
	case o.Out == "":
		return usage("no directory for the features: name one with --out")
	case !o.Kernel.found():
		return usage("--kernel %s: features are found for the kernels learned and harmonic", o.Kernel.Name)
	case o.Folds < 0 || o.Folds > maxFolds:
		return usage("--folds must be between 1 and %d (have %d)", maxFolds, o.Folds)
	case o.Kernel.Frequencies != "":
		return usage("--frequencies: align finds frequencies; there is nothing to do for those that are there")
	}
	if err := validPicture(o.Curve); err != nil {
		return err
	}
	if err := o.training().base().validate(); err != nil {
		return err
	}
	if err := o.Learned.validate(o.Kernel); err != nil {
		return err
	}
	return o.Job.validate(o.Data, o.Out, place{"out", o.Out})
}

// WriteTo prints the result for people.
func (r *AlignResult) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "out       %s\n", r.Out)
	fmt.Fprintf(&b, "rows      %s\n", r.Rows.listed())
	fmt.Fprintf(&b, "features  %d of the %s\n", r.Features, r.Kernel)
	r.Found.write(&b)
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note      %s\n", note)
	}
	fmt.Fprintf(&b, "seconds   %.1f to look the data over, %.1f to find the features\n", r.Seconds["profile"], r.Seconds["align"])
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// write prints how the features were found.
func (f *Found) write(b *strings.Builder) {
	fmt.Fprintf(b, "found     from %s rows", groups(f.Rows))
	if f.Held > 0 {
		fmt.Fprintf(b, "; %s held out of the search, to judge", partWords(f.Held))
	}
	fmt.Fprintln(b)
	if f.Sample > 0 {
		fmt.Fprintf(b, "sample    %s rows", groups(int64(f.Sample)))
		if f.Bound > 0 {
			fmt.Fprintf(b, "; a potential within 0.1 everywhere, with probability 0.95, is proven for %.2g", f.Bound)
		}
		fmt.Fprintln(b)
	}
	g := f.Game
	if g == nil {
		return
	}
	fmt.Fprintf(b, "game      %s, lambda %.4g\n", counted(g.Round, "round"), f.Lambda)
	if g.Zeta > 0 {
		fmt.Fprintf(b, "search    step ζ %.4g, temperature ξ %.4g in the last round\n", g.Zeta, g.Xi)
	}
	fmt.Fprintf(b, "value     at least %.6g", g.Lower)
	if g.Proven {
		fmt.Fprintf(b, ", at most %.6g: the regret is at most %.4g", g.Upper, g.Upper-g.Lower)
	} else {
		fmt.Fprintf(b, "; steps that do not fall prove no upper bound")
	}
	fmt.Fprintln(b)
}
