package wire

import (
	"math"
	"reflect"
	"testing"
)

// sum has a field of each kind.
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
	Each(c, &s.Parts, 3, func(v *int64) { c.Counts(v) })
	if c.Reading() {
		s.ByName = map[string]*int64{}
	}
	Map(c, s.ByName, 3, func(k *string) { c.Text(k, 5) }, func() *int64 { return new(int64) },
		func(v *int64) { c.Counts(v) })
	c.Check(s.Count < 100)
}

// own says where its encoding ends.
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

func TestForbiddenRequestsAreRefused(t *testing.T) {
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
