package dataset_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/bochner-ml/bochner/io/dataset"
)

// sources are files of every format: each function writes them to a directory with a
// compression and returns the options to open them.
var sources = []struct {
	name string
	rows int
	make func(t testing.TB, dir, how string) Options
}{
	{"csv", 60, func(t testing.TB, dir, how string) Options {
		text := strings.ReplaceAll(csvText(60), ",a", ",0")
		return Options{Files: []string{write(t, dir, "d", pack(t, how, []byte(text)))}, Label: "y"}
	}},
	{"csv of two files and an empty one", 50, func(t testing.TB, dir, how string) Options {
		text := strings.ReplaceAll(csvText(25), ",a", ",0")
		for i, s := range []string{text, "", text} {
			write(t, dir, fmt.Sprintf("d%d", i), pack(t, how, []byte(s)))
		}
		return Options{Files: []string{dir + "/d*"}, Label: "-1"}
	}},
	{"tsv", 40, func(t testing.TB, dir, how string) Options {
		text := strings.Repeat("1\t2.5\t-3\n4\t5\t6\n", 20)
		return Options{Files: []string{write(t, dir, "d", pack(t, how, []byte(text)))}, Label: "1"}
	}},
	{"libsvm", 80, func(t testing.TB, dir, how string) Options {
		return Options{Files: []string{write(t, dir, "d", pack(t, how, []byte(libsvmText(80))))}}
	}},
	{"idx", 33, func(t testing.TB, dir, how string) Options {
		images, labels := make([]float32, 33*6), make([]float32, 33)
		for i := range images {
			images[i] = float32(i) / 4
		}
		for i := range labels {
			labels[i] = float32(i % 10)
		}
		return Options{
			Files:   []string{write(t, dir, "d", pack(t, how, idx(0x0d, []int{33, 2, 3}, images)))},
			Formats: labelFiles([]string{write(t, dir, "l", pack(t, how, idx(0x08, []int{33}, labels)))}...),
		}
	}},
	{"cifar10", 4, func(t testing.TB, dir, how string) Options {
		return Options{Files: []string{write(t, dir, "d", pack(t, how, cifar(4, 1)))}}
	}},
	{"cifar100", 4, func(t testing.TB, dir, how string) Options {
		return Options{Files: []string{write(t, dir, "d", pack(t, how, cifar(4, 2)))}, Format: "cifar100"}
	}},
}

func TestEveryCutGivesTheSameRowsInTheSameOrder(t *testing.T) {
	for _, src := range sources {
		var want []string // the same for all packings
		for _, how := range packings {
			t.Run(src.name+" "+how, func(t *testing.T) {
				d := open(t, src.make(t, t.TempDir(), how))
				if got := string(d.Schema.Format); !strings.HasPrefix(src.name, got) {
					t.Fatalf("recognised as %s", got)
				}
				if want == nil {
					want, _ = readAll(d, d.Shards(1<<40), token, FailFast)
					if len(want) != src.rows {
						t.Fatalf("%d rows, want %d", len(want), src.rows)
					}
				}
				sizes := []int64{1, 2, 3, 5, 7, 8, 13, 50, 64, 100, 333, 1000, 3073, 4000, 1 << 20}
				if !d.Schema.Traits().Text {
					sizes = []int64{1, 24, 30, 3073, 7000, 1 << 20}
				}
				for _, size := range sizes {
					shards := d.Shards(size)
					if how == "plain" && size == 1 && len(shards) < src.rows {
						t.Fatalf("size 1 gives %d shards: no file is cut", len(shards))
					}
					got, reports := readAll(d, shards, token, FailFast)
					if !slices.Equal(got, want) {
						t.Fatalf("size %d: %d rows, want %d\n%q\n%q", size, len(got), len(want), got, want)
					}
					checkTiles(t, d, reports, want)
				}
			})
		}
	}
}

// checkTiles checks that reports tile the files, and that the exact shards give
// the same rows again and know their lines.
func checkTiles(t *testing.T, d *Dataset, reports []Report, want []string) {
	t.Helper()
	var n int64
	for _, r := range reports {
		n += r.Rows
		if r.Fault != "" {
			t.Fatalf("fault %s", r.Fault)
		}
	}
	if n != int64(len(want)) {
		t.Fatalf("reports count %d rows, want %d", n, len(want))
	}
	slices.Reverse(reports) // they come back in any order
	exact, again := Tile(reports)
	if len(again) > 0 {
		t.Fatalf("files %v do not tile", again)
	}
	got, second := readAll(d, exact, token, FailFast)
	if !slices.Equal(got, want) {
		t.Fatalf("exact shards give %d rows, want %d", len(got), len(want))
	}
	lines := map[int]int64{}
	for i, r := range second {
		if r.Shard != exact[i] || r.Begin != exact[i].Start || exact[i].End >= 0 && r.End != exact[i].End {
			t.Fatalf("exact shard %+v was read as %+v", exact[i], r)
		}
		if r.Shard.Line != lines[r.Shard.File] {
			t.Fatalf("shard %+v begins at line %d, want %d", r.Shard, r.Shard.Line, lines[r.Shard.File])
		}
		lines[r.Shard.File] += r.Lines
	}
}

// Tile returns a file whose shards begin inside a quoted field, which a reader cannot detect in either mode;
// read whole, the file gives the right rows.
func TestCutsInsideQuotedNewlinesAreFound(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.csv", []byte("x,y\n1,2\n3,4\n"))
	write(t, dir, "b.csv", []byte("x,y\n"+strings.Repeat("1,\"p\n5,q\n\"\n2,r\n", 9)))
	d := open(t, Options{Files: []string{dir + "/*.csv"}, Label: "y"})
	want, _ := readAll(d, d.Shards(1<<40), token, FailFast)
	if len(want) != 2+18 {
		t.Fatalf("%d rows", len(want))
	}
	for _, mode := range []Mode{FailFast, SkipRow, KeepPlace} {
		found := 0
		for size := int64(1); size < 170; size++ {
			shards := d.Shards(size)
			got, reports := readAll(d, shards, token, mode)
			exact, again := Tile(reports)
			if len(again) == 0 {
				if !slices.Equal(got, want) {
					t.Fatalf("%s, size %d: rows differ, and Tile reports no file", mode, size)
				}
				continue
			}
			found++
			if !slices.Equal(again, []int{1}) {
				t.Fatalf("%s, size %d: Tile returns %v", mode, size, again)
			}
			for _, s := range exact {
				if s.File != 0 {
					t.Fatalf("%s, size %d: %+v is exact", mode, size, s)
				}
			}
			got, reports = readAll(d, append(exact, Whole(1)), token, mode)
			if _, again := Tile(reports); len(again) > 0 || !slices.Equal(got, want) {
				t.Fatalf("%s, size %d: read whole: %d rows, again %v", mode, size, len(got), again)
			}
		}
		if found < 20 {
			t.Fatalf("%s: only %d sizes cut a quoted newline", mode, found)
		}
	}
}

// A bad row is reported even if later shards do not tile.
func TestBadRowBeforeACutIsNotReadAgain(t *testing.T) {
	text := "x,y\n1,p\noops,q\n" + strings.Repeat("2,r\n", 50)
	d := open(t, Options{Files: []string{write(t, t.TempDir(), "a.csv", []byte(text))}, Label: "y"})
	for size := int64(1); size < 250; size += 3 {
		_, reports := readAll(d, d.Shards(size), token, FailFast)
		if _, again := Tile(reports); len(again) > 0 {
			t.Fatalf("size %d: to be read again", size)
		}
		var bad []SetAside
		for _, r := range reports {
			bad = append(bad, r.SetAside...)
		}
		if len(bad) != 1 || bad[0].Line != 3 || bad[0].Column != 1 {
			t.Fatalf("size %d: %+v", size, bad)
		}
	}
}

func TestLinesOfBadRowsMatchTheFile(t *testing.T) {
	var text strings.Builder
	var want []int64
	text.WriteString("x,y\n")
	for i := range 200 {
		if i%9 == 4 {
			want = append(want, int64(i+2))
			text.WriteString("x,1\n")
		} else {
			fmt.Fprintf(&text, "%d,1\n", i)
		}
	}
	values := make([]float32, 40*2)
	var wantIDX []int64
	for i := range 40 {
		if i%7 == 5 {
			values[2*i+1] = inf()
			wantIDX = append(wantIDX, int64(i+1))
		}
	}
	images := cifar(12, 1)
	images[5*3073], images[11*3073] = 10, 99
	dir := t.TempDir()
	for _, c := range []struct {
		name    string
		content []byte
		o       Options
		want    []int64
		sizes   []int64
	}{
		{"csv", []byte(text.String()), Options{Label: "y"}, want, []int64{1, 4, 9, 100, 317, 1 << 20}},
		{"idx", idx(0x0d, []int{40, 2}, values), Options{}, wantIDX, []int64{1, 8, 20, 100, 1 << 20}},
		{"cifar10", images, Options{Format: "cifar10"}, []int64{6, 12}, []int64{1, 3073, 10000, 1 << 20}},
	} {
		c.o.Files = []string{write(t, dir, c.name, c.content)}
		d := open(t, c.o)
		for _, size := range c.sizes {
			_, reports := readAll(d, d.Shards(size), nil, SkipRow)
			exact, again := Tile(reports)
			if len(again) > 0 {
				t.Fatalf("%s: size %d: does not tile", c.name, size)
			}
			if got := linesOf(reports); !slices.Equal(got, c.want) {
				t.Errorf("%s: size %d: bad rows at %v, want %v", c.name, size, got, c.want)
			}
			Tile(reports) // a second time changes nothing
			if got := linesOf(reports); !slices.Equal(got, c.want) {
				t.Errorf("%s: size %d: tiled twice: bad rows at %v, want %v", c.name, size, got, c.want)
			}
			_, reports = readAll(d, exact, nil, SkipRow)
			Tile(reports)
			if got := linesOf(reports); !slices.Equal(got, c.want) {
				t.Errorf("%s: size %d: second pass: bad rows at %v, want %v", c.name, size, got, c.want)
			}
		}
	}
}

func linesOf(reports []Report) (out []int64) {
	for _, r := range reports {
		for _, s := range r.SetAside {
			out = append(out, s.Line)
		}
	}
	return out
}

func TestSetAsideNamesFileLineAndColumn(t *testing.T) {
	if got := (SetAside{File: "a.csv", Line: 3}).Place(); got != "a.csv:3" {
		t.Error(got)
	}
	if got := (SetAside{File: "a.csv", Line: 3, Column: 7}).Place(); got != "a.csv:3:7" {
		t.Error(got)
	}
}

func TestShardThatEndsAtZeroIsEmpty(t *testing.T) {
	d := open(t, Options{Files: []string{write(t, t.TempDir(), "d", []byte(csvText(10)))}, Label: "y"})
	rows, report := readShard(d, Shard{Exact: true}, nil, FailFast)
	if len(rows) > 0 || report.Fault != "" || report.Lines > 0 {
		t.Errorf("%d rows; %+v", len(rows), report)
	}
}
