package export

import (
	"bytes"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/internal/option"
)

// Column is a column of a table with one or more values per row.
type Column struct {
	Name   string   // of the column: prediction, scores, features
	Header []string // names of its values in a header line, one for each value

	// Keys name the values in an object. Without keys the values form a list if List is
	// set; otherwise the column has a single value.
	Keys []string
	List bool

	// Levels are the texts that []int32 values index; nil for plain numbers. Numeric
	// means that levels are written as numbers.
	Levels  []string
	Numeric bool

	// Unit is the smallest difference between []float64 values that the output shows:
	// they are written with one digit more than that. 0 writes all digits.
	Unit float64

	// Always means that rows without values still have this column, such as their line.
	Always bool
}

// Block holds N rows of a table.
type Block struct {
	N int
	// Values holds for each column its values, row by row: []float32, []float64, []int32,
	// []int64, []uint64 or []string, of which rowio.NoID is null; or *Sets, except in arrays.
	Values []any
	// Bad lists, ascending, the rows that have no values.
	Bad []int
}

// Writer writes the blocks of a file.
type Writer interface {
	Write(b *Block) error
	// Close writes what is buffered. The file stays open.
	Close() error
}

// File is one of the files that a table is written to.
type File struct {
	Suffix string // of its name: .csv, -labels.npy
	New    func(w io.Writer) Writer
}

// head returns the bytes of a file without rows: in a format of lines, the header.
func (f File) head() ([]byte, error) {
	var b bytes.Buffer
	err := f.New(&b).Close()
	return b.Bytes(), err
}

// Format is a format of files.
type Format struct {
	Name string
	// Arrays means that files hold only numbers, in a single block whose rows all have values.
	Arrays bool
	// Lines means that a file is text, a header and then lines, and a file without rows is the
	// header. So files of consecutive rows can be joined.
	Lines bool
	// Files returns the files of a table.
	Files func(columns []Column) []File
	// Join writes one file with the rows of at least one file, for formats without Lines; nil if
	// files of the format cannot be joined.
	Join func(w io.Writer, files []Part) error
}

// Part is a file of consecutive rows, to be joined with others.
type Part struct {
	Size int64
	Open func(off, n int64) (io.ReadCloser, error) // reads n bytes from an offset; all the rest if n is negative
}

// Read returns n bytes from an offset.
func (p Part) Read(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || n > p.Size {
		return nil, fmt.Errorf("export: a part has %d bytes: %w", p.Size, io.ErrUnexpectedEOF)
	}
	r, err := p.Open(off, n)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b := make([]byte, n)
	_, err = io.ReadFull(r, b)
	return b, err
}

// Join writes a file with the rows of files in the named format.
func Join(w io.Writer, format string, columns []Column, parts []Part) error {
	f, err := formats.Lookup(format, formats.Names())
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	file := f.Files(columns)[0]
	if !f.Lines && len(parts) > 0 {
		return f.Join(w, parts)
	}
	head, err := file.head()
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, p := range parts {
		r, err := p.Open(int64(len(head)), -1)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, r)
		r.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

var formats = option.NewRegistry[Format]("format")

// Register adds a format. It panics if the name is taken.
func Register(f Format) { formats.Add(f, nil, f.Name) }

// Formats returns all formats, sorted by name.
func Formats() []Format { return formats.All() }

// Files returns the files of a table in the named format.
func Files(format string, columns []Column) ([]File, error) {
	f, err := formats.Lookup(format, formats.Names())
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return f.Files(columns), nil
}
