// Package svm trains linear classifiers and regressions by dual coordinate
// ascent over partitions of the rows: CoCoA+ (Ma, Smith, Jaggi, Jordan, Richtárik
// and Takáč 2015), with steps of SDCA (Shalev-Shwartz and Zhang 2013).
//
// For each output, with rows φ_i, labels y_i and weights c_i, it minimises
//
//	P(w) = (λ/2)‖w‖² + (1/n) Σ c_i ℓ(y_i, w·φ_i)
//
// by raising, over a dual variable a_i for each row,
//
//	D(a) = −(λ/2)‖w(a)‖² − (1/n) Σ c_i ℓ*(y_i, −a_i),   w(a) = (1/λn) Σ c_i a_i φ_i.
//
// P(w) ≥ D(a) for all w and a, and at the optimum they are equal, so P − D says how
// far at most w is from the best. For hinge a_i = y_i α_i with 0 ≤ α_i ≤ 1.
//
// # Rounds
//
// In a round each partition walks over its blocks of rows from the same w. A
// step at row i takes the score of v = w + σ'Δw, Δw being what the partition has
// found in this round, and raises the dual in a_i alone with ‖φ_i‖² made σ' times
// as large. With σ' the number of partitions, the sum of all Δw is a safe step:
// D never falls (Ma et al., Lemma 4, γ = 1). Dual variables stay with their
// partition; only Δw travels.
//
// Few rows decide: most have a_i at an end of its domain and rest there. Rows at
// which a first step moved are kept in a window in memory, and steps are taken
// there again and again, without the rows that have come to rest (as LIBLINEAR
// shrinks its set, Hsieh, Chang, Lin, Keerthi and Sundararajan 2008, §3.2), until
// they add little. The next round looks at all rows anew. The problems of the
// outputs share nothing but rows, so their steps go on beside each other.
//
// # Partitions
//
// One partition solves the problem itself, and takes few rounds. Several solve
// problems of their own that disagree at the rows between them, and rounds bring
// them together: many more, at a rate that falls with σ'. So the next round begins
// beyond w, in the direction in which the weights were going (momentum, Nesterov
// 1983; in another form for dual ascent over partitions by Zheng, Wang, Xia, Xu and
// Zhang 2017), and goes back to plain steps where those lead back. A row whose a_i
// would leave its domain stays where it is. The share of the whole way that is gone
// is chosen for each problem such that D does not fall.
//
// Rounds to a gap of so much of the objective, for hinge on 10,000 rows of 10
// classes with 512 Fourier features and λ = 1e-5 (BenchmarkRoundsToAGap):
//
//	partitions    1    2    4      8     16     64
//	1e-1          2    2    4      9     17     43
//	1e-2          3   18   30     65    396  >1000
//	1e-3          5  379  678  >1000  >1000  >1000
//
// From two on they grow with σ', as the theory of CoCoA+ allows, to a gap of 1e-1,
// and to 1e-2 up to 8 partitions; then faster. Take one partition where one machine
// can walk over the rows in the time there is.
//
// # The gap
//
// The round first scores its rows by w̃, the float32 weights that were published,
// and the gap is the sum of what each row adds to it, none of it below zero:
//
//	P(w̃) − D(a) = (1/n) Σ c_i [ℓ(s_i) + ℓ*(−a_i) + a_i s_i] + (λ/2)‖w̃ − w(a)‖²,   s_i = w̃·φ_i.
//
// Nothing is subtracted, so it is exact however small. w(a) is kept in float64,
// and Δw added in float64 from dual variables as they are stored.
//
// # Intercept
//
// As in LIBLINEAR the intercept is the weight of a constant feature of value
// Bias, and regularised with the others. One that is not regularised would add
// the constraint Σ c_i a_i = 0 to the dual, which no step in a single a_i keeps.
// The larger Bias, the less the regularisation is felt, and the slower the ascent.
package svm

import (
	"fmt"

	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/rounds"
)

// Options are those of the learner. With equal options, rows and partitions, all
// bytes are equal.
type Options struct {
	loss.Problem // Lambda > 0; every loss but softmax

	// Bias is the value of the constant feature that the intercept weighs; 0 is no
	// intercept. DefaultBias serves where features have norms of about 1.
	Bias float64 `json:"bias"`
	// Partitions is σ', at least the number of partitions that have rows.
	Partitions int `json:"partitions"`
	// Passes is how often at most the rows of the window are stepped at, between
	// looks at all of it; 0 is DefaultPasses.
	Passes int `json:"passes,omitempty"`
	// Window is how many bytes of features of rows that have moved a worker keeps in
	// memory during a round; 0 is DefaultWindow. It holds a block of rows at least.
	Window int64  `json:"window,omitempty"`
	Seed   uint64 `json:"seed,string"` // of the order of the rows

	// Rounds is how many rounds are enough; 0 is no limit.
	Rounds int `json:"-"`
}

// Defaults of Options. A window of 256 MiB holds 65,536 rows of 1,024 features, or
// 6,710 of 10,000; rows that are in no window together meet only in the next round.
const (
	DefaultBias   = 1
	DefaultPasses = 50
	DefaultWindow = 256 << 20
)

// maxRounds bounds the number of a round in the index of a stream.
const maxRounds = 1 << 31

// Learner is a rounds.Learner. It is made by New.
type Learner struct {
	Options
	loss *loss.Loss
}

var (
	_ rounds.Learner = (*Learner)(nil)
	_ rounds.Fitted  = (*round)(nil)
	_ rounds.Worker  = (*worker)(nil)
)

// New returns the learner of the options. The error names the option that is
// wrong.
func New(o Options) (*Learner, error) {
	l, err := o.Validate()
	switch {
	case err != nil:
		return nil, fmt.Errorf("svm: %w", err)
	case l.Scalar == nil:
		return nil, fmt.Errorf("svm: %s takes all outputs together; logistic takes them one by one, sgd has %[1]s", o.Loss)
	case o.Lambda == 0:
		return nil, fmt.Errorf("svm: lambda is 0; the dual wants a number above it")
	case !(o.Bias >= 0 && o.Bias <= maxBias):
		return nil, fmt.Errorf("svm: bias is %g, want 0 (no intercept) to %g", o.Bias, float64(maxBias))
	case o.Partitions < 1 || o.Partitions >= maxRounds:
		return nil, fmt.Errorf("svm: %d partitions, want 1 or more", o.Partitions)
	case o.Passes < 0 || o.Passes > maxPasses:
		return nil, fmt.Errorf("svm: %d passes, want 1 to %d, or 0 for %d", o.Passes, maxPasses, DefaultPasses)
	case o.Window < 0:
		return nil, fmt.Errorf("svm: window is %d bytes, want 1 or more, or 0 for %d", o.Window, DefaultWindow)
	case o.Rounds < 0 || o.Rounds >= maxRounds:
		return nil, fmt.Errorf("svm: %d rounds, want 0 or more", o.Rounds)
	}
	if o.Passes == 0 {
		o.Passes = DefaultPasses
	}
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	return &Learner{Options: o, loss: l}, nil
}

// problems returns how many vectors of weights there are: one for each output,
// but a single one for two classes, where the second's is the first's with the
// other sign.
func (l *Learner) problems() int {
	if l.mirrored() {
		return 1
	}
	return l.Outputs
}

// mirrored tells whether there are two classes. Sums over outputs then have
// everything twice.
func (l *Learner) mirrored() bool { return l.loss.Classes() && l.Outputs == 2 }

// copies is how often each problem counts in the objective.
func (l *Learner) copies() float64 {
	if l.mirrored() {
		return 2
	}
	return 1
}

// Start implements rounds.Learner. Dual variables do not follow from weights, so
// with init the first round does no more than to find some: those of the slopes
// at init's scores, a_i = −∂ℓ/∂s, as they are at an optimum, made smaller by a
// common factor where that raises the dual, which is then no worse than from
// nothing. init is of the same outputs and features.
//
// These dual variables are in their domain whatever λ init was trained with, but
// w(a) is not init: with another λ it is another multiple, and slopes at kinks are
// any of many. Its objective may be a hundred times init's, so the second round
// still publishes init, with the gap to what the dual has come to; w(a) from the third
// on. Nothing makes the objective fall from there in each round: only the dual does.
func (l *Learner) Start(init *linear.Model) ([]byte, error) {
	p, d := l.problems(), l.Dim
	s := newState(p, d)
	if init == nil {
		return s.encode(l), nil
	}
	if err := rounds.CheckInit(init, l.Outputs, d); err != nil {
		return nil, fmt.Errorf("svm: %w", err)
	}
	s.given = true
	for c := range p {
		for j := range d {
			w := float64(init.W[c*d+j])
			if l.mirrored() {
				// Of any two vectors of weights it is the difference that counts.
				w = (w - float64(init.W[d+j])) / 2
			}
			s.weights[c*d+j] = w
		}
		b := float64(init.B[c])
		if l.mirrored() {
			b = (b - float64(init.B[1])) / 2
		}
		switch {
		case l.Bias > 0:
			s.bias[c] = b / l.Bias
		case b != 0:
			return nil, fmt.Errorf("svm: earlier model: has intercepts, but bias is 0")
		}
	}
	return s.encode(l), nil
}

// Open implements rounds.Learner.
func (l *Learner) Open(data []byte) (rounds.Round, error) {
	s, err := decodeState(l, data)
	if err != nil {
		return nil, err
	}
	return newRound(l, s), nil
}
