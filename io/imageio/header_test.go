package imageio

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestMNISTHeaderIsRead(t *testing.T) {
	r := strings.NewReader("\x00\x00\x08\x03\x00\x00\xea\x60\x00\x00\x00\x1c\x00\x00\x00\x1cimages")
	h, err := readHeader(r)
	if err != nil {
		t.Fatal(err)
	}
	if h.Type != typeUint8 || !slices.Equal(h.Dims, []int{60000, 28, 28}) || r.Len() != len("images") {
		t.Errorf("%+v, %d bytes left", h, r.Len())
	}
	off, n := h.extent(100, 7)
	if h.size() != 16 || h.records() != 60000 || h.rowLen() != 784 || h.recordBytes() != 784 || off != 16+78400 ||
		n != 7*784 {
		t.Errorf("size %d, records %d, row %d, bytes %d, range %d %d", h.size(), h.records(), h.rowLen(), h.recordBytes(),
			off, n)
	}
	if err := h.checkSize(16 + 60000*784); err != nil {
		t.Error(err)
	}
	for size, want := range map[int64]string{
		47040000: "47040000 bytes, but the header declares 47040016: 60000 records of 784 bytes (truncated?)",
		47040020: "4 bytes more than the header declares: 60000 records of 784 bytes",
	} {
		if err := h.checkSize(size); err == nil || err.Error() != want {
			t.Errorf("CheckSize(%d): %v", size, err)
		}
	}
}

func TestDamagedHeadersAreRejected(t *testing.T) {
	for _, c := range []struct{ name, head, want string }{
		{"empty", "", "header ends after 0 of 4 bytes (truncated?): unexpected EOF"},
		{"short magic", "\x00\x00\x08", "header ends after 3 of 4 bytes (truncated?): unexpected EOF"},
		{"short sizes", "\x00\x00\x08\x02\x00\x00\x00\x05\x00",
			"header ends after 9 of 12 bytes (truncated?): unexpected EOF"},
		{"png", "\x89PNG",
			"file starts with 89 50 4e 47; an IDX file starts with 00 00, the type (08, 09, 0b, 0c, 0d or 0e) and the number of dimensions (01 to 08)"},
		{"type 0a", "\x00\x00\x0a\x01", "file starts with 00 00 0a 01; an IDX file"},
		{"no dimensions", "\x00\x00\x08\x00", "file starts with 00 00 08 00; an IDX file"},
		{"nine dimensions", "\x00\x00\x08\x09", "file starts with 00 00 08 09; an IDX file"},
		{"negative", "\x00\x00\x08\x01\xff\xff\xff\xff", "header: dimension 1 is -1; sizes are 0 to 2147483647"},
		{"empty records", "\x00\x00\x08\x02\x00\x00\x00\x05\x00\x00\x00\x00",
			"header: records of sizes [0]; a record has 1 to 1048576 numbers"},
		{"large records", "\x00\x00\x08\x02\x00\x00\x00\x05\x00\x10\x00\x01",
			"header: records of sizes [1048577]; a record"},
		{"overflow", "\x00\x00\x08\x05\x00\x00\x00\x05" + strings.Repeat("\x00\x01\x00\x00", 4),
			"header: records of sizes [65536 65536 65536 65536]; a record"},
	} {
		_, err := readHeader(strings.NewReader(c.head))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := readHeader(strings.NewReader("\x00\x00\x08")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a short header is %v", err)
	}
	h, err := readHeader(strings.NewReader("\x00\x00\x08\x02\x00\x00\x00\x00\x00\x10\x00\x00"))
	if err != nil || h.records() != 0 || h.rowLen() != 1<<20 {
		t.Errorf("no records of the largest size: %+v, %v", h, err)
	}
}

func TestLabelsMustFitTheData(t *testing.T) {
	images := header{Type: typeUint8, Dims: []int{5, 4, 4}}
	for _, typ := range []byte{typeUint8, typeInt8, typeInt16, typeInt32} {
		if err := check(images, header{Type: typ, Dims: []int{5}}); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct {
		labels header
		want   string
	}{
		{header{typeUint8, []int{6}}, "5 records in the data, but 6 in the labels file"},
		{header{typeUint8, []int{5, 4, 4}},
			"labels file has 3 dimensions [5 4 4]; labels have one (are the two files swapped?)"},
		{header{typeFloat32, []int{5}},
			"labels file has type 0d, floating point; labels are integers (08, 09, 0b or 0c)"},
	} {
		if err := check(images, c.labels); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v", c.labels, err)
		}
	}
	two := encode(typeUint8, []int{2, 1}, []float64{1, 2})
	three := encode(typeUint8, []int{3}, []float64{1, 2, 3})
	if _, err := openStreams(bytes.NewReader(two), bytes.NewReader(three)); err == nil {
		t.Error("openStreams accepts three labels for two records")
	}
	if _, err := openStreams(bytes.NewReader(two), strings.NewReader("\x00\x00")); err == nil ||
		!strings.HasPrefix(err.Error(), "labels file: header ends after 2 of 4") {
		t.Errorf("short labels header: %v", err)
	}
}

func TestSniffRecognisesIDX(t *testing.T) {
	for head, want := range map[string]bool{
		"\x00\x00\x08\x03": true, "\x00\x00\x0e\x01": true, "\x00\x00\x08": false,
		"\x00\x00\x0a\x01": false, "\x00\x00\x08\x00": false, "\x00\x01\x08\x01": false, "1,2,3": false,
	} {
		if sniff([]byte(head)) != want {
			t.Errorf("Sniff(%q) = %v", head, !want)
		}
	}
}
