package transforms

import (
	"context"
	"reflect"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*heldFn)(nil)))
}

// CountHeld reads all rows and returns, for each lane, how many are in the first of
// Pass.Held folds (a number in decimal), and a JSON dataset.Report for each shard.
func CountHeld(s beam.Scope, sc Scan) (counts, reports beam.PCollection) {
	s = s.Scope("transforms.CountHeld")
	return sc.apply2(s, &heldFn{Scan: sc})
}

type heldFn struct{ Scan Scan }

func (f *heldFn) ProcessElement(ctx context.Context, lane int, emit, report func([]byte)) error {
	p, err := loadPass(ctx, f.Scan.Pass)
	if err != nil {
		return asFault(Internal, err)
	}
	var held int64
	var hashes []uint64
	err = f.Scan.each(ctx, p, lane, p.Target.Label(), func(_ dataset.Shard, b *rows.Block) error {
		hashes = p.foldHashes(hashes[:0], b)
		for _, h := range hashes {
			if h%uint64(p.Held) == 0 {
				held++
			}
		}
		return nil
	}, reporter(report))
	if err != nil {
		return asFault(Internal, err)
	}
	emit(strconv.AppendInt(nil, held, 10))
	return nil
}

// foldHashes appends the hashes that decide on the folds of the rows of a block.
func (p *Pass) foldHashes(dst []uint64, b *rows.Block) []uint64 {
	return rows.HashBlock(dst, p.Seed^foldSalt, b)
}
