package dataset_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/bochner-ml/bochner/io/csvio"
	. "github.com/bochner-ml/bochner/io/dataset"
)

// text is a valid table.
const text = "x1,x2,y\n0.5,1.5,ja\n0.25,-3,née\n1,2,ja\n"

// utf16Of and utf32Of return the text in another encoding.
func utf16Of(s string, order binary.AppendByteOrder) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func utf32Of(s string, order binary.AppendByteOrder) string {
	var b []byte
	for _, r := range s {
		b = order.AppendUint32(b, uint32(r))
	}
	return string(b)
}

// archive returns a zip archive with files of the given names.
func archive(t *testing.T, names ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte(text))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// An unsupported file is named, with the next step, and never read as a table.
func TestOtherKindsOfFilesAreNamed(t *testing.T) {
	const bom = "\ufeff"
	le, be := binary.LittleEndian, binary.BigEndian
	const numbers = "\x15\x04\x15\x10\x00\x00\x80\x3f\xff\xfe\x01"
	for name, c := range map[string]struct{ content, is, next string }{
		"CR":                 {strings.ReplaceAll(text, "\n", "\r"), "ends its lines with CR alone", `tr '\r' '\n'`},
		"CR, quoted":         {"\"x1\",\"y\"\r1,2\r3,4", "ends its lines with CR alone", `tr '\r' '\n'`},
		"CR, LIBSVM":         {"1 1:0.5 3:2\r-1 2:1\r", "ends its lines with CR alone", `tr '\r' '\n'`},
		"UTF-16LE, mark":     {utf16Of(bom+text, le), "is UTF-16 text", "iconv -f UTF-16 -t UTF-8"},
		"UTF-16BE, mark":     {utf16Of(bom+text, be), "is UTF-16 text", "iconv -f UTF-16 -t UTF-8"},
		"UTF-16LE":           {utf16Of(text, le), "is UTF-16LE text", "iconv -f UTF-16LE -t UTF-8"},
		"UTF-16BE":           {utf16Of(text, be), "is UTF-16BE text", "iconv -f UTF-16BE -t UTF-8"},
		"UTF-32LE, mark":     {utf32Of(bom+text, le), "is UTF-32 text", "iconv -f UTF-32 -t UTF-8"},
		"UTF-32BE, mark":     {utf32Of(bom+text, be), "is UTF-32 text", "iconv -f UTF-32 -t UTF-8"},
		"UTF-32LE":           {utf32Of(text, le), "is UTF-32LE text", "iconv -f UTF-32LE -t UTF-8"},
		"UTF-32BE":           {utf32Of(text, be), "is UTF-32BE text", "iconv -f UTF-32BE -t UTF-8"},
		"NPZ":                {archive(t, "x.npy", "y.npy"), "is an NPZ archive", "numpy.save("},
		"Parquet, encrypted": {"PARE" + numbers + "PARE", "is an encrypted Parquet file", "decrypt"},
		"ORC":                {"ORC" + numbers, "is an ORC file", "pandas.read_orc"},
		"Arrow": {"ARROW1\x00\x00\xff\xff\xff\xff\x10\x01", "is an Arrow file (Feather)",
			"pandas.read_feather"},
		"Arrow stream": {"\xff\xff\xff\xff\x10\x01\x00\x00", "is an Arrow stream", "pyarrow.ipc.open_stream"},
		"HDF5":         {"\x89HDF\r\n\x1a\n\x00\x00", "is an HDF5 file", "pandas.read_hdf"},
		"zip":          {archive(t, "data.csv"), "is a zip archive", "unpack it"},
		"xlsx": {archive(t, "[Content_Types].xml", "xl/workbook.xml"), "is an Excel workbook (xlsx)",
			"save the sheet as CSV"},
		"xlsx, other order": {archive(t, "xl/workbook.xml"), "is an Excel workbook (xlsx)", "save the sheet as CSV"},
		"xlsx, openpyxl": {archive(t, "docProps/app.xml", "docProps/core.xml", "xl/theme/theme1.xml"),
			"is an Excel workbook (xlsx)", "save the sheet as CSV"},
		"ods":       {archive(t, "mimetype", "content.xml"), "is an OpenDocument file", "save the sheet as CSV"},
		"Stata 113": {"q\x01\x01\x00\x00\x03\x00\x00\x00\x02", "is a Stata file", "pandas.read_stata"},
		"Stata 114": {"r\x02\x01\x00\x03\x00\x02\x00\x00\x00", "is a Stata file", "pandas.read_stata"},
		"Stata 115": {"s\x02\x01\x00\x03\x00\x02\x00\x00\x00", "is a Stata file", "pandas.read_stata"},
		"Stata 118": {"<stata_dta><header><release>118</release>\x00", "is a Stata file", "pandas.read_stata"},
		"SPSS":      {"$FL2@(#) IBM SPSS STATISTICS\x02\x00\x00\x00", "is an SPSS file", "pandas.read_spss"},
		"xls": {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00\x00", "is an Excel workbook (xls)",
			"save the sheet as CSV"},
		"SQLite": {"SQLite format 3\x00\x10\x00", "is an SQLite database", "sqlite3 -header -csv"},
		"pickle": {"\x80\x02}q\x01(U\x04dataq\x02", "is a Python pickle", "binary version"},
		"bzip2":  {"BZh91AY&SY\x01\x02\x03", "is compressed with bzip2", "decompress it"},
		"xz":     {"\xfd7zXZ\x00\x00\x04", "is compressed with xz", "decompress it"},
		"7-Zip":  {"7z\xbc\xaf\x27\x1c\x00\x04", "is a 7-Zip archive", "decompress it"},
		"tar": {"data.csv" + strings.Repeat("\x00", 249) + "ustar\x0000" + strings.Repeat("\x00", 300),
			"is a tar archive", "unpack it"},
		"PNG":                  {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "is a PNG image", "IDX"},
		"JPEG":                 {"\xff\xd8\xff\xe0\x00\x10JFIF", "is a JPEG image", "IDX"},
		"PDF":                  {"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "is a PDF document", "export"},
		"JSON lines of arrays": {"[1, 2, 0]\n[3, 4, 1]\n", "is JSON lines (of arrays)", "lines=True"},
		"JSON":                 {"[\n  {\"a\": 1},\n  {\"a\": 2}\n]\n", "is a JSON document", "lines=False"},
		"JSON, one line":       {`[{"a": 1}, {"a": 2}]`, "is a JSON document", "lines=False"},
		"JSON of columns":      {"{\n  \"a\": [1, 2]\n}\n", "is a JSON document", "lines=False"},
		"XML":                  {"<?xml version=\"1.0\"?>\n<rows/>\n", "is an XML document", "CSV"},
		"web page":             {"<!DOCTYPE html>\n<html><body>Sign in</body></html>\n", "is a web page", "download"},
		"Git LFS": {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
			"is a Git LFS pointer", "git lfs pull"},
		"ARFF": {"@RELATION iris\n\n@ATTRIBUTE a NUMERIC\n@DATA\n5.1,a\n", "is an ARFF file", "@data"},
		"pandas": {"0,1,2,3\n0.5,1,2,0\n0.25,3,4,1\n",
			"the first line counts from 0 to 3, like the header that pandas writes",
			"set header to yes if it is a header, to no"},
		"pandas, whole numbers": {"0,1,2\n5,1,2\n7,3,4\n", "the first line counts from 0 to 2", "to no if it is a row"},
		"pandas, two columns":   {"0,1\n0.5,1.5\n0.25,3\n", "the first line counts from 0 to 1", "to no if it is a row"},
		"pandas, index":         {",0,1,2\n0,0.5,1.5,1\n1,0.25,3,2\n", "the first line counts from 0 to 2", "index=False"},
		"pandas, text label": {"0,1,2\n0.5,1.5,setosa\n0.25,3,virginica\n", "the first line counts from 0 to 2",
			"set header to yes"},
		"pandas, one row": {"0,1,2\n", "the first line counts from 0 to 2", "set header to yes"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, how := range []string{"plain", "gzip"} {
				file := write(t, t.TempDir(), "d", pack(t, how, []byte(c.content)))
				_, err := Open(context.Background(), Options{Files: []string{file}})
				if err == nil || !strings.Contains(err.Error(), file+": "+c.is) || !strings.Contains(err.Error(), c.next) {
					t.Errorf("%s: %v\nwant %q and %q", how, err, c.is, c.next)
				}
			}
			// The same as the second file, after a table.
			dir := t.TempDir()
			first, second := write(t, dir, "a", []byte("x1,x2,y\n1,2,3\n")), write(t, dir, "b", []byte(c.content))
			if _, err := Open(context.Background(), Options{Files: []string{first, second}}); err == nil ||
				!strings.Contains(err.Error(), second+": ") {
				t.Errorf("after a table: %v", err)
			}
		})
	}
}

// Tables that begin like other kinds of files are still read.
func TestTablesThatLookLikeOtherFilesAreRead(t *testing.T) {
	for name, content := range map[string]string{
		"PAR1":              "PAR1,PAR2,y\n1,2,3\n",
		"ORC":               "ORC,ELF,y\n1,2,3\n",
		"BZh":               "BZh,y\n1,2\n",
		"a bracket":         "[a],[b]\n1,2\n",
		"a brace":           "{a},{b}\n1,2\n",
		"a CR at the end":   "1,2,3\r",
		"CRLF":              "a,b\r\n1,2\r\n",
		"CR in quotes":      "\"a\rb\",c\n1,2\n",
		"0 and 1":           "0,1\n1,0\n1,1\n",
		"0 and 1, fraction": "0,1,0.5\n1,0,2.5\n",
		"not from 0":        "1,2,3\n4,5,6\n",
		"0, 1, 3":           "0,1,3\n4,5,6\n",
		"0.0, 1.0, 2.0":     "0.0,1.0,2.0\n4,5,6\n",
	} {
		file := write(t, t.TempDir(), "d", []byte(content))
		if _, err := Open(context.Background(), Options{Files: []string{file}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, header := range []csvio.Header{csvio.Present, csvio.Absent} {
		file := write(t, t.TempDir(), "d", []byte("0,1,2\n4,5,6\n"))
		if d, err := Open(context.Background(), Options{Files: []string{file}, Formats: headers(header)}); err != nil ||
			d.Schema.Layout.(*csvio.Layout).Header != (header == csvio.Present) {
			t.Errorf("header %v: %v", header, err)
		}
	}
}

// Naming a format does not make other encodings and compressed files readable.
func TestNamedFormatStillRequiresText(t *testing.T) {
	for name, c := range map[string]struct{ content, is string }{
		"CR":       {strings.ReplaceAll(text, "\n", "\r"), "ends its lines with CR alone"},
		"UTF-32LE": {utf32Of(text, binary.LittleEndian), "is UTF-32LE text"},
		"Parquet":  {"PAR1\x15\x04\x15\x10\x00", "is parquet, not "},
	} {
		for _, format := range []string{"csv", "tsv", "libsvm"} {
			file := write(t, t.TempDir(), "d", []byte(c.content))
			if _, err := Open(context.Background(), Options{Files: []string{file}, Format: format}); err == nil ||
				!strings.Contains(err.Error(), c.is) {
				t.Errorf("%s as %s: %v", name, format, err)
			}
		}
	}
}

// A model that was trained on generated column names recognises a header of such names.
func TestModelColumnsDecideWhetherThereIsAHeader(t *testing.T) {
	dir := t.TempDir()
	open := func(content string, o Options) *Dataset {
		t.Helper()
		o.Files = []string{write(t, dir, "d", []byte(content))}
		d, err := Open(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	trained := open("0,1,2\n4,5,6\n", Options{Formats: headers(csvio.Present), Label: "2"})
	other := open("1,0\n5.5,4\n", Options{Like: &trained.Schema})
	if !other.Schema.Layout.(*csvio.Layout).Header || other.Schema.Layout.(*csvio.Layout).Features[0] != 1 {
		t.Errorf("%+v", other.Schema.Layout)
	}
}
