package npyio

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/datasettest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/imageio"
	"github.com/bochner-ml/bochner/io/rowio"
)

// file returns an array as numpy.save writes it.
func file(descr, shape string, data []byte) []byte {
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	head += strings.Repeat(" ", 63-(10+len(head))%64) + "\n"
	b := append([]byte(magic+"\x01\x00"), byte(len(head)), byte(len(head)>>8))
	return append(append(b, head...), data...)
}

// bytesOf returns numbers as a type stores them.
func bytesOf(t *testing.T, kind string, numbers []float64) (b []byte) {
	t.Helper()
	for _, v := range numbers {
		switch kind {
		case "<f2":
			halves := map[float64]uint16{1: 0x3c00, -2: 0xc000, 0.5: 0x3800, 3: 0x4200, 0: 0, 7: 0x4700}
			h, has := halves[v]
			if !has {
				t.Fatalf("no half of %g", v)
			}
			b = binary.LittleEndian.AppendUint16(b, h)
		case "<f4":
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		case "<f8":
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		case "|i1", "|u1", "|b1":
			b = append(b, byte(int8(v)))
		case "<i2", "<u2":
			b = binary.LittleEndian.AppendUint16(b, uint16(int16(v)))
		case "<i4", "<u4":
			b = binary.LittleEndian.AppendUint32(b, uint32(int32(v)))
		case "<i8", "<u8":
			b = binary.LittleEndian.AppendUint64(b, uint64(int64(v)))
		default:
			t.Fatal(kind)
		}
	}
	return b
}

func put(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// readAll reads all shards of a size: each row with its label, and what was set aside.
func readAll(t *testing.T, d *dataset.Dataset, size int64) (found, aside []string) {
	t.Helper()
	var reports []dataset.Report
	for _, s := range d.Shards(size) {
		var labels []string
		r := d.Read(context.Background(), s, func(text []byte) (float64, string) {
			labels = append(labels, string(text))
			return 0, ""
		}, dataset.SkipRow)
		for b := new(rowio.Block); r.Next(b); {
			for i := range b.N {
				label := ""
				if d.Labeled {
					label = labels[i]
				}
				found = append(found, fmt.Sprint(label, b.Row(i)))
			}
			labels = nil
		}
		reports = append(reports, r.Report())
		r.Close()
	}
	exact, again := dataset.Tile(reports)
	if len(again) > 0 || len(exact) == 0 {
		t.Errorf("shards of %d bytes leave a gap", size)
	}
	for _, r := range reports {
		if r.Fault != "" {
			t.Error(r.Fault)
		}
		for _, s := range r.SetAside {
			aside = append(aside, fmt.Sprintf("%d:%d: %s", s.Line, s.Column, s.Reason))
		}
	}
	return found, aside
}

func TestArraysOfAllTypesAreRows(t *testing.T) {
	for _, kind := range []string{"<f2", "<f4", "<f8", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8"} {
		dir := t.TempDir()
		numbers := []float64{1, -2, 0.5, 3, 0, 7}
		want := []string{"5[1 -2]", "-1[0.5 3]", "0[0 7]"}
		switch kind[1] {
		case 'i':
			numbers[2], want[1] = 3, "-1[3 3]"
		case 'u':
			numbers[1], numbers[2], want = 3, 3, []string{"5[1 3]", "-1[3 3]", "0[0 7]"}
		}
		data := put(t, dir, "x.npy", file(kind, "(3, 2)", bytesOf(t, kind, numbers)))
		labels := put(t, dir, "y.npy", file("<i8", "(3,)", bytesOf(t, "<i8", []float64{5, -1, 0})))
		o := dataset.Options{Files: []string{data}, Formats: []dataset.FormatOptions{imageio.Options{LabelFiles: []string{labels}}}}
		d, err := dataset.Open(context.Background(), o)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		for _, size := range []int64{1, 5, 1 << 20} {
			if got, aside := readAll(t, d, size); !slices.Equal(got, want) || len(aside) > 0 {
				t.Errorf("%s, shards of %d bytes: %q, want %q; set aside %q", kind, size, got, want, aside)
			}
		}
	}
}

func TestLabelsAreTexts(t *testing.T) {
	var utf32 []byte
	for _, r := range "aé\x00b\x00\x00" {
		utf32 = binary.LittleEndian.AppendUint32(utf32, uint32(r))
	}
	for _, c := range []struct {
		descr string
		data  []byte
		want  []string
	}{
		{"<f8", bytesOf(t, "<f8", []float64{0.1, math.NaN()}), []string{"0.1", ""}},
		{"<f4", bytesOf(t, "<f4", []float64{0.1, 2}), []string{"0.1", "2"}},
		{"|b1", []byte{1, 0}, []string{"true", "false"}},
		{"<U3", utf32, []string{"aé", "b"}},
		{"|S3", []byte("xy\x00z\x00\x00"), []string{"xy", "z"}},
		{"<u8", bytes.Repeat([]byte{255}, 16), []string{"18446744073709551615", "18446744073709551615"}},
	} {
		h, err := readHeader(bytes.NewReader(file(c.descr, "(2,)", nil)))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			if got := string(h.appendText(nil, c.data[i*h.Size:][:h.Size])); got != want {
				t.Errorf("%s: %q, want %q", c.descr, got, want)
			}
		}
	}
}

// inColumns makes an array one in Fortran order, of another version.
func inColumns(array []byte, version byte) []byte {
	at := 10 + int(array[8])
	head := bytes.Replace(array[10:at], []byte("False"), []byte("True"), 1)
	head = append(bytes.TrimSuffix(head, []byte("\n")), " \n"...)
	b := append([]byte(magic), version, 0, byte(len(head)), 0)
	if version > 1 {
		b = append(b, 0, 0)
	}
	return slices.Concat(b, head, array[at:])
}

func TestColumnsOneAfterAnotherAreRows(t *testing.T) {
	dir := t.TempDir()
	for version, kind := range map[byte]string{1: "<f2", 2: "<f4", 3: "<i8"} {
		array := file(kind, "(3, 2)", bytesOf(t, kind, []float64{1, 3, 0, -2, 7, 3}))
		name := put(t, dir, "x.npy", inColumns(array, version))
		d, err := dataset.Open(t.Context(), dataset.Options{Files: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int64{1, 1 << 20} {
			got, aside := readAll(t, d, size)
			if want := []string{"[1 -2]", "[3 7]", "[0 3]"}; !slices.Equal(got, want) || len(aside) > 0 {
				t.Errorf("%s, shards of %d bytes: %q, set aside %q", kind, size, got, aside)
			}
		}
	}
}

func TestLabelsMayBeText(t *testing.T) {
	dir := t.TempDir()
	data := put(t, dir, "x.npy", file("<f4", "(3, 2)", bytesOf(t, "<f4", []float64{1, -2, 0.5, 3, 0, 7})))
	want := []string{"cat[1 -2]", "dog, big[0.5 3]", "[0 7]"}
	for _, c := range []struct{ text, label, err string }{
		{text: "cat\n\"dog, big\"\n\"\"\n"},
		{text: "kind\r\n cat\r\n\n\"dog, big\"\r\n\"\""},
		{text: "id;kind\n1;cat\n2;dog, big\n3;\n", label: "kind"},
		{text: "1\tcat\n2\tdog, big\n3\t\n", label: "2"},
		{text: "id;kind\n1;cat\n2;dog, big\n3;\n", label: "-1"},
		{text: "1,cat\n2,dog\n3,\n", err: "has 2 columns; set label to the name or the position of the one"},
		{text: "1,cat\n2,dog\n3,\n", label: "kind", err: `no header with "kind"; give the position of the labels, 1 to 2`},
		{text: "id,kind\n1,cat\n2,dog\n3,\n", label: "sort", err: `has no column "sort"; have id, kind`},
		{text: "cat\ndog\n", err: "y.csv: has 2 lines that are not blank for 3 rows; want 3, or 4 with a header"},
		{text: "cat\ndog\ncat\ncat\ndog\n", err: "has 5 lines that are not blank for 3 rows"},
		{text: "a,b\ncat\ndog\n3\n", err: "y.csv: line 2: has 1 field, want 2"},
		{text: "cat\ncat\ndog\ncat\n", err: `the first, "cat", seems to be a label, not a header; give one label for each row`},
		{text: "1\n2\n3\n4\n", err: `the first, "1", seems to be a label`},
		{text: "cat\n\"dog\ncat\n", err: "y.csv: line 2: "},
	} {
		labels := put(t, dir, "y.csv", []byte(c.text))
		o := dataset.Options{Files: []string{data}, Label: c.label,
			Formats: []dataset.FormatOptions{imageio.Options{LabelFiles: []string{labels}}}}
		d, err := dataset.Open(t.Context(), o)
		if err != nil || c.err != "" {
			if c.err == "" || err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v, want %q", c.text, err, c.err)
			}
			continue
		}
		again := new(dataset.Dataset) // as a worker gets it
		if text, err := json.Marshal(d); err != nil || json.Unmarshal(text, again) != nil {
			t.Fatal(err)
		}
		for _, size := range []int64{1, 1 << 20} {
			got, aside := readAll(t, again, size)
			if !slices.Equal(got, want[:2]) || !slices.Equal(aside, []string{"3:0: has no label"}) {
				t.Errorf("%q, shards of %d bytes: %q, set aside %q", c.text, size, got, aside)
			}
		}
	}
	labels := put(t, dir, "y.npy", file("<i8", "(3,)", bytesOf(t, "<i8", []float64{5, -1, 0})))
	for want, o := range map[string]dataset.Options{
		`y.npy: is an array, which has no column "y"`: {Label: "y",
			Formats: []dataset.FormatOptions{imageio.Options{LabelFiles: []string{labels}}}},
		"x.npy: has no column for a label; name the file with this column in label_files": {Label: "y"},
	} {
		o.Files = []string{data}
		if _, err := dataset.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestRowsWithNaNAreSetAside(t *testing.T) {
	name := put(t, t.TempDir(), "x.npy", file("<f8", "(3, 2)", bytesOf(t, "<f8", []float64{1, 2, 3, math.NaN(), 1e300, 6})))
	d, err := dataset.Open(context.Background(), dataset.Options{Files: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{1, 1 << 20} {
		got, aside := readAll(t, d, size)
		want := []string{"2:2: NaN (missing values are not supported)",
			"3:1: infinite, or too large for float32 (largest is 3.4e38)"}
		if !slices.Equal(got, []string{"[1 2]"}) || !slices.Equal(aside, want) {
			t.Errorf("shards of %d bytes: %q, set aside %q", size, got, aside)
		}
	}
}

func TestArraysThatAreNotTablesAreRejected(t *testing.T) {
	dir := t.TempDir()
	two := bytesOf(t, "<f4", []float64{1, 2})
	for want, data := range map[string][]byte{
		`astype("<f4")`:                 file(">f4", "(1, 2)", two),
		"has one dimension":             file("<f4", "(2,)", two),
		"a.reshape(len(a), -1)":         file("<f4", "(1, 1, 2)", two),
		"Python objects":                file("|O8", "(1, 2)", two),
		"type '<c8'":                    file("<c8", "(1, 1)", two),
		"array of texts":                file("|S4", "(1, 2)", two),
		"rows of 0 numbers":             file("<f4", "(1, 0)", nil),
		"not the size of 2 rows":        file("<f4", "(2, 2)", two),
		"not the size of 300 rows":      file("<f4", "(300, 2)", two),
		"rows of 281474976710655":       file("<f8", "(281474976710655, 281474976710655)", nil),
		"a header that numpy.save does": file("<f4", "(1, -2)", two),
		"more than 16384 bytes":         append([]byte(magic+"\x02\x00\xff\xff\xff\xff"), two...),
		"its header is incomplete":      file("<f4", "(1, 2)", two)[:40],
		"version 1, 2 or 3":             append([]byte(magic+"\x09\x00\x10\x00"), bytes.Repeat([]byte{32}, 16)...),
	} {
		name := put(t, dir, "x.npy", data)
		_, err := dataset.Open(context.Background(), dataset.Options{Files: []string{name}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "x.npy: ") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A header causes an error at most, and no allocation beyond the size of the file.
func FuzzRead(f *testing.F) {
	f.Add(file("<f4", "(2, 2)", make([]byte, 16)))
	f.Add(inColumns(file("<f4", "(3, 2)", make([]byte, 24)), 1))
	f.Add(inColumns(file("<i2", "(3, 2)", make([]byte, 12)), 3))
	f.Add(file("|S5", "(3,)", []byte("abcdefghijklmno")))
	f.Add(file("<U2", "(2,)", make([]byte, 16)))
	f.Add([]byte(magic + "\x03\x00\x10\x00\x00\x00{'descr': '<f2'}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		datasettest.Fuzz(t, data, dataset.Options{Format: "npy"})
		in := bytes.NewReader(data)
		h, err := readHeader(in)
		if err != nil || h.recordBytes() > 1<<20 {
			return
		}
		a := newArray(in, h, 0, h.Dims[0], true)
		n := int64(0)
		for {
			b, err := a.next()
			if err != nil {
				break
			}
			n += int64(len(b))
			if h.isText() {
				h.appendText(nil, b[:h.Size])
			} else if x := h.appendNumbers(nil, b); int64(len(x)) != h.rowLen() {
				t.Fatalf("%d numbers, want %d", len(x), h.rowLen())
			}
		}
		if n > int64(len(data)) {
			t.Fatalf("%d bytes of rows in a file of %d", n, len(data))
		}
	})
}
