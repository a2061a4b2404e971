package training

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/internal/spell"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/rounds"
	"github.com/bochner-ml/bochner/models/sgd"
	"github.com/bochner-ml/bochner/models/svm"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/job"
	"github.com/bochner-ml/bochner/pipelines/report"
	"github.com/bochner-ml/bochner/transforms/epochs"
)

// LearnerOptions says which learner fits the weights, and how. The zero value is
// ridge.
type LearnerOptions struct {
	Name    string   // one of Learners
	Loss    string   // of learners in rounds; "" is the learner's own
	Epsilon float64  // of the losses huber and epsilon_insensitive; in units of the targets' spread; 0 is 0.1
	Weights []string // of classes: "balanced" alone, or NAME=WEIGHT each; the others weigh 1

	Bias   float64 // of svm: value of the constant feature; 0 is no intercept
	Passes int     // of svm: over each block of rows in a round; 0 chooses

	Method string  // of sgd: momentum, adagrad or sgd; "" is momentum
	Rate   float64 // of sgd: the learning rate to begin with; 0 finds one on a sample
	Batch  int     // of sgd: rows of a batch; 0 chooses

	Augment []string // how images are changed at random in each round; none if empty

	Init   string // directory of a model to begin with; "" begins with weights of 0
	Rounds job.RoundOptions
	Curve  string // file for a picture of how the rounds went, .png or .svg; "" for none
}

// learner is what the jobs need to know of a kind of learner in rounds.
type learner struct {
	loss   func(classes bool) string // where none is given
	rounds int                       // at most, where nothing is said
	gap    float64                   // likewise
	parts  int                       // partitions, likewise
	// options are those of the learner, for a problem dealt to partitions. The error
	// is about what the user asked for.
	options func(o LearnerOptions, p loss.Problem, partitions int, seed uint64, sample rounds.Block) (any, error)
}

// inRounds are the learners in rounds.
var inRounds = map[string]learner{
	"svm": {
		loss: func(classes bool) string {
			if classes {
				return "hinge"
			}
			return "epsilon_insensitive"
		},
		// Several partitions take many more rounds to a small gap.
		rounds: 1000, gap: 1e-3, parts: 1,
		options: func(o LearnerOptions, p loss.Problem, partitions int, seed uint64, _ rounds.Block) (any, error) {
			opts := svm.Options{Problem: p, Bias: o.Bias, Partitions: partitions, Passes: o.Passes, Seed: seed}
			_, err := svm.New(opts)
			return opts, err
		},
	},
	"sgd": {
		loss: func(classes bool) string {
			if classes {
				return "softmax"
			}
			return "squared"
		},
		rounds: 100, parts: 1,
		options: func(o LearnerOptions, p loss.Problem, partitions int, _ uint64, sample rounds.Block) (any, error) {
			opts := sgd.Options{Problem: p, Method: o.Method, Rate: o.Rate, Batch: o.Batch, Partitions: partitions}
			if opts.Method == "" {
				opts.Method = sgd.Momentum
			}
			if opts.Rate == 0 {
				var err error
				if opts.Rate, err = sgd.SearchRate(opts, sample); err != nil {
					return nil, err
				}
			}
			if opts.Method == sgd.Momentum {
				opts.Planned = o.Rounds.Rounds
			}
			_, err := sgd.New(opts)
			return opts, err
		},
	},
}

// Searches tells whether the learner needs a sample to find its options.
func (o LearnerOptions) Searches() bool { return o.Name == "sgd" && o.Rate == 0 }

// Learners returns the names of the learners.
func Learners() []string {
	return append([]string{"ridge"}, spell.Names(inRounds)...)
}

func (o LearnerOptions) withDefaults() LearnerOptions {
	if o.Name == "" {
		o.Name = "ridge"
	}
	l, ok := inRounds[o.Name]
	if !ok {
		return o
	}
	r := &o.Rounds
	if r.Rounds == 0 {
		r.Rounds = l.rounds
		if r.Gap == 0 {
			r.Gap = l.gap
		}
	}
	if r.Partitions == 0 {
		r.Partitions = l.parts
	}
	r.PerJob = max(r.PerJob, 1)
	return o
}

func (o LearnerOptions) validate() error {
	if o.Name != "ridge" {
		if _, ok := inRounds[o.Name]; !ok {
			return exit.Usage("unknown learner %q%s; have %s", o.Name, spell.DidYouMean(o.Name, Learners()), strings.Join(Learners(), ", "))
		}
		if _, _, err := augmentation(o.Augment); err != nil {
			return err
		}
		if len(o.Augment) > 0 && o.Name == "svm" {
			return exit.Usage("--augment: the dual variables of svm belong to rows that stay as they are; --learner sgd learns from changing ones")
		}
		if err := report.ValidPicture(o.Curve); err != nil {
			return err
		}
		return o.Rounds.Validate()
	}
	given := map[string]bool{
		"loss": o.Loss != "", "class_weight": len(o.Weights) > 0, "init": o.Init != "",
		"rounds": o.Rounds.Rounds != 0, "gap": o.Rounds.Gap != 0, "patience": o.Rounds.Patience != 0,
		"max_time": o.Rounds.Time != 0, "curve": o.Curve != "", "augment": len(o.Augment) > 0, "partitions": o.Rounds.Partitions != 0,
	}
	for _, name := range spell.Names(given) {
		if given[name] {
			return exit.Usage("--%s is for learners in rounds (%s); ridge is fitted in one pass", name, strings.Join(spell.Names(inRounds), ", "))
		}
	}
	return nil
}

// seal returns the learner of a problem as plain data.
func (o LearnerOptions) seal(p loss.Problem, partitions int, seed uint64, sample rounds.Block) (epochs.Learner, error) {
	opts, err := inRounds[o.Name].options(o, p, partitions, seed, sample)
	if err != nil {
		return epochs.Learner{}, &exit.UsageError{Err: err}
	}
	data, err := json.Marshal(opts)
	return epochs.Learner{Kind: o.Name, Options: data}, err
}

// classWeights returns the weight of each class; nil if all weigh 1. Balanced
// weights give every class the same share: n/(k·n_c).
func (o LearnerOptions) classWeights(classes []string, counts []int64) ([]float64, error) {
	if len(o.Weights) == 0 {
		return nil, nil
	}
	if classes == nil {
		return nil, exit.Usage("--class_weight is for classes; the labels are numbers (see --task)")
	}
	weights := make([]float64, len(classes))
	if o.Weights[0] == "balanced" && len(o.Weights) == 1 {
		var n int64
		for _, count := range counts {
			n += count
		}
		for c, count := range counts {
			weights[c] = float64(n) / (float64(len(classes)) * float64(count))
		}
		return weights, nil
	}
	for c := range weights {
		weights[c] = 1
	}
	for _, text := range o.Weights {
		at := strings.LastIndexByte(text, '=')
		if at < 0 {
			return nil, exit.Usage("--class_weight: %q is not NAME=WEIGHT, nor balanced", text)
		}
		c := slices.Index(classes, text[:at])
		if c < 0 {
			return nil, exit.Usage("--class_weight: no row is of class %q%s", text[:at], spell.DidYouMean(text[:at], classes))
		}
		w, err := strconv.ParseFloat(text[at+1:], 64)
		if err != nil || !(w > 0) || math.IsInf(w, 0) {
			return nil, exit.Usage("--class_weight: %q: want a number above 0 behind the =", text)
		}
		weights[c] = w
	}
	return weights, nil
}

// autoLambdas are the values that a learner in rounds tries where none is given.
func autoLambdas() []float64 { return []float64{1e-3, 1e-4, 1e-5, 1e-6} }

// RoundPath returns the λ to try on n rows, the largest first, since each begins
// where the one before has come to; and in how many parts rows are cut, the first
// of which is held out: 0 if none is needed.
func (o Options) RoundPath(n int64) (lambda []float64, folds int) {
	l := o.Lambda
	switch {
	case l.C != 0:
		lambda = []float64{1 / (l.C * float64(n))}
	case len(l.Path) > 0:
		lambda = slices.Clone(l.Path)
	default:
		lambda = autoLambdas()
	}
	slices.Sort(lambda)
	slices.Reverse(lambda)
	lambda = slices.Compact(lambda)
	folds = l.Folds
	if folds == 0 && (len(lambda) > 1 || o.Learner.Rounds.Patience > 0 || o.Calibrate != "") {
		folds = DefaultFolds
	}
	if folds == 1 {
		folds = 0
	}
	return lambda, folds
}

// lossName is the loss of the learner on classes or targets.
func (o LearnerOptions) lossName(classes bool) string {
	if o.Loss != "" {
		return o.Loss
	}
	return inRounds[o.Name].loss(classes)
}

func describe(o LearnerOptions, lossName string) string {
	return fmt.Sprintf("%s, %s loss, %s", o.Name, strings.ReplaceAll(lossName, "_", " "), report.Counted(o.Rounds.Partitions, "partition"))
}
