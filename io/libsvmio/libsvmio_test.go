package libsvmio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rowio"
)

// row is a row that Append returned, or the reason why it did not.
type row struct {
	X     []float32
	Label string // "-" for none
	Bad   string
}

// read reads all rows into one reused slice that is never empty, so that leftovers of a
// row would show in the next.
func read(text []byte, dim int) (all []row, err error) {
	r := &reader{lines: lines.New(bytes.NewReader(text), lines.Options{}), dim: dim}
	x := []float32{42}
	for {
		var label []byte
		x, label, err = r.Append(x[:1])
		var bad *rowio.BadRow
		switch {
		case err == nil && label == nil:
			all = append(all, row{X: append([]float32(nil), x[1:]...), Label: "-"})
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

func TestAppendReadsPairs(t *testing.T) {
	text := "+1 1:0.5 3:-2e1 # first\r\n# only a comment\n\n\t\n-1\n  cat\t2:1  \n2:7 3:1#x\n"
	for dim, want := range map[int][]row{
		0: {{X: []float32{.5, 0, -20}, Label: "+1"}, {Label: "-1"}, {X: []float32{0, 1}, Label: "cat"},
			{X: []float32{0, 7, 1}, Label: "-"}},
		4: {{X: []float32{.5, 0, -20, 0}, Label: "+1"}, {X: []float32{0, 0, 0, 0}, Label: "-1"},
			{X: []float32{0, 1, 0, 0}, Label: "cat"}, {X: []float32{0, 7, 1, 0}, Label: "-"}},
	} {
		got, err := read([]byte(text), dim)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("row length %d: %v\n%s", dim, err, diff)
		}
	}
}

func TestBadRowsNameFaultAndPosition(t *testing.T) {
	for _, c := range []struct {
		rec  string
		dim  int
		want string
	}{
		{"1 0:5", 0, `1:1: index 0: indices count from 1`},
		{"1 1:5 3:1 2:1", 0, `1:3: index 2 follows 3; indices must ascend`},
		{"1 3:5 3:1", 0, `1:2: index 3 occurs twice`},
		{"1 2:5 abc", 0, `1:2: "abc" has no colon; want index:value`},
		{"1 2:5 7", 0, `1:2: "7" has no colon; want index:value`},
		{"1 qid:3 2:5", 0, `1:1: "qid:3": ranking by query is not supported; remove the qid`},
		{"qid:3 2:5", 0, `1:1: "qid:3": ranking by query is not supported; remove the qid`},
		{"1 -2:5", 0, `1:1: "-2:5": the index must be a whole number from 1`},
		{"1 1.5:5", 0, `1:1: "1.5:5": the index must be a whole number from 1`},
		{"1 :5", 0, `1:1: ":5": the index must be a whole number from 1`},
		{"1 1099511627776:5", 0, `1:1: index 1099511627776 is above the limit 1048576`},
		{"1 1048577:5", 9, `1:1: index 1048577 is above the limit 1048576`},
		{"1 99999999999999999999999999:5", 0, `1:1: index 99999999999999999999999999 is above the limit 1048576`},
		{"1 4:5", 3, `1:1: index 4 is beyond the row length 3; set dim to a longer row length`},
		{"1 1:nan", 0, `1:1: value "nan" is not a number`},
		{"1 1:inf", 3, `1:1: value "inf" is not a number`},
		{"1 1:", 0, `1:1: value "" is not a number`},
		{"1 1: 2", 0, `1:1: value "" is not a number`},
		{"1 1:2x", 0, `1:1: value "2x" is not a number`},
		{"1 1:2:3", 0, `1:1: value "2:3" is not a number`},
		{"1 1:-1e400 2:1", 0, `1:1: value "-1e400" is infinite, or too large for float32 (largest is 3.4e38)`},
		{"1 1:\x00", 0, `1: contains a NUL byte; is this a binary file?`},
		{"1 1:" + strings.Repeat("x", 50), 0, `1:1: value "` + strings.Repeat("x", 40) + `…" is not a number`},
	} {
		got, err := read([]byte(c.rec+"\nb 1:2\n"), c.dim)
		good := row{X: append([]float32{2}, make([]float32, max(c.dim-1, 0))...), Label: "b"}
		if diff := cmp.Diff([]row{{Bad: c.want}, good}, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", c.rec, err, diff)
		}
	}
}

func TestLargestIndexIsRead(t *testing.T) {
	got, err := read([]byte("1 1048576:5"), 0)
	if err != nil || len(got) != 1 || len(got[0].X) != rowio.MaxDim || got[0].X[rowio.MaxDim-1] != 5 {
		t.Errorf("%d rows, %v", len(got), err)
	}
}

// twin reads the rows of a text by splitting it into words.
func twin(text string, dim int) (all []row) {
	bad := row{Bad: "bad"}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Contains(line, "\x00") {
			all = append(all, bad)
			continue
		}
		line, _, _ = strings.Cut(line, "#")
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\v\f", r) })
		if len(words) == 0 {
			continue
		}
		out := row{Label: "-", X: append([]float32(nil), make([]float32, dim)...)}
		if !strings.Contains(words[0], ":") {
			out.Label, words = words[0], words[1:]
		}
		last := 0
		for _, w := range words {
			index, value, _ := strings.Cut(w, ":")
			i, err := strconv.ParseUint(index, 10, 64)
			v, err2 := strconv.ParseFloat(value, 32)
			if err != nil || err2 != nil || math.IsInf(v, 0) || math.IsNaN(v) || strings.ContainsAny(value, "_xX") ||
				i <= uint64(last) || i > rowio.MaxDim || dim > 0 && i > uint64(dim) {
				out = bad
				break
			}
			last = int(i)
			for len(out.X) < last {
				out.X = append(out.X, 0)
			}
			out.X[last-1] = float32(v)
		}
		all = append(all, out)
	}
	return all
}

func compare(t *testing.T, text string, dim int) (good int) {
	t.Helper()
	got, err := read([]byte(text), dim)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	for i := range got {
		if got[i].Bad != "" {
			got[i].Bad = "bad"
		} else {
			good++
		}
	}
	if diff := cmp.Diff(twin(text, dim), got); diff != "" {
		t.Fatalf("%q with row length %d (-twin +reader):\n%s", text, dim, diff)
	}
	return good
}

func TestAppendMatchesTheReference(t *testing.T) {
	rnd := rand.New(rand.NewPCG(15, 16))
	words := []string{"1", "-1", "a", "1:1", "2:0.5", "3:-2", "5:1e3", "4:", ":4", "6:nan", "7:1e39", "0:1", "#", "# c",
		"2:1#", "9:0x1", "qid:1", "\x00"}
	spaces := []string{" ", "  ", "\t", "\n", "\r\n", "\n\n", "\v"}
	good := 0
	for range 30_000 {
		var text strings.Builder
		for range rnd.IntN(12) {
			text.WriteString(words[rnd.IntN(len(words))/(1+rnd.IntN(3))])
			text.WriteString(spaces[rnd.IntN(len(spaces))/(1+rnd.IntN(3))])
		}
		good += compare(t, text.String(), rnd.IntN(2)*rnd.IntN(6))
	}
	if good < 10_000 {
		t.Errorf("only %d good rows", good)
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	for _, dim := range []int{0, 9} {
		text := strings.Repeat("1 2:1 3:4.5 7:1e-5 # x\n", 20_000)
		r := &reader{lines: lines.New(strings.NewReader(text), lines.Options{}), dim: dim}
		x := make([]float32, 0, 9)
		r.Append(x)
		if n := testing.AllocsPerRun(10_000, func() { r.Append(x) }); n != 0 {
			t.Errorf("row length %d: %v allocations a row", dim, n)
		}
	}
}

func TestSniffRecognisesLIBSVM(t *testing.T) {
	for text, want := range map[string]bool{
		"+1 1:0.5 3:2\n-1 2:1\n":      true,
		"1 1:2":                       true,
		"# made by x\n\n1 1:2 # y\n":  true,
		"1:2 2:3\n":                   true,
		"\xef\xbb\xbfcat 1:2\n":       true,
		"1\n0 3:1\n":                  true, // a row of zeros first
		"1 qid:4 1:2\n":               true,
		"1 1:2\n2 1:":                 true, // cut off
		"1 1:2\n2 1:2 3":              true,
		"":                            false,
		"1\n2\n":                      false,
		"1,2,3\n":                     false,
		"a:b,c\n":                     false,
		"2020-01-01 12:30:00,5\n":     false,
		"x 1:2 y\n1 1:2\n":            false,
		"1 1:2\nsome text\n":          false,
		"{\"a\": 1, \"b\": [2, 3]}\n": false,
		"1 1:2 3:x\n":                 false,
		"1 1:2 3:x\n1 2:3\n0 1:1\n":   true, // one bad row
		"# x\n# y\n\n1 1:2 3:x\n2\n":  false,
	} {
		if got := sniff([]byte(text)); got != want {
			t.Errorf("Sniff(%q) = %v", text, got)
		}
	}
}

func FuzzLIBSVM(f *testing.F) {
	f.Add([]byte("+1 1:0.5 3:2 # x\r\n2:1\n-1"), uint16(0))
	f.Add([]byte("a 1:1e39 2:-0\n"), uint16(3))
	f.Fuzz(func(t *testing.T, text []byte, dim uint16) {
		r := &reader{lines: lines.New(bytes.NewReader(text), lines.Options{}), dim: int(dim)}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sniff(text)
		var x []float32
		var err error
		for err != io.EOF {
			x, _, err = r.Append(x[:0])
			if bad := (*rowio.BadRow)(nil); err != nil && err != io.EOF && !errors.As(err, &bad) {
				return // UTF-16
			}
			if err == nil && dim > 0 && len(x) != int(dim) {
				t.Fatalf("row of %d numbers, want %d", len(x), dim)
			}
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > uint64(8*len(text)+64<<20) {
			t.Fatalf("%d bytes allocated for %d", n, len(text))
		}
		if dim < 100 && len(x) < 1000 && !bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
			compare(t, string(text), int(dim))
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	rnd := rand.New(rand.NewPCG(17, 18))
	for _, c := range []struct{ dim, step int }{{123, 9}, {784, 5}, {47_236, 600}} {
		var text bytes.Buffer
		n := 0
		for ; text.Len() < 8<<20; n++ {
			fmt.Fprint(&text, n%2)
			for i := 1 + rnd.IntN(c.step); i <= c.dim; i += 1 + rnd.IntN(2*c.step) {
				fmt.Fprintf(&text, " %d:%.6f", i, rnd.Float64())
			}
			text.WriteByte('\n')
		}
		b.Run(fmt.Sprintf("d=%d", c.dim), func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			x := make([]float32, 0, c.dim)
			for b.Loop() {
				r := &reader{lines: lines.New(bytes.NewReader(text.Bytes()), lines.Options{}), dim: c.dim}
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
