package rows

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// summingOf returns a bundle with room for the sums of so many windows and that many bytes of rows.
func summingOf(t *testing.T, most, room int) *sumFn {
	t.Helper()
	sealed, err := features.Seal(fourier.Gaussian{In: 2, Out: 16, Width: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := &recipe{Recipe: &sums.Recipe{
		Task: models.Classification, Features: sealed,
		Opened: sums.Opened{Dim: 16, Schema: &dataset.Schema{Dim: 2, Columns: []string{"x", "y"}}}, Input: models.Input{Dim: 2,
			Label: "l"}, Classes: schema.NewVocabulary([]string{"a", "b"}),
		Rule: sums.Rule{Folds: 3, Steps: 127},
	}}
	r.pass.Target = &transforms.Labeling{Classes: r.Classes}
	r.pass.Spec = gram.SpecOf(r.Recipe, 2)
	r.pass.Spec.RowHashes = true
	f := &sumFn{Fn: fn("test", 1)}
	f.Setup()
	t.Cleanup(f.Teardown)
	f.sums = &windowSums{
		recipe: r, records: r.reader(), task: transforms.NewTask(f.Fn),
		windows: map[typex.Window]*windowed{}, openLimit: most, waitingLimit: room, rowLimit: maxRows,
	}
	return f
}

// added returns the sums and the counts of each window.
func added(t *testing.T, f *sumFn, rows []Row, at []typex.Window) (out map[string]summed, elements int) {
	t.Helper()
	out = map[string]summed{}
	emit := func(x summed) {
		elements++
		key := fmt.Sprint(x.at.windows[0])
		if x.Rejected != nil {
			key += " " + x.Rejected.Key
		}
		was, ok := out[key]
		if !ok {
			x.at = nil
			out[key] = x
			return
		}
		for i, part := range x.Parts {
			for j, v := range part {
				was.Parts[i][j] += v
			}
		}
		var err error
		if was.Count, err = was.Count.add(x.Count); err != nil {
			t.Fatal(err)
		}
		was.Count.Files = nil
		out[key] = was
	}
	for i, r := range rows {
		if err := f.add(t.Context(), nil, r, placeIn(typex.NoFiringPane(), at[i], 0), emit); err != nil {
			t.Fatal(err)
		}
		if s := f.sums; len(s.open) > s.openLimit || s.waiting > s.waitingLimit+1024*16 {
			t.Fatalf("row %d: the sums of %d windows and %d bytes of rows are held", i, len(s.open), s.waiting)
		}
	}
	if err := f.FinishBundle(t.Context(), emit); err != nil {
		t.Fatal(err)
	}
	for key, x := range out {
		if listed := len(x.Count.RowHashes) / 8; x.Rejected == nil && int64(listed) != x.Count.Read-x.Count.Rejected {
			t.Errorf("%s: %d of %d rows are listed", key, listed, x.Count.Read-x.Count.Rejected)
		}
		x.Count.RowHashes = fmt.Append(nil, sha256.Sum256(fmt.Append(nil,
			sums.DecodeRowHashes(x.Count.RowHashes)))) // in the order of sums
		out[key] = x
	}
	return out, elements
}

// The sums of windows are the same if rows come sorted or mixed, with memory for all windows or for few; and
// mixed rows do not make elements of a few rows each.
func TestMixedWindowsHaveTheSumsOfSortedOnesInBoundedMemory(t *testing.T) {
	const n, windows = 30000, 7
	r := rand.New(rand.NewPCG(5, 1))
	var rows, sorted []Row
	var at, sortedAt []typex.Window
	for i := range n {
		row := Row{Key: fmt.Sprint(i), Values: []float64{r.NormFloat64(), r.NormFloat64()}, Label: string(rune('a' + i%2))}
		if i%1000 == 0 {
			row.Values[1] = math.NaN()
		}
		start := typex.Window(window.IntervalWindow{Start: 0, End: 10})
		if k := r.IntN(2 * windows); k < windows { // one has half of the rows
			start = window.IntervalWindow{Start: 10 + 10*typex.EventTime(k), End: 20 + 10*typex.EventTime(k)}
		}
		rows, at = append(rows, row), append(at, start)
	}
	for k := range windows + 1 {
		for i := range rows {
			if at[i].(window.IntervalWindow).Start == 10*typex.EventTime(k) {
				sorted, sortedAt = append(sorted, rows[i]), append(sortedAt, at[i])
			}
		}
	}
	want, _ := added(t, summingOf(t, 100, 1<<30), sorted, sortedAt)
	for _, c := range []struct{ most, room, elements, listed int }{
		{100, 1 << 30, windows + 1, 1 << 20}, {2, 1 << 30, windows + 1, 1 << 20}, {2, 100_000, 20, 1 << 20}, {1, 100_000, 30,
			1 << 20},
		{1, 0, 250, 1 << 20}, {100, 1 << 30, 60, 1000},
	} {
		f := summingOf(t, c.most, c.room)
		f.sums.rowLimit = int64(c.listed)
		got, elements := added(t, f, rows, at)
		if d := cmp.Diff(want, got, cmp.AllowUnexported(summed{}),
			cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
			t.Errorf("%+v: %s", c, d)
		}
		if elements -= n / 1000; elements > c.elements || c.listed < n && elements < n/2000 {
			t.Errorf("%+v: %d elements with sums", c, elements)
		}
	}
}
