package epochs

import (
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/io/safetensors"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/models/rounds"
	"github.com/bochner-ml/bochner/transforms"
)

// Align are the options of the learner "align": those of align.Learner, and the file
// of the work directory with its sample.
type Align struct {
	align.Learner
	SampleFile string `json:"sample_file"` // URI
}

// AlignSample returns what the file of a learner's sample holds, for storage.WriteState.
func AlignSample(l *align.Learner) []byte {
	return safetensors.Encode(nil, safetensors.Of("x", l.X, len(l.Class), l.Dim), safetensors.Of("class", l.Class, len(l.Class)))
}

func openAlign(ctx context.Context, o Align) (rounds.Learner, error) {
	sample, err := alignSamples.Get(o.SampleFile, func() (alignSample, error) { return readAlignSample(ctx, o.SampleFile) })
	if err != nil {
		return nil, err
	}
	l := o.Learner
	l.X, l.Class = sample.x, sample.class
	return &l, l.Validate()
}

type alignSample struct {
	x     []float32
	class []int32
}

// alignSamples holds the sample read last: every round searches on the same.
var alignSamples transforms.Cache[alignSample]

func readAlignSample(ctx context.Context, uri string) (s alignSample, err error) {
	data, err := storage.ReadState(ctx, uri, transforms.MaxState)
	if err != nil {
		return s, err
	}
	file, err := safetensors.Decode(data)
	if err != nil {
		return s, fmt.Errorf("epochs: sample %s: %w", uri, err)
	}
	x, errX := safetensors.Values[float32](file, "x")
	class, errClass := safetensors.Values[int32](file, "class")
	if err := errors.Join(errX, errClass); err != nil {
		return s, fmt.Errorf("epochs: sample %s: %w", uri, err)
	}
	return alignSample{x, class}, nil
}
