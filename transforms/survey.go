package transforms

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/profile"
)

// Survey reads all rows and returns how many are left to learn from when the first
// of Pass.Held folds is held out (none is with 0), and a sample of them, of
// Pass.Sample rows, with their labels: one encoded profile.Sum of those rows, each
// with its label in a last column, the index of its class or a target as a fraction of the range; and a JSON dataset.Report for each
// shard.
func Survey(s beam.Scope, sc Scan) (sum, reports beam.PCollection) {
	return profiles(s.Scope("transforms.Survey"), profileSum, &profileFn{Scan: sc, Survey: true})
}

// survey sums up the rows that are not held out, with their labels.
func survey(p *Pass) (tally, error) {
	sum := profile.New(profile.Options{Sample: p.Sample, Long: p.Sample > 0})
	var hashes, mine []uint64
	var labeled rows.Block
	dealer := p.dealer()
	return tally{sum, p.Target.Label(), func(s dataset.Shard, b *rows.Block) (err error) {
		if hashes, err = dealer.Hashes(hashes[:0], place(s), b); err != nil {
			return err
		}
		mine = mine[:0]
		labeled.Reset(b.D + 1)
		for i, h := range hashes {
			if p.Held > 0 && h%uint64(p.Held) == 0 {
				continue
			}
			y := float32(b.Y[i])
			if grid := p.Target.Grid; grid != nil {
				y = grid.Scaled(b.Y[i])
			}
			labeled.X = append(append(labeled.X, b.Row(i)...), y)
			labeled.N++
			mine = append(mine, h)
		}
		sum.AddBlock(&labeled, mine)
		return nil
	}}, nil
}
