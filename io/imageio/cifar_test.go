package imageio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bochner-ml/bochner/internal/testing/realdata"
	"github.com/bochner-ml/bochner/io/rowio"
)

var layouts = []*CIFARLayout{CIFAR10, CIFAR100Coarse, CIFAR100Fine}

// file makes n records of random pixels, and what should be read from them.
func file(l *CIFARLayout, n int) (data []byte, x []float32, labels []string) {
	rnd := rand.New(rand.NewPCG(7, uint64(n)))
	for range n {
		if l == CIFAR10 {
			v := rnd.IntN(10)
			data, labels = append(data, byte(v)), append(labels, strconv.Itoa(v))
		} else {
			coarse, fine := rnd.IntN(20), rnd.IntN(100)
			data = append(data, byte(coarse), byte(fine))
			labels = append(labels, strconv.Itoa(map[*CIFARLayout]int{CIFAR100Coarse: coarse, CIFAR100Fine: fine}[l]))
		}
		for range 3072 {
			v := rnd.IntN(256)
			data, x = append(data, byte(v)), append(x, float32(v))
		}
	}
	return data, x, labels
}

func allCIFAR(r *CIFARReader) (x []float32, labels, bad []string, err error) {
	for {
		var label []byte
		x, label, err = r.Append(x)
		if b := (*rowio.BadRow)(nil); errors.As(err, &b) {
			bad = append(bad, b.Error())
			continue
		}
		if err == io.EOF {
			return x, labels, bad, nil
		}
		if err != nil {
			return x, labels, bad, err
		}
		labels = append(labels, string(label))
	}
}

func TestRecordsAreReadAsWritten(t *testing.T) {
	for _, l := range layouts {
		data, want, labels := file(l, 50)
		for name, r := range map[string]*CIFARReader{
			"counted":      NewCIFARReader(bytes.NewReader(data), l, 0, 50),
			"to the end":   NewCIFARReader(bytes.NewReader(data), l, 0, -1),
			"half by half": NewCIFARReader(iotest.HalfReader(bytes.NewReader(data)), l, 0, -1),
		} {
			x, y, bad, err := allCIFAR(r)
			if !slices.Equal(x, want) || !slices.Equal(y, labels) || bad != nil || err != nil || r.Line() != 50 {
				t.Errorf("%v, %s: %d values, labels %q, bad %q, %v, line %d", l, name, len(x), y, bad, err, r.Line())
			}
		}
	}
}

func TestAnyCutOfCIFARReadsTheSameRows(t *testing.T) {
	data, want, labels := file(CIFAR100Fine, 12)
	for cut := int64(0); cut <= 12; cut++ {
		var x []float32
		var y []string
		for _, part := range [][2]int64{{0, cut}, {cut, 12 - cut}} {
			off, n := CIFAR100Fine.extent(part[0], part[1])
			px, py, _, err := allCIFAR(NewCIFARReader(bytes.NewReader(data[off:off+n]), CIFAR100Fine, part[0], part[1]))
			if err != nil {
				t.Fatal(err)
			}
			x, y = append(x, px...), append(y, py...)
		}
		if !slices.Equal(x, want) || !slices.Equal(y, labels) {
			t.Errorf("cut at %d: rows differ", cut)
		}
	}
}

func TestLabelThatIsNotAClassMakesABadRow(t *testing.T) {
	for l, want := range map[*CIFARLayout]string{
		CIFAR10:        "2: label byte 1 is 10; CIFAR-10 has 0 to 9 (is the file of another format?)",
		CIFAR100Coarse: "2: label byte 1 is 20; CIFAR-100 (coarse labels) has 0 to 19 (is the file of another format?)",
		CIFAR100Fine:   "2: label byte 1 is 20; CIFAR-100 (fine labels) has 0 to 19 (is the file of another format?)",
	} {
		data, x, _ := file(l, 3)
		data[l.recordBytes()] = byte(l.classes[0])
		got, labels, bad, err := allCIFAR(NewCIFARReader(bytes.NewReader(data), l, 0, 3))
		if len(bad) != 1 || bad[0] != want || err != nil || len(labels) != 2 ||
			!slices.Equal(got, append(x[:cifarRowLen:cifarRowLen], x[2*cifarRowLen:]...)) {
			t.Errorf("%v: bad %q, %d numbers, %v", l, bad, len(got), err)
		}
	}
}

func TestStreamsThatEndEarlyAreErrors(t *testing.T) {
	data, _, _ := file(CIFAR10, 5)
	broken := errors.New("zstd checksum does not match")
	for _, c := range []struct {
		r            io.Reader
		first, count int64
		rows         int
		want         string
	}{
		{bytes.NewReader(data[:3*3073]), 10, 5, 3, "ends after record 13 of 15 (truncated?): unexpected EOF"},
		{bytes.NewReader(data[:3*3073+1]), 10, 5, 3,
			"record 14 has only 1 of 3073 bytes (truncated?): unexpected EOF"},
		{bytes.NewReader(data[:4*3073-1]), 0, -1, 3,
			"record 4 has only 3072 of 3073 bytes (truncated?): unexpected EOF"},
		{bytes.NewReader(nil), 0, 1, 0, "ends after record 0 of 1 (truncated?): unexpected EOF"},
		{io.MultiReader(bytes.NewReader(data[:7000]), iotest.ErrReader(broken)), 0, -1, 2,
			"record 3: zstd checksum does not match"},
		{io.MultiReader(bytes.NewReader(data), iotest.ErrReader(broken)), 0, -1, 5,
			"record 6: zstd checksum does not match"},
	} {
		r := NewCIFARReader(c.r, CIFAR10, c.first, c.count)
		x, _, _, err := allCIFAR(r)
		if err == nil || err.Error() != c.want || len(x) != c.rows*cifarRowLen {
			t.Errorf("%d numbers, %v; want %s", len(x), err, c.want)
		}
		if _, _, again := r.Append(nil); again != err {
			t.Errorf("after %v, got %v", err, again)
		}
	}
}

func TestRecordCountFollowsFromFileSize(t *testing.T) {
	for _, c := range []struct {
		l          *CIFARLayout
		size, want int64
	}{{CIFAR10, 30_730_000, 10_000}, {CIFAR10, 0, 0}, {CIFAR100Fine, 153_700_000, 50_000}, {CIFAR100Coarse, 3074, 1}} {
		if n, err := c.l.records(c.size); n != c.want || err != nil {
			t.Errorf("%v: %d, %v", c.l, n, err)
		}
	}
	want := "6147 bytes are not a whole number of CIFAR-10 records of 3073 bytes (1 too many; truncated, or another format?)"
	if _, err := CIFAR10.records(6147); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestPlausibleRecognisesCIFARFiles(t *testing.T) {
	ten, _, _ := file(CIFAR10, 4)
	hundred, _, _ := file(CIFAR100Fine, 4)
	wrong := bytes.Clone(ten)
	wrong[2*3073] = 10
	text := []byte(strings.Repeat("1,2,3\n", 3073))
	for _, c := range []struct {
		name string
		l    *CIFARLayout
		head []byte
		size int64
		want bool
	}{
		{"whole file", CIFAR10, ten, int64(len(ten)), true},
		{"head", CIFAR10, ten[:4000], int64(len(ten)), true},
		{"head, size unknown", CIFAR10, ten[:4000], -1, true},
		{"one record, whole", CIFAR10, ten[:3073], 3073, true},
		{"one record, size unknown", CIFAR10, ten[:3073], -1, false},
		{"head too short", CIFAR10, ten[:3000], int64(len(ten)), false},
		{"size", CIFAR10, ten[:4000], int64(len(ten)) - 1, false},
		{"third label", CIFAR10, wrong, int64(len(wrong)), false},
		{"third label after the head", CIFAR10, wrong[:4000], int64(len(wrong)), true},
		{"empty", CIFAR10, nil, 0, false},
		{"text", CIFAR10, text, int64(len(text)), false},
		{"100", CIFAR100Fine, hundred, int64(len(hundred)), true},
		{"100 coarse", CIFAR100Coarse, hundred, -1, true},
		{"100 as 10", CIFAR10, hundred, int64(len(hundred)), false},
		{"text as 100", CIFAR100Fine, text, -1, false},
	} {
		if got := c.l.plausible(c.head, c.size); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestNewCIFARReaderPanicsOnInvalidArguments(t *testing.T) {
	for name, f := range map[string]func(){
		"first": func() { NewCIFARReader(nil, CIFAR10, -1, 0) },
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

// The first record of data_batch_1 is a frog, class 6, whose first row of red values begins 59, 43, 50.
func TestCIFAR10FirstRecordIsAFrog(t *testing.T) {
	data := realdata.Read(t, "cifar10", "first4000.bin.gz")
	r := NewCIFARReader(bytes.NewReader(data), CIFAR10, 0, -1)
	x, label, err := r.Append(nil)
	if err != nil || string(label) != "6" || !slices.Equal(x[:3], []float32{59, 43, 50}) {
		t.Errorf("first record: label %q, %v, %v", label, x[:3], err)
	}
	if _, _, bad, err := allCIFAR(r); bad != nil || err != nil || r.Line() != 4000 {
		t.Errorf("%d records, bad %q, %v", r.Line(), bad, err)
	}
}

// Any bytes are read without a panic, in memory in proportion to the input, give no more rows than the data
// holds, and end with io.EOF only after whole records.
func FuzzCIFAR(f *testing.F) {
	for i, l := range layouts {
		data, _, _ := file(l, 2)
		f.Add(data, i, int64(2))
		f.Add(data[:4000], i, int64(-1))
	}
	f.Fuzz(func(t *testing.T, data []byte, layout int, count int64) {
		l := layouts[uint(layout)%3]
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := NewCIFARReader(bytes.NewReader(data), l, 0, count)
		var x []float32
		var err error
		for err == nil {
			x, _, err = r.Append(x[:0])
			if b := (*rowio.BadRow)(nil); errors.As(err, &b) {
				err = nil
			} else if err == nil && len(x) != cifarRowLen {
				t.Fatalf("row of %d values", len(x))
			}
		}
		l.plausible(data, count)
		runtime.ReadMemStats(&after)
		if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(8*len(data)+64<<20); got > limit {
			t.Fatalf("%d bytes allocated for an input of %d, limit %d", got, len(data), limit)
		}
		n := int64(len(data) / l.recordBytes())
		switch {
		case count >= 0 && count <= n: // the reader ignores bytes after the range
			if err != io.EOF || r.Line() != count {
				t.Fatalf("%d of %d records, %v", r.Line(), count, err)
			}
		case r.Line() != n || (err == io.EOF) != (count < 0 && len(data)%l.recordBytes() == 0):
			t.Fatalf("%d bytes, %d requested: %d records, %v", len(data), count, r.Line(), err)
		}
	})
}

func BenchmarkCIFARReader(b *testing.B) {
	for _, n := range []int{10, 5000} {
		data, _, _ := file(CIFAR10, n)
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			x := make([]float32, 0, cifarRowLen)
			for b.Loop() {
				r := NewCIFARReader(bytes.NewReader(data), CIFAR10, 0, -1)
				var err error
				for err == nil {
					_, _, err = r.Append(x)
				}
				if err != io.EOF {
					b.Fatal(err)
				}
			}
		})
	}
}
