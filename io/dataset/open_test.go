package dataset_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/csvio"
	. "github.com/bochner-ml/bochner/io/dataset"
)

func TestFormatsAreRecognisedByContent(t *testing.T) {
	for _, c := range []struct {
		name    string
		content string
		format  string // "" if the data is rejected
		dim     int
		refused string
	}{
		{"header", "a,b,y\n1,2,3\n", CSV, 3, ""},
		{"BOM and header", "\xef\xbb\xbfa,b\n1,2\n", CSV, 2, ""},
		{"semicolons", "a;b\n1;2\n3;4\n", CSV, 2, ""},
		{"no header", "1,2\n3,4\n", CSV, 2, ""},
		{"one column", "1\n2\n3\n", CSV, 1, ""},
		{"one column of text", "a\nb\n", CSV, 1, ""},
		{"one number", "7", CSV, 1, ""},
		{"tabs", "1\t2\n3\t4\n", TSV, 2, ""},
		{"tabs and commas in text", "a\tb\n\"x,y\"\t2\n\"z,w\"\t3\n", TSV, 2, ""},
		{"pairs", "1 1:0.5 3:2\n-1 2:1\n", LIBSVM, 0, ""},
		{"pairs after all-zero rows", "1\n-1\n1 2:3\n", LIBSVM, 0, ""},
		{"pairs without labels", "1:0.5\n2:1\n", LIBSVM, 0, ""},
		{"pairs after a comment", "# 1,2,3\n1 1:1\n", LIBSVM, 0, ""},
		{"pairs after a BOM", "\xef\xbb\xbf1 1:1\n", LIBSVM, 0, ""},
		{"labels alone are a column", "1\n-1\n1\n", CSV, 1, ""},
		{"times are not pairs", "12:30,1\n12:45,2\n", CSV, 2, ""},
		{"images", string(idx(8, []int{2, 2, 2}, make([]float32, 8))), IDX, 4, ""},
		{"numbers in one dimension", string(idx(0x0d, []int{3}, make([]float32, 3))), IDX, 1, ""},
		{"cifar", string(cifar(3, 1)), CIFAR10, 3072, ""},
		{"one record of cifar", string(cifar(1, 1)), CIFAR10, 3072, ""},
		{"cifar-100 is not recognised by content", string(cifar(1, 2)), "", 0, "NUL"},
		{"UTF-16", "\xff\xfea\x00,\x00b\x00", "", 0, "UTF-16"},
		{"binary", "\x7fELF\x00\x00", "", 0, "is binary (NUL at byte 5)"},
		{"empty", "", "", 0, "is empty"},
		{"blank", " \r\n\n \n", "", 0, "is empty"},
	} {
		for _, how := range packings {
			if how != "plain" && (c.name == "one record of cifar") {
				continue // too little data to recognise without the size
			}
			t.Run(c.name+" "+how, func(t *testing.T) {
				name := write(t, t.TempDir(), "d", pack(t, how, []byte(c.content)))
				d, err := Open(context.Background(), Options{Files: []string{name}})
				switch {
				case c.format == "" && (err == nil || !strings.Contains(err.Error(), c.refused) ||
					!strings.Contains(err.Error(), name)):
					t.Fatalf("%v, want %q and the name", err, c.refused)
				case c.format == "":
					return
				case err != nil:
					t.Fatal(err)
				}
				if d.Schema.Format != c.format || d.Schema.Dim != c.dim {
					t.Errorf("%s of %d values, want %s of %d", d.Schema.Format, d.Schema.Dim, c.format, c.dim)
				}
				if f := d.Files[0]; f.Compression != strings.TrimPrefix(how, "plain") {
					t.Errorf("compression %q", f.Compression)
				}
			})
		}
	}
}

func TestOpenRequiresFiles(t *testing.T) {
	if _, err := Open(context.Background(), Options{}); err == nil || !strings.Contains(err.Error(), "no files to read") {
		t.Errorf("opened nothing: %v", err)
	}
}

func TestFilesOfDifferentKindsAreRejected(t *testing.T) {
	images := idx(8, []int{2, 2}, make([]float32, 4))
	for _, c := range []struct {
		name  string
		files []string
		o     Options
		want  string
	}{
		{"formats", []string{"1 1:2\n", "1,2\n"}, Options{}, "looks like csv, but"},
		{"the file at fault is named", []string{"1,2\n", "1,2\n", "1\t2\n"}, Options{}, "2: looks like tsv"},
		{"the first at fault is named", []string{"1,2\n", "1 1:1\n", "1\t2\n"}, Options{}, "1: looks like libsvm"},
		{"columns", []string{"a,b\n1,2\n", "a,c\n1,2\n"}, Options{}, "missing column b"},
		{"missing label", []string{"a,y\n1,2\n", "a\n1\n"}, Options{Label: "y"}, "the label, is missing"},
		{"no header after one", []string{"a,b\n1,2\n", "3,4\n"}, Options{}, "its columns do not match"},
		{"IDX dimensions", []string{string(images), string(idx(8, []int{2, 3}, make([]float32, 6)))}, Options{},
			"has records of 3 values"},
		{"IDX cut short", []string{string(images), string(images[:len(images)-1])}, Options{}, "truncated"},
		{"an empty IDX file", []string{string(images), ""}, Options{Format: "idx"}, "header ends after 0"},
		{"CIFAR cut short", []string{string(cifar(2, 1)), string(cifar(2, 1)[:5000])}, Options{Format: "cifar10"},
			"not a whole number"},
		{"a line without end", []string{strings.Repeat("1,", 1<<20)}, Options{}, "first line is longer"},
		{"label files of CSV", []string{"1,2\n"}, Options{Formats: labelFiles("l")},
			"is csv; label_files applies to idx and npy only"},
		{"a row length of CSV", []string{"1,2\n"}, Options{Formats: dim(2)}, "is csv; dim applies to libsvm only"},
		{"a header of LIBSVM", []string{"1 1:2\n"}, Options{Formats: headers(csvio.Absent)},
			"is libsvm; header applies to csv and tsv only"},
		{"the label alone", []string{"y\n1\n"}, Options{Label: "y"}, "the label is the only column"},
		{"unknown label", []string{"a,b\n1,2\n"}, Options{Label: "c"}, "no column"},
		{"unknown format", []string{"1,2\n"}, Options{Format: "xml"}, "unknown format"},
		{"unknown header", []string{"1,2\n"}, Options{Formats: headers(9)}, "header must be"},
		{"negative dim", []string{"1 1:2\n"}, Options{Formats: dim(-1)}, "dim must be"},
		{"large dim", []string{"1 1:2\n"}, Options{Formats: dim(1<<20 + 1)}, "dim must be"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for i, content := range c.files {
				write(t, dir, fmt.Sprint(i), []byte(content))
			}
			c.o.Files = []string{filepath.Join(dir, "*")}
			_, err := Open(context.Background(), c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestLabelFilesMatchTheirImages(t *testing.T) {
	dir := t.TempDir()
	for i, n := range []int{2, 3} {
		write(t, dir, fmt.Sprintf("x%d", i), idx(8, []int{n, 2}, make([]float32, 2*n)))
		write(t, dir, fmt.Sprintf("y%d", i), pack(t, "gzip", idx(8, []int{n}, []float32{9, 8, 7}[:n])))
	}
	d := open(t, Options{Files: []string{dir + "/x*"}, Formats: labelFiles(dir + "/y*")})
	if !d.Labeled || !d.Files[0].Compressed() {
		t.Errorf("%+v", d.Files[0])
	}
	got, _ := readAll(d, d.Shards(1), token, FailFast)
	var want []string
	for _, y := range []string{"9", "8", "9", "8", "7"} {
		v, _ := token([]byte(y))
		want = append(want, fmt.Sprint([]float32{0, 0}, v))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for name, labels := range map[string][]string{
		"too few":    {dir + "/y0"},
		"the images": {dir + "/x*"},
		"swapped":    {dir + "/y1", dir + "/y0"},
		"twice":      {dir + "/y0", dir + "/y0"},
	} {
		if _, err := Open(context.Background(),
			Options{Files: []string{dir + "/x*"}, Formats: labelFiles(labels...)}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Columns are matched by name, so column order does not change the rows.
func TestColumnsAreFoundByName(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "0", nil)
	write(t, dir, "1", []byte("a,b,y\n1,2,3\n4,5,6\n"))
	write(t, dir, "2", []byte("extra,y,b,a\nfoo,9,8,7\n"))
	write(t, dir, "3", pack(t, "gzip", []byte("y,a,b\n12,10,11\n")))
	d := open(t, Options{Files: []string{dir + "/*"}, Label: "y"})
	got, _ := readAll(d, d.Shards(1), func(l []byte) (float64, string) {
		var y float64
		fmt.Sscan(string(l), &y)
		return y, ""
	}, FailFast)
	if want := []string{"[1 2] 3", "[4 5] 6", "[7 8] 9", "[10 11] 12"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if !slices.Equal(d.Schema.Columns, []string{"a", "b"}) {
		t.Errorf("columns %v", d.Schema.Columns)
	}
}

// likeOf returns the schema of data as a model stores it.
func likeOf(t *testing.T, o Options) *Schema {
	t.Helper()
	data, err := json.Marshal(open(t, o).Schema)
	if err != nil {
		t.Fatal(err)
	}
	s := new(Schema)
	if err := json.Unmarshal(data, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDataIsReadLikeTheModelsData(t *testing.T) {
	dir := t.TempDir()
	named := likeOf(t, Options{Files: []string{write(t, dir, "a", []byte("a,b,y\n1,2,3\n"))}, Label: "y"})
	bare := likeOf(t, Options{Files: []string{write(t, dir, "b", []byte("1,2,3\n4,5,6\n"))}, Label: "-1"})
	sparse := likeOf(t, Options{Files: []string{write(t, dir, "c", []byte("1 1:1 2:2\n"))}})
	sparse.Dim = 2 // which the first pass over the data finds
	for _, s := range []*Schema{named, bare, sparse} {
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		like    *Schema
		o       Options
		content string
		labeled bool
		want    []string // rows; none if the data is rejected
	}{
		{"as trained", named, Options{}, "a,b,y\n1,2,3\n", true, []string{"[1 2]"}},
		{"other order", named, Options{}, "y,b,a\n3,2,1\n", true, []string{"[1 2]"}},
		{"no label", named, Options{}, "b,a\n2,1\n", false, []string{"[1 2]"}},
		{"a column more", named, Options{}, "b,id,a\n2,x,1\n", false, []string{"[1 2]"}},
		{"other separator", named, Options{}, "b;a\n2;1\n4;3\n", false, []string{"[1 2]", "[3 4]"}},
		{"tabs", named, Options{}, "b\ta\n2\t1\n4\t3\n", false, []string{"[1 2]", "[3 4]"}},
		{"label of another name", named, Options{Label: "z"}, "a,b,z\n1,2,3\n", true, []string{"[1 2]"}},
		{"no header, all columns", named, Options{}, "1,2,3\n", true, []string{"[1 2]"}},
		{"no header, no label", named, Options{}, "1,2\n", false, []string{"[1 2]"}},
		{"a column missing", named, Options{}, "a,y\n1,3\n", false, nil},
		{"too many without names", named, Options{}, "1,2,3,4\n", false, nil},
		{"bare as trained", bare, Options{}, "1,2,3\n", true, []string{"[1 2]"}},
		{"bare without label", bare, Options{Formats: headers(csvio.Auto)}, "1,2\n3,4\n", false, []string{"[1 2]", "[3 4]"}},
		{"bare with a header", bare, Options{Formats: headers(csvio.Present)}, "u,v\n1,2\n", false, []string{"[1 2]"}},
		{"sparse", sparse, Options{}, "1 2:5\n-1 1:4\n", true, []string{"[0 5]", "[4 0]"}},
		{"dense for a sparse model", sparse, Options{}, "7,8\n", false, []string{"[7 8]"}},
		{"dense of another length", sparse, Options{}, "7,8,9\n", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Like = c.like
			c.o.Files = []string{write(t, t.TempDir(), "d", []byte(c.content))}
			d, err := Open(context.Background(), c.o)
			if err != nil {
				if c.want != nil {
					t.Fatal(err)
				}
				return
			}
			if d.Labeled != c.labeled {
				t.Errorf("labeled is %v", d.Labeled)
			}
			got, reports := readAll(d, d.Shards(1), nil, FailFast)
			for i := range got {
				got[i] = strings.TrimSuffix(got[i], " 0")
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v (%+v)", got, c.want, reports)
			}
		})
	}
}

// For a model trained without a header, the first line is a row even if it looks like names.
func TestModelWithoutHeaderReadsTheFirstLineAsARow(t *testing.T) {
	dir := t.TempDir()
	like := likeOf(t, Options{Files: []string{write(t, dir, "a", []byte("1,2\n4,5\n"))}})
	for _, header := range [][]FormatOptions{nil, headers(csvio.Auto)} {
		d := open(t, Options{Files: []string{write(t, dir, "b", []byte("NA,NA\n1,2\n"))}, Like: like, Formats: header})
		if _, r := readShard(d, Whole(0), nil, SkipRow); r.Bad != 1 || r.Rows != 1 {
			t.Errorf("header %v: %+v", header, r)
		}
	}
}

func TestDamagedSchemaIsRejected(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"format":"csv"}`, `{"format":"csv","dim":-1}`, `{"format":"libsvm","dim":2000000}`,
		`{"format":"xml","dim":1}`,
		`{"format":"csv","dim":1,"csv":{"comma":44,"columns":["a"],"label":7,"features":[0]}}`,
		`{"format":"csv","dim":1,"csv":{"comma":44,"columns":["a"],"label":-1,"features":[3]}}`,
		`{"format":"csv","dim":2,"csv":{"comma":44,"columns":["a"],"label":-1,"features":[0]}}`,
		`{"format":"csv","dim":1,"csv":{"comma":0,"columns":["a"],"label":-1,"features":[0]}}`,
	} {
		var s Schema
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestFileNamedTwiceIsRejected(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.csv", []byte("1,2\n"))
	t.Chdir(dir)
	for _, patterns := range [][]string{{"a.csv", "a.csv"}, {"a.csv", "*.csv"}, {"./a.csv", filepath.Join(dir, "a.csv")}} {
		_, err := Open(context.Background(), Options{Files: patterns})
		if err == nil || !strings.Contains(err.Error(), "count twice") {
			t.Errorf("%v: %v", patterns, err)
		}
	}
	if _, err := Open(context.Background(), Options{Files: []string{"b*"}}); err == nil {
		t.Error("a pattern that matches nothing is not an error")
	}
}

// The encoding of a Dataset, which is sent to every worker, does not grow with the files.
func TestDatasetDoesNotHoldFileContent(t *testing.T) {
	dir := t.TempDir()
	line := []byte(strings.Repeat("1,2,3\n", 1<<18)) // 1.5 MB
	for i := range 4 {
		write(t, dir, fmt.Sprint(i), line)
	}
	d := open(t, Options{Files: []string{dir + "/*"}})
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 4096 || bytes.Contains(data, []byte("1,2,3")) {
		t.Errorf("the data set of 4 files takes %d bytes", len(data))
	}
}

func TestOpenStopsWithItsContext(t *testing.T) {
	name := write(t, t.TempDir(), "d", []byte("1,2\n"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Open(ctx, Options{Files: []string{name}}); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Error(err)
	}
}

func TestErrorsNameTheFileAndWrapTheCause(t *testing.T) {
	name := filepath.Join(t.TempDir(), "none")
	_, err := Open(context.Background(), Options{Files: []string{name}})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), name) {
		t.Error(err)
	}
}

// Empty files, as writers of many files produce them, have no rows.
func TestEmptyFilesAmongOthersAddNoRows(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"a-empty.csv": "", "b-blank.csv": "\n\n", "c-header.csv": "x,y\n", "d.csv": "x,y\n1,2\n3,4\n", "e-header.csv": "x,y",
		"f-empty.csv": "",
	} {
		write(t, dir, name, []byte(content))
	}
	d := open(t, Options{Files: []string{filepath.Join(dir, "*.csv")}, Label: "y"})
	got, reports := readAll(d, d.Shards(4), token, FailFast)
	if len(d.Files) != 6 || len(got) != 2 {
		t.Errorf("%d files, rows %q", len(d.Files), got)
	}
	if _, again := Tile(reports); len(again) > 0 {
		t.Errorf("files %v are not tiled", again)
	}
	for i := range 200 {
		write(t, dir, fmt.Sprintf("0-%d.csv", i), nil)
	}
	if d := open(t, Options{Files: []string{filepath.Join(dir, "*.csv")}, Label: "y"}); d.Schema.Dim != 1 ||
		len(d.Files) != 206 {
		t.Errorf("%d files of %d values", len(d.Files), d.Schema.Dim)
	}
}
