// Package foreign recognises files of unsupported formats by their first bytes, and says how to convert them.
package foreign

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// kind is a kind of file that is recognised but not supported.
type kind struct {
	what, next string   // "is …", and the next step
	magic      []string // first bytes of such files
}

func (k kind) Error() string { return k.what + ", which is not supported; " + k.next }

const (
	inPython = `write it as Parquet first, in Python: pandas.read_%s("FILE").to_parquet("FILE.parquet")`
	unpack   = "decompress it first; gzip and zstd files are read directly"
	asCSV    = "save the sheet as CSV (UTF-8)"
)

// binaries lists binary files by their first bytes. If those are letters, the rest must
// not be text.
var binaries = []kind{
	{"is an encrypted Parquet file", "decrypt it first", []string{"PARE"}},
	{"is an ORC file", fmt.Sprintf(inPython, "orc"), []string{"ORC"}},
	{"is an Arrow file (Feather)", fmt.Sprintf(inPython, "feather"), []string{"ARROW1\x00\x00"}},
	{"is a Feather file", fmt.Sprintf(inPython, "feather"), []string{"FEA1"}},
	{"is an Arrow stream",
		`write it as Parquet first, in Python: pyarrow.parquet.write_table(pyarrow.ipc.open_stream("FILE").read_all(), "FILE.parquet")`,
		[]string{"\xff\xff\xff\xff"}},
	{"is an HDF5 file", fmt.Sprintf(inPython, "hdf"), []string{"\x89HDF\r\n\x1a\n"}},
	{"is an Excel workbook (xls)", asCSV, []string{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"}},
	{"is an SQLite database", `write a table as CSV first: sqlite3 -header -csv FILE "select * from TABLE"`,
		[]string{"SQLite format 3\x00"}},
	{"is a MATLAB file", "write it as CSV first, for example with writematrix", []string{"MATLAB 5.0 MAT-file"}},
	{"is a Python pickle", "write the table as CSV first; for CIFAR-10 and -100, use the binary version",
		[]string{"\x80\x02", "\x80\x03", "\x80\x04", "\x80\x05"}},
	{"is a Stata file", fmt.Sprintf(inPython, "stata"), []string{"q\x01\x01\x00", "q\x02\x01\x00", "r\x01\x01\x00",
		"r\x02\x01\x00", "s\x01\x01\x00", "s\x02\x01\x00", "<stata_dta>"}},
	{"is an SPSS file", fmt.Sprintf(inPython, "spss"), []string{"$FL2"}},
	{"is compressed with bzip2", unpack, []string{"BZh"}},
	{"is compressed with xz", unpack, []string{"\xfd7zXZ\x00"}},
	{"is a 7-Zip archive", unpack, []string{"7z\xbc\xaf\x27\x1c"}},
	{"is compressed with snappy", unpack, []string{"\xff\x06\x00\x00sNaPpY"}},
	{"is compressed with compress", unpack, []string{"\x1f\x9d"}},
	{"is a PNG image", images, []string{"\x89PNG\r\n\x1a\n"}},
	{"is a JPEG image", images, []string{"\xff\xd8\xff"}},
	{"is a PDF document", "export the table as CSV", []string{"%PDF-"}},
}

const images = "convert images of one size to an IDX file"

// Binary returns an error that names a file which is neither UTF-8 text nor a
// supported binary format.
func Binary(head []byte) error {
	if kind := unicodeKind(head); kind != "" {
		return fmt.Errorf("is %s text; convert it with iconv -f %s -t UTF-8", kind, kind)
	}
	for _, k := range binaries {
		for _, magic := range k.magic {
			if bytes.HasPrefix(head, []byte(magic)) && !IsText(head) {
				return k
			}
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return zipped(head)
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return kind{what: "is a tar archive", next: "unpack it and name its files"}
	}
	return nil
}

// zipped identifies the content of a zip archive by the name of its first file.
func zipped(head []byte) error {
	name := ""
	if len(head) > 30 {
		n := int(binary.LittleEndian.Uint16(head[26:]))
		name = string(head[30:min(30+n, len(head))])
	}
	switch {
	case strings.HasSuffix(name, ".npy"):
		return kind{what: "is an NPZ archive of arrays",
			next: `save each array by itself, in Python: numpy.save("NAME.npy", numpy.load("FILE")["NAME"])`}
	case name == "mimetype":
		return kind{what: "is an OpenDocument file", next: asCSV}
	case name == "[Content_Types].xml" || strings.HasPrefix(name, "xl/") || strings.HasPrefix(name, "_rels/") ||
		strings.HasPrefix(name, "docProps/"):
		return kind{what: "is an Excel workbook (xlsx)", next: asCSV}
	}
	return kind{what: "is a zip archive", next: "unpack it and name its files"}
}

// Text returns an error that names text which is not a table, or has unsupported line ends.
func Text(head []byte) error {
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	line, _, _ := bytes.Cut(trimmed, []byte{'\n'})
	line = bytes.TrimSpace(line)
	lower := strings.ToLower(string(line[:min(len(line), 64)]))
	const jsonNext = "write it as CSV first, in Python: pandas.read_json(\"FILE\", lines=%s).to_csv(\"FILE.csv\", " +
		"index=False)"
	switch {
	case strings.HasPrefix(lower, "<!doctype html"), strings.HasPrefix(lower, "<html"):
		return errors.New("is a web page, perhaps from a failed download; open it in a browser to see what it says")
	case strings.HasPrefix(lower, "<?xml"):
		return kind{what: "is an XML document", next: "write the table as CSV first"}
	case strings.HasPrefix(lower, "version https://git-lfs.github.com/spec/"):
		return errors.New("is a Git LFS pointer, not the file itself; fetch it with git lfs pull")
	case strings.HasPrefix(lower, "@relation"), strings.HasPrefix(lower, "% ") &&
		bytes.Contains(bytes.ToLower(head), []byte("\n@relation")):
		return kind{what: "is an ARFF file",
			next: "delete the lines up to and including @data, and add a first line with the column names"}
	case bytes.HasPrefix(line, []byte("[")) && json.Valid(line) && bytes.Contains(trimmed, []byte("\n[")):
		return kind{what: "is JSON lines (of arrays)", next: fmt.Sprintf(jsonNext, "True")}
	case string(line) == "{" || string(line) == "[" || bytes.HasPrefix(line, []byte("[{")) ||
		bytes.HasPrefix(line, []byte("[")) && json.Valid(trimmed):
		return kind{what: "is a JSON document", next: fmt.Sprintf(jsonNext, "False")}
	}
	return nil
}

// LoneReturns returns an error if lines end in carriage returns without line feeds.
func LoneReturns(head []byte) error {
	if bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(bytes.TrimRight(head, "\r"), '\r') >= 0 {
		return errors.New(`ends its lines with CR alone, as old Macs did; convert it with tr '\r' '\n'`)
	}
	return nil
}

// IsText reports whether head is UTF-8 without control characters.
func IsText(head []byte) bool {
	head = head[:min(len(head), 512)]
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && n == 1 && i+utf8.UTFMax < len(head) || r < ' ' && !strings.ContainsRune("\t\n\v\f\r", r) {
			return false
		}
		i += n
	}
	return true
}

// unicodeKind recognises UTF-16 and UTF-32 text by its byte-order mark, or else by
// units that are nearly all ASCII. It returns iconv's name of the encoding, or "".
func unicodeKind(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")):
		return "UTF-32"
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "UTF-16"
	case len(head) < 8 || bytes.IndexByte(head[:8], 0) < 0:
		return ""
	}
	head = head[:min(len(head), 4096)]
	for _, k := range []struct {
		name string
		size int
		unit func([]byte) uint32
	}{
		{"UTF-32LE", 4, binary.LittleEndian.Uint32},
		{"UTF-32BE", 4, binary.BigEndian.Uint32},
		{"UTF-16LE", 2, func(b []byte) uint32 { return uint32(binary.LittleEndian.Uint16(b)) }},
		{"UTF-16BE", 2, func(b []byte) uint32 { return uint32(binary.BigEndian.Uint16(b)) }},
	} {
		units, ascii := 0, 0
		for at := 0; at+k.size <= len(head); at += k.size {
			u := k.unit(head[at:])
			if u > utf8.MaxRune || u < ' ' && u != '\t' && u != '\r' && u != '\n' {
				units = 0
				break
			}
			units++
			if u < 0x80 {
				ascii++
			}
		}
		if units > 0 && 4*ascii >= 3*units {
			return k.name
		}
	}
	return ""
}
