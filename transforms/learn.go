package transforms

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/image"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/rounds"
	"github.com/bochner-ml/bochner/models/sgd"
	"github.com/bochner-ml/bochner/models/svm"
)

// Learn is the state of the passes of a learner in rounds.
type Learn struct {
	Learner Learner         `json:"learner"`
	Recipe  features.Sealed `json:"recipe"`
	Hands   []dataset.Hand  `json:"hands"`
	// Rows that can be used, of both kinds: a round that sees another number fails.
	Rows int64 `json:"rows"`
	// Folds is how many parts rows are dealt to by a folds.Dealer. The first is held
	// out; with 0 nothing is.
	Folds   int      `json:"folds,omitempty"`
	Augment *Augment `json:"augment,omitempty"`
}

// Augment says how the rows learned from are changed at random, anew in each round,
// and the recipe that takes them to features then.
type Augment struct {
	Images image.Augment   `json:"images"`
	Recipe features.Sealed `json:"recipe"`
}

// Learner is a learner as plain data: its kind and its options.
type Learner struct {
	Kind    string          `json:"kind"`
	Options json.RawMessage `json:"options"`
}

// Partitions returns how many there are.
func (l *Learn) Partitions() int {
	last := l.Hands[len(l.Hands)-1]
	return last.First + last.Count
}

// shards returns how many there are.
func (l *Learn) shards() (n int) {
	for _, h := range l.Hands {
		n += len(h.Shards)
	}
	return n
}

// featuresName names the features of the partitions' rows: passes with equal names
// see the same blocks.
func (p *Pass) featuresName() string {
	l := p.Learn
	data, err := json.Marshal([]any{p.Data, p.Mode, p.Seed, p.Target, l.Recipe, l.Hands, l.Folds, p.Copies})
	if err != nil {
		panic("transforms: pass that cannot be named: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return string(sum[:])
}

// openers make the learners by their kinds.
var openers = map[string]func(ctx context.Context, options []byte) (rounds.Learner, error){
	"sgd":   opener(func(_ context.Context, o sgd.Options) (rounds.Learner, error) { return sgd.New(o) }),
	"svm":   opener(func(_ context.Context, o svm.Options) (rounds.Learner, error) { return svm.New(o) }),
	"align": opener(openAlign),
}

// opener makes a learner of options in JSON.
func opener[O any](open func(context.Context, O) (rounds.Learner, error)) func(context.Context, []byte) (rounds.Learner, error) {
	return func(ctx context.Context, data []byte) (rounds.Learner, error) {
		var o O
		if err := json.Unmarshal(data, &o); err != nil {
			return nil, fmt.Errorf("transforms: options of the learner: %w", err)
		}
		return open(ctx, o)
	}
}

// Open makes the learner.
func (l Learner) Open(ctx context.Context) (rounds.Learner, error) {
	open, ok := openers[l.Kind]
	if !ok {
		return nil, fmt.Errorf("transforms: unknown learner %q", l.Kind)
	}
	return open(ctx, l.Options)
}

// The files of the rounds stand in a directory of the pass's own.

func roundFile(pass, kind string, round int) string {
	return storage.Join(strings.TrimSuffix(pass, ".json"), fmt.Sprintf("%s-%06d", kind, round))
}

// StateFile names the state that a round of the pass begins with, a file of state.
func StateFile(pass string, round int) string { return roundFile(pass, "state", round) }

// ReportFile names the JSON of what the round has found out about that state, a
// rounds.Report.
func ReportFile(pass string, round int) string { return roundFile(pass, "report", round) + ".json" }

// OwnFile names what a partition's worker has kept in a round for the next one, as
// storage.WriteState writes it.
func OwnFile(pass string, round, partition int) string {
	return fmt.Sprintf("%s-%05d", roundFile(pass, "own", round), partition)
}

// FoundFile names what a partition's worker has found in a round.
func FoundFile(pass string, round, partition int) string {
	return fmt.Sprintf("%s-%05d", roundFile(pass, "found", round), partition)
}

// roundsOpen holds the rounds that were begun last, by number and pass.
var roundsOpen = newCache(2, func(ctx context.Context, name string) (rounds.Round, error) {
	number, pass, _ := strings.Cut(name, " ")
	round, err := strconv.Atoi(number)
	if err != nil {
		return nil, err
	}
	p, err := loadPass(ctx, pass)
	if err != nil {
		return nil, err
	}
	learner, err := p.Learn.Learner.Open(ctx)
	if err != nil {
		return nil, err
	}
	state, err := storage.ReadState(ctx, StateFile(pass, round), maxRound)
	if err != nil {
		return nil, err
	}
	return learner.Open(state)
})

// openRound returns a round of a pass, opened once in a process.
func openRound(ctx context.Context, pass string, round int) (rounds.Round, error) {
	return roundsOpen.get(ctx, fmt.Sprintf("%d %s", round, pass))
}

// maxRound bounds the size of a state.
const maxRound = 1 << 33
