// Package export writes tables to files: predictions and features, in blocks of rows.
//
// A format is a Format in the registry. What a table is does not depend on it: the same
// columns become fields of CSV, members of a JSON object, arrays or tensors.
package export

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Column is a column of a table, of one or several values for each row.
type Column struct {
	Name   string   // of the column: prediction, scores, features
	Header []string // names of its values in a line of names; there are as many values

	// Keys name the values where they stand in an object. Without keys they stand in a
	// list if List is set, else there is one value, which stands alone.
	Keys []string
	List bool

	// Levels are what []int32 values are indices of; nil for plain numbers. Numeric
	// says that they are written as the numbers they are.
	Levels  []string
	Numeric bool

	// Unit is the smallest difference that []float64 values tell apart: they have the
	// digits for it and one more. With 0 they have all their digits.
	Unit float64

	// Always says that rows without values have those of this column, their line.
	Always bool
}

// Block is a block of N rows of a table.
type Block struct {
	N int
	// Values holds for each column its values, row by row: []float32, []float64, []int32,
	// []int64 or []uint64.
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

// Format is a format of files.
type Format struct {
	Name string
	// Files returns the files of a table. Formats of arrays take one block.
	Files func(columns []Column) []File
}

var formats = map[string]Format{}

// Register makes a format known. It panics if there is one of that name.
func Register(f Format) {
	if _, twice := formats[f.Name]; twice {
		panic("export: format " + f.Name + " is registered twice")
	}
	formats[f.Name] = f
}

// Files returns the files that a table is written to in the format of that name.
func Files(format string, columns []Column) ([]File, error) {
	f, ok := formats[format]
	if !ok {
		return nil, fmt.Errorf("export: unknown format %q; have %s", format, strings.Join(slices.Sorted(maps.Keys(formats)), ", "))
	}
	return f.Files(columns), nil
}
