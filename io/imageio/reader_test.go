package imageio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bochner-ml/bochner/io/rowio"
)

// encode writes an IDX file, one number at a time.
func encode(typ byte, dims []int, numbers []float64) []byte {
	b := []byte{0, 0, typ, byte(len(dims))}
	for _, d := range dims {
		b = binary.BigEndian.AppendUint32(b, uint32(d))
	}
	for _, v := range numbers {
		switch typ {
		case typeUint8:
			b = append(b, uint8(v))
		case typeInt8:
			b = append(b, byte(int8(v)))
		case typeInt16:
			b = binary.BigEndian.AppendUint16(b, uint16(int16(v)))
		case typeInt32:
			b = binary.BigEndian.AppendUint32(b, uint32(int32(v)))
		case typeFloat32:
			b = binary.BigEndian.AppendUint32(b, math.Float32bits(float32(v)))
		case typeFloat64:
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	return b
}

// all reads every row, with bad rows as the text of their error.
func all(r rowio.Reader) (x []float32, labels, bad []string, err error) {
	for {
		var label []byte
		before := len(x)
		x, label, err = r.Append(x)
		if b := (*rowio.BadRow)(nil); errors.As(err, &b) {
			bad = append(bad, b.Error())
			if len(x) != before {
				panic("a bad row was appended")
			}
			continue
		}
		if err == io.EOF {
			return x, labels, bad, nil
		}
		if err != nil {
			return x, labels, bad, err
		}
		if label != nil {
			labels = append(labels, string(label))
		}
	}
}

func TestEveryTypeIsReadAsWritten(t *testing.T) {
	for _, c := range []struct {
		typ     byte
		numbers []float64
	}{
		{typeUint8, []float64{0, 1, 127, 128, 254, 255}},
		{typeInt8, []float64{0, 1, 127, -1, -127, -128}},
		{typeInt16, []float64{0, 258, 32767, -1, -258, -32768}},
		{typeInt32, []float64{0, 16909060, 2147483647, -1, -16909060, -2147483648}},
		{typeFloat32, []float64{0, 1.5, math.MaxFloat32, -1, -1.0 / 3, math.SmallestNonzeroFloat32}},
		{typeFloat64, []float64{0, 1.5, math.MaxFloat32, -1, -1.0 / 3, 1e-300}},
	} {
		var want []float32
		for _, v := range c.numbers {
			want = append(want, float32(v))
		}
		for _, dims := range [][]int{{6}, {3, 2}, {1, 3, 2}, {6, 1, 1, 1, 1, 1, 1, 1}} {
			for _, wrap := range []func(io.Reader) io.Reader{
				func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader,
			} {
				r, err := openStreams(wrap(bytes.NewReader(encode(c.typ, dims, c.numbers))), nil)
				if err != nil {
					t.Fatalf("type %02x, %v: %v", c.typ, dims, err)
				}
				got, labels, _, err := all(r)
				if !slices.Equal(got, want) || err != nil || labels != nil || r.Line() != int64(dims[0]) {
					t.Errorf("type %02x, %v: %v, labels %q, line %d, %v; want %v", c.typ, dims, got, labels, r.Line(), err, want)
				}
			}
		}
	}
}

func TestLabelsAreDecimalText(t *testing.T) {
	for typ, numbers := range map[byte][]float64{
		typeUint8: {0, 9, 255}, typeInt8: {0, -1, -128}, typeInt16: {7, -32768, 32767},
		typeInt32: {7, -2147483648, 2147483647},
	} {
		var want []string
		for _, v := range numbers {
			want = append(want, strconv.FormatInt(int64(v), 10))
		}
		r, err := openStreams(bytes.NewReader(encode(typeUint8, []int{3, 2}, make([]float64, 6))),
			bytes.NewReader(encode(typ, []int{3}, numbers)))
		if err != nil {
			t.Fatal(err)
		}
		if _, labels, _, err := all(r); !slices.Equal(labels, want) || err != nil {
			t.Errorf("type %02x: %q, %v; want %q", typ, labels, err, want)
		}
	}
}

func TestAnyCutIntoRangesReadsTheSameRows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	numbers := make([]float64, 20*3)
	for i := range numbers {
		numbers[i] = float64(rnd.IntN(65536) - 32768)
	}
	images := encode(typeInt16, []int{20, 3}, numbers)
	labels := encode(typeUint8, []int{20}, numbers[:20])
	h, err := readHeader(bytes.NewReader(images))
	if err != nil {
		t.Fatal(err)
	}
	lh, err := readHeader(bytes.NewReader(labels))
	if err != nil {
		t.Fatal(err)
	}
	read := func(first, count int64) ([]float32, []string) {
		off, n := h.extent(first, count)
		loff, ln := lh.extent(first, count)
		x, y, _, err := all(newReader(bytes.NewReader(images[off:off+n]), bytes.NewReader(labels[loff:loff+ln]), h, lh, first,
			count))
		if err != nil {
			t.Fatal(err)
		}
		return x, y
	}
	wantX, wantY := read(0, 20)
	if len(wantX) != 60 || len(wantY) != 20 {
		t.Fatalf("%d numbers, %d labels", len(wantX), len(wantY))
	}
	for range 50 {
		var x []float32
		var y []string
		for first := int64(0); first < 20; {
			count := rnd.Int64N(20 - first + 1)
			px, py := read(first, count)
			x, y = append(x, px...), append(y, py...)
			first += count
		}
		if !slices.Equal(x, wantX) || !slices.Equal(y, wantY) {
			t.Fatalf("%v %q, want %v %q", x, y, wantX, wantY)
		}
	}
}

func TestNumbersThatAreNotFiniteMakeABadRow(t *testing.T) {
	numbers := []float64{1, 2, math.NaN(), 3, 4, math.Inf(-1), 5, 6}
	for _, typ := range []byte{typeFloat32, typeFloat64} {
		r, err := openStreams(bytes.NewReader(encode(typ, []int{4, 2}, numbers)), nil)
		if err != nil {
			t.Fatal(err)
		}
		x, _, bad, err := all(r)
		want := []string{"2:1: NaN (missing values are not supported)",
			"3:2: infinite, or too large for float32 (largest is 3.4e38)"}
		if !slices.Equal(x, []float32{1, 2, 5, 6}) || !slices.Equal(bad, want) || err != nil {
			t.Errorf("type %02x: %v, %q, %v", typ, x, bad, err)
		}
	}
	r, _ := openStreams(bytes.NewReader(encode(typeFloat64, []int{1, 1}, []float64{1e39})), nil)
	if x, _, bad, err := all(r); len(x) != 0 || len(bad) != 1 || err != nil {
		t.Errorf("1e39: %v, %q, %v", x, bad, err)
	}
}

func TestFilesOfTheWrongSizeAreErrors(t *testing.T) {
	images := encode(typeUint8, []int{5, 4}, make([]float64, 20))
	labels := encode(typeUint8, []int{5}, make([]float64, 5))
	for _, c := range []struct {
		name           string
		images, labels []byte
		rows           int
		want           string
	}{
		{"data cut in a record", images[:len(images)-5], labels, 3,
			"data ends after record 3 of 5 (truncated?): unexpected EOF"},
		{"data cut between records", images[:len(images)-4], labels, 4,
			"data ends after record 4 of 5 (truncated?): unexpected EOF"},
		{"no record", images[:12], labels, 0, "data ends after record 0 of 5 (truncated?): unexpected EOF"},
		{"labels cut", images, labels[:len(labels)-2], 3,
			"labels file ends after record 3 of 5 (truncated?): unexpected EOF"},
		{"data too long", append(images[:len(images):len(images)], 1, 2, 3), labels, 5,
			"data has 3 bytes more than the header declares"},
		{"labels too long", images, append(labels[:len(labels):len(labels)], 1), 5,
			"labels file has 1 bytes more than the header declares"},
		{"data far too long", append(images[:len(images):len(images)], make([]byte, 3<<20)...), labels, 5,
			"data has 1048576 or more bytes more than the header declares"},
	} {
		r, err := openStreams(bytes.NewReader(c.images), bytes.NewReader(c.labels))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		x, _, _, err := all(r)
		if err == nil || err.Error() != c.want || len(x) != 4*c.rows {
			t.Errorf("%s: %d numbers, %v; want %d, %s", c.name, len(x), err, 4*c.rows, c.want)
		}
		if x, _, again := r.Append(nil); again != err || len(x) != 0 {
			t.Errorf("%s: after the error %v comes %v", c.name, err, again)
		}
	}
}

func TestStreamErrorsNameTheRecord(t *testing.T) {
	broken := errors.New("gzip checksum does not match")
	data := encode(typeUint8, []int{5, 4}, make([]float64, 20))
	for n, want := range map[int]string{
		21: "data: record 3: gzip checksum does not match",
		32: "data: after record 5: gzip checksum does not match",
	} {
		r, err := openStreams(io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(broken)), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _, _, err = all(r)
		if !errors.Is(err, broken) || err.Error() != want {
			t.Errorf("%d bytes: %v, want %s", n, err, want)
		}
	}
}

func TestNewReaderPanicsOnInvalidArguments(t *testing.T) {
	h, lh := header{Type: typeUint8, Dims: []int{5, 4}}, header{Type: typeUint8, Dims: []int{4}}
	for name, f := range map[string]func(){
		"range":    func() { newReader(strings.NewReader(""), nil, h, lh, 3, 3) },
		"negative": func() { newReader(strings.NewReader(""), nil, h, lh, -1, 3) },
		"labels":   func() { newReader(strings.NewReader(""), strings.NewReader(""), h, lh, 0, 5) },
	} {
		func() {
			defer func() {
				if s, ok := recover().(string); !ok || !strings.HasPrefix(s, "imageio: ") {
					t.Errorf("%s: panic %q", name, s)
				}
			}()
			f()
		}()
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	images := encode(typeUint8, []int{500, 16}, make([]float64, 8000))
	labels := encode(typeInt16, []int{500}, make([]float64, 500))
	r, err := openStreams(bytes.NewReader(images), bytes.NewReader(labels))
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 16)
	if _, _, err := r.Append(x[:0]); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(400, func() {
		if _, _, err := r.Append(x[:0]); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a row", n)
	}
}

func BenchmarkReader(b *testing.B) {
	for _, c := range []struct {
		typ  byte
		n, d int
	}{{typeUint8, 20000, 784}, {typeUint8, 200000, 4}, {typeUint8, 20, 1 << 20}, {typeInt16, 20000, 784},
		{typeFloat32, 10000, 784}, {typeFloat64, 5000, 784}} {
		data := encode(c.typ, []int{c.n, c.d}, make([]float64, c.n*c.d))
		labels := encode(typeUint8, []int{c.n}, make([]float64, c.n))
		b.Run(fmt.Sprintf("type=%02x/d=%d", c.typ, c.d), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			block := make([]float32, rowio.RowsPerBlock(c.d)*c.d)
			for b.Loop() {
				r, err := openStreams(bytes.NewReader(data), bytes.NewReader(labels))
				if err != nil {
					b.Fatal(err)
				}
				x := block[:0]
				for {
					if len(x)+c.d > len(block) {
						x = x[:0]
					}
					if x, _, err = r.Append(x); err != nil {
						break
					}
				}
				if err != io.EOF {
					b.Fatal(err)
				}
			}
		})
	}
}
