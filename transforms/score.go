package transforms

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/calibrate"
	"github.com/bochner-ml/bochner/models/score"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*scoreFn)(nil)))
}

// Score reads all rows, applies the model and compares with the labels. It
// returns one encoded ClassScores, or score.Targets for a model of numbers, and a
// JSON dataset.Report for each shard.
func Score(s beam.Scope, sc Scan, classes bool) (sum, reports beam.PCollection) {
	s = s.Scope("transforms.Score")
	kind := targetScores
	if classes {
		kind = classScores
	}
	sums, reports := sc.apply2(s, &scoreFn{Scan: sc})
	return mergeSums(s, kind, sums), reports
}

type scoreFn struct{ Scan Scan }

func (f *scoreFn) ProcessElement(ctx context.Context, lane int, emit, report func([]byte)) error {
	return f.Scan.sum(ctx, lane, emit, report, func(p *Pass) (tally, error) {
		a, err := newApplier(ctx, p, f.Scan.Threads)
		if err != nil {
			return tally{}, err
		}
		if a.model.Classifies() {
			return a.scoreClasses(), nil
		}
		return a.scoreTargets(p.Target.Label()), nil
	})
}

// scoreClasses sums up how rows are classified.
func (a *applier) scoreClasses() tally {
	sum := a.newClassScores()
	labels := &openLabels{known: a.model.Manifest.Vocabulary}
	return tally{sum, labels.index, func(_ dataset.Shard, b *rows.Block) error {
		return sum.add(b.Y, a.apply(b), labels.text)
	}}
}

// scoreTargets sums up how far numbers are predicted.
func (a *applier) scoreTargets(label dataset.Label) tally {
	sum := new(score.Targets)
	return tally{sum, label, func(_ dataset.Shard, b *rows.Block) error {
		targets := a.apply(b).targets
		for i, y := range b.Y {
			sum.Add(y, targets[i])
		}
		return nil
	}}
}

// newClassScores returns the scores of no rows.
func (a *applier) newClassScores() *ClassScores {
	k := a.model.Linear.K
	s := &ClassScores{Hits: *score.NewClasses(k)}
	if a.model.Manifest.Probabilities != nil {
		s.Chances = calibrate.NewReliability(k, ReliabilityBins)
	}
	return s
}
