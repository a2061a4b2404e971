package align

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
)

// Learner plays the game of Learn over rows in partitions, with rows for features. A
// round of the game takes five rounds of package iterative, of which two read the rows:
//
//	search   each partition's worker runs a share of the chains, on the sample; the best are picked
//	score    reads; sums of the picked frequencies over all rows, from which follow direction and step
//	ascend   reads; the dual weights move; the first censuses of the projection
//	narrow   twice more; then every worker knows the multipliers
//
// Before the first come begin, which reads the rows to learn their classes, and the
// projection of the initial weights. A worker carries the dual weights of its partition's rows; the
// dual weights of the sample's rows are in the state, and are updated in the same way.
//
// Projections are exact and what the search sees is X: Options.Alternations and Options.Sample
// must be 0.
type Learner struct {
	Options
	Dim        int // length of a row
	Classes    int
	Partitions int

	// X (rows×Dim) and Class are the rows that the search sees, in any order; the same
	// for every round. The caller ensures this, because states do not contain them.
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
	case l.Dim < 1 || l.Dim > rows.MaxDim:
		return fmt.Errorf("align: dim must be 1 to %d (have %d)", rows.MaxDim, l.Dim)
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

// weightings returns K of Dual.
func (l *Learner) weightings() int {
	if l.Classes == 2 {
		return 1
	}
	return l.Classes
}

// Start implements iterative.Learner. It cannot start from an earlier model.
func (l *Learner) Start(init *linear.Model) ([]byte, error) {
	if init != nil {
		return nil, errors.New("align: learned features do not start from the weights of a model")
	}
	if err := l.Validate(); err != nil {
		return nil, err
	}
	k := l.weightings()
	s := &state{phase: begin, game: *l.Options.game(0, k), brackets: make([]float64, 2*k), mu: make([]float64, k)}
	s.setBrackets(around(0, l.Options.Start))
	s.alpha = newDual(l.Class, l.Classes, l.Options.Start).Alpha
	return s.encode(l), nil
}

// Open implements iterative.Learner. The Round is a *Round.
func (l *Learner) Open(data []byte) (iterative.Round, error) {
	s, err := decodeState(l, data)
	if err != nil {
		return nil, fmt.Errorf("align: state: %w", err)
	}
	return &Round{l: l, s: s}, nil
}

// Frequencies returns the frequencies found so far, of equal weight.
func (r *Round) Frequencies() *learned.Frequencies {
	return &learned.Frequencies{Count: len(r.s.w) / r.l.Dim, In: r.l.Dim, W: slices.Clone(r.s.w)}
}

// Last returns the report of the game's last whole round, and whether there was one.
func (r *Round) Last() (Report, bool) { return r.s.last, r.s.game.Rounds > 0 }
