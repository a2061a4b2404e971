package gram

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/models/ridge"
)

// solverOf returns the solver of the files in the directory of the pass file.
func solverOf(p *Pass, uri string) *solver {
	return &solver{pass: p, state: State{Dir: filepath.Dir(uri)}, source: ridge.Source{Shape: p.Shape(64)}, threads: 2}
}

// A reader that stores rows and is lost ends with the same rows as an undisturbed reader, and keeps two checkpoints.
// The rows give the same sums as a reader that stores sums.
func TestLostReaderLosesNoRows(t *testing.T) {
	const n = 1500
	p := passOf(t, table(n), 1)
	p.Shards = p.Data.Shards(5_000)
	sums, err := runReader(t, p, storePass(t, p), 0)
	if err != nil {
		t.Fatal(err)
	}
	p.Spec.Rows = true
	shape := p.Shape(64)
	rowsOf := func(r readerRun, uri string) *ridge.FoldRows {
		t.Helper()
		rows, err := solverOf(p, uri).loadRows(t.Context(), bytes.Join(r.lines, []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	uri := storePass(t, p)
	whole, err := runReader(t, p, uri, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := rowsOf(whole, uri)
	for f, set := range want.Folds {
		sum := ridge.NewSum(shape)
		sum.AddGridRows(want.Steps, 2, set)
		for k := range shape.NumParts() {
			if string(EncodePart(sum.Part(k))) != sums.parts[f*shape.NumParts()+k] {
				t.Errorf("fold %d: part %d of the sum of its rows differs", f, k)
			}
		}
	}
	const some = 30
	for _, stripes := range []int{1, 3} {
		for _, stop := range []int{0, 3, len(p.Shards) - 1} {
			uri := storePass(t, p)
			var all readerRun
			for stripe := range stripes {
				if stop > 0 {
					if _, err := runStripe(t, p, uri, stop, stripe, stripes, some); err == nil {
						t.Fatal("no error")
					}
				}
				last, err := runStripe(t, p, uri, 0, stripe, stripes, some)
				if err != nil {
					t.Fatal(err)
				}
				if last.held >= some {
					t.Errorf("a reader holds %d rows of a fold of which %d fill a file", last.held, some)
				}
				all.lines = append(all.lines, last.lines...)
			}
			if diff := cmp.Diff(want, rowsOf(all, uri)); diff != "" {
				t.Errorf("%d stripes, lost after %d shards: %s", stripes, stop, diff)
			}
			saved, err := filepath.Glob(filepath.Join(filepath.Dir(uri), "saved-*"))
			if err != nil {
				t.Fatal(err)
			}
			if len(saved) > 2*p.Spec.Folds {
				t.Errorf("%d files of checkpoints of %d folds", len(saved), p.Spec.Folds)
			}
		}
	}
}

// A complete file that was damaged later is found when a reader continues, and its rows are read again.
func TestDamagedFileOfRowsIsMadeAgain(t *testing.T) {
	p := passOf(t, table(3000), 1)
	p.Shards, p.Spec.Rows = p.Data.Shards(9_000), true
	uri := storePass(t, p)
	if _, err := runStripe(t, p, uri, 3, 0, 1, 30); err == nil {
		t.Fatal("no error")
	}
	full, err := filepath.Glob(filepath.Join(filepath.Dir(uri), partName+"-*"))
	if err != nil || len(full) < 5 {
		t.Fatalf("%d full files: %v", len(full), err)
	}
	if err := os.Truncate(full[0], 100); err != nil {
		t.Fatal(err)
	}
	last, err := runStripe(t, p, uri, 0, 0, 1, 30)
	if err != nil || last.read != 3000 {
		t.Errorf("%d rows were read again: %v", last.read, err)
	}
	if _, err := solverOf(p, uri).loadRows(t.Context(), bytes.Join(last.lines, []byte("\n"))); err != nil {
		t.Error(err)
	}
}
