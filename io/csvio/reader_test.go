package csvio

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rowio"
)

// row is a row that Append returned, or the reason why it did not.
type row struct {
	X     []float32
	Label string
	Bad   string
}

// read reads all rows into one reused slice.
func read(r rowio.Reader) (all []row, err error) {
	x := []float32{42}
	for {
		var label []byte
		x, label, err = r.Append(x[:1])
		var bad *rowio.BadRow
		switch {
		case err == nil:
			all = append(all, row{X: append([]float32(nil), x[1:]...), Label: string(label)})
		case errors.As(err, &bad):
			if len(x) != 1 || bad.Line != r.Line() {
				panic("a bad row left values, or its line differs from the reader's")
			}
			all = append(all, row{Bad: bad.Error()})
		case err == io.EOF:
			return all, nil
		default:
			return all, err
		}
	}
}

func mustReader(records *lines.Reader, l Layout) *reader {
	label := func([]byte) (float64, string) { return 0, "" }
	in := new(dataset.Dataset).InMemory(dataset.Request{Label: label})
	r, err := newReader(records, in, &l)
	if err != nil {
		panic(err)
	}
	return r
}

func open(in io.Reader, l Layout) *reader {
	return mustReader(lines.New(in, lines.Options{Comma: l.Comma}), l)
}

// columns returns a layout without a header.
func columns(comma byte, n, label int) Layout {
	l := Layout{Comma: comma, TableLayout: dataset.TableLayout{Label: label}}
	for f := range n {
		l.Columns = append(l.Columns, generatedName(f))
		if f != label {
			l.Features = append(l.Features, f)
		}
	}
	return l
}

func TestAppendReadsNumbersAndLabels(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		text   string
		want   []row
	}{
		{columns(',', 3, 2), "1,2,cat\r\n-.5e1, +2. ,\t dog \t\n\n  \n3,4,0", []row{
			{X: []float32{1, 2}, Label: "cat"}, {X: []float32{-5, 2}, Label: "dog"}, {X: []float32{3, 4}, Label: "0"}}},
		{columns(',', 3, 0), "\"a,\"\"b\"\"\nc\",\"1.5\",\" 2 \"\n", []row{
			{X: []float32{1.5, 2}, Label: "a,\"b\"\nc"}}},
		{columns('\t', 2, -1), "1\t 2 \n", []row{{X: []float32{1, 2}}}},
		{columns(';', 2, 1), "1;a,b\n", []row{{X: []float32{1}, Label: "a,b"}}},
		{columns(',', 1, -1), "0.1\n", []row{{X: []float32{0.1}}}},
		{ // a later field does not replace the label's text
			Layout{Comma: ',', TableLayout: dataset.TableLayout{Columns: []string{"y", "a", "b"}, Label: 0, Features: []int{2}}},
			"\"c\"\"d\",\"e\"\"f\",1\n", []row{{X: []float32{1}, Label: "c\"d"}},
		},
		{columns('\t', 1, -1), "\"\t5\"\n", []row{{Bad: `1:1: column "c1": "\t5" is not a number`}}},
		{ // order of features is the layout's, and the third field is anything
			Layout{Comma: ',', TableLayout: dataset.TableLayout{Columns: []string{"a", "b", "c", "d"}, Label: 1,
				Features: []int{3, 0}}},
			"1,y,any thing,4\n1,y,,4\n1,y,\"x,\"\"y\",4\n",
			[]row{{X: []float32{4, 1}, Label: "y"}, {X: []float32{4, 1}, Label: "y"}, {X: []float32{4, 1}, Label: "y"}},
		},
	} {
		got, err := read(open(strings.NewReader(c.text), c.layout))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", c.text, err, diff)
		}
	}
}

func TestBadRowsNameFaultAndPosition(t *testing.T) {
	l := Layout{Comma: ',', TableLayout: dataset.TableLayout{Columns: []string{"age", "work class", "y"}, Label: 2,
		Features: []int{0, 1}}}
	for _, c := range []struct{ rec, want string }{
		{"1,1.2.3,y", `1:2: column "work class": "1.2.3" is not a number`},
		{"abc,1,y", `1:1: column "age": "abc" is not a number`},
		{"<=50K,1,y", `1:1: column "age": "<=50K" is not a number`},
		{",1,y", `1:1: column "age": is empty`},
		{"\"\",1,y", `1:1: column "age": is empty`},
		{"1,NA,y", `1:2: column "work class": "NA" is not a number`},
		{"1,NaN,y", `1:2: column "work class": "NaN" is not a number`},
		{"1,-Inf,y", `1:2: column "work class": "-Inf" is not a finite number`},
		{"1,1e400,y", `1:2: column "work class": "1e400" is infinite, or too large for float32 (largest is 3.4e38)`},
		{"1,-3.5e38,y", `1:2: column "work class": "-3.5e38" is infinite, or too large for float32 (largest is 3.4e38)`},
		{"1,0x1p4,y", `1:2: column "work class": "0x1p4" is not a number`},
		{"1,1_000,y", `1:2: column "work class": "1_000" is not a number`},
		{"1,\"2,5\",y", `1:2: column "work class": "2,5" is not a number (its fraction seems to begin with a comma)`},
		{"1,1 2,y", `1:2: column "work class": "1 2" is not a number`},
		{"1,2", `1: has 2 fields, want 3`},
		{"1,2,y,", `1: has 4 fields, want 3`},
		{"abc,2", `1: has 2 fields, want 3`},
		{"1;2;3", `1: has 1 field, want 3 (separated by ',')`},
		{"1,\"2\" ,y", `1:2: column "work class": has text after its closing quote`},
		{"1,2\",y", `1:2: column "work class": has a quote in an unquoted field`},
		{"1, \"2\",y", `1:2: column "work class": has a quote in an unquoted field`},
		{"abc,2,\"y", `1:3: the quote opened in this field is never closed`},
		{"1,2,y,\"z\"z", `1:4: has text after its closing quote`},
		{"1,2\x00,y", `1: contains a NUL byte; is this a binary file?`},
		{"1,1." + strings.Repeat("é", 50) + ",y",
			`1:2: column "work class": "1.` + strings.Repeat("é", 38) + `…" is not a number`},
	} {
		got, err := read(open(strings.NewReader(c.rec+"\n5,6,z\n"), l))
		want := []row{{Bad: c.want}, {X: []float32{5, 6}, Label: "z"}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", c.rec, err, diff)
		}
	}
}

func TestHeaderIsSkippedOnlyAtTheBeginning(t *testing.T) {
	text := "\xef\xbb\xbf\n\"a\",b\n1,2\n3,4\n"
	l := Layout{Comma: ',', Header: true, TableLayout: dataset.TableLayout{Columns: []string{"a", "b"}, Label: -1,
		Features: []int{0, 1}}}
	want := []row{{X: []float32{1, 2}}, {X: []float32{3, 4}}}
	for cut := int64(5); cut <= int64(len(text)); cut++ {
		o := lines.Options{End: cut, Comma: ','}
		left, err := read(mustReader(lines.New(strings.NewReader(text), o), l))
		if err != nil {
			t.Fatal(err)
		}
		o.Start, o.End, o.Skip = cut, 0, true
		right, err := read(mustReader(lines.New(strings.NewReader(text[cut-1:]), o), l))
		if diff := cmp.Diff(want, append(left, right...)); diff != "" || err != nil {
			t.Errorf("cut at %d: %v\n%s", cut, err, diff)
		}
	}
}

func TestForeignHeaderIsRejected(t *testing.T) {
	l := Layout{Comma: ',', Header: true, TableLayout: dataset.TableLayout{Columns: []string{"a", "b"}, Label: -1,
		Features: []int{0, 1}}}
	for text, want := range map[string]string{
		"b,a\n1,2\n":   `header: column 1 is "b", want "a"`,
		"a,b,c\n1,2\n": `header: has 3 columns, want 2`,
		"a,b\"\n":      `header: field 2 has a quote in an unquoted field`,
		"a,\"b\n":      `header: 1:2: the quote opened in this field is never closed`,
	} {
		r := open(strings.NewReader(text), l)
		for range 2 {
			if _, _, err := r.Append(nil); err == nil || err.Error() != want {
				t.Errorf("%q: error is %v, want %s", text, err, want)
			}
		}
	}
	if all, err := read(open(strings.NewReader("a,b\n"), l)); len(all) != 0 || err != nil {
		t.Errorf("a header alone: %v, %v", all, err)
	}
}

// twin reads rows with encoding/csv and strconv. It handles only what both readers
// accept: ok is false where encoding/csv rejects the text.
func twin(text []byte, l Layout) (all []row, ok bool) {
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma = rune(l.Comma)
	r.FieldsPerRecord = -1
	for {
		rec, err := r.Read()
		if err == io.EOF {
			return all, true
		}
		if err != nil {
			return nil, false
		}
		if len(rec) == 1 && strings.Trim(rec[0], " \r") == "" {
			if rec[0] != "" || len(l.Columns) == 1 {
				return nil, false // blank to us, but not if quoted
			}
		}
		all = append(all, twinRow(rec, l))
	}
}

func twinRow(rec []string, l Layout) row {
	bad := row{Bad: "bad"}
	if len(rec) != len(l.Columns) {
		return bad
	}
	cut := " \t"
	if l.Comma == '\t' {
		cut = " "
	}
	var out row
	for _, f := range l.Features {
		s := strings.Trim(rec[f], cut)
		v, err := strconv.ParseFloat(s, 32)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || strings.ContainsAny(s, "_xX") {
			return bad
		}
		out.X = append(out.X, float32(v))
	}
	if l.Label >= 0 {
		out.Label = strings.Trim(rec[l.Label], cut)
		if !utf8.ValidString(out.Label) {
			return bad
		}
	}
	return out
}

// compare compares the rows of the two readers, with labels as in encoding/csv, which
// converts \r\n inside quotes to \n.
func compare(t *testing.T, text []byte, l Layout) bool {
	t.Helper()
	want, ok := twin(text, l)
	if !ok {
		return false
	}
	got, err := read(open(bytes.NewReader(text), l))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	for i := range got {
		got[i].Label = strings.ReplaceAll(got[i].Label, "\r\n", "\n")
		if got[i].Bad != "" {
			got[i].Bad = "bad"
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q as %+v (-twin +reader):\n%s", text, l, diff)
	}
	return true
}

func TestAppendAgreesWithEncodingCSV(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	pieces := []string{"1", "0.25", "-3e2", "x", "", " 7 ", "\"8\"", "\"\"", "\"a\"\"b\"", "\"p,q\"", "\"u\nv\"",
		"\"u\r\nv\"", "NaN", "1e39", "\t5", "9\"", "\"z"}
	compared, good := 0, 0
	for range 20_000 {
		l := columns(",\t;"[rnd.IntN(3)], 1+rnd.IntN(3), -1)
		if n := len(l.Columns); n > 1 {
			l = columns(l.Comma, n, rnd.IntN(n+1)-1)
		}
		var text []byte
		for range 1 + rnd.IntN(3) {
			for f := range len(l.Columns) + rnd.IntN(40)/39 {
				if f > 0 {
					text = append(text, l.Comma)
				}
				piece := pieces[rnd.IntN(len(pieces))]
				if rnd.IntN(2) == 0 {
					piece = pieces[rnd.IntN(3)]
				}
				text = append(text, piece...)
			}
			text = append(text, []string{"\n", "\r\n", "\n\n"}[rnd.IntN(3)]...)
		}
		if compare(t, text, l) {
			compared++
			want, _ := twin(text, l)
			for _, r := range want {
				if r.Bad == "" {
					good++
				}
			}
		}
	}
	if compared < 5000 || good < 3000 {
		t.Errorf("only %d texts compared, with %d good rows", compared, good)
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	l := columns(',', 4, 3)
	text := strings.Repeat("1.5,\"2\", 3 ,\"a\"\"b\"\n", 20_000)
	r := open(strings.NewReader(text), l)
	x := make([]float32, 0, 3)
	r.Append(x)
	if n := testing.AllocsPerRun(10_000, func() { r.Append(x) }); n != 0 {
		t.Errorf("%v allocations a row", n)
	}
}

func TestInvalidLayoutsAreRejected(t *testing.T) {
	if l := columns(',', 3, 1); l.Validate() != nil {
		t.Error(l.Validate())
	}
	for _, l := range []Layout{
		{},
		{Comma: ',', TableLayout: dataset.TableLayout{Label: -1}},
		{Comma: '"', TableLayout: dataset.TableLayout{Label: -1, Columns: []string{"a"}, Features: []int{0}}},
		{Comma: ',', TableLayout: dataset.TableLayout{Label: 1, Columns: []string{"a"}, Features: []int{0}}},
		{Comma: ',', TableLayout: dataset.TableLayout{Label: -2, Columns: []string{"a"}, Features: []int{0}}},
		{Comma: ',', TableLayout: dataset.TableLayout{Label: 0, Columns: []string{"a"}, Features: []int{0}}},
		{Comma: ',', TableLayout: dataset.TableLayout{Label: -1, Columns: []string{"a"}, Features: []int{1}}},
		{Comma: ',', TableLayout: dataset.TableLayout{Label: -1, Columns: []string{"a"}, Features: []int{-1}}},
		{Comma: ',', TableLayout: dataset.TableLayout{Label: -1, Columns: []string{"a"}, Features: []int{0, 0}}},
		{Comma: ',', TableLayout: dataset.TableLayout{Label: -1, Columns: []string{"a"}}},
	} {
		if l.Validate() == nil {
			t.Errorf("%+v is accepted", l)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("NewReader accepts %+v", l)
				}
			}()
			mustReader(nil, l)
		}()
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("a,b,y\n1,2,\"x\ny\"\r\n3, 4 ,z"), "y", byte(0), false)
	f.Add([]byte("1;2;3\n4;5;6\n"), "-1", byte(';'), false)
	f.Add([]byte("\xef\xbb\xbfx\ty\n1\t\"2\"\n"), "", byte('\t'), false)
	f.Add([]byte("\"a\"\"b\",1\n,"), "1", byte(','), false)
	f.Add([]byte("ville,y\nGen\xe8ve,1\n\x93B\xe2le\x94,2\n"), "y", byte(','), true)
	f.Fuzz(func(t *testing.T, text []byte, label string, comma byte, latin1 bool) {
		hints := layoutHints{Comma: comma, Choice: dataset.Choice{Label: label}}
		if latin1 {
			hints.Encoding = Latin1
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		l, _, err := readLayout(bytes.NewReader(text), hints)
		if err == nil {
			if err := l.Validate(); err != nil {
				t.Fatalf("readLayout's layout: %v", err)
			}
			r, x := open(bytes.NewReader(text), l), []float32(nil)
			for {
				if x, _, err = r.Append(x[:0]); err == io.EOF {
					break
				}
				if bad := (*rowio.BadRow)(nil); err != nil && !errors.As(err, &bad) {
					t.Fatalf("readLayout accepts what Append does not: %v", err)
				}
				for _, v := range x {
					if !exact.Finite(v) {
						t.Fatalf("%v in a row", v)
					}
				}
			}
			if m, err := dataset.Match(&l, &l); err != nil || !cmp.Equal(m, l.TableLayout) {
				t.Fatalf("%+v does not match itself: %+v, %v", l, m, err)
			}
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > uint64(8*len(text)+64<<20) {
			t.Fatalf("%d bytes allocated for %d", n, len(text))
		}
		if !bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) && bytes.IndexByte(text, 0) < 0 && err == io.EOF && !latin1 {
			l.Header = false
			compare(t, text, l)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	rnd := rand.New(rand.NewPCG(13, 14))
	field := map[string]func() string{
		"digits-6":  func() string { return strconv.FormatFloat(rnd.NormFloat64(), 'f', 6, 64) },
		"digits-17": func() string { return strconv.FormatFloat(rnd.NormFloat64(), 'g', 17, 64) },
		"pixels":    func() string { return strconv.Itoa(max(0, rnd.IntN(512)-256)) },
		"quoted":    func() string { return "\"" + strconv.FormatFloat(rnd.NormFloat64(), 'f', 6, 64) + "\"" },
	}
	for _, name := range []string{"digits-6", "digits-17", "pixels", "quoted"} {
		for _, d := range []int{10, 784} {
			var text bytes.Buffer
			n := 0
			for ; text.Len() < 8<<20; n++ {
				for range d {
					text.WriteString(field[name]())
					text.WriteByte(',')
				}
				fmt.Fprintf(&text, "%d\n", n%10)
			}
			l := columns(',', d+1, d)
			b.Run(fmt.Sprintf("%s/d=%d", name, d), func(b *testing.B) {
				b.SetBytes(int64(text.Len()))
				x := make([]float32, 0, d)
				for b.Loop() {
					r := open(bytes.NewReader(text.Bytes()), l)
					for i := 0; ; i++ {
						_, _, err := r.Append(x)
						if err == io.EOF {
							if i != n {
								b.Fatalf("%d rows, want %d", i, n)
							}
							break
						}
						if err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
