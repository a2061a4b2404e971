package profile

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/io/wire"
)

var nan = float32(math.NaN())

// typedValues are the values of the columns that randomTyped makes: number, category of 5,
// number that is often missing, category of 300.
var typedValues = []int{0, 5, 0, 300}

func randomTyped(r *rand.Rand, n int) [][]float32 {
	rws := make([][]float32, n)
	for i := range rws {
		row := []float32{float32(r.NormFloat64()), float32(r.IntN(5)), float32(r.IntN(3)), float32(r.IntN(300))}
		for j := range row {
			if r.IntN(4) == 0 {
				row[j] = nan
			}
		}
		rws[i] = row
	}
	return rws
}

func (s *Sum) values() []int {
	values := make([]int, len(s.counts))
	for j, c := range s.counts {
		values[j] = len(c)
	}
	return values
}

func collectTable(rws [][]float32) *Sum {
	s := NewTable(Options{Sample: 30}, typedValues)
	for b := range slices.Chunk(rws, 7) {
		add(s, b)
	}
	return s
}

func TestMissingValuesEnterNoMoment(t *testing.T) {
	s := New(Options{})
	add(s, [][]float32{{2, nan}, {nan, nan}, {0, nan}, {4, nan}})
	got := s.Result()
	want := []Column{
		{Min: 0, Max: 4, Mean: 2, Dev: math.Sqrt(8. / 3), Nonzero: 2, Missing: 1},
		{Missing: 4},
	}
	if !reflect.DeepEqual(got.Columns, want) || got.VarAll != 8./3 || got.MaxNorm != 4 {
		t.Errorf("%+v", got)
	}
	x, n, _ := s.Sample()
	missing := 0
	for _, v := range x {
		if v != v {
			missing++
		}
	}
	if n != 4 || missing != 5 {
		t.Errorf("%d rows with %d missing values in the sample", n, missing)
	}
}

func TestLevelsAreCounted(t *testing.T) {
	rws := randomTyped(rand.New(rand.NewPCG(1, 1)), 500)
	s := collectTable(rws)
	p := s.Result()
	for j, values := range typedValues {
		counts, missing := make([]int64, values), int64(0)
		for _, row := range rws {
			switch {
			case row[j] != row[j]:
				missing++
			case values > 0:
				counts[int(row[j])]++
			}
		}
		if p.Columns[j].Missing != missing || !slices.Equal(s.Levels(j), counts) {
			t.Errorf("column %d: %d missing, want %d; levels %v, want %v", j+1, p.Columns[j].Missing, missing, s.Levels(j),
				counts)
		}
		if c := p.Columns[j]; values > 0 && (c != Column{Missing: missing}) {
			t.Errorf("category with moments: %+v", c)
		}
	}
	if New(Options{}).Levels(3) != nil {
		t.Error("levels of plain numbers")
	}
}

func TestAnyOrderAndCutOfTablesGivesTheSameBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 10 {
		rws := randomTyped(r, r.IntN(200))
		whole := collectTable(rws)
		want := encode(t, whole)
		r.Shuffle(len(rws), func(i, j int) { rws[i], rws[j] = rws[j], rws[i] })
		half := len(rws) / 2
		parts := collectTable(rws[:half])
		back := new(Sum)
		if err := wire.Unmarshal(back, encode(t, collectTable(rws[half:]))); err != nil {
			t.Fatal(err)
		}
		parts.Merge(back)
		if !bytes.Equal(encode(t, parts), want) {
			t.Fatal("another cut gives other bytes")
		}
		if !reflect.DeepEqual(parts.Result(), whole.Result()) {
			t.Fatal("another cut gives another profile")
		}
	}
}

// The encoding of plain numbers, which is part of fingerprints, has no part for typed columns.
func TestPlainNumbersHaveNoTypedPart(t *testing.T) {
	rws := [][]float32{{1, 2}, {3, 0}}
	plain, table := New(Options{}), NewTable(Options{}, []int{0, 0})
	add(plain, rws)
	add(table, rws)
	a, b := encode(t, plain), encode(t, table)
	if a[4]&(flagTyped>>24) != 0 || b[4]&(flagTyped>>24) == 0 {
		t.Errorf("typed bits: plain %x, table %x", a[4], b[4])
	}
	if !reflect.DeepEqual(plain.Result(), table.Result()) {
		t.Error("the numbers of a table have another profile than plain numbers")
	}
}

func TestContradictionsOfTablesAreRejected(t *testing.T) {
	for name, change := range map[string]func(*Sum){
		"none":                     func(s *Sum) {},
		"more missing than rows":   func(s *Sum) { s.columns[0].missing = 3 },
		"missing and present":      func(s *Sum) { s.columns[0].missing = 2 },
		"counts of more rows":      func(s *Sum) { s.counts[1][0]++ },
		"counts of fewer rows":     func(s *Sum) { s.counts[1][2]-- },
		"moments of a category":    func(s *Sum) { s.columns[1].add(1, 1) },
		"categories of other rows": func(s *Sum) { s.counts = s.counts[:1] },
	} {
		s := NewTable(Options{Sample: 3}, []int{0, 4})
		add(s, [][]float32{{1, 2}, {nan, 3}})
		change(s)
		if err := wire.Unmarshal(new(Sum), encode(t, s)); (err == nil) != (name == "none") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	s := NewTable(Options{Sample: 3}, []int{0, 4})
	add(s, [][]float32{{1, 2}, {nan, 3}})
	good := encode(t, s)
	for n := range good {
		if wire.Unmarshal(new(Sum), good[:n]) == nil {
			t.Errorf("%d of %d bytes accepted", n, len(good))
		}
	}
}
