package gram

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/models/ridge"
)

// A lane that carries rows and is lost has the same rows in the end as an undisturbed one, which are those of the
// sums, and keeps two checkpoints.
func TestRowsOfALostLaneAreThoseOfAnUndisturbedOne(t *testing.T) {
	const n = 3000
	p := passOf(t, table(n, false), 1, false)
	p.Shards = p.Data.Shards(9_000)
	sums, err := runLane(t, p, storePass(t, p), 0)
	if err != nil {
		t.Fatal(err)
	}
	p.Fold.Rows = true
	shape := p.Shape(64)
	rowsOf := func(r laneRun, uri string) *ridge.Rows {
		t.Helper()
		rows, err := loadRows(context.Background(), p, State{Dir: filepath.Dir(uri)}, bytes.Join(r.lines, []byte("\n")), shape)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	uri := storePass(t, p)
	whole, err := runLane(t, p, uri, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := rowsOf(whole, uri)
	for f, set := range want.Folds {
		sum := ridge.NewSum(shape)
		sum.AddPoints(set, want.Steps, 2)
		for k := range ridge.NumParts(shape) {
			st, err := storePart(context.Background(), t.TempDir(), partName, 0, sum.Part(k))
			if err != nil {
				t.Fatal(err)
			}
			if st.SHA256 != sums.parts[partKey(shape, f, k)] {
				t.Errorf("fold %d: part %d of the sum of its rows differs", f, k)
			}
		}
	}
	for _, stop := range []int{1, 3, len(p.Shards) - 1} {
		uri := storePass(t, p)
		if _, err := runLane(t, p, uri, stop); err == nil {
			t.Fatal("no error")
		}
		last, err := runLane(t, p, uri, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, rowsOf(last, uri)); diff != "" {
			t.Errorf("lost after %d shards: %s", stop, diff)
		}
		saved, err := filepath.Glob(filepath.Join(filepath.Dir(uri), "saved-*"))
		if err != nil {
			t.Fatal(err)
		}
		if len(saved) > 2*p.Fold.Folds {
			t.Errorf("%d files of checkpoints of %d folds", len(saved), p.Fold.Folds)
		}
	}
}
