package gram

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/models/ridge"
)

func TestPartsRoundTrip(t *testing.T) {
	for _, c := range []struct {
		values []float64
		width  int
	}{
		{nil, 1},
		{[]float64{0, 1, -1, 127, -128}, 1},
		{[]float64{128, -5, 3}, 2},
		{[]float64{-129}, 2},
		{[]float64{0, 1, -1, 1<<31 - 1, -1 << 31}, 4},
		{[]float64{0, 1 << 31, -7, 12}, 5},
		{[]float64{-1<<31 - 1}, 5},
		{[]float64{1<<39 - 1, -1 << 39, 1, 2, 3, 4, 5, 6, 7}, 5},
		{[]float64{1 << 39}, 6},
		{[]float64{1 << 53, -1 << 53, 3}, 7},
		{[]float64{0.5, 1 << 53}, 8},
		{[]float64{1 << 62}, 8},
	} {
		data := EncodePart(c.values)
		if want := 1 + c.width*len(c.values); len(data) != want {
			t.Errorf("%v: %d bytes, want %d", c.values, len(data), want)
		}
		got, err := DecodePart(data)
		if err != nil || !slices.Equal(got, c.values) {
			t.Errorf("%v came back as %v, %v", c.values, got, err)
		}
	}
}

func TestDamagedPartsAreErrors(t *testing.T) {
	for _, data := range [][]byte{nil, {0}, {3, 1, 2}, {16}, {9, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {4, 1}, {4, 1, 2, 3, 4, 5},
		{8, 1, 2, 3, 4}} {
		if p, err := DecodePart(data); err == nil {
			t.Errorf("% x: %v", data, p)
		}
	}
}

// Adding a part to numbers gives the same as DecodePart and a sum, for every width and length.
func TestPartsAreAddedAsTheyAreRead(t *testing.T) {
	for bits := range 60 {
		for n := range 11 {
			values, sum := make([]float64, n), make([]float64, n)
			for i := range values {
				values[i] = float64(int64(1)<<bits - 1)
				if i%3 == 1 {
					values[i] = -values[i] - 1
				}
				sum[i] = float64(i)
			}
			data := appendPart([]byte("old")[:0:3], values) // in memory that had something else
			if !slices.Equal(data, EncodePart(values)) {
				t.Errorf("%v: %v in other memory", values, data)
			}
			got, err := DecodePart(data)
			if err != nil || !slices.Equal(got, values) {
				t.Errorf("%v came back as %v, %v", values, got, err)
			}
			addValues(sum, data)
			for i, v := range values {
				if want := float64(i) + v; sum[i] != want {
					t.Errorf("%v: %g at %d, want %g", values, sum[i], i, want)
				}
			}
		}
	}
}

// A reader stores all parts of a sum in one file, and a reader of one part reads only that part.
func TestReaderStoresItsSumInOneFile(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	shape := ridge.Shape{Dim: 1500, Outputs: 2}
	n := shape.NumParts()
	cut := ridge.Stripe{First: n / 2, End: 2*n - 1} // of two folds
	values := func(key int) []float64 {
		v := make([]float64, shape.PartLen(key%n))
		for i := range v {
			v[i] = float64(key*1_000_003 + i)
		}
		return v
	}
	runs := runsOf(shape, cut)
	all, err := storeRuns(ctx, dir, partName, runs, 3, values)
	if err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d files, want 1: %v", len(files), err)
	}
	if len(runs) < 3 || len(runs) > n/2 {
		t.Errorf("%d runs of %d parts", len(runs), cut.End-cut.First)
	}
	next := cut.First
	for i, st := range all {
		if st.Key != next || st.end() != runs[i].End || (st.end()-1)/n != st.Key/n {
			t.Errorf("run %d has parts %d to %d of %d in a fold", i, st.Key, st.end(), n)
		}
		next = st.end()
	}
	if next != cut.End {
		t.Errorf("runs end at part %d, want %d", next, cut.End)
	}
	for key := cut.First; key < cut.End; key++ {
		if got, err := loadPart(ctx, dir, all, key); err != nil || !slices.Equal(got, values(key)) {
			t.Errorf("part %d differs: %v", key, err)
		}
	}
}
