package learn

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/transforms"
)

// Pass is what all rounds of an iterative learner have in common.
type Pass struct {
	transforms.Pass
	Learner     Learner              `json:"learner"`
	Recipe      features.Sealed      `json:"recipe"`
	Assignments []dataset.Assignment `json:"assignments"`
	// Rows is the number of usable rows, training and held out. A round that reads a different
	// number of rows fails.
	Rows int64 `json:"rows"`
	// Folds is how many folds a profile.Assigner assigns rows to. The first is held out; 0
	// means that none is.
	Folds int `json:"folds,omitempty"`
	// MeanWeight is the mean weight of the training rows, if rows have weights.
	MeanWeight float64  `json:"mean_weight,omitempty"`
	Augment    *Augment `json:"augment,omitempty"`
}

// Recipes returns the recipes for rows as they are, and for changed ones.
func (p *Pass) Recipes() []*features.Sealed {
	if p.Augment != nil {
		return []*features.Sealed{&p.Recipe, &p.Augment.Recipe}
	}
	return []*features.Sealed{&p.Recipe}
}

// Augment changes the training rows at random, differently in each round. It
// also has the recipe that maps the changed rows to features.
type Augment struct {
	Images preprocess.Augment `json:"images"`
	Recipe features.Sealed    `json:"recipe"`
}

// Learner is a learner as plain data: its kind and its options.
type Learner struct {
	Kind    string          `json:"kind"`
	Options json.RawMessage `json:"options"`
}

// Partitions returns the number of partitions.
func (p *Pass) Partitions() int {
	last := p.Assignments[len(p.Assignments)-1]
	return last.First + last.Count
}

// featuresName names the features of the partitions' rows: passes with equal names
// see the same blocks.
func (p *Pass) featuresName() string {
	data, err := json.Marshal([]any{p.Data, p.Mode, p.Seed, p.Target, p.Recipe, p.Assignments, p.Folds, p.Rule, p.Copies,
		p.MeanWeight})
	if err != nil {
		panic("learn: pass that cannot be named: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return string(sum[:])
}

// Open creates the learner, whose package is registered with iterative.RegisterOpener.
func (l Learner) Open(ctx context.Context) (iterative.Learner, error) {
	return l.open(ctx, new(transforms.Worker))
}

// open creates the learner for a worker, which keeps the last file that learners have read: every round of a search
// uses the same sample. It may read files after ctx has ended.
func (l Learner) open(ctx context.Context, w *transforms.Worker) (iterative.Learner, error) {
	ctx = context.WithoutCancel(ctx)
	return iterative.OpenLearner(l.Kind, l.Options, func(uri string, decode func([]byte) (any, error)) (any, error) {
		return transforms.Cached(w, 1, uri, func() (any, error) {
			data, err := storage.ReadState(ctx, uri, transforms.MaxState)
			if err != nil {
				return nil, err
			}
			value, err := decode(data)
			if err != nil {
				return nil, fmt.Errorf("learn: %s: %w", uri, err)
			}
			return value, nil
		})
	})
}

// The files of the rounds are in the pass's own directory.

func roundFile(pass, kind string, round int) string {
	return storage.Join(strings.TrimSuffix(pass, ".json"), fmt.Sprintf("%s-%06d", kind, round))
}

// StateFile names the state with which a round of the pass begins, a file of state.
func StateFile(pass string, round int) string { return roundFile(pass, "state", round) }

// ReportFile names the report of the round on its first state, an iterative.Report in JSON.
func ReportFile(pass string, round int) string { return roundFile(pass, "report", round) + ".json" }

// CarriedFile names the state that a partition's worker carries from one round to the next, a file
// from storage.WriteState.
func CarriedFile(pass string, round, partition int) string {
	return fmt.Sprintf("%s-%05d", roundFile(pass, "carried", round), partition)
}

// PartialFile names the partial result of a partition's worker in a round.
func PartialFile(pass string, round, partition int) string {
	return fmt.Sprintf("%s-%05d", roundFile(pass, "partial", round), partition)
}

// open returns a round of the pass in a file, opened once in a job and process.
func (p *Pass) open(ctx context.Context, w *transforms.Worker, uri string, round int) (iterative.Round, error) {
	return transforms.Cached(w, 2, fmt.Sprintf("%d %s", round, uri), func() (iterative.Round, error) {
		learner, err := p.Learner.open(ctx, w)
		if err != nil {
			return nil, err
		}
		state, err := storage.ReadState(ctx, StateFile(uri, round), transforms.MaxState)
		if err != nil {
			return nil, err
		}
		return learner.Open(state)
	})
}
