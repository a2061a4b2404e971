// Package rows holds Block, the block of rows that every reader fills and every
// feature map takes, and Reader, the interface of the readers of all formats.
package rows

import (
	"fmt"
	"math"
)

// MaxRows is the largest number of rows in a Block. Products of 8-bit features
// summed over so many rows stay below 2²⁴, so a block's Gram is exact in
// float32 and int32.
const MaxRows = 1024

// MaxDim is the largest row length a reader accepts.
const MaxDim = 1 << 20

// Limits on the memory of a block, in values: 16 MiB for a block that is read, because
// a worker holds several, and 64 MiB for a block of features.
const (
	maxBlockValues   = 4 << 20
	maxFeatureValues = 16 << 20
)

// Rows returns how many rows of length d a block holds: MaxRows, or fewer if they would
// take more than 16 MiB, but at least one.
func Rows(d int) int { return fitting(d, maxBlockValues) }

// OfFeatures returns how many rows of d features a block holds: MaxRows, or fewer if they
// would take more than 64 MiB, but at least one.
func OfFeatures(d int) int { return fitting(d, maxFeatureValues) }

func fitting(d, values int) int { return max(1, min(MaxRows, values/max(d, 1))) }

// Block holds N ≤ MaxRows rows of D values.
type Block struct {
	N, D int
	X    []float32 // row-major N×D
	// Y has a class index or the same number of targets for each row; it is empty without labels.
	Y []float64

	// Weights has length N, or is empty if all rows have weight 1. Weights are finite and ≥ 0.
	Weights []float64

	// Bad lists, ascending, the rows that could not be read and hold zeros, if a reader
	// keeps the place of every row. Otherwise it is empty.
	Bad []int

	// Keys has length N, or is empty unless a reader was asked for the keys that assign rows to folds.
	Keys []uint64

	// Levels are the names of the levels of the rows, such as country=DE, if a reader was asked for
	// them. Otherwise it is empty.
	Levels []string

	// IDs are the untrimmed identifiers of the rows, if a reader was asked for them. Otherwise
	// it is empty.
	IDs []string

	// Lines are the positions of the rows in their file, if a reader records them.
	// Otherwise it is empty.
	Lines []int64
}

// NoID is the identifier of a row whose identifier is null. It is not UTF-8, so no text equals it.
const NoID = "\xff"

// Row returns row i of the block, sharing its memory.
func (b *Block) Row(i int) []float32 { return b.X[i*b.D : (i+1)*b.D] }

// Labels returns the class or the targets of row i, sharing the block's memory. Rows must have
// labels.
func (b *Block) Labels(i int) []float64 {
	k := len(b.Y) / b.N
	return b.Y[i*k : (i+1)*k]
}

// Reset empties the block for rows of length d and keeps its memory.
func (b *Block) Reset(d int) {
	b.N, b.D = 0, d
	b.X, b.Y, b.Weights, b.Bad, b.Lines, b.IDs, b.Keys = b.X[:0], b.Y[:0], b.Weights[:0], b.Bad[:0], b.Lines[:0],
		b.IDs[:0], b.Keys[:0]
	b.Levels = b.Levels[:0]
}

// Reserve allocates all rows of a block after Reset, which avoids the garbage of
// growing it. Unused pages take no memory.
func (b *Block) Reserve() {
	if n := Rows(b.D) * b.D; cap(b.X) < n {
		b.X = make([]float32, len(b.X), n)
	}
}

// Reader yields the rows of one shard, in the order of the file.
type Reader interface {
	// Append appends the values of the next row to x and returns the extended slice and
	// the row's label as written in the file (nil if the data has none; valid until the
	// next call). Readers that know the row length append exactly that many values; a
	// LIBSVM reader of unknown dimension appends as many as the row's largest index.
	//
	// The error is io.EOF after the last row; a *BadRow if this row cannot be used,
	// after which reading continues with the next; any other error if reading cannot
	// continue.
	Append(x []float32) (row []float32, label []byte, err error)

	// Line returns the position of the last row that Append read: the 1-based
	// line of its first byte for text, the 1-based record for binary formats,
	// counted from where the reader started.
	Line() int64
}

// Extras is implemented by Readers of formats that can have additional columns for each row.
type Extras interface {
	// Target returns the text of label column i of the last row, if rows have several
	// targets; the first of them is the label that Append returns.
	Target(i int) []byte
	// Weight and ID return the texts of the last row's weight and identifier, valid until
	// the next call of Append; nil if the file has no such column.
	Weight() []byte
	ID() []byte
	// Key returns text i of the texts from which the last row's key is made, valid as long.
	Key(i int) []byte
}

// BadRow is the error of a row that cannot be used; later rows still can.
type BadRow struct {
	Line   int64  // 1-based, counted as Reader.Line counts
	Column int    // 1-based field of the row; 0 if the whole row is at fault
	Reason string // for the person who fixes the file
	// NotNumber reports whether the fault is a value that is missing or not a number, in a
	// table that is read as numbers.
	NotNumber bool
}

func (e *BadRow) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("%d: %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Reason)
}

// Finite reports whether v is neither NaN nor infinite.
func Finite(v float32) bool { return math.Abs(float64(v)) <= math.MaxFloat32 }

// CheckFinite returns the reason why v cannot be a value of a row, or "".
func CheckFinite(v float32) string {
	switch {
	case math.IsNaN(float64(v)):
		return "NaN (missing values are not supported)"
	case math.IsInf(float64(v), 0):
		return "infinite, or too large for float32 (largest is 3.4e38)"
	}
	return ""
}
