package transforms

import (
	"encoding"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/models/calibrate"
	"github.com/bochner-ml/bochner/models/folds"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/score"
)

func init() {
	beam.RegisterType(reflect.TypeOf((*mergeSumsFn)(nil)).Elem())
}

// Kinds of small sums, each of which travels as one encoded element a lane.
const (
	lookSum        = "look"
	profileSum     = "profile"
	censusSum      = "census"
	tallySum       = "tally"
	classScores    = "classes"
	targetScores   = "targets"
	calibrationSum = "calibration"
	trialScores    = "trials"
)

var mergers = map[string]func(a, b []byte) ([]byte, error){
	lookSum:        merge[Look],
	profileSum:     merge[profile.Sum],
	censusSum:      merge[folds.Census],
	tallySum:       merge[folds.Counts],
	classScores:    merge[ClassScores],
	targetScores:   merge[score.Targets],
	calibrationSum: merge[calibrate.Counts],
	trialScores:    merge[score.Trials],
}

// mergeable is a pointer to a sum that can be encoded and merged.
type mergeable[T any] interface {
	*T
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
	Merge(*T)
}

func merge[T any, P mergeable[T]](a, b []byte) ([]byte, error) {
	var x, y T
	if err := P(&x).UnmarshalBinary(a); err != nil {
		return nil, err
	}
	if err := P(&y).UnmarshalBinary(b); err != nil {
		return nil, err
	}
	P(&x).Merge(&y)
	return P(&x).MarshalBinary()
}

// mergeSums merges the sums of all lanes into one.
func mergeSums(s beam.Scope, kind string, sums beam.PCollection) beam.PCollection {
	return beam.Combine(s, &mergeSumsFn{Kind: kind}, sums)
}

// mergeSumsFn merges encoded sums. There is one for each lane, so that decoding
// at every step costs little.
type mergeSumsFn struct{ Kind string }

func (f *mergeSumsFn) CreateAccumulator() []byte { return nil }

func (f *mergeSumsFn) AddInput(acc, in []byte) ([]byte, error) { return f.MergeAccumulators(acc, in) }

func (f *mergeSumsFn) MergeAccumulators(a, b []byte) ([]byte, error) {
	if len(a) == 0 || len(b) == 0 {
		return append(a[:len(a):len(a)], b...), nil
	}
	merge, ok := mergers[f.Kind]
	if !ok {
		return nil, asFault(Internal, fmt.Errorf("transforms: unknown kind of sum %q", f.Kind))
	}
	out, err := merge(a, b)
	return out, asFault(Internal, err)
}

func (f *mergeSumsFn) ExtractOutput(acc []byte) []byte { return acc }
