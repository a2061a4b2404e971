package schema

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/io/wire"
)

func collect(labels []string) *LabelCounts {
	c := new(LabelCounts)
	for _, l := range labels {
		c.Add([]byte(l))
	}
	return c
}

// cut assigns labels to parts at random and merges the parts along a random tree, some
// of them after encoding and decoding.
func cut(t *testing.T, r *rand.Rand, labels []string) *LabelCounts {
	t.Helper()
	labels = slices.Clone(labels)
	r.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	parts := make([]*LabelCounts, 1+r.IntN(8))
	for i := range parts {
		parts[i] = new(LabelCounts)
	}
	for _, l := range labels {
		parts[r.IntN(len(parts))].Add([]byte(l))
	}
	for len(parts) > 1 {
		last := parts[len(parts)-1]
		parts = parts[:len(parts)-1]
		if r.IntN(2) == 0 {
			back := new(LabelCounts)
			if err := wire.Unmarshal(back, wire.Marshal(last)); err != nil {
				t.Fatal(err)
			}
			last = back
		}
		parts[r.IntN(len(parts))].Merge(last)
	}
	return parts[0]
}

func sequence(n int, format string) []string {
	s := make([]string, n)
	for i := range s {
		s[i] = fmt.Sprintf(format, i)
	}
	return s
}

func TestLabelCountsDoNotDependOnTheCut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	long := strings.Repeat("x", MaxLabel+1)
	for name, labels := range map[string][]string{
		"none":            nil,
		"numbers":         {"1", "2", "1.0", "2", "+1", "-0", "0"},
		"text":            {"1", "b", "a", "b", "1.0"},
		"at the limit":    sequence(MaxClasses, "%d"),
		"over the limit":  sequence(MaxClasses+1, "%d.5"),
		"long":            {"a", "b", long, "a", "7"},
		"over, with text": append(sequence(MaxClasses, "%d"), "cat", "", "1e39", "-0", "1e300"),
		"over by forms":   append(sequence(MaxClasses, "%d"), "0.0"),
	} {
		whole := collect(labels)
		want := wire.Marshal(whole)
		for range campaign.Pick(3, 6) {
			got := cut(t, r, labels)
			if !bytes.Equal(wire.Marshal(got), want) {
				t.Errorf("%s: another cut gives different bytes", name)
			}
			if !reflect.DeepEqual(got.Summary(), whole.Summary()) {
				t.Errorf("%s: another cut gives a different summary", name)
			}
		}
	}
}

func TestSummaryDescribesTheLabels(t *testing.T) {
	for _, c := range []struct {
		name   string
		labels []string
		want   LabelSummary
	}{
		{"none", nil, LabelSummary{}},
		{"digits", []string{"3", "1", "3.0"}, LabelSummary{
			Rows: 3, Vocabulary: NewVocabulary([]string{"1", "3"}), Counts: []int64{1, 2},
			Numeric: true, Whole: true, Targets: 3, Min: 1, Max: 3}},
		{"fractions", []string{"-0.5", "2", "-0"}, LabelSummary{
			Rows: 3, Vocabulary: NewVocabulary([]string{"-0.5", "0", "2"}), Counts: []int64{1, 1, 1},
			Numeric: true, Targets: 3, Min: -0.5, Max: 2}},
		{"text", []string{"dog", "cat", "cat", "4"}, LabelSummary{
			Rows: 4, Vocabulary: NewVocabulary([]string{"4", "cat", "dog"}), Counts: []int64{1, 2, 1},
			Targets: 1, Min: 4, Max: 4, Text: "cat"}},
		{"too large for a target", []string{"1e300", "1"}, LabelSummary{
			Rows: 2, Vocabulary: NewVocabulary([]string{"1", "1e300"}), Counts: []int64{1, 1},
			Numeric: true, Targets: 1, Min: 1, Max: 1}},
		{"overflow", sequence(MaxClasses+5, "%d"), LabelSummary{
			Rows: MaxClasses + 5, Overflow: true, Numeric: true, Whole: true,
			Targets: MaxClasses + 5, Max: MaxClasses + 4}},
		{"overflow by length", []string{"2", strings.Repeat("z", 300), "2"}, LabelSummary{
			Rows: 3, Overflow: true, Targets: 2, Min: 2, Max: 2, Text: strings.Repeat("z", 64)}},
	} {
		if got := collect(c.labels).Summary(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

// Every property of the tally equals a count over all labels.
func TestTallyEqualsCountOverAllLabels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	pool := []string{"1", "-7", "0.5", "1e39", "-0", "cat", "", "9007199254740993"}
	for range 50 {
		labels := sequence(MaxClasses+1, "%d")
		if r.IntN(2) == 0 {
			labels = labels[:r.IntN(20)]
		}
		for range r.IntN(10) {
			labels = append(labels, pool[r.IntN(len(pool))])
		}
		want := LabelSummary{Rows: int64(len(labels)), Numeric: len(labels) > 0, Whole: len(labels) > 0}
		for _, l := range labels {
			x, ok := labelNumber([]byte(l))
			want.Numeric = want.Numeric && ok
			want.Whole = want.Whole && ok && whole([]byte(l), x)
			if !ok && (want.Text == "" || l < want.Text) {
				want.Text = l
			}
			if y, reason := ParseTarget([]byte(l)); reason == "" {
				if want.Targets == 0 || y < want.Min {
					want.Min = y
				}
				if want.Targets == 0 || y > want.Max {
					want.Max = y
				}
				want.Targets++
			}
		}
		if slices.Contains(labels, "") {
			want.Text = ""
		}
		got := collect(labels).Summary()
		got.Vocabulary, got.Counts, got.Overflow = nil, nil, false
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v\nwant %+v", got, want)
		}
	}
}

func TestMergeDoesNotChangeItsArgument(t *testing.T) {
	a, b := collect([]string{"1", "2"}), collect([]string{"2", "3"})
	before := wire.Marshal(b)
	a.Merge(b)
	a.Add([]byte("3"))
	if !bytes.Equal(wire.Marshal(b), before) {
		t.Error("the merged part changed")
	}
}

func TestDamagedLabelCountsAreRejected(t *testing.T) {
	good := [][]byte{
		wire.Marshal(collect([]string{"a", "b", "b"})),
		wire.Marshal(collect([]string{"1", strings.Repeat("z", 300)})),
		wire.Marshal(new(LabelCounts)),
	}
	for _, b := range good {
		for n := range b {
			if wire.Unmarshal(new(LabelCounts), b[:n]) == nil {
				t.Errorf("%d of %d bytes accepted", n, len(b))
			}
		}
		if wire.Unmarshal(new(LabelCounts), append(slices.Clone(b), 0)) == nil {
			t.Error("an extra byte accepted")
		}
	}
	swap := wire.Marshal(collect([]string{"a", "b"}))
	swap[5], swap[16] = swap[16], swap[5]
	if wire.Unmarshal(new(LabelCounts), swap) == nil {
		t.Error("labels out of order accepted")
	}
}

func FuzzLabelCountsUnmarshalBinary(f *testing.F) {
	for _, labels := range [][]string{nil, {"a", "b", "b"}, {"1", strings.Repeat("z", 300)}, {"1", "2.0"}} {
		f.Add(wire.Marshal(collect(labels)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var c LabelCounts
		if wire.Unmarshal(&c, b) != nil {
			return
		}
		if again := wire.Marshal(&c); !bytes.Equal(again, b) {
			t.Fatalf("%x decodes and encodes to %x", b, again)
		}
		c.Summary()
		c.Merge(collect([]string{"1", "cat"}))
		c.Summary()
	})
}

func FuzzVocabulary(f *testing.F) {
	f.Add("1", "1.0", "cat")
	f.Add("-0", "1e400", " 5 ")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		labels := []string{a, b, c}
		v := NewVocabulary(labels)
		for _, l := range labels {
			if _, ok := v.Index([]byte(l)); !ok {
				t.Fatalf("%q has no index in %q", l, v.Classes)
			}
		}
		for i, l := range v.Classes {
			if j, ok := v.Index([]byte(l)); !ok || i != j {
				t.Fatalf("class %d %q has index %d, %v", i, l, j, ok)
			}
		}
	})
}

func BenchmarkLabelCountsAdd(b *testing.B) {
	for _, distinct := range []int{10, 1 << 16} {
		labels := sequence(distinct, "%d")
		b.Run(fmt.Sprintf("distinct=%d", distinct), func(b *testing.B) {
			var c LabelCounts
			i := 0
			buf := []byte(nil)
			for b.Loop() {
				buf = append(buf[:0], labels[i%distinct]...)
				c.Add(buf)
				i++
			}
		})
	}
}
