package drift

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/profile"
)

// drawn draws rows of eight columns: normal, skewed, with many zeros, with few values, missing
// ones, two categories, and heavy tails.
func drawn(r *rand.Rand, n int, change func(row []float32)) *rowio.Block {
	b := &rowio.Block{D: 8}
	for range n {
		row := []float32{
			float32(r.NormFloat64()), float32(r.ExpFloat64()), 0, float32(r.IntN(5)), float32(3 + r.NormFloat64()),
			float32(min(r.IntN(4), r.IntN(4))), float32(r.IntN(40)), float32(r.NormFloat64() / (math.Abs(r.NormFloat64()) +
				0.01)),
		}
		if r.IntN(5) == 0 {
			row[2] = float32(r.IntN(100))
		}
		if r.IntN(20) == 0 {
			row[4] = float32(math.NaN())
		}
		if change != nil {
			change(row)
		}
		b.X = append(b.X, row...)
		b.N++
	}
	return b
}

var someValues = []int{0, 0, 0, 0, 0, 5, 41, 0} // of categories, one of them for other texts

var tableNames = Names{Columns: []string{"normal", "skewed", "zeros", "few", "gaps", "site", "town", "tails"}}

func summed(b *rowio.Block) *profile.Sum {
	s := profile.NewTable(profile.Options{}, someValues)
	s.AddBlock(b, rowio.HashBlock(nil, 1, b))
	for i := range b.N {
		s.AddLabel([]byte(fmt.Sprint(i % 3)))
	}
	return s
}

func counted(s *profile.Statistics, b *rowio.Block) *Counts {
	c := NewCounts(s)
	c.Add(b, 0)
	return c
}

// In 1,000 draws without drift, at most 5% report a distance above 0 as certain.
func TestColumnsRaiseFewFalseAlarms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	draws := campaign.Pick(40, 1000)
	alarms := [2]int{}
	for range draws {
		ref := summed(drawn(r, 3000, nil)).Statistics()
		part := drawn(r, 1+r.IntN(4000), nil)
		for i, report := range []*Report{CompareCounts(ref, counted(ref, part), 0, tableNames),
			CompareSum(ref, summed(part), 0, tableNames)} {
			if report.largest() > 0 {
				alarms[i]++
				t.Logf("%+v", report)
			}
		}
	}
	for i, n := range alarms {
		if float64(n) > 0.05*float64(draws) {
			t.Errorf("%d alarms in %d draws (%d)", n, draws, i)
		}
	}
}

// caught is what happens to rows, with the kind of drift that shows it.
var caught = []struct {
	name   string
	kind   Kind
	column string
	change func(row []float32)
}{
	{"shifted by 100", Range, "normal", func(row []float32) { row[0] += 100 }},
	{"shifted by one deviation", Values, "normal", func(row []float32) { row[0]++ }},
	{"rescaled by 3", Values, "gaps", func(row []float32) { row[4] *= 3 }},
	{"constant", Values, "normal", func(row []float32) { row[0] = 0.1 }},
	{"swapped with another", Values, "normal", func(row []float32) { row[0], row[1] = row[1], row[0] }},
	{"a third missing", Missing, "gaps", func(row []float32) {
		if int(row[6])%3 == 0 {
			row[4] = float32(math.NaN())
		}
	}},
	{"no zeros", Values, "zeros", func(row []float32) { row[2]++ }},
	{"a level renamed", Levels, "site", func(row []float32) {
		if row[5] == 1 {
			row[5] = 4
		}
	}},
}

func TestMovedColumnsAreNamed(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	ref := summed(drawn(r, 20_000, nil)).Statistics()
	for _, c := range caught {
		part := drawn(r, 5000, c.change)
		for i, report := range []*Report{CompareCounts(ref, counted(ref, part), 0, tableNames),
			CompareSum(ref, summed(part), 0, tableNames)} {
			if len(report.Columns) == 0 {
				t.Errorf("%s (%d): not caught", c.name, i)
				continue
			}
			k := slices.IndexFunc(report.Columns, func(d Column) bool { return d.Name == c.column })
			if k < 0 || i == 0 && report.Columns[k].Kind != c.kind || report.Columns[k].AtLeast > report.Columns[k].Distance ||
				report.Columns[k].AtLeast < 0.05 {
				t.Errorf("%s (%d): %+v", c.name, i, report.Columns)
			}
			if text := strings.Join(report.Exceeds(0.05, 0), "; "); !strings.Contains(text, c.column+": ") {
				t.Errorf("%s: %q", c.name, text)
			}
			// Nothing else has moved but what was swapped with it.
			if len(report.Columns) > 1+strings.Count(c.name, "swapped") {
				t.Errorf("%s: %+v", c.name, report.Columns)
			}
		}
	}
}

// Figures of 20,000 rows show a small shift of the mean, new labels, and rows that occur twice.
func TestDriftOfSumsFindsShiftsLabelsAndCopies(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	ref := summed(drawn(r, 20_000, nil)).Statistics()
	report := CompareSum(ref, summed(drawn(r, 20_000, func(row []float32) { row[0] += 0.15 })), 0, tableNames)
	if len(report.Columns) != 1 || report.Columns[0].Kind != Mean || report.Columns[0].Name != "normal" ||
		report.Columns[0].AtLeast > 0.06 {
		t.Errorf("a small shift: %+v", report)
	}
	part := drawn(r, 6000, nil)
	twice := &rowio.Block{N: 2 * part.N, D: part.D, X: append(slices.Clone(part.X), part.X...)}
	report = CompareSum(ref, summed(twice), 0, tableNames)
	if len(report.Columns) != 1 || report.Columns[0].Kind != Repeated || report.Columns[0].AtLeast < 0.2 ||
		!strings.Contains(report.Columns[0].Detail, "are copies of others") {
		t.Errorf("a part that occurs twice: %+v", report)
	}
	s := summed(part)
	for range 3000 {
		s.AddLabel([]byte("new"))
	}
	if report = CompareSum(ref, s, 0, tableNames); len(report.Columns) != 1 || report.Columns[0].Name != "labels" ||
		!strings.Contains(report.Columns[0].Detail, `"new"`) {
		t.Errorf("labels: %+v", report)
	}
}

// Tables with few distinct rows are not a false alarm, though their sample has each row once.
func TestCopiesAreNoDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	few := func(n int) *profile.Sum {
		b := &rowio.Block{D: 2}
		for range n {
			v := math.Floor(30 * math.Abs(r.NormFloat64()))
			b.X = append(b.X, float32(v), float32(r.IntN(3)))
			b.N++
		}
		s := profile.New(profile.Options{})
		s.AddBlock(b, rowio.HashBlock(nil, 1, b))
		return s
	}
	for _, n := range []int{200, 3000, 50_000} {
		if report := CompareSum(few(30_000).Statistics(), few(n), 0, Names{}); report.largest() > 0 {
			t.Errorf("%d rows: %+v", n, report)
		}
	}
}

func TestCountsDoNotDependOnTheCut(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	ref := summed(drawn(r, 3000, nil)).Statistics()
	b := drawn(r, 1000, nil)
	b.Bad = []int{3, 500}
	whole, merged := counted(ref, b), NewCounts(ref)
	if whole.rows != 998 {
		t.Errorf("%d rows", whole.rows)
	}
	for _, cut := range [][2]int{{400, 1000}, {0, 400}} {
		part := &rowio.Block{N: cut[1] - cut[0], D: 8, X: b.X[cut[0]*8 : cut[1]*8]}
		for _, bad := range b.Bad {
			if bad >= cut[0] && bad < cut[1] {
				part.Bad = append(part.Bad, bad-cut[0])
			}
		}
		read := NewCounts(ref)
		if err := wire.Unmarshal(read, wire.Marshal(counted(ref, part))); err != nil {
			t.Fatal(err)
		}
		merged.Merge(read)
	}
	if !bytes.Equal(wire.Marshal(whole), wire.Marshal(merged)) {
		t.Error("counts of parts differ from the counts of the whole")
	}
	some, all := NewCounts(ref), drawn(r, 4000, nil)
	some.Add(all, 3)
	if n := some.rows; n < 850 || n > 1150 {
		t.Errorf("%d of 4,000 rows, want one in 4", n)
	}
	// Each row is in the cell that its value says.
	n, counts := whole.present(2)
	sum := int64(0)
	for _, c := range counts {
		sum += c
	}
	zeros := int64(0)
	for i := range b.N {
		if i != 3 && i != 500 && b.Row(i)[2] == 0 {
			zeros++
		}
	}
	if sum != n || counts[whole.columns[2].cell(0)] != zeros {
		t.Errorf("%d of %d rows are in cells, %d zeros of %d", sum, n, counts[whole.columns[2].cell(0)], zeros)
	}
}

func TestCellMatchesALinearSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	ref := summed(drawn(r, 500, nil)).Statistics()
	ref.Deciles[0][4], ref.Deciles[1][0] = float32(math.Copysign(0, -1)), math.MaxFloat32
	c := NewCounts(ref)
	for _, j := range []int{0, 1, 2, 3, 4, 7} {
		p := &c.columns[j]
		for _, e := range p.edges {
			for _, x := range []float32{e, math.Nextafter32(e, -1e38), math.Nextafter32(e, math.MaxFloat32), -e, e / 2, 1e-45,
				math.MaxFloat32, -math.MaxFloat32} {
				if x == 0 {
					continue
				}
				i, ok := slices.BinarySearch(p.edges, x)
				want := 2 * i
				if ok {
					want++
				}
				if got := p.cell(x); got != want {
					t.Errorf("column %d, %g: cell %d, want %d of %v", j, x, got, want, p.edges)
				}
			}
		}
	}
}

// Rows that differ little are sampled as often as others.
func TestDigestsAreUniform(t *testing.T) {
	for _, d := range []int{1, 2, 3, 4, 7, 50} {
		for name, value := range map[string]func(i, j int) float32{
			"counting": func(i, j int) float32 { return float32(i) },
			"one":      func(i, j int) float32 { return float32(max(0, 1-(j-i%d)*(j-i%d))) * float32(1+i/d) },
			"digits":   func(i, j int) float32 { return float32(i>>(j%12)&1*(1+i/4096)) + float32(i/4096*j) },
		} {
			if name == "digits" && d < 12 {
				continue
			}
			row := make([]float32, d)
			var bits [8]int
			const n = 4000
			for i := range n {
				for j := range row {
					row[j] = value(i, j)
				}
				h := digest(row)
				for k := range bits {
					bits[k] += int(h >> k & 1)
				}
			}
			for k, v := range bits {
				if math.Abs(float64(v)-n/2) > 5*math.Sqrt(n)/2 {
					t.Errorf("%d columns, %s: bit %d is set in %d of %d rows", d, name, k, v, n)
				}
			}
		}
	}
}

func FuzzUnmarshalCounts(f *testing.F) {
	r := rand.New(rand.NewPCG(6, 6))
	ref := summed(drawn(r, 300, nil)).Statistics()
	data := wire.Marshal(counted(ref, drawn(r, 50, nil)))
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Fuzz(func(t *testing.T, data []byte) {
		c := NewCounts(ref)
		if wire.Unmarshal(c, data) != nil {
			return
		}
		if again := wire.Marshal(c); !bytes.Equal(again, data) {
			t.Errorf("%x became %x", data, again)
		}
		CompareCounts(ref, c, 0, tableNames)
	})
}

func BenchmarkAddRow(b *testing.B) {
	for _, d := range []int{10, 784} {
		r := rand.New(rand.NewPCG(7, 7))
		block := &rowio.Block{D: d}
		for range 1000 {
			for range d {
				block.X = append(block.X, float32(r.NormFloat64()))
			}
			block.N++
		}
		s := profile.New(profile.Options{})
		s.AddBlock(block, rowio.HashBlock(nil, 1, block))
		c := NewCounts(s.Statistics())
		b.Run(fmt.Sprint(d), func(b *testing.B) {
			b.SetBytes(int64(4 * d))
			i := 0
			for b.Loop() {
				c.addRow(block.Row(i % 1000))
				i++
			}
		})
	}
}

// A share that follows from deciles is reported as a bound: if 99 in 100 rows have 0 in a column, deciles show
// nine in ten.
func TestDecilesAreNamedAsBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	rare := func(share float64) *rowio.Block {
		return drawn(r, 20_000, func(row []float32) {
			row[3] = 9
			if r.Float64() < share {
				row[3] = 10
			}
		})
	}
	ref := summed(rare(0.01)).Statistics()
	report := CompareCounts(ref, counted(ref, rare(0.9)), 0, tableNames)
	if len(report.Columns) != 1 || !strings.HasSuffix(report.Columns[0].Detail, "% up to 9, was at least 90%") {
		t.Errorf("%+v", report.Columns)
	}
	low := drawn(r, 5000, func(row []float32) { row[0] -= 2 })
	if report := CompareCounts(ref, counted(ref, low), 0, tableNames); !strings.Contains(report.Columns[0].Detail,
		", was at most ") && !strings.Contains(report.Columns[1].Detail, ", was at most ") {
		t.Errorf("%+v", report.Columns)
	}
}

// A column in other units is reported after 60 rows, because most of its values, on both sides together, are
// outside the earlier range, or most earlier values are outside of its own.
func TestColumnInOtherUnitsIsNoticedInFewRows(t *testing.T) {
	rowsIn := func(seed uint64, unit float32) *profile.Sum {
		r := rand.New(rand.NewPCG(seed, 1))
		b := &rowio.Block{D: 2}
		for range 60 {
			b.X = append(b.X, unit*(4*r.Float32()-2), r.Float32())
			b.N++
		}
		s := profile.New(profile.Options{})
		s.AddBlock(b, rowio.HashBlock(nil, 1, b))
		return s
	}
	for seed := range uint64(20) {
		for _, c := range []struct {
			was, is float32
			least   float64
		}{{1, 1, 0}, {1, 100, 0.5}, {100, 1, 0.4}} {
			report := CompareSum(rowsIn(seed, c.was).Statistics(), rowsIn(seed+100, c.is), 0, Names{})
			if got := report.largest(); got < c.least || c.least == 0 && got > 0 {
				t.Errorf("seed %d, units %g and %g: drift of at least %.3g, want %g: %+v", seed, c.was, c.is, got, c.least,
					report.Columns)
			}
		}
	}
}

// largest returns the largest certain distance of a column.
func (r *Report) largest() float64 {
	if len(r.Columns) == 0 {
		return 0
	}
	return r.Columns[0].AtLeast
}
