package dataset_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/csvio"
	. "github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
)

// FuzzDataset reads arbitrary bytes as a file of every format, whole and in shards: no
// panic, every row used or set aside once, the same rows for every cut, and memory
// bounded by the input.
func FuzzDataset(f *testing.F) {
	for _, s := range []string{
		csvQuotedText(12), libsvmText(9), "a\tb\n1\t2\n", "\n\na,b\n1,2\n", "\xef\xbb\xbfx,y\n1,2\n",
		"1 1:1\n1 1048576:1\n", "1,2\n\"3\n,4\n", "x\n1\n\x00\n",
		string(idx(0x0d, []int{3, 2}, []float32{1, 2, 3, 4, 5, inf()})), string(idx(8, []int{2},
			[]float32{1, 2})), string(cifar(1, 1)),
		string(pack(f, "gzip", []byte(libsvmText(5)))), string(pack(f, "zstd", []byte(csvText(4)))),
	} {
		for kind := range len(Names()) + 1 {
			f.Add([]byte(s), byte(kind), uint16(len(s)/3))
		}
	}
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, data []byte, kind byte, size uint16) {
		o := Options{Files: []string{write(t, t.TempDir(), "d", data)}, Formats: headers(csvio.Header(kind / 16 % 3))}
		if i := int(kind) % 16 % (len(Names()) + 1); i > 0 {
			o.Format = Names()[i-1]
		}
		if kind >= 128 {
			o.Label = "1"
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d, err := Open(ctx, o)
		if err != nil {
			if text := err.Error(); !strings.Contains(text, o.Files[0]) {
				t.Errorf("%q does not name the file", text)
			}
			return
		}
		runtime.ReadMemStats(&after)
		plain := d.Files[0].Compression == ""
		checkMemory(t, "Open", before, after, data, plain)
		if d.Schema.Dim > 4096 {
			return // one row fills a block
		}
		shards := d.Shards(max(1, int64(size)))
		if len(shards) > 64 {
			shards = d.Shards(1 << 40)
		}
		for _, mode := range []Mode{FailFast, SkipRow, KeepPlace} {
			reports := countRows(t, d, shards, mode, data, plain)
			exact, again := Tile(reports)
			fault := slices.ContainsFunc(reports, func(r Report) bool { return r.Fault != "" })
			if fault || mode != SkipRow || len(again) > 0 {
				continue
			}
			want := countRows(t, d, d.Shards(1<<40), mode, data, plain)
			second := countRows(t, d, exact, mode, data, plain)
			for _, other := range [][]Report{want, second} {
				r0, b0 := total(reports)
				r1, b1 := total(other)
				if r0 != r1 || b0 != b1 {
					t.Fatalf("%d rows and %d bad in %d shards, %d and %d in %d", r0, b0, len(reports), r1, b1, len(other))
				}
			}
		}
	})
}

func total(reports []Report) (used, bad int64) {
	for _, r := range reports {
		used, bad = used+r.Rows, bad+r.Bad+r.Unlabeled
	}
	return used, bad
}

// countRows reads shards and checks blocks and reports against each other.
func countRows(t *testing.T, d *Dataset, shards []Shard, mode Mode, data []byte, plain bool) (reports []Report) {
	t.Helper()
	for _, s := range shards {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := d.Read(context.Background(), s, token, mode)
		var b rowio.Block
		var n int64
		for r.Next(&b) {
			if b.N > rowio.MaxRows || len(b.X) != b.N*b.D || len(b.Y) != b.N || d.Schema.Dim > 0 && b.D != d.Schema.Dim {
				t.Fatalf("block of %d×%d with %d values and %d labels", b.N, b.D, len(b.X), len(b.Y))
			}
			for _, v := range b.X[:min(len(b.X), 1<<16)] {
				if why := rowio.CheckFinite(v); why != "" {
					t.Fatal(why)
				}
			}
			n += int64(b.N)
		}
		if r.Next(&b) {
			t.Fatal("rows after the end")
		}
		r.Close()
		runtime.ReadMemStats(&after)
		checkMemory(t, "Read", before, after, data, plain)
		rep := r.Report()
		want := rep.Rows
		if mode == KeepPlace {
			want += rep.Bad + rep.Unlabeled
		}
		if n != want || mode == FailFast && rep.Bad > 1 || rep.Stopped != (mode == FailFast && rep.Bad > 0) ||
			len(rep.SetAside) != int(min(rep.Bad+rep.Unlabeled, MaxListed)) {
			t.Fatalf("%d rows in blocks, %s: %+v", n, mode, rep)
		}
		reports = append(reports, rep)
	}
	return reports
}

// checkMemory bounds the allocated bytes, garbage included, by the input; compressed
// data may expand to a thousand times its size.
func checkMemory(t *testing.T, what string, before, after runtime.MemStats, data []byte, plain bool) {
	t.Helper()
	limit := uint64(64<<20 + 4*HeadBytes + 8*len(data))
	if !plain {
		limit += 1100 * 8 * uint64(len(data))
	}
	// A LIBSVM row of a few bytes may name any column, so allow two blocks.
	limit += 3 * 64 << 20
	if used := after.TotalAlloc - before.TotalAlloc; used > limit {
		t.Fatalf("%s: allocated %d MB for %d bytes of input", what, used>>20, len(data))
	}
}
