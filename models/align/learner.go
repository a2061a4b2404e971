package align

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/safetensors"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
)

// Learner plays the game of Learn over rows in partitions, as an iterative.Learner whose features are the rows
// themselves. One round of the game takes five rounds of package iterative, two of which read the rows:
//
//	search   workers share the chains, which run on the sample; the best frequencies are taken
//	score    reads: sums of these frequencies over all rows, which give the gradient and the step size
//	ascend   reads: the dual weights take their step; first census of the projection
//	narrow   second census
//	narrow   third census, after which every worker knows the multipliers of the projection
//
// Before the first of these, a round "begin" reads the rows to learn their classes, and two rounds
// "narrow" project the initial dual weights.
//
// A worker keeps the dual weights of its partition's rows. The state has the dual weights of the
// sample's rows, which take the same steps.
//
// Projections are exact, and the search uses the sample X. So Options.Alternations and Options.Sample must be 0.
type Learner struct {
	Options
	Dim        int // row length d
	Classes    int
	Partitions int

	// X (rows×Dim, row-major) and Class are the sample that the search uses, in any order. States
	// do not contain them, so the caller must give the same ones in every round.
	X     []float32 `json:"-"`
	Class []int32   `json:"-"`
}

var _ iterative.Learner = (*Learner)(nil)

// Validate returns an error that names the invalid field.
func (l *Learner) Validate() error {
	if err := l.Options.Validate(); err != nil {
		return err
	}
	switch {
	case l.Alternations != 0 || l.Sample != 0:
		return fmt.Errorf("align: alternations and sample must be 0 for rows in partitions, which are projected exactly "+
			"and searched on the given sample (have %d, %d)", l.Alternations, l.Sample)
	case l.Dim < 1 || l.Dim > rowio.MaxDim:
		return fmt.Errorf("align: dim must be 1 to %d (have %d)", rowio.MaxDim, l.Dim)
	case l.Classes < 2:
		return fmt.Errorf("align: %d classes; at least two are needed", l.Classes)
	case l.Partitions < 1:
		return fmt.Errorf("align: partitions must be at least 1 (have %d)", l.Partitions)
	case len(l.Class) == 0 || len(l.X) != len(l.Class)*l.Dim:
		return fmt.Errorf("align: a sample of %d classes and %d numbers, for rows of %d", len(l.Class), len(l.X), l.Dim)
	case slices.Min(l.Class) < 0 || int(slices.Max(l.Class)) >= l.Classes:
		return fmt.Errorf("align: classes from %d to %d in the sample; have %d", slices.Min(l.Class),
			slices.Max(l.Class), l.Classes)
	}
	return nil
}

// Start implements iterative.Learner. It returns an error if init is not nil or a field is invalid.
func (l *Learner) Start(init *linear.Model) ([]byte, error) {
	if init != nil {
		return nil, errors.New("align: learned features do not start from the weights of a model")
	}
	if err := l.Validate(); err != nil {
		return nil, err
	}
	k := weightings(l.Classes)
	s := &state{phase: begin, game: *l.Options.game(0, k), brackets: make([]float64, 2*k), mu: make([]float64, k)}
	s.setBrackets(around(0, l.Options.Start))
	s.alpha = newDual(l.Class, l.Classes, l.Options.Start).Alpha
	return s.encode(l), nil
}

// Open implements iterative.Learner. It returns a *Round.
func (l *Learner) Open(data []byte) (iterative.Round, error) {
	s, err := decodeState(l, data)
	if err != nil {
		return nil, fmt.Errorf("align: state: %w", err)
	}
	return &Round{l: l, s: s}, nil
}

// Frequencies returns a copy of the frequencies found so far, with equal weights.
func (r *Round) Frequencies() *learned.Frequencies {
	return &learned.Frequencies{Count: len(r.s.w) / r.l.Dim, In: r.l.Dim, W: slices.Clone(r.s.w)}
}

// Last returns the report of the last complete round of the game, and whether there was one.
func (r *Round) Last() (Report, bool) { return r.s.last, r.s.game.Rounds > 0 }

// Kind is the name of this package's learner in iterative.OpenLearner. Its options are a Sealed as JSON.
const Kind = "align"

func init() { iterative.RegisterOpener(Kind, open) }

// Sealed is a Learner as plain data: its options, and the name of a file with its sample (EncodeSample).
type Sealed struct {
	Learner
	SampleFile string `json:"sample_file"` // URI of the file
}

// EncodeSample returns X, Class and Search.Starts as a file in the safetensors format, for Sealed.SampleFile.
func (l *Learner) EncodeSample() []byte {
	return safetensors.Encode(nil, safetensors.NewTensor("x", l.X, len(l.Class), l.Dim),
		safetensors.NewTensor("class", l.Class, len(l.Class)),
		safetensors.NewTensor("starts", l.Search.Starts, len(l.Search.Starts)/l.Dim, l.Dim))
}

// decodeSample reads a file that EncodeSample wrote, as a Learner with only the sample.
func decodeSample(data []byte) (any, error) {
	file, err := safetensors.Decode(data)
	if err != nil {
		return nil, err
	}
	var l Learner
	var errX, errClass, errStarts error
	l.X, errX = safetensors.Values[float32](file, "x")
	l.Class, errClass = safetensors.Values[int32](file, "class")
	l.Search.Starts, errStarts = safetensors.Values[float32](file, "starts")
	return l, errors.Join(errX, errClass, errStarts)
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
	l, sample := o.Learner, value.(Learner)
	l.X, l.Class, l.Search.Starts = sample.X, sample.Class, sample.Search.Starts
	return &l, l.Validate()
}
