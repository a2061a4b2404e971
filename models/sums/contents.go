package sums

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
)

const (
	ContentsFile = "contents.bin" // Contents, 8 bytes for each row
	MostContents = 1 << 24        // rows of sums that have a ContentsFile
)

// Contents identify the rows in sums: the hashes of all rows (profile.Assigner.Contents), ascending. Equal
// rows have equal hashes. Another row is mistaken for one of n rows with probability n/2⁶⁴, unless it was
// made to match.
type Contents []uint64

// ContentsOf returns the Contents of rows, given their hashes of 8 bytes each.
func ContentsOf(hashes ...[]byte) Contents {
	rows := 0
	for _, some := range hashes {
		rows += len(some) / 8
	}
	c := make(Contents, 0, rows)
	for _, some := range hashes {
		c = c.Append(some)
	}
	slices.Sort(c)
	return c
}

// Append appends hashes of 8 bytes each. It does not sort them.
func (c Contents) Append(hashes []byte) Contents {
	for ; len(hashes) >= 8; hashes = hashes[8:] {
		c = append(c, binary.LittleEndian.Uint64(hashes))
	}
	return c
}

// Combine returns the rows of plus without the rows of minus, sorted. It fails unless each row occurs in
// plus at least as often as in minus. It sorts both arguments and returns a part of plus.
func Combine(plus, minus []uint64) (Contents, error) {
	slices.Sort(plus)
	slices.Sort(minus)
	out := plus[:0]
	for _, h := range plus {
		if len(minus) > 0 && minus[0] == h {
			minus = minus[1:]
			continue
		}
		out = append(out, h)
	}
	if len(minus) > 0 {
		return nil, errors.New("a row is not there, or not as often")
	}
	return out, nil
}

// List sets Content.Contents for the rows and returns their file.
func (c *Content) List(rows Contents) storage.File {
	data := make([]byte, 0, 8*len(rows))
	for _, h := range rows {
		data = binary.LittleEndian.AppendUint64(data, h)
	}
	sum := models.SumFile(ContentsFile, data)
	c.Contents = &sum
	return storage.File{Name: ContentsFile, Data: data}
}

// Listed reads and checks the ContentsFile of the part, which must have one (Part.Contents).
func (d *Dir) Listed(ctx context.Context) ([]byte, error) {
	if d.Rows.Used > MostContents || d.Part.Contents.Size != 8*d.Rows.Used {
		return nil, &badPart{d.Place, fmt.Errorf("%s %w", ContentsFile, errDamaged)}
	}
	return d.file(ctx, ContentsFile, d.contents, d.Part.Contents)
}
