package align

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/io/safetensors"
	"github.com/bochner-ml/bochner/models/iterative"
)

// Kind is the name by which iterative.OpenLearner makes a Learner, of the JSON of a Sealed.
const Kind = "align"

func init() { iterative.RegisterOpener(Kind, open) }

// Sealed is a Learner as plain data: its options, and the file that EncodeSample wrote of
// its X and Class.
type Sealed struct {
	Learner
	SampleFile string `json:"sample_file"` // URI
}

// EncodeSample returns what the file of the learner's sample holds.
func (l *Learner) EncodeSample() []byte {
	return safetensors.Encode(nil, safetensors.Of("x", l.X, len(l.Class), l.Dim),
		safetensors.Of("class", l.Class, len(l.Class)),
		safetensors.Of("starts", l.Search.Starts, len(l.Search.Starts)/l.Dim, l.Dim))
}

type searched struct {
	x, starts []float32
	class     []int32
}

func decodeSample(data []byte) (any, error) {
	file, err := safetensors.Decode(data)
	if err != nil {
		return nil, err
	}
	x, errX := safetensors.Values[float32](file, "x")
	class, errClass := safetensors.Values[int32](file, "class")
	starts, errStarts := safetensors.Values[float32](file, "starts")
	return searched{x, starts, class}, errors.Join(errX, errClass, errStarts)
}

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
	of := value.(searched)
	l.X, l.Class, l.Search.Starts = of.x, of.class, of.starts
	return &l, l.Validate()
}
