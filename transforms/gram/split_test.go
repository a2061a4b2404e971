package gram

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"

	"github.com/bochner-ml/bochner/transforms"
)

// splitAt is a tracker of a runner that takes away all shards after one, when that is begun.
type splitAt struct {
	sdf.RTracker
	at       int64
	residual any
}

func (s *splitAt) TryClaim(pos any) bool {
	ok := s.RTracker.TryClaim(pos)
	if pos.(int64) == s.at {
		_, s.residual, _ = s.RTracker.TrySplit(0)
	}
	return ok
}

// splitFold returns the DoFn for a pass with one reader that may be split, and a checkpoint after
// every shard.
func splitFold(uri string) *sumsFn {
	sc := transforms.Scan{Pass: uri, Readers: 1, Threads: 1, Checkpoint: -1, Split: true}
	return &sumsFn{Splittable: transforms.Splittable{Fn: transforms.Fn{Scan: sc}}, Dir: filepath.Dir(uri)}
}

// piece runs the reader on the range of the tracker.
func (f *sumsFn) piece(t *testing.T, tracker sdf.RTracker) (parts map[int]storedRun, reports []Report) {
	t.Helper()
	f.Setup()
	defer f.Teardown()
	parts = map[int]storedRun{}
	err := f.ProcessElement(context.Background(), sdf.NewLockRTracker(tracker), 0, func(key int, line []byte) {
		var st storedRun
		if err := json.Unmarshal(line, &st); err != nil {
			t.Error(err)
		}
		parts[key] = st
	}, func(line []byte) {
		var r Report
		if err := json.Unmarshal(line, &r); err != nil {
			t.Error(err)
		}
		reports = append(reports, r)
	})
	if err != nil {
		t.Fatal(err)
	}
	if !tracker.IsDone() || tracker.GetError() != nil {
		t.Errorf("the range is not done: %v", tracker)
	}
	return parts, reports
}

// If a runner splits a reader at any moment, every shard is in one of the pieces, and their sums add up to the
// sums of the reader. A run that continues cuts the reader at the same shard, so that it finds the checkpoints
// of both pieces, even if it is split itself.
func TestPiecesOfAReaderAddUp(t *testing.T) {
	ctx := context.Background()
	lines := table(2000)
	pass := func() (*Pass, string) {
		p := passOf(t, lines, 1)
		p.Shards = p.Data.Shards(9_000)
		return p, storePass(t, p)
	}
	p, uri := pass()
	n := int64(len(p.Shards))
	f := splitFold(uri)
	all, err := f.CreateInitialRestriction(ctx, 0)
	if err != nil || all != (offsetrange.Restriction{End: n}) || n < 5 {
		t.Fatalf("%v of %d shards: %v", all, n, err)
	}
	whole, _ := f.piece(t, f.CreateTracker(all).Rt)
	// check merges the parts of pieces and compares them with the parts of the reader.
	check := func(t *testing.T, uri string, pieces ...map[int]storedRun) {
		t.Helper()
		merge := &mergeFn{Dir: filepath.Dir(uri)}
		for key, want := range whole {
			var parts []storedRun
			for _, p := range pieces {
				parts = append(parts, p[key])
			}
			sum, err := merge.add(ctx, parts)
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range sum {
				if values, err := loadPart(ctx, f.Dir, []storedRun{want}, key+i); err != nil || !slices.Equal(got, values) {
					t.Errorf("part %d differs: %v", key+i, err)
				}
			}
		}
	}
	for at := range n - 1 {
		p, uri := pass()
		f := splitFold(uri)
		split := &splitAt{RTracker: f.CreateTracker(all).Rt, at: at}
		first, reports := f.piece(t, split)
		if split.residual != (offsetrange.Restriction{Start: at + 1, End: n}) {
			t.Fatalf("split at %d leaves %v", at, split.residual)
		}
		second, more := f.piece(t, f.CreateTracker(split.residual.(offsetrange.Restriction)).Rt)
		if len(reports) != int(at)+1 || len(reports)+len(more) != int(n) {
			t.Errorf("split at %d: %d and %d reports of %d shards", at, len(reports), len(more), n)
		}
		check(t, uri, first, second)

		// Without the data, all rows must come from the checkpoints.
		if err := os.Remove(p.Data.Files[0].Name); err != nil {
			t.Fatal(err)
		}
		rows, err := f.Scan.Continue(ctx)
		if err != nil || rows != 2000 {
			t.Errorf("split at %d: checkpoints of %d rows: %v", at, rows, err)
		}
		var pieces []map[int]storedRun
		for _, r := range f.SplitRestriction(0, all) {
			tracker := &splitAt{RTracker: f.CreateTracker(r).Rt, at: r.Start}
			if _, rest, err := tracker.TrySplit(0); rest != nil || err != nil {
				t.Errorf("split at %d: a piece is split before it is begun: %v, %v", at, rest, err)
			}
			parts, reports := f.piece(t, tracker)
			for _, r := range reports {
				if r.Fault != "" {
					t.Errorf("split at %d: a shard was read again: %s", at, r.Fault)
				}
			}
			pieces = append(pieces, parts)
		}
		if len(pieces) != 2 {
			t.Errorf("split at %d: continued as %d pieces", at, len(pieces))
		}
		check(t, uri, pieces...)
	}
	bytes, err := f.RestrictionSize(ctx, 0, all)
	half, err2 := f.RestrictionSize(ctx, 0, offsetrange.Restriction{Start: n / 2, End: n})
	if err != nil || err2 != nil || bytes != float64(p.Data.Size()) || half <= 0 || half >= bytes {
		t.Errorf("the reader has %g bytes, half of it %g, the file %d: %v, %v", bytes, half, p.Data.Size(), err, err2)
	}
}

// A run with another number of stripes does not continue from checkpoints of other stripes, and adds up the
// same parts.
func TestCheckpointsOfOtherStripesAreNotUsed(t *testing.T) {
	ctx := context.Background()
	p := passOf(t, table(2000), 1)
	p.Shards = p.Data.Shards(9_000)
	uri := storePass(t, p)
	var f *sumsFn
	run := func(stripes int) map[int]storedRun {
		f = splitFold(uri)
		f.Scan.Stripes = stripes
		all, err := f.CreateInitialRestriction(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		parts, _ := f.piece(t, f.CreateTracker(all).Rt)
		return parts
	}
	continued := func(stripes int) int64 {
		rows, err := (&transforms.Scan{Pass: uri, Readers: 1, Stripes: stripes}).Continue(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	two := run(2)
	if same, other := continued(2), continued(4); same != 2000 || other != 0 {
		t.Errorf("2 stripes continue from %d rows, want 2000; 4 from %d, want 0", same, other)
	}
	four := run(4)
	if len(two) == 0 || len(four) == 0 || len(four) >= len(two) {
		t.Fatalf("%d parts in the first of 2 stripes, %d in the first of 4", len(two), len(four))
	}
	for key, part := range four {
		for i := range len(part.At) - 1 {
			a, err := loadPart(ctx, f.Dir, []storedRun{part}, key+i)
			b, err2 := loadPart(ctx, f.Dir, []storedRun{two[key]}, key+i)
			if err != nil || err2 != nil || !slices.Equal(a, b) {
				t.Errorf("part %d differs: %v, %v", key+i, err, err2)
			}
		}
	}
}
