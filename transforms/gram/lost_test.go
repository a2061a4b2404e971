package gram

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms"
)

// attempt runs the only reader of a pass, in which each shard takes that long, until it ends or is lost,
// if lost is not 0. It returns how long each shard took that it completed, and the time in the last
// one that it did not.
func attempt(b *testing.B, p *Pass, uri string, checkpoint, shard, lost time.Duration) (took []time.Duration,
	rest time.Duration) {
	b.Helper()
	ctx := context.Background()
	f := transforms.Fn{Scan: transforms.Scan{Pass: uri, Readers: 1, Threads: 1, Checkpoint: checkpoint}}
	f.Setup()
	defer f.Teardown()
	reader := transforms.NewReader(f, 0)
	s, err := newReaderSums(reader, p, filepath.Dir(uri))
	if err != nil {
		b.Fatal(err)
	}
	reader.Saver = s
	gone := errors.New("the worker is lost")
	begun := time.Now()
	var begins time.Time // the shard
	err = reader.Each(ctx, &p.Pass, p.Target.Label(), func(at profile.ShardStart, block *rowio.Block) error {
		begins = time.Now()
		left := lost - time.Since(begun)
		if lost > 0 && left < shard {
			time.Sleep(left)
			rest = time.Since(begins)
			return gone
		}
		time.Sleep(shard)
		return s.add(ctx, at, block)
	}, func(r *dataset.Report) error {
		took = append(took, time.Since(begins))
		return s.done(r)
	})
	if err != nil && !errors.Is(err, gone) {
		b.Fatal(err)
	}
	return took, rest
}

// A reader of 30 minutes in shards of 20 s loses its worker once, at a random time. What is scaled is time: a
// minute is 300 ms, also between two checkpoints; storing sums is not, so they are small. The metrics are
// minutes of that scale: without checkpoints the whole reader is repeated, with them the time since the last.
func BenchmarkLostWorker(b *testing.B) {
	const (
		minute = 300 * time.Millisecond
		shard  = minute / 3
		pass   = 30 * minute
	)
	for _, c := range []struct {
		name       string
		checkpoint time.Duration
	}{{"whole reader", time.Hour}, {"checkpoints", minute}} {
		b.Run(c.name, func(b *testing.B) {
			p := passOf(b, table(2700), 90)
			p.Shards = p.Data.Shards(1 << 30)
			p.Spec.Folds = 1
			rng := rand.New(rand.NewPCG(1, 2))
			var sum, most time.Duration
			times := 0
			for b.Loop() {
				uri := storePass(b, p)
				first, repeated := attempt(b, p, uri, c.checkpoint, shard, 1+time.Duration(rng.Int64N(int64(pass))))
				second, _ := attempt(b, p, uri, c.checkpoint, shard, 0)
				for _, d := range first[len(p.Shards)-len(second):] {
					repeated += d
				}
				sum, most, times = sum+repeated, max(most, repeated), times+1
			}
			b.ReportMetric(float64(sum)/float64(times)/float64(minute), "mean-minutes")
			b.ReportMetric(float64(most)/float64(minute), "most-minutes")
		})
	}
}
