package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestVocabularyDecidesByAllLabels(t *testing.T) {
	for _, c := range []struct {
		name    string
		labels  []string
		classes []string
		numeric bool
	}{
		{"none", nil, []string{}, false},
		{"digits by value", []string{"10", "9", "2", "10"}, []string{"2", "9", "10"}, true},
		{"one number in many forms", []string{"+1", "1.0", "1", " 1\t", "1e0", "-1"}, []string{"-1", "1"}, true},
		{"zeros", []string{"-0", "0", "-0.0", "0e5"}, []string{"0"}, true},
		{"fractions", []string{".5", "0.25", "-1e-3"}, []string{"-0.001", "0.25", "0.5"}, true},
		{"large whole numbers in digits", []string{"1000000", "1e6", "20000000"}, []string{"1000000", "20000000"}, true},
		{"beyond 2⁵³", []string{"1e300", "9007199254740993", "9007199254740992"},
			[]string{"9007199254740992", "9007199254740993", "1e+300"}, true},
		{"long digits in many forms", []string{"1234567890123456789", "+1234567890123456789.0", "01234567890123456789",
			"1234567890123456781", "1.234567890123456781e18"},
			[]string{"1234567890123456781", "1234567890123456789"}, true},
		{"negative long digits by value", []string{"-9007199254740993", "-9007199254740992", "-9007199254740991"},
			[]string{"-9007199254740993", "-9007199254740992", "-9007199254740991"}, true},
		{"fractions beyond 2⁵³", []string{"9007199254740993.50", "9007199254740994", "9007199254740993.5"},
			[]string{"9007199254740993.5", "9007199254740994"}, true},
		{"one word makes all of them text", []string{"1", "1.0", "cat", "+1"}, []string{"+1", "1", "1.0", "cat"}, false},
		{"bytewise", []string{"b", "B", "é", "a", ""}, []string{"", "B", "a", "b", "é"}, false},
		{"spaces belong to text", []string{"a", " a"}, []string{" a", "a"}, false},
		{"not decimal numbers", []string{"0x10", "1"}, []string{"0x10", "1"}, false},
		{"hexadecimal floats", []string{"0x1p3", "1"}, []string{"0x1p3", "1"}, false},
		{"nan", []string{"nan", "1"}, []string{"1", "nan"}, false},
		{"infinity", []string{"Inf", "1"}, []string{"1", "Inf"}, false},
		{"too large", []string{"1e999", "1"}, []string{"1", "1e999"}, false},
		{"digit separators", []string{"1_0", "1"}, []string{"1", "1_0"}, false},
		{"signs alone", []string{"-", "+"}, []string{"+", "-"}, false},
	} {
		v := NewVocabulary(c.labels)
		if !slices.Equal(v.Classes, c.classes) || v.Numeric != c.numeric {
			t.Errorf("%s: %q, numeric %v; want %q, %v", c.name, v.Classes, v.Numeric, c.classes, c.numeric)
		}
		for _, l := range c.labels {
			i, ok := v.Index([]byte(l))
			if !ok {
				t.Errorf("%s: %q has no index", c.name, l)
			} else if want := v.Classes[i]; c.numeric && canonicalLabel([]byte(l)) != want || !c.numeric && l != want {
				t.Errorf("%s: %q is class %q", c.name, l, want)
			}
		}
	}
}

func TestIndexRejectsMissingTensors(t *testing.T) {
	v := NewVocabulary([]string{"1", "3"})
	for _, l := range []string{"", "2", "one", "1 3", "nan", "1.0000001"} {
		if i, ok := v.Index([]byte(l)); ok {
			t.Errorf("%q is class %d", l, i)
		}
	}
	text := NewVocabulary([]string{"1", "a"})
	if i, ok := text.Index([]byte("1.0")); ok {
		t.Errorf("text 1.0 is class %d", i)
	}
	if _, ok := new(Vocabulary).Index([]byte("1")); ok {
		t.Error("an empty vocabulary has an index")
	}
}

func TestClassesAreIndependentOfNumberNotation(t *testing.T) {
	var v Vocabulary
	if err := json.Unmarshal([]byte(`{"classes":["5","10000000000000000"],"numeric":true}`), &v); err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]int{"5.0": 0, "1e+16": 1, "10000000000000000": 1,
		"10000000000000001": -1} {
		if i, ok := v.Index([]byte(label)); ok != (want >= 0) || ok && i != want {
			t.Errorf("%s is class %d, %v; want %d", label, i, ok, want)
		}
	}
	for _, twice := range []string{`["5","1e+16"]`, `["1e+16","10000000000000000"]`, `["10000000000000001","10000000000000000"]`} {
		if json.Unmarshal([]byte(`{"classes":`+twice+`,"numeric":true}`), &v) == nil {
			t.Errorf("%s accepted", twice)
		}
	}
}

func TestIndexOfLiteralPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	(&Vocabulary{Classes: []string{"a"}}).Index([]byte("a"))
}

func TestIndexDoesNotAllocate(t *testing.T) {
	v := NewVocabulary([]string{"1", "2", "300.5"})
	for _, l := range []string{"1", "1.00", "+300.5", "7"} {
		label := []byte(l)
		if n := testing.AllocsPerRun(100, func() { v.Index(label) }); n != 0 {
			t.Errorf("%q: %v allocations", l, n)
		}
	}
}

func TestVocabularyJSONRoundTrips(t *testing.T) {
	for _, labels := range [][]string{nil, {"1.0", "-2"},
		{"9007199254740993", "9007199254740992", "1e-7", "2e30", "1e300"}, {"<b>", "a\"", "é", ""}} {
		v := NewVocabulary(labels)
		b, err := json.Marshal(struct{ V Vocabulary }{*v})
		if err != nil {
			t.Fatal(err)
		}
		var back struct{ V Vocabulary }
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if back.V.Numeric != v.Numeric || !slices.Equal(back.V.Classes, v.Classes) {
			t.Errorf("%s: %q", b, back.V.Classes)
		}
		for i, c := range v.Classes {
			if j, ok := back.V.Index([]byte(c)); !ok || i != j {
				t.Errorf("%s: %q has index %d, %v", b, c, j, ok)
			}
		}
	}
}

func TestDamagedVocabularyIsRejected(t *testing.T) {
	for _, c := range []struct{ json, want string }{
		{`{"classes":["b","a"]}`, "out of order"},
		{`{"classes":["a","a"]}`, "repeated"},
		{`{"classes":["10","9"],"numeric":true}`, "out of order"},
		{`{"classes":["1.0"],"numeric":true}`, "canonical"},
		{`{"classes":["-0"],"numeric":true}`, "canonical"},
		{`{"classes":["cat"],"numeric":true}`, "canonical"},
		{`{"classes":"a"}`, "cannot unmarshal"},
	} {
		var v Vocabulary
		err := json.Unmarshal([]byte(c.json), &v)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.json, err, c.want)
		}
	}
}

func TestClassesThatJSONWouldChangeAreRejected(t *testing.T) {
	v := NewVocabulary([]string{"caf\xe9", "tea"})
	if err := v.Check(); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("error %v", err)
	}
	if b, err := json.Marshal(v); err == nil {
		t.Errorf("written as %s", b)
	}
	if i, ok := v.Index([]byte("caf\xe9")); !ok || i != 0 {
		t.Errorf("index %d, %v", i, ok)
	}
}

func TestCanonicalReadsBackAsTheSameNumber(t *testing.T) {
	for _, x := range []float64{1, 0.1, 1e6, 1e21, -1 << 52, 1<<53 - 1, 1 << 53, math.MaxFloat64,
		math.SmallestNonzeroFloat64} {
		for _, format := range []string{"%v", "%.20e", "%+.17g"} {
			c := canonicalLabel(fmt.Appendf(nil, format, x))
			y, ok := labelNumber([]byte(c))
			if !ok || y != x {
				t.Errorf("%v became %q", x, c)
			}
			if canonicalLabel([]byte(c)) != c {
				t.Errorf("%q is not its own canonical form", c)
			}
		}
	}
	if c := canonicalLabel([]byte("1000000")); c != "1000000" {
		t.Errorf("a million became %q", c)
	}
}

func TestParseTargetAcceptsFiniteNumbersOnly(t *testing.T) {
	for _, c := range []struct {
		label  string
		want   float64
		reason string
	}{
		{"1.5", 1.5, ""},
		{" -2 ", -2, ""},
		{"-0", 0, ""},
		{"3.4028235e38", 3.4028235e38, ""},
		{"1e-60", 1e-60, ""}, {"100000000.125", 1e8 + 0.125, ""}, {"3.40282347e38", 3.40282347e38, ""},

		{"1.00000005960464477539062500001", 1 + 0x1p-24, ""},
		{"1e39", 0, "too large for float32"},
		{"-1e999", 0, "too large for float32"},
		{"", 0, "empty"},
		{"  ", 0, "empty"},
		{"cat", 0, `"cat" is not a number`},
		{"nan", 0, "is not a number"},
		{"inf", 0, "is not a number"},
		{"0x1p1", 0, "is not a number"},
		{"1-1", 0, "is not a number"},
		{strings.Repeat("1", 300), 0, "is not a number"},
	} {
		y, reason := ParseTarget([]byte(c.label))
		if c.reason == "" && (reason != "" || math.Float64bits(y) != math.Float64bits(c.want)) ||
			c.reason != "" && !strings.Contains(reason, c.reason) {
			t.Errorf("%q: %v, %q; want %v, %q", c.label, y, reason, c.want, c.reason)
		}
	}
}

func BenchmarkIndex(b *testing.B) {
	v := NewVocabulary([]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"})
	for _, l := range []string{"7", "7.0"} {
		label := []byte(l)
		b.Run(l, func(b *testing.B) {
			for b.Loop() {
				v.Index(label)
			}
		})
	}
}
