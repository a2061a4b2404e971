package wire

import (
	"math"
	"reflect"
	"testing"

	"github.com/bochner-ml/bochner/internal/exact"
)

// sum holds a field of each kind.
type sum struct {
	Big    uint64
	Count  int64
	Mean   float64
	Yes    bool
	Kind   int
	Size   int
	Short  uint64
	Two    int
	Name   string
	Self   own
	Half   float32
	Bytes  [3]byte
	More   *sum
	None   *sum
	Parts  []int64
	ByName map[string]*int64
}

func (s *sum) Code(c *Coder) {
	c.Uint64(&s.Big)
	c.Counts(&s.Count)
	c.Float64(&s.Mean)
	c.Bool(&s.Yes)
	s.Kind = c.Byte(s.Kind, 7)
	s.Size = c.Int(s.Size, 1000)
	s.Short = c.Uvarint(s.Short, 300)
	s.Two = c.Short(s.Two, 1000)
	c.Text(&s.Name, 5)
	c.Part(&s.Self)
	c.Float32(&s.Half)
	if raw := c.Raw(s.Bytes[:], 3); c.Reading() {
		s.Bytes = [3]byte(raw)
	}
	Optional(c, &s.More, func(m *sum) { m.Code(c) })
	Optional(c, &s.None, func(m *sum) { m.Code(c) })
	List(c, &s.Parts, 3, func(v *int64) { c.Counts(v) })
	if c.Reading() {
		s.ByName = map[string]*int64{}
	}
	Map(c, s.ByName, 3, func(k *string) { c.Text(k, 5) }, func() *int64 { return new(int64) },
		func(v *int64) { c.Counts(v) })
	c.Check(s.Count < 100)
}

// own has an encoding that shows where it ends.
type own byte

func (o *own) AppendBinary(b []byte) ([]byte, error) { return append(b, byte(*o)), nil }

func (o *own) Decode(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, errShort
	}
	*o = own(b[0])
	return b[1:], nil
}

type short struct{}

func (short) Error() string { return "short" }

var errShort short

func number(n int64) *int64 { return &n }

func filled() *sum {
	return &sum{
		Big: math.MaxUint64, Count: 9, Mean: -1.5, Yes: true, Kind: 7, Size: 1000, Short: 300, Two: 999, Name: "sums",
		Self: 3, Half: 0.5, Bytes: [3]byte{1, 2, 3},
		More: &sum{ByName: map[string]*int64{}}, Parts: []int64{1, 2}, ByName: map[string]*int64{"a": number(1),
			"b": number(2)},
	}
}

func TestFilesRoundTrip(t *testing.T) {
	for _, want := range []*sum{filled(), {ByName: map[string]*int64{}}} {
		data := Marshal(want)
		var got sum
		if err := Unmarshal(&got, data); err != nil || !reflect.DeepEqual(&got, want) {
			t.Errorf("%+v comes back as %+v, %v", want, got, err)
		}
		for n := range data {
			if Unmarshal(new(sum), data[:n]) == nil {
				t.Errorf("%d of %d bytes are accepted", n, len(data))
			}
		}
		if Unmarshal(new(sum), append(data, 0)) == nil {
			t.Error("a byte too many is accepted")
		}
	}
}

func TestUnmarshalRejectsInvalidValues(t *testing.T) {
	for name, spoil := range map[string]func(*sum){
		"a count below 0":     func(s *sum) { s.Count = -1 },
		"what Check refuses":  func(s *sum) { s.Count = 100 },
		"too large a byte":    func(s *sum) { s.Kind = 8 },
		"too large a number":  func(s *sum) { s.Size = 1001 },
		"too large a varint":  func(s *sum) { s.Short = 301 },
		"too long a text":     func(s *sum) { s.Name = "longer" },
		"too many elements":   func(s *sum) { s.Parts = make([]int64, 4) },
		"too long a key":      func(s *sum) { s.ByName["longer"] = number(1) },
		"damage in a part":    func(s *sum) { s.More.Kind = 8 },
		"a count in elements": func(s *sum) { s.Parts[1] = -1 },
	} {
		s := filled()
		if spoil(s); Unmarshal(new(sum), Marshal(s)) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	two := Marshal(&sum{ByName: map[string]*int64{"a": number(1), "b": number(2)}})
	at := len(two) - 2*(4+1+8)
	two[at+4], two[at+4+13] = two[at+4+13], two[at+4]
	if Unmarshal(new(sum), two) == nil {
		t.Error("texts out of order are accepted")
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add(Marshal(filled()))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s sum
		if Unmarshal(&s, data) == nil && len(Marshal(&s)) != len(data) {
			t.Errorf("%x is written as %x", data, Marshal(&s))
		}
	})
}

// total is a sum that is merged field by field, except for what is in own.
type total struct {
	Kind  int
	Rows  int64
	Most  float64
	Sum   exact.Sum
	Parts []int64
	Names *names
}

func (s *total) Code(c *Coder) {
	s.Kind = c.Int(s.Kind, 10)
	c.Counts(&s.Rows)
	c.Largest(&s.Most)
	c.Part(&s.Sum)
	List(c, &s.Parts, 5, func(n *int64) { c.Counts(n) })
	Optional(c, &s.Names, func(n *names) { n.Code(c) })
}

// names are texts, which cannot be added.
type names struct{ All []string }

func (n *names) merge(m *names) { n.All = append(n.All, m.All...) }

func (n *names) Code(c *Coder) {
	if Merged(c, new(names), n.merge) {
		return
	}
	List(c, &n.All, 5, func(text *string) { c.Text(text, 5) })
}

func totalOf(kind int, rows int64, most float64, name string) *total {
	s := &total{Kind: kind, Rows: rows, Most: most, Parts: []int64{rows, 1}, Names: &names{[]string{name}}}
	s.Sum.Add64(most)
	return s
}

func TestMergeAddsFields(t *testing.T) {
	got, want := totalOf(3, 4, 1.5, "a"), totalOf(3, 9, 2.5, "a")
	Merge(got, totalOf(3, 5, 2.5, "b"))
	want.Sum.Add64(1.5)
	want.Parts[1], want.Names.All = 2, []string{"a", "b"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestMergePanicsForSumsOfOtherKinds(t *testing.T) {
	for name, change := range map[string]func(*total){
		"another number": func(s *total) { s.Kind = 2 },
		"more elements":  func(s *total) { s.Parts = append(s.Parts, 1) },
		"without a part": func(s *total) { s.Names = nil },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			other := totalOf(3, 5, 2.5, "b")
			change(other)
			Merge(totalOf(3, 4, 1.5, "a"), other)
		}()
	}
	defer func() {
		if recover() == nil {
			t.Error("texts were added")
		}
	}()
	Merge[Coded](text("a"), text("a"))
}

type text string

func (t text) Code(c *Coder) {
	s := string(t)
	c.Text(&s, 5)
}
