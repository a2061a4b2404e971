package lines

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// randomText contains every special byte often.
func randomText(rnd *rand.Rand, n int, alphabet string) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rnd.IntN(len(alphabet))]
	}
	return b
}

const (
	plainAlphabet  = "ab12,  \r\n\n\n\x00"
	quotedAlphabet = "ab1,,\"\"\"\"  \r\n\n\x00"
)

func TestNextMatchesTheReference(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	n, bad := campaign.Pick(5000, 15_000), 0
	for i := range n {
		o := Options{MaxLen: rnd.IntN(20)}
		alphabet := plainAlphabet
		if i%2 == 0 {
			o.Comma, alphabet = ',', quotedAlphabet
		}
		text := randomText(rnd, rnd.IntN(40), alphabet)
		if i%7 == 0 {
			text = append([]byte("\xef\xbb\xbf"), text...)
		}
		want := twin(text, o)
		for _, in := range []io.Reader{bytes.NewReader(text), iotest.OneByteReader(bytes.NewReader(text)),
			iotest.DataErrReader(bytes.NewReader(text))} {
			if diff := cmp.Diff(want, read(in, o)); diff != "" {
				t.Fatalf("%q with %+v (-twin +reader):\n%s", text, o, diff)
			}
		}
		for _, rec := range want.Records {
			if rec.Bad != "" {
				bad++
			}
		}
	}
	if bad < n/15 {
		t.Errorf("only %d bad records: the texts are too tame", bad)
	}
}

// Records of about the buffer's length, which the short texts above never fill, are read as by the reference.
func TestNextMatchesTheReferenceAcrossBuffers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for i := range 40 {
		o := Options{Comma: []byte{',', 0}[i%2], MaxLen: bufferSize/2 + rnd.IntN(3*bufferSize)}
		var text []byte
		for range 12 {
			n := []int{10, 1000, bufferSize - 2 + rnd.IntN(5), o.MaxLen - 3 + rnd.IntN(7), rnd.IntN(8 * bufferSize)}[rnd.IntN(5)]
			rec := bytes.Repeat([]byte("x"), n)
			if o.Comma != 0 && rnd.IntN(2) == 0 {
				rec[0] = '"'
				for range rnd.IntN(4) {
					rec[rnd.IntN(len(rec))] = "\n\"\",\x00"[rnd.IntN(5)]
				}
				rec = append(rec, '"')
			}
			text = append(append(text, rec...), []string{"\n", "\r\n", "\n\n  \n", "\r\r\n"}[rnd.IntN(4)]...)
		}
		want := twin(text, o)
		if diff := cmp.Diff(want, read(iotest.HalfReader(bytes.NewReader(text)), o)); diff != "" {
			t.Fatalf("text %d with %+v (-twin +reader):\n%.3000s", i, o, diff)
		}
	}
}

func TestShardsTileForAnyCuts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for i := range 8_000 {
		text := randomText(rnd, rnd.IntN(40), plainAlphabet)
		if i%5 == 0 {
			text = append([]byte("\xef\xbb\xbf"), text...)
		}
		cuts := make([]int64, rnd.IntN(5))
		for j := range cuts {
			cuts[j] = rnd.Int64N(int64(len(text)) + 1)
		}
		slices.Sort(cuts)
		cuts = slices.DeleteFunc(cuts, func(c int64) bool { return c == 0 })
		checkTiles(t, text, Options{MaxLen: 1 + rnd.IntN(30)}, slices.Compact(cuts))
	}
}

func TestShardsWithQuotesTileOrShowThatTheyDoNot(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	var tiled, not int
	for range 10_000 {
		text := randomText(rnd, 1+rnd.IntN(40), quotedAlphabet)
		cuts := []int64{1 + rnd.Int64N(int64(len(text)))}
		if checkTiles(t, text, Options{Comma: ',', MaxLen: 1 + rnd.IntN(50)}, cuts) {
			tiled++
		} else {
			not++
		}
	}
	if tiled < 300 || not < 300 {
		t.Errorf("%d tiled, %d did not: one branch is barely tested", tiled, not)
	}
}

func TestCutInsideQuotedFieldShowsInOffsets(t *testing.T) {
	text := []byte("1,\"a\nb\"\n2,c\n")
	o := Options{Comma: ','}
	left, right := shard(text, 0, 4, o), shard(text, 4, 0, o)
	if left.Offset != 8 || right.Begin != 5 {
		t.Errorf("left ends at %d, right begins at %d; want 8 and 5", left.Offset, right.Begin)
	}
}

func TestLineEndsAndBlankLinesAreSkipped(t *testing.T) {
	got := read(strings.NewReader("\xef\xbb\xbfa\r\n\r\n   \nb\rc\n\n\td\r"), Options{})
	want := result{
		Records: []record{
			{Text: "a", Line: 1, Offset: 6},
			{Text: "b\rc", Line: 4, Offset: 16},
			{Text: "\td", Line: 6, Offset: 20},
		},
		Offset: 20, Lines: 6,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Lines end with \r\r\n too, as Python's csv module ends them on Windows in a file that was opened without
// newline="".
func TestDoublyTranslatedLineEndsAreLineEnds(t *testing.T) {
	got := read(strings.NewReader("a,\"b\"\r\r\n\r\r\n\"c\r\nd\"\r\r\ne\r\r\n"), Options{Comma: ','})
	want := result{
		Records: []record{{Text: `a,"b"`, Line: 1, Offset: 8}, {Text: "\"c\r\nd\"", Line: 3, Offset: 20},
			{Text: "e", Line: 5, Offset: 24}},
		Offset: 24, Lines: 5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStrayQuotesCostOneRecord(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"5\" disk,1\n2,3\n", []string{"5\" disk,1", "2,3"}},          // bare quote is literal
		{"a\"b,\"c\n2,3\n", []string{"a\"b,\"c", "2,3"}},              // and no later one opens
		{"\"a\" x,\"b\n2,3\n", []string{"\"a\" x,\"b", "2,3"}},        // text after a closing quote
		{"\"a\n2,3\n4,5\n", []string{"1:1: the quote", "2,3", "4,5"}}, // never closed
		{"1,\"\"\"\n2,3\n", []string{"1:2: the quote", "2,3"}},
		{"1,\"a\n\"\"b\"\r\n2,3", []string{"1,\"a\n\"\"b\"", "2,3"}}, // well formed
	} {
		var got []string
		for _, rec := range read(strings.NewReader(c.text), Options{Comma: ','}).Records {
			got = append(got, rec.Text+rec.Bad)
		}
		ok := len(got) == len(c.want)
		for i := range got {
			ok = ok && strings.HasPrefix(got[i], c.want[i])
		}
		if !ok {
			t.Errorf("%q gives %q, want %q", c.text, got, c.want)
		}
	}
}

func TestUTF16IsNamed(t *testing.T) {
	for _, bom := range []string{"\xff\xfe", "\xfe\xff"} {
		_, err := New(strings.NewReader(bom+"a\x00"), Options{}).Next()
		if err == nil || !strings.Contains(err.Error(), "iconv -f UTF-16 -t UTF-8") {
			t.Errorf("error is %v", err)
		}
	}
}

func TestReadErrorIsNotTheEndOfInput(t *testing.T) {
	broken := errors.New("broken pipe")
	for _, comma := range []byte{0, ','} {
		in := io.MultiReader(strings.NewReader("1,2\n3,\"4"), iotest.ErrReader(broken))
		r := New(in, Options{Comma: comma})
		if rec, err := r.Next(); string(rec) != "1,2" || err != nil {
			t.Fatalf("first record is %q, %v", rec, err)
		}
		for range 2 {
			if rec, err := r.Next(); !errors.Is(err, broken) {
				t.Errorf("after it: %q, %v; want the input's error", rec, err)
			}
		}
	}
	if _, err := New(idle{}, Options{}).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that never returns data gives %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// repeat yields n bytes of a pattern.
type repeat struct {
	pattern string
	n, at   int
}

func (r *repeat) Read(b []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	n := min(len(b), r.n)
	for i := 0; i < n; {
		k := copy(b[i:n], r.pattern[r.at:])
		i += k
		r.at = (r.at + k) % len(r.pattern)
	}
	r.n -= n
	return n, nil
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestHugeLineIsSkippedInLittleMemory(t *testing.T) {
	for _, pattern := range []string{"x", "\"x\"\"", "\x00\xff"} {
		const size = 64 << 20
		in := io.MultiReader(strings.NewReader("a\n"), &repeat{pattern: pattern, n: size}, strings.NewReader("\nb\n"))
		var got result
		n := allocated(func() { got = read(in, Options{Comma: ','}) })
		if n > 40<<20 {
			t.Errorf("%d MiB were allocated", n>>20)
		}
		if len(got.Records) != 3 || got.Records[1].Bad == "" || got.Records[2].Text != "b" || got.Offset != size+5 ||
			got.Lines != 3 {
			t.Errorf("%d records: %+v", len(got.Records), got)
		}
	}
}

// Two million lines that each open a quote take linear time, although the end of each quote is searched up to
// MaxLen.
func TestUnclosedQuotesCostLinearTime(t *testing.T) {
	for _, pattern := range []string{"a\"b,\"c\n", "\"\"\"\n", "\"a\"\",\n", "x,\"y\n"} {
		in := &repeat{pattern: pattern, n: 2 << 20}
		got := read(io.MultiReader(strings.NewReader("\"first\n"), in), Options{Comma: ','})
		if got.Offset != 2<<20+7 {
			t.Errorf("%q: read %d bytes", pattern, got.Offset)
		}
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	r := New(&repeat{pattern: "1,2,3\n\"a\nb\",2\n\n", n: 1 << 30}, Options{Comma: ','})
	r.Next()
	if n := testing.AllocsPerRun(10_000, func() { r.Next() }); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

func FuzzLines(f *testing.F) {
	for _, s := range []string{"a,b\n1,\"x\ny\"\r\n", "\xef\xbb\xbf\n \n1", "\"\"\"\n\"", "a\x00\n"} {
		f.Add([]byte(s), uint16(5), true, uint16(40))
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint16, quote bool, maxLen uint16) {
		o := Options{MaxLen: int(maxLen)}
		if quote {
			o.Comma = ','
		}
		var got result
		if n := allocated(func() { got = read(bytes.NewReader(text), o) }); n > uint64(8*len(text)+64<<20) {
			t.Fatalf("%d bytes allocated for %d", n, len(text))
		}
		if got.Err == "" {
			if diff := cmp.Diff(twin(text, o), got); diff != "" {
				t.Fatalf("%q (-twin +reader):\n%s", text, diff)
			}
			if c := int64(cut); c > 0 && c <= int64(len(text)) {
				checkTiles(t, text, o, []int64{c})
			}
		}
	})
}

func TestNewPanicsOnMisuse(t *testing.T) {
	for _, o := range []Options{{Start: -1}, {End: -1}, {MaxLen: -1}, {MaxLen: 1<<30 + 1}, {Comma: '"'}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("New accepts %+v", o)
				}
			}()
			New(nil, o)
		}()
	}
}

func BenchmarkNext(b *testing.B) {
	for _, c := range []struct {
		name, pattern string
	}{
		{"60-bytes", strings.Repeat("0.123,", 10)[:59] + "\n"},
		{"784-pixels", strings.Repeat("0,255,", 392) + "7\n"},
		{"quoted", strings.Repeat("\"0.123\",", 10) + "1\n"},
	} {
		text := []byte(strings.Repeat(c.pattern, 16<<20/len(c.pattern)))
		for _, comma := range []byte{0, ','} {
			name := c.name + "/lines"
			if comma != 0 {
				name = c.name + "/records"
			}
			b.Run(name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					r := New(bytes.NewReader(text), Options{Comma: comma})
					for {
						if _, err := r.Next(); err == io.EOF {
							break
						}
					}
				}
			})
		}
	}
}
