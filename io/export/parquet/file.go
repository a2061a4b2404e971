package parquet

import (
	"encoding/binary"
	"io"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/bochner-ml/bochner/io/parquetio/meta"
)

// file writes the parts of a file in turn. It keeps the first error.
type file struct {
	out    io.Writer
	at     int64
	err    error
	footer meta.Footer
	page   []byte // scratch
	packed []byte
}

func (f *file) write(b []byte) {
	if f.err != nil {
		return
	}
	var n int
	n, f.err = f.out.Write(b)
	f.at += int64(n)
}

// begin begins a row group, and the file before the first.
func (f *file) begin(rows int) {
	f.start()
	f.footer.Rows += int64(rows)
	f.footer.Groups = append(f.footer.Groups, meta.Group{Rows: int64(rows)})
}

func (f *file) start() {
	if f.at == 0 {
		f.write([]byte(meta.Magic))
	}
}

// chunk writes a column of the open row group; present are the encoded definition levels.
func (f *file) chunk(c *column, rows int, present []byte) {
	f.page = f.page[:0]
	if c.Repeat == optional {
		f.page = binary.LittleEndian.AppendUint32(f.page, uint32(len(present)))
		f.page = append(f.page, present...)
	}
	k, encoding := meta.Chunk{Codec: meta.Zstd}, int64(meta.Plain)
	if c.dictionary != nil {
		encoding = meta.Dictionary
		f.page = appendIndices(f.page, c.indices, c.entries)
		k.Dictionary = f.at
		f.writePage(&k, c.dictionary, meta.Page{Kind: meta.PageDictionary, Values: int64(c.entries), Encoding: meta.Plain})
	} else {
		f.page = append(f.page, c.plain...)
	}
	k.Data = f.at
	f.writePage(&k, f.page, meta.Page{Kind: meta.PageData, Values: int64(rows), Encoding: encoding})
	group := &f.footer.Groups[len(f.footer.Groups)-1]
	group.Chunks = append(group.Chunks, k)
}

// writePage writes a page and adds its size to the chunk's. All pages are compressed: some
// readers take the codec of a column from its first row group.
func (f *file) writePage(k *meta.Chunk, page []byte, about meta.Page) {
	f.packed = zstdEncoder().EncodeAll(page, f.packed[:0])
	about.Size, about.Stored = int64(len(page)), int64(len(f.packed))
	head := about.Append(nil)
	f.write(head)
	f.write(f.packed)
	k.Content += int64(len(head) + len(page))
	k.Size += int64(len(head) + len(f.packed))
}

// end writes the footer of the columns.
func (f *file) end(columns []meta.Element) error {
	f.start()
	root := meta.Element{Name: "schema", Physical: -1, Children: int64(len(columns))}
	f.footer.Elements = append([]meta.Element{root}, columns...)
	f.write(f.footer.Append(nil))
	return f.err
}

// zstdEncoder is used by all files. Its output depends only on the input.
var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("export: parquet: " + err.Error()) // the options are constants
	}
	return e
})

// appendPresence appends definition levels of one bit, as runs.
func appendPresence(b []byte, runs []runOf) []byte {
	for i := 0; i < len(runs); {
		n, present := 0, runs[i].present
		for ; i < len(runs) && runs[i].present == present; i++ {
			n += runs[i].n
		}
		b = binary.AppendUvarint(b, uint64(n)<<1)
		if present {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	return b
}

// appendIndices appends indices of a dictionary: their number of bits, and then one run of them,
// the lowest bits first.
func appendIndices(b []byte, indices []int32, entries int) []byte {
	width := max(1, bits.Len(uint(max(entries-1, 0))))
	b = append(b, byte(width))
	if len(indices) == 0 {
		return b
	}
	groups := (len(indices) + 7) / 8
	b = binary.AppendUvarint(b, uint64(groups)<<1|1)
	end := len(b) + groups*width
	var held uint64
	have := 0
	for _, index := range indices {
		held |= uint64(uint32(index)) << have
		for have += width; have >= 8; have -= 8 {
			b = append(b, byte(held))
			held >>= 8
		}
	}
	if have > 0 {
		b = append(b, byte(held))
	}
	return append(b, make([]byte, end-len(b))...)
}
