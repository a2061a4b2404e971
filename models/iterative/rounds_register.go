package iterative

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/internal/option"
)

// MaxPartitions is the largest number of partitions.
const MaxPartitions = 1 << 14

// Files reads a file that the options of a learner name and returns the result of decode. It may cache
// results.
type Files func(uri string, decode func([]byte) (any, error)) (any, error)

// Opener makes a learner from its options in JSON.
type Opener func(options []byte, files Files) (Learner, error)

// OpenerOf returns the opener of a learner whose options name no files.
func OpenerOf[O any, L Learner](make func(O) (L, error)) Opener {
	return func(options []byte, _ Files) (Learner, error) {
		var o O
		if err := json.Unmarshal(options, &o); err != nil {
			return nil, fmt.Errorf("rounds: options of the learner: %w", err)
		}
		return make(o)
	}
}

var openers = option.NewRegistry[Opener]("kind of learner")

// RegisterOpener registers a kind of learner, so that workers can open it. Packages call it from init. It
// panics if the kind is empty or taken.
func RegisterOpener(kind string, open Opener) { openers.Add(open, nil, kind) }

// OpenLearner makes the learner of a kind from its options in JSON.
func OpenLearner(kind string, options []byte, files Files) (Learner, error) {
	open, ok := openers.Find(kind)
	if !ok {
		return nil, fmt.Errorf("rounds: unknown learner %q; have %s; import the package of the learner", kind,
			strings.Join(openers.Names(), ", "))
	}
	return open(options, files)
}
