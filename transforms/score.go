package transforms

import (
	"context"
	"encoding"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/score"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*scoreFn)(nil)))
}

// Score reads all rows, applies the model and compares with the labels. It
// returns one encoded score.Classes, or score.Targets for a model of numbers, and
// a JSON dataset.Report for each shard.
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
	p, err := loadPass(ctx, f.Scan.Pass)
	if err != nil {
		return asFault(Internal, err)
	}
	a, err := newApplier(ctx, p, f.Scan.Threads)
	if err != nil {
		return err
	}
	var sum encoding.BinaryMarshaler
	var add func(y, score float32, class int32)
	label := p.Target.Label()
	if a.model.Classifies() {
		classes := score.NewClasses(a.model.Linear.K)
		add = func(y, _ float32, class int32) { classes.Add(int(y), int(class)) }
		label = unseen(a.model.Manifest.Vocabulary)
		sum = classes
	} else {
		targets := new(score.Targets)
		add = func(y, score float32, _ int32) { targets.Add(y, score) }
		sum = targets
	}
	err = f.Scan.each(ctx, p, lane, label, func(_ dataset.Shard, b *rows.Block) error {
		scores, class := a.apply(b)
		for i, y := range b.Y {
			if class != nil {
				add(y, 0, class[i])
			} else {
				add(y, scores[i], 0)
			}
		}
		return nil
	}, reporter(report))
	if err != nil {
		return asFault(Internal, err)
	}
	data, err := sum.MarshalBinary()
	if err != nil {
		return asFault(Internal, err)
	}
	emit(data)
	return nil
}

// unseen gives labels the index of their class, and score.Unseen to those that
// the model has never seen, for no prediction of such a row is right.
func unseen(v *rows.Vocabulary) dataset.Label {
	return func(token []byte) (float32, string) {
		if i, ok := v.Index(token); ok {
			return float32(i), ""
		}
		return score.Unseen, ""
	}
}
