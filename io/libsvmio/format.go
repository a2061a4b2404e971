package libsvmio

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
)

func init() {
	dataset.Register(dataset.Format{
		Name: "libsvm", Aliases: []string{"svmlight"},
		Traits:  dataset.Traits{Text: true, Exact: true, Scale: "none"},
		Options: func() dataset.FormatOptions { return new(Options) },
		Sniff: func(head []byte, _ int64) dataset.Likeness {
			return dataset.Likely.If(sniff(head))
		},
		Begin: func(_ context.Context, o *dataset.Opening, _ []byte) error {
			o.Data.Labeled = true
			o.Data.Schema.Dim = dataset.OptionsOf[Options](o.Options).Dim
			if o.Options.Like != nil {
				o.Data.Schema.Dim = o.Options.Like.Dim
			}
			return nil
		},
		Read: func(ctx context.Context, in *dataset.Input) (rows.Reader, error) {
			text, err := in.Lines(ctx, false, 0)
			if err != nil {
				return nil, err
			}
			r := newReader(text, in.Data.Schema.Dim)
			r.setCentre(in.Data.Schema.Centre)
			return r, nil
		},
	})
}

// Options are the options of LIBSVM files.
type Options struct {
	Dim int `flag:"dim" help:"Row length of LIBSVM files; 0 finds it in the data."`
}

// Validate returns an error for an invalid row length.
func (o Options) Validate() error {
	if o.Dim < 0 || o.Dim > rows.MaxDim {
		return fmt.Errorf("libsvmio: dim must be between 0 and %d (have %d)", rows.MaxDim, o.Dim)
	}
	return nil
}
