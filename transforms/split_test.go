package transforms

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"

	"github.com/bochner-ml/bochner/io/storage"
)

// A runner gets a part of a reader only if it may, if the reader has begun, and if the part takes long enough
// to justify its sums.
func TestSmallPartsOfAReaderAreNotSplitOff(t *testing.T) {
	all := offsetrange.Restriction{End: 10}
	for name, c := range map[string]struct {
		scan     Scan
		claimed  int64         // the last shard; -1 if the reader has not begun
		ago      time.Duration // when it began
		fraction float64
		end      int64 // of what is left to the reader
	}{
		"not allowed":         {Scan{}, 3, time.Hour, 0, 10},
		"not begun":           {Scan{Split: true}, -1, 0, 0, 10},
		"just begun":          {Scan{Split: true}, 0, 0, 0, 10},
		"half of 8 long ones": {Scan{Split: true}, 1, 40 * time.Second, 0.5, 6},
		"half of 8 short":     {Scan{Split: true}, 1, 20 * time.Second, 0.5, 10},
		"all of 8 short":      {Scan{Split: true}, 1, 20 * time.Second, 0, 2},
		"a long one":          {Scan{Split: true}, 8, 10 * time.Minute, 0, 9},
		"the last":            {Scan{Split: true}, 9, time.Hour, 0, 10},
		"any part":            {Scan{Split: true, Checkpoint: -1}, 0, 0, 0.5, 5},
		"longer than an hour": {Scan{Split: true, Checkpoint: time.Hour}, 1, 10 * time.Minute, 0, 10},
	} {
		f := &Splittable{Fn{Scan: c.scan}}
		rt := f.CreateTracker(all).Rt.(*tracker)
		for i := range c.claimed + 1 {
			if !rt.TryClaim(i) {
				t.Fatalf("%s: shard %d is not claimed", name, i)
			}
		}
		if c.claimed >= 0 {
			rt.begun = time.Now().Add(-c.ago)
		}
		left, rest, err := rt.TrySplit(c.fraction)
		if err != nil || left != (offsetrange.Restriction{End: c.end}) || (rest == nil) != (c.end == 10) {
			t.Errorf("%s: left %v, given %v, %v; want an end of %d", name, left, rest, err, c.end)
		}
		if rest != nil && rest != (offsetrange.Restriction{Start: c.end, End: 10}) {
			t.Errorf("%s: given %v", name, rest)
		}
	}
}

// Readers are cut where checkpoints begin. Checkpoints for another number of readers are not used, nor are
// checkpoints whose shards another one covers. A damaged checkpoint costs only its own rows.
func TestContinuedScanCutsReadersAtCheckpoints(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	sc := Scan{Pass: filepath.Join(dir, "pass-train.json"), Readers: 3}
	store := func(sc Scan, reader, from, shards int) string {
		name := sc.checkpointFile(reader, from)
		data := fmt.Sprintf(`{"shards": %d, "rows": %d}`, shards, 10*shards)
		if err := storage.WriteState(ctx, name, []byte(data)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	other := sc
	other.Readers = 2
	store(other, 0, 5, 1)
	other = sc
	other.Pass = filepath.Join(dir, "pass-other.json")
	store(other, 0, 6, 1)

	store(sc, 0, 0, 4)
	store(sc, 0, 12, 1)
	store(sc, 0, 7, 2)
	store(sc, 0, 3, 2) // is in the first
	store(sc, 2, 9, 1)
	if err := os.Truncate(store(sc, 2, 4, 3), 9); err != nil {
		t.Fatal(err)
	}
	rows, err := sc.Continue(ctx)
	if err != nil || rows != 10*(4+1+2+1) {
		t.Errorf("%d rows: %v", rows, err)
	}
	if want := map[int][]int{0: {7, 12}, 2: {9}}; !reflect.DeepEqual(sc.Cuts, want) {
		t.Errorf("cuts %v, want %v", sc.Cuts, want)
	}
	f := &Splittable{Fn{Scan: sc}}
	for reader, want := range [][]offsetrange.Restriction{
		{{Start: 0, End: 7}, {Start: 7, End: 12}, {Start: 12, End: 20}}, {{Start: 0, End: 20}}, {{Start: 0, End: 9},
			{Start: 9, End: 20}},
	} {
		if got := f.SplitRestriction(reader, offsetrange.Restriction{End: 20}); !reflect.DeepEqual(got, want) {
			t.Errorf("reader %d is cut into %v, want %v", reader, got, want)
		}
	}
}
