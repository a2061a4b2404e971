package preprocess

import (
	"bytes"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/wire"
)

// labelled is a table of a number and two categories, with rows, their hashes and labels.
type labelled struct {
	x      [][]float32
	hashes []uint64
	labels []int
}

var labelledTable = &schema.Table{Columns: []schema.Column{
	{Name: "a", Type: schema.Category, Levels: []string{"x", "y"}},
	{Name: "n", Type: schema.Number},
	{Name: "b", Type: schema.Category, Buckets: 5},
}}

func labelledRows(r *rand.Rand, n, classes int) (t labelled) {
	for range n {
		row := []float32{float32(r.IntN(3)), float32(r.NormFloat64()), float32(r.IntN(5))}
		if r.IntN(5) == 0 {
			row[2*r.IntN(2)] = nan
		}
		t.x, t.hashes = append(t.x, row), append(t.hashes, r.Uint64())
		label := r.IntN(max(classes, 1))
		if classes == 0 {
			label = r.IntN(65535) - 32767
		}
		t.labels = append(t.labels, label)
	}
	return t
}

func (l labelled) sum(t testing.TB, cut CrossFit, classes int) *LabelSums {
	t.Helper()
	s, err := NewLabelSums(cut, classes, Categories(labelledTable, ColumnOptions{Encode: TargetEncoding}, TargetEncoding))
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range l.x {
		s.Add(row, l.hashes[i], l.labels[i], 1)
	}
	return s
}

func (l labelled) recipe(t testing.TB, cut CrossFit, classes int) Columns {
	t.Helper()
	var flat []float32
	for _, row := range l.x {
		flat = append(flat, row...)
	}
	r, _, err := ChooseColumns(labelledTable, statisticsOf(labelledTable, flat, len(l.x)), ColumnOptions{Encode: TargetEncoding},
		l.sum(t, cut, classes), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mean is the dumb twin: the smoothed mean label of the rows that use accepts and whose slot is
// alike, or of class c.
func (l labelled) mean(slot int, like float32, class int, use func(i int) bool) float32 {
	ok := func(v float32) bool { return v == like || v != v && like != like }
	value := func(i int) float64 {
		if class < 0 {
			return float64(l.labels[i])
		}
		if l.labels[i] == class {
			return 1
		}
		return 0
	}
	var all, of, n, m float64
	for i, row := range l.x {
		if !use(i) {
			continue
		}
		all, n = all+value(i), n+1
		if ok(row[slot]) {
			of, m = of+value(i), m+1
		}
	}
	return float32((of + smoothing*(all/n)) / (m + smoothing))
}

// Each row has the mean labels of other rows: held-out and new rows have means over all training rows, and
// training rows means over all other parts.
func TestTargetStatisticsAreOfOtherRows(t *testing.T) {
	for _, c := range []struct {
		classes int
		cut     CrossFit
	}{{2, CrossFit{Held: 4, Parts: 3}}, {2, CrossFit{Parts: 5}}, {3, CrossFit{Held: 5, Parts: 5}}, {0, CrossFit{Held: 3, Parts: 2}}} {
		l := labelledRows(rand.New(rand.NewPCG(1, uint64(c.classes))), 300, c.classes)
		r := l.recipe(t, c.cut, c.classes)
		encoder := TargetEncoderOf(features.Chain{Steps: []features.Recipe{r}})
		held := 0
		for i, row := range l.x {
			own := c.cut.part(l.hashes[i])
			if own == 0 {
				held++
			}
			training := slices.Clone(row)
			b := &rowio.Block{N: 1, D: len(row), X: training}
			encoder.Block(b, l.hashes[i:i+1])
			for _, of := range []struct {
				row     []float32
				without int
			}{{row, -1}, {training, own}} {
				use := func(j int) bool {
					part := c.cut.part(l.hashes[j])
					return part > 0 && (of.without <= 0 || part != of.without)
				}
				var want []float32
				first, last := 1, 1
				switch c.classes {
				case 0:
					first, last = -1, -1
				case 3:
					first, last = 0, 2
				}
				for class := first; class <= last; class++ {
					want = append(want, l.mean(0, row[0], class, use))
				}
				want = append(want, row[1])
				for class := first; class <= last; class++ {
					want = append(want, l.mean(2, row[2], class, use))
				}
				have := applyColumns(t, r, of.row, 1)
				for j, v := range want {
					if math.Abs(float64(have[j]-v)) > 1e-6*(1+math.Abs(float64(v))) {
						t.Fatalf("%+v: row %d without part %d: number %d is %v, want %v", c, i, of.without, j, have[j], v)
					}
				}
			}
		}
		if want := len(l.x) / max(c.cut.Held, 1); c.cut.Held > 0 && (held < want/2 || held > 2*want) || c.cut.Held == 0 &&
			held > 0 {
			t.Errorf("%+v: %d rows held out", c, held)
		}
	}
}

// The labels of held-out rows change nothing, and the label of a training row does not change its
// own numbers.
func TestTargetStatisticsLeakNoLabel(t *testing.T) {
	cut := CrossFit{Held: 4, Parts: 3}
	l := labelledRows(rand.New(rand.NewPCG(4, 4)), 200, 2)
	before := l.recipe(t, cut, 2)
	encoded := func(r Columns, i int) []float32 {
		row := slices.Clone(l.x[i])
		TargetEncoderOf(r).Row(row, l.hashes[i])
		return applyColumns(t, r, row, 1)
	}
	for i := range l.x {
		was := encoded(before, i)
		l.labels[i] ^= 1
		after := l.recipe(t, cut, 2)
		if !slices.Equal(encoded(after, i), was) {
			t.Fatalf("row %d knows its label", i)
		}
		if held := cut.part(l.hashes[i]) == 0; held != slices.Equal(tables(after), tables(before)) {
			t.Fatalf("row %d: held out %v", i, held)
		}
		l.labels[i] ^= 1
	}
}

func tables(r Columns) (all []float32) {
	for _, s := range r.Slots {
		if s.Lookup != nil {
			all = append(all, s.Lookup.Numbers...)
		}
	}
	return all
}

func TestSumsOfLabelsDoNotDependOnTheirOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, classes := range []int{0, 2, 7} {
		l := labelledRows(r, 400, classes)
		cut := CrossFit{Held: 3, Parts: 4}
		want := wire.Marshal(l.sum(t, cut, classes))
		half := len(l.x) / 2
		a, b := labelled{l.x[:half], l.hashes[:half], l.labels[:half]}, labelled{l.x[half:], l.hashes[half:], l.labels[half:]}
		data := wire.Marshal(a.sum(t, cut, classes))
		back := new(LabelSums)
		if err := wire.Unmarshal(back, data); err != nil {
			t.Fatal(err)
		}
		sum := b.sum(t, cut, classes)
		sum.Merge(back)
		if have := wire.Marshal(sum); !bytes.Equal(have, want) {
			t.Errorf("%d classes: another cut gives other sums", classes)
		}
		for n := range want {
			if wire.Unmarshal(new(LabelSums), want[:n]) == nil {
				t.Fatalf("%d of %d bytes accepted", n, len(want))
			}
		}
		if wire.Unmarshal(new(LabelSums), append(slices.Clone(want), 0)) == nil {
			t.Error("a byte too many accepted")
		}
	}
}

// A row of weight 3 equals three rows, for any unit of weights.
func TestWeightsEqualRepeatedRows(t *testing.T) {
	l := labelledRows(rand.New(rand.NewPCG(6, 6)), 100, 0)
	cut := CrossFit{Held: 3, Parts: 4}
	once, err := NewLabelSums(cut, 0, Categories(labelledTable, ColumnOptions{Encode: TargetEncoding}, TargetEncoding))
	if err != nil {
		t.Fatal(err)
	}
	once.Unit = 0.5
	repeated := l.sum(t, cut, 0)
	for i, row := range l.x {
		w := int64(i % 4)
		once.Add(row, l.hashes[i], l.labels[i], 2*w)
		for range w - 1 {
			repeated.Add(row, l.hashes[i], l.labels[i], 1)
		}
		if w == 0 {
			repeated.Add(row, l.hashes[i], l.labels[i], -1)
		}
	}
	for i := range once.sums {
		if !slices.Equal(once.table(i).Numbers, repeated.table(i).Numbers) {
			t.Errorf("category %d: other statistics", i)
		}
	}
}

func TestTooManySumsAreRejected(t *testing.T) {
	for _, c := range []struct {
		cut        CrossFit
		classes    int
		categories []Category
		want       string
	}{
		{CrossFit{Parts: 5}, 1000, []Category{{0, 1 << 20}}, "hash categories to fewer buckets"},
		{CrossFit{Parts: 1}, 2, nil, "preprocess: held must be 0 or 2"},
		{CrossFit{Held: 1, Parts: 2}, 2, nil, "preprocess: held"},
		{CrossFit{Parts: 2}, 1, nil, "of 1 classes"},
		{CrossFit{Parts: 2}, 2, []Category{{-1, 3}}, "slot -1"},
		{CrossFit{Parts: 2}, 2, []Category{{1, 0}}, "of 0 levels"},
	} {
		if _, err := NewLabelSums(c.cut, c.classes, c.categories); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c, err, c.want)
		}
	}
	r := Columns{Slots: []Slot{{Lookup: &Lookup{Values: 1, Out: 1, Parts: 2, Numbers: make(features.Floats, 6)}}}}
	if err := r.Validate(); err == nil || !strings.Contains(err.Error(), "slot 1: table of 2 parts") {
		t.Error(err)
	}
	r.CrossFit = &CrossFit{Parts: 2}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	r.Slots[0].Lookup.Parts = 3
	if err := r.Validate(); err == nil || !strings.Contains(err.Error(), "4 times, take 8") {
		t.Error(err)
	}
	if TargetEncoderOf(recipe) != nil || TargetEncoderOf(features.Chain{Steps: []features.Recipe{recipe}}) != nil {
		t.Error("a encoder of a recipe without parts")
	}
}

func FuzzLabelSumsUnmarshalBinary(f *testing.F) {
	for _, classes := range []int{0, 2, 3} {
		data := wire.Marshal(labelledRows(rand.New(rand.NewPCG(1, 1)), 30, classes).sum(f, CrossFit{Held: 3, Parts: 2}, classes))
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s := new(LabelSums)
		err := wire.Unmarshal(s, data)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > uint64(100*len(data)+1<<20) {
			t.Fatalf("%d bytes allocated for %d", n, len(data))
		}
		if err != nil {
			return
		}
		again := wire.Marshal(s)
		back := new(LabelSums)
		if err := wire.Unmarshal(back, again); err != nil {
			t.Fatal(err)
		}
		back.Merge(s)
	})
}
