// Package parquet writes tables as Parquet files. Every value of a row has a column of its own,
// named as in a header line: score_a, score_b; f1, f2. Texts are strings, levels that are numbers
// are numbers, and rows without values have nulls in all columns but those that every row has.
//
// The bytes of a file depend only on its rows, not on how they were divided into blocks.
// Pages are compressed with Zstandard.
package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/io/parquetio/meta"
	"github.com/bochner-ml/bochner/io/rowio"
)

func init() {
	export.Register(export.Format{Name: "parquet", Join: join, Files: func(columns []export.Column) []export.File {
		return []export.File{{Suffix: ".parquet", New: func(w io.Writer) export.Writer {
			return newWriter(w, columns, groupBytes)
		}}}
	}})
}

// groupBytes is the size of the values in a row group, which the writer has in memory.
const groupBytes = 16 << 20

// writer writes row groups. Values are encoded as they arrive.
type writer struct {
	file      file
	table     []export.Column
	limit     int       // bytes of a row group
	columns   []*column // nil before the first block, which shows their types
	groupRows int       // most rows of a row group

	rows     int     // in the open row group
	texts    int     // bytes of texts in it
	presence []runOf // of its rows: whether they have values
}

// Values of meta.Element.Repeat.
const required, optional = 0, 1

// runOf is a run of rows that all have values, or have none.
type runOf struct {
	n       int
	present bool
}

// column is a column of the file.
type column struct {
	meta.Element
	from, value, width int // value number value, of width, in the rows of column from of the table

	dictionary []byte // the values of levels, encoded; nil for other columns
	entries    int
	indices    []int32 // of levels
	plain      []byte  // other values, encoded

	own      bool    // texts of rows that all have the column, of which some are null
	presence []runOf // of these
}

func newWriter(w io.Writer, table []export.Column, limit int) *writer {
	return &writer{file: file{out: w}, table: table, limit: limit}
}

// begin makes the columns for values of the types of the first block.
func (w *writer) begin(b *export.Block) error {
	const textBytes = 32 // expected size of a text; longer texts end a row group earlier
	row := 0
	for from, t := range w.table {
		for value, name := range t.Header {
			c := &column{Element: meta.Element{Name: name, Repeat: optional}, from: from, value: value, width: len(t.Header)}
			if t.Always {
				c.Repeat = required
			}
			size := 4
			switch b.Values[from].(type) {
			case []float32:
				c.Physical = meta.Float
			case []float64:
				c.Physical, size = meta.Double, 8
			case []int64:
				c.Physical, size = meta.Int64, 8
			case []uint64:
				c.Physical, c.Unsigned, size = meta.Int64, true, 8
			case []int32:
				c.Physical = meta.Int32
				if t.Levels != nil {
					c.setLevels(t)
				}
			case []string:
				c.Physical, size = meta.ByteArray, textBytes
				c.own, c.Repeat = t.Always, optional
			default:
				return fmt.Errorf("parquet: column %s of %T", t.Name, b.Values[from])
			}
			row += size
			w.columns = append(w.columns, c)
		}
	}
	w.groupRows = max(1, w.limit/max(1, row))
	return nil
}

// setLevels makes a dictionary of the levels: of whole numbers, other numbers or texts.
func (c *column) setLevels(t export.Column) {
	c.entries, c.dictionary = len(t.Levels), []byte{}
	whole, numbers := make([]int64, len(t.Levels)), make([]float64, len(t.Levels))
	isWhole, isNumber := t.Numeric, t.Numeric
	different := map[float64]bool{}
	for i, level := range t.Levels {
		var err error
		if whole[i], err = strconv.ParseInt(level, 10, 64); err != nil || strconv.FormatInt(whole[i], 10) != level {
			isWhole = false
		}
		numbers[i], err = strconv.ParseFloat(level, 64)
		lost := !strings.Contains(level, "e") && strconv.FormatFloat(numbers[i], 'f', -1, 64) != level // digits beyond 2⁵³
		if err != nil || lost || different[numbers[i]] {
			isNumber = false
		}
		different[numbers[i]] = true
	}
	switch {
	case isWhole:
		c.Physical = meta.Int64
		for _, v := range whole {
			c.dictionary = binary.LittleEndian.AppendUint64(c.dictionary, uint64(v))
		}
	case isNumber:
		c.Physical = meta.Double
		for _, v := range numbers {
			c.dictionary = binary.LittleEndian.AppendUint64(c.dictionary, math.Float64bits(v))
		}
	default:
		c.Physical = meta.ByteArray
		for _, level := range t.Levels {
			c.dictionary = appendText(c.dictionary, level)
		}
	}
}

// Write implements export.Writer.
func (w *writer) Write(b *export.Block) error {
	b = w.withTexts(b)
	if w.columns == nil {
		if err := w.begin(b); err != nil {
			return err
		}
	}
	bad := b.Bad
	for at := 0; at < b.N; {
		n := w.take(b, at)
		first := len(w.presence)
		for i := at; i < at+n; i++ {
			present := len(bad) == 0 || bad[0] != i
			if !present {
				bad = bad[1:]
			}
			if last := len(w.presence) - 1; last >= first && w.presence[last].present == present {
				w.presence[last].n++
			} else {
				w.presence = append(w.presence, runOf{1, present})
			}
		}
		for _, c := range w.columns {
			i := at
			for _, run := range w.presence[first:] {
				if run.present || c.Repeat == required || c.own {
					c.add(b.Values[c.from], i, run.n)
				}
				i += run.n
			}
		}
		w.rows += n
		at += n
		if w.rows == w.groupRows || w.texts >= w.limit {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// withTexts returns a block whose sets are texts.
func (w *writer) withTexts(b *export.Block) *export.Block {
	for c, values := range b.Values {
		if sets, ok := values.(*export.Sets); ok {
			texts := *b
			texts.Values = slices.Clone(b.Values)
			texts.Values[c] = sets.Texts(nil, w.table[c].Levels, b.N)
			b = &texts
		}
	}
	return b
}

// take returns how many rows of a block, from row at, the open row group takes.
func (w *writer) take(b *export.Block, at int) int {
	n := min(b.N-at, w.groupRows-w.rows)
	for i := range n {
		for from, t := range w.table {
			texts, ok := b.Values[from].([]string)
			if !ok {
				continue
			}
			for _, text := range texts[(at+i)*len(t.Header):][:len(t.Header)] {
				w.texts += 4 + len(text)
			}
		}
		if w.texts >= w.limit {
			return i + 1
		}
	}
	return n
}

// add appends the values of n rows from row at on.
func (c *column) add(values any, at, n int) {
	first, last := at*c.width+c.value, (at+n-1)*c.width+c.value
	switch v := values.(type) {
	case []float32:
		for i := first; i <= last; i += c.width {
			c.plain = binary.LittleEndian.AppendUint32(c.plain, math.Float32bits(v[i]))
		}
	case []float64:
		for i := first; i <= last; i += c.width {
			c.plain = binary.LittleEndian.AppendUint64(c.plain, math.Float64bits(v[i]))
		}
	case []int64:
		for i := first; i <= last; i += c.width {
			c.plain = binary.LittleEndian.AppendUint64(c.plain, uint64(v[i]))
		}
	case []uint64:
		for i := first; i <= last; i += c.width {
			c.plain = binary.LittleEndian.AppendUint64(c.plain, v[i])
		}
	case []int32:
		for i := first; i <= last; i += c.width {
			if c.dictionary != nil {
				c.indices = append(c.indices, v[i])
			} else {
				c.plain = binary.LittleEndian.AppendUint32(c.plain, uint32(v[i]))
			}
		}
	case []string:
		for i := first; i <= last; i += c.width {
			c.presence = append(c.presence, runOf{1, v[i] != rowio.NoID})
			if v[i] != rowio.NoID {
				c.plain = appendText(c.plain, v[i])
			}
		}
	}
}

func appendText(b []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
}

// flush writes the open row group.
func (w *writer) flush() error {
	if w.rows == 0 {
		return nil
	}
	w.file.begin(w.rows)
	present := appendPresence(nil, w.presence)
	for _, c := range w.columns {
		if c.own {
			w.file.chunk(c, w.rows, appendPresence(nil, c.presence))
		} else {
			w.file.chunk(c, w.rows, present)
		}
		c.plain, c.indices, c.presence = c.plain[:0], c.indices[:0], c.presence[:0]
	}
	w.rows, w.texts, w.presence = 0, 0, w.presence[:0]
	return w.file.err
}

// Close implements export.Writer.
func (w *writer) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	elements := make([]meta.Element, len(w.columns))
	for i, c := range w.columns {
		elements[i] = c.Element
	}
	return w.file.end(elements)
}
