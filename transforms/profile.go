package transforms

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/profile"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*profileFn)(nil)))
}

// Profile reads all rows once and returns what they look like: one encoded
// profile.Sum, and a JSON dataset.Report for each shard.
func Profile(s beam.Scope, sc Scan) (sum, reports beam.PCollection) {
	return profiles(s.Scope("transforms.Profile"), &profileFn{Scan: sc})
}

func profiles(s beam.Scope, fn *profileFn) (sum, reports beam.PCollection) {
	sums, reports := fn.Scan.apply2(s, fn)
	return mergeSums(s, profileSum, sums), reports
}

type profileFn struct {
	Scan   Scan
	Survey bool // of rows with their labels
}

func (f *profileFn) ProcessElement(ctx context.Context, lane int, emit, report func([]byte)) error {
	begin := look
	if f.Survey {
		begin = survey
	}
	return f.Scan.sum(ctx, lane, emit, report, begin)
}

// look sums up what rows look like, and their labels if the pass has a target.
func look(p *Pass) (tally, error) {
	sum := profile.New(profile.Options{})
	var label dataset.Label
	if t := p.Target; t != nil {
		label = func(token []byte) (float32, string) {
			if !t.Open {
				if _, reason := rows.ParseTarget(token); reason != "" {
					return 0, reason
				}
			}
			sum.AddLabel(token) // no other goroutine looks at the labels until all rows are read
			return 0, ""
		}
	}
	var hashes []uint64
	return tally{sum, label, func(b *rows.Block) error {
		hashes = rows.HashBlock(hashes[:0], p.Seed, b)
		sum.AddBlock(b, hashes)
		return nil
	}}, nil
}
