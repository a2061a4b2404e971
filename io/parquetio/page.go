package parquetio

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/bochner-ml/bochner/io/compress"
)

// Types of pages.
const (
	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3
)

// Encodings.
const (
	encPlain           = 0
	encPlainDictionary = 2
	encRLE             = 3
	encDeltaBinary     = 5
	encDeltaLength     = 6
	encDeltaBytes      = 7
	encDictionary      = 8
	encSplit           = 9
)

// Codecs.
const (
	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2
	codecBrotli = 4
	codecZstd   = 6
	codecLZ4    = 7
)

var codecNames = []string{"none", "Snappy", "gzip", "LZO", "Brotli", "LZ4 of Hadoop", "Zstandard", "LZ4"}

// blockOf are the codecs that can be decoded.
var blockOf = map[int64]compress.Block{
	codecSnappy: compress.SnappyBlock, codecGzip: compress.GzipBlock, codecZstd: compress.ZstdBlock,
	codecLZ4: compress.LZ4Block, codecBrotli: compress.BrotliBlock,
}

// header is the header of a page.
type header struct {
	kind       int64
	size       int64 // after decompression
	stored     int64 // in the file
	crc        uint32
	hasCRC     bool
	values     int64
	encoding   int64
	levels     int64 // v1: encoding of definition levels
	defBytes   int64 // v2
	repBytes   int64
	compressed bool
}

// parseHeader parses the header that b begins with and returns its length.
func parseHeader(b []byte) (h header, n int, err error) {
	t := &thrift{b: b}
	h.compressed = true
	t.fields(func(id int64, kind byte) {
		switch {
		case id == 1 && kind == thriftI32:
			h.kind = t.int()
		case id == 2 && kind == thriftI32:
			h.size = t.int()
		case id == 3 && kind == thriftI32:
			h.stored = t.int()
		case id == 4 && kind == thriftI32:
			h.crc, h.hasCRC = uint32(t.int()), true
		case (id == 5 || id == 7 || id == 8) && kind == thriftStruct:
			t.fields(func(part int64, kind byte) {
				switch {
				case part == 1 && kind == thriftI32:
					h.values = t.int()
				case kind == thriftI32 && (part == 2 && id != 8 || part == 4 && id == 8):
					h.encoding = t.int()
				case part == 3 && id == 5 && kind == thriftI32:
					h.levels = t.int()
				case part == 5 && id == 8 && kind == thriftI32:
					h.defBytes = t.int()
				case part == 6 && id == 8 && kind == thriftI32:
					h.repBytes = t.int()
				case part == 7 && id == 8:
					h.compressed = kind != thriftFalse
					t.skip(kind)
				default:
					t.skip(kind)
				}
			})
		default:
			t.skip(kind)
		}
	})
	return h, t.at, t.err
}

func (h *header) check(left int64) error {
	if h.size < 0 || h.size > compress.MaxBlock || h.stored < 0 || h.stored > left || h.values < 0 ||
		h.defBytes < 0 || h.repBytes < 0 || h.defBytes+h.repBytes > h.stored || h.defBytes+h.repBytes > h.size {
		return fmt.Errorf("%w (its header)", errPage)
	}
	return nil
}

// content returns the content of a page after decompression, in dst where it has room. body
// is what the file stores. The levels of a page of version 2 are not compressed.
func (h *header) content(dst, body []byte, codec int64, z *compress.Blocks) ([]byte, error) {
	if h.hasCRC && crc32.ChecksumIEEE(body) != h.crc {
		return nil, errors.New("the checksum of a page does not match (corrupt file)")
	}
	if codec == codecNone || h.kind == pageDataV2 && !h.compressed {
		if h.size != h.stored {
			return nil, errPage
		}
		return body, nil
	}
	levels := int(0)
	if h.kind == pageDataV2 {
		levels = int(h.defBytes + h.repBytes)
	}
	dst = append(dst[:0], body[:levels]...)
	dst, err := z.Append(dst, body[levels:], blockOf[codec], int(h.size)-levels)
	if err != nil {
		return nil, fmt.Errorf("a page cannot be decompressed (%s): %w", codecNames[codec], err)
	}
	return dst, nil
}
