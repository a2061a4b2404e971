package schema

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/wire"
)

// tableOf is a table of fields by record and column.
type tableOf [][]string

// surveyed returns the survey of records.
func surveyed(records tableOf, rules Rules) *Survey {
	s := NewSurvey(len(records[0]), rules)
	for _, rec := range records {
		addRecord(s, rec)
	}
	return s
}

func addRecord(s *Survey, rec []string) {
	for i, f := range rec {
		s.Text(nil, i, []byte(f))
	}
}

// randomRecords returns n records with columns of all kinds.
func randomRecords(r *rand.Rand, n int) tableOf {
	long := strings.Repeat("long", 300)
	var t tableOf
	for i := range n {
		rec := []string{
			fmt.Sprint(i),
			fmt.Sprintf("%.3f", r.NormFloat64()),
			fmt.Sprintf("%x", r.Uint64()),
			[]string{"red", "green", "blue", "", "NA", "n/a", "?"}[r.IntN(7)],
			[]string{"true", "False", "NULL"}[r.IntN(3)],
			fmt.Sprintf("%04d-%02d-%02d", 1990+r.IntN(30), 1+r.IntN(13), 1+r.IntN(28)),
			fmt.Sprintf("%d,%d", r.IntN(1000), r.IntN(1000)),
			fmt.Sprintf("%03d", r.IntN(1000)),
			long + fmt.Sprint(r.IntN(4)),
			"-0.0",
			fmt.Sprintf("%d/%d/2024", 1+r.IntN(12), 1+r.IntN(12)),
			fmt.Sprintf("%g", r.NormFloat64()*float64(int64(1)<<r.IntN(60))),
		}
		t = append(t, rec)
	}
	return t
}

// narrow lowers the bounds of empty surveys, so that small tables reach them.
func narrow(s *Survey, limit int64) *Survey {
	s.limit = limit
	return s
}

func TestAnyOrderAndCutOfFieldsGivesTheSameBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		n     int
		limit int64
	}{{1, maxColumnWeight}, {300, maxColumnWeight}, {300, 64}, {1000, 16}, {1000, 1}} {
		records := randomRecords(r, c.n)
		rules := Rules{Missing: DefaultMissing}
		empty := func() *Survey { return narrow(NewSurvey(len(records[0]), rules), c.limit) }
		whole := empty()
		for _, rec := range records {
			addRecord(whole, rec)
		}
		want := wire.Marshal(whole)
		if c.limit < 64 && whole.columns[0].zeros == 0 {
			t.Error("no column has more than its limit")
		}
		for range 5 {
			cut := slices.Clone(records)
			r.Shuffle(len(cut), func(i, j int) { cut[i], cut[j] = cut[j], cut[i] })
			parts := make([]*Survey, 1+r.IntN(9))
			for i := range parts {
				parts[i] = empty()
			}
			for _, rec := range cut {
				addRecord(parts[r.IntN(len(parts))], rec)
			}
			for len(parts) > 1 {
				last := parts[len(parts)-1]
				parts = parts[:len(parts)-1]
				if r.IntN(2) == 0 {
					back := new(Survey)
					if err := wire.Unmarshal(back, wire.Marshal(last)); err != nil {
						t.Fatal(err)
					}
					last = back
				}
				before := wire.Marshal(last)
				parts[r.IntN(len(parts))].Merge(last)
				if !bytes.Equal(wire.Marshal(last), before) {
					t.Fatal("Merge changes what is added")
				}
			}
			if !bytes.Equal(wire.Marshal(parts[0]), want) {
				t.Fatalf("%d records with a limit of %d: cut and merged they have another survey", c.n, c.limit)
			}
		}
	}
}

func TestBoundOnAllColumnsDependsOnTheFieldsOnly(t *testing.T) {
	const columns, distinct = 30, maxWeight / 15
	fill := func(s *Survey, step int) {
		for i := range distinct {
			i = i * step % distinct
			for c := range columns {
				if c%3 < 2 || i < 50 {
					s.Text(nil, c, fmt.Appendf(nil, "%d", i*(c+1)))
				}
			}
		}
	}
	a, b := NewSurvey(columns, Rules{}), NewSurvey(columns, Rules{})
	fill(a, 1)
	fill(b, 7919)
	if a.limit >= maxColumnWeight {
		t.Fatal("the bound is not reached")
	}
	if a.total > maxWeight {
		t.Errorf("weight of %d, more than %d", a.total, maxWeight)
	}
	if !bytes.Equal(wire.Marshal(a), wire.Marshal(b)) {
		t.Error("another order gives other bytes")
	}
	if c := &a.columns[2]; c.zeros != 0 || len(c.levels.entries) != 50 {
		t.Errorf("a column of few texts keeps %d of them", len(c.levels.entries))
	}
}

func TestSurveyInSteadyStateDoesNotAllocate(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	records := randomRecords(r, 500)
	s := surveyed(records, Rules{Missing: DefaultMissing})
	var fields [][]byte
	for _, rec := range records {
		for _, f := range rec {
			fields = append(fields, []byte(f))
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		for i, f := range fields {
			s.Text(nil, i%len(records[0]), f)
		}
	}); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

func TestDamagedSurveysAreRejected(t *testing.T) {
	good := wire.Marshal(surveyed(randomRecords(rand.New(rand.NewPCG(3, 3)), 20), Rules{Missing: DefaultMissing}))
	for n := range good {
		if wire.Unmarshal(new(Survey), good[:n]) == nil {
			t.Fatalf("%d of %d bytes accepted", n, len(good))
		}
	}
	if wire.Unmarshal(new(Survey), append(slices.Clone(good), 0)) == nil {
		t.Error("a byte too many accepted")
	}
}

func FuzzUnmarshalSurvey(f *testing.F) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, limit := range []int64{1, 8, 1 << 10} {
		s := narrow(NewSurvey(12, Rules{Missing: DefaultMissing}), limit)
		for _, rec := range randomRecords(r, 10) {
			addRecord(s, rec)
		}
		f.Add(wire.Marshal(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Survey
		if wire.Unmarshal(&s, b) != nil {
			return
		}
		if again := wire.Marshal(&s); !bytes.Equal(again, b) {
			t.Fatalf("%x decodes and encodes to %x", b, again)
		}
		u := NewSurvey(len(s.columns), s.rules)
		for i := range u.columns {
			u.Text(nil, i, []byte("1.5"))
			u.Text(nil, i, []byte("text"))
		}
		u.Merge(&s)
		if err := wire.Unmarshal(new(Survey), wire.Marshal(u)); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkSurvey(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 5))
	var fields [][]byte
	size := int64(0)
	const columns = 15
	for range 20000 {
		rec := fmt.Sprintf("%d,Private,%d,%s,%d,Never-married,Adm-clerical,Not-in-family,White,%s,%d,0,%d,United-States,<=50K",
			17+r.IntN(60), 10000+r.IntN(400000), []string{"Bachelors", "HS-grad", "11th"}[r.IntN(3)], r.IntN(16),
			[]string{"Male", "Female"}[r.IntN(2)], r.IntN(2)*r.IntN(99), 20+r.IntN(40))
		size += int64(len(rec)) + 1
		fields = append(fields, bytes.Split([]byte(rec), []byte{','})...)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		s := NewSurvey(columns, Rules{Missing: DefaultMissing})
		for i, f := range fields {
			s.Text(nil, i%columns, f)
		}
	}
}

func BenchmarkSurveyOfReals(b *testing.B) {
	r := rand.New(rand.NewPCG(6, 6))
	var fields [][]byte
	size := int64(0)
	const columns = 20
	for range 200000 * columns {
		f := fmt.Appendf(nil, "%.6f", r.NormFloat64())
		fields = append(fields, f)
		size += int64(len(f)) + 1
	}
	s := NewSurvey(columns, Rules{Missing: DefaultMissing})
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for i, f := range fields {
			s.Text(nil, i%columns, f)
		}
	}
	b.ReportMetric(float64(s.columns[0].zeros), "zeros")
}
