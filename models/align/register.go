package align

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/io/safetensors"
	"github.com/bochner-ml/bochner/models/iterative"
)

// Kind is the name of this package's learner in iterative.OpenLearner. Its options are a Sealed as
// JSON.
const Kind = "align"

func init() { iterative.RegisterOpener(Kind, open) }

// Sealed is a Learner as plain data: its options, and the name of a file with its sample
// (EncodeSample).
type Sealed struct {
	Learner
	SampleFile string `json:"sample_file"` // URI of the file
}

// EncodeSample returns X, Class and Search.Starts as a file in the safetensors format, for
// Sealed.SampleFile.
func (l *Learner) EncodeSample() []byte {
	return safetensors.Encode(nil, safetensors.Of("x", l.X, len(l.Class), l.Dim),
		safetensors.Of("class", l.Class, len(l.Class)),
		safetensors.Of("starts", l.Search.Starts, len(l.Search.Starts)/l.Dim, l.Dim))
}

// sampleFile is the content of a file that EncodeSample wrote.
type sampleFile struct {
	x, starts []float32
	class     []int32
}

// decodeSample reads a file that EncodeSample wrote, as a sampleFile.
func decodeSample(data []byte) (any, error) {
	file, err := safetensors.Decode(data)
	if err != nil {
		return nil, err
	}
	x, errX := safetensors.Values[float32](file, "x")
	class, errClass := safetensors.Values[int32](file, "class")
	starts, errStarts := safetensors.Values[float32](file, "starts")
	return sampleFile{x, starts, class}, errors.Join(errX, errClass, errStarts)
}

// open is the iterative.Opener of Kind: it returns the *Learner of a Sealed in JSON.
func open(options []byte, files iterative.Files) (iterative.Learner, error) {
	var o Sealed
	if err := json.Unmarshal(options, &o); err != nil {
		return nil, fmt.Errorf("align: options of the learner: %w", err)
	}
	value, err := files(o.SampleFile, decodeSample)
	if err != nil {
		return nil, fmt.Errorf("align: sample: %w", err)
	}
	l := o.Learner
	sample := value.(sampleFile)
	l.X, l.Class, l.Search.Starts = sample.x, sample.class, sample.starts
	return &l, l.Validate()
}
