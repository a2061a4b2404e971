package parquetio

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
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
	codecZstd   = 6
	codecLZ4    = 7
)

var codecs = []string{"none", "Snappy", "gzip", "LZO", "Brotli", "LZ4 of Hadoop", "Zstandard", "LZ4"}

// maxPage limits the size of a page after decompression.
const maxPage = 1 << 30

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
	if h.size < 0 || h.size > maxPage || h.stored < 0 || h.stored > left || h.values < 0 ||
		h.defBytes < 0 || h.repBytes < 0 || h.defBytes+h.repBytes > h.stored || h.defBytes+h.repBytes > h.size {
		return fmt.Errorf("%w (its header)", errPage)
	}
	return nil
}

// content returns the content of a page after decompression, in dst where it has room. body
// is what the file stores. The levels of a page of version 2 are not compressed.
func (h *header) content(dst, body []byte, codec int64, z *codecsOf) ([]byte, error) {
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
	dst, err := z.decode(dst, body[levels:], int(h.size)-levels, codec)
	if err != nil {
		return nil, fmt.Errorf("a page cannot be decompressed (%s): %w", codecs[codec], err)
	}
	return dst, nil
}

// codecsOf are the decoders of a reader.
type codecsOf struct {
	gzip *gzip.Reader
	zstd *zstd.Decoder
	src  bytes.Reader
}

var errSize = errors.New("its size is wrong (corrupt file)")

// decode appends size bytes to dst. It allocates no more than the data can hold.
func (z *codecsOf) decode(dst, src []byte, size int, codec int64) ([]byte, error) {
	if size == 0 && len(src) == 0 {
		return dst, nil
	}
	at := len(dst)
	switch codec {
	case codecSnappy:
		if n, err := snappy.DecodedLen(src); err != nil || n != size || n > 22*len(src) { // 64 bytes take 3 or more
			return nil, errSize
		}
		dst = grow(dst, size)
		_, err := snappy.Decode(dst[at:], src)
		return dst, err
	case codecLZ4:
		if size > 256*len(src) {
			return nil, errSize
		}
		dst = grow(dst, size)
		return dst, lz4(dst[at:], src)
	case codecZstd:
		if bound := zstdBound(src); bound < 0 || size > bound {
			return nil, errSize
		}
		if z.zstd == nil {
			var err error
			if z.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage)); err != nil {
				return nil, err
			}
		}
		dst = grow(dst, size)[:at]
		dst, err := z.zstd.DecodeAll(src, dst)
		if err == nil && len(dst) != at+size {
			err = errSize
		}
		return dst, err
	}
	z.src.Reset(src)
	if z.gzip == nil {
		z.gzip = new(gzip.Reader)
	}
	if err := z.gzip.Reset(&z.src); err != nil {
		return nil, err
	}
	if size > 1040*len(src) {
		return nil, errSize
	}
	dst = grow(dst, size)
	if _, err := io.ReadFull(z.gzip, dst[at:]); err != nil {
		return nil, err
	}
	if n, _ := z.gzip.Read(make([]byte, 1)); n != 0 {
		return nil, errSize
	}
	return dst, nil
}

// grow extends b by n bytes.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b[:len(b)+n]
	}
	out := make([]byte, len(b)+n)
	copy(out, b)
	return out
}

// zstdBound returns a bound of the size of the frames in src after decompression, −1 if they
// are damaged.
func zstdBound(src []byte) (bound int) {
	for len(src) > 0 {
		var h zstd.Header
		if h.Decode(src) != nil || h.HeaderSize > len(src) {
			return -1
		}
		if h.Skippable {
			n := h.HeaderSize + int(h.SkippableSize)
			if n > len(src) || n <= 0 {
				return -1
			}
			src = src[n:]
			continue
		}
		src = src[h.HeaderSize:]
		for last := false; !last; {
			if len(src) < 3 {
				return -1
			}
			block := int(src[0]) | int(src[1])<<8 | int(src[2])<<16
			last = block&1 != 0
			size, stored := block>>3, block>>3
			switch block >> 1 & 3 {
			case 0:
			case 1:
				stored = 1
			case 2:
				size = 128 << 10
			default:
				return -1
			}
			if stored > len(src)-3 {
				return -1
			}
			bound += size
			src = src[3+stored:]
		}
		if h.HasCheckSum {
			src = src[min(4, len(src)):]
		}
	}
	return bound
}

// lz4 decodes a block of LZ4 that fills dst.
func lz4(dst, src []byte) error {
	at := 0
	length := func(n int) (int, bool) {
		if n != 15 {
			return n, true
		}
		for len(src) > 0 {
			c := src[0]
			src = src[1:]
			if n += int(c); c != 255 {
				return n, n <= len(dst)
			}
		}
		return 0, false
	}
	for len(src) > 0 {
		token := src[0]
		src = src[1:]
		n, ok := length(int(token >> 4))
		if !ok || n > len(src) || n > len(dst)-at {
			return errSize
		}
		at += copy(dst[at:], src[:n])
		src = src[n:]
		if len(src) == 0 {
			break
		}
		if len(src) < 2 {
			return errSize
		}
		back := int(src[0]) | int(src[1])<<8
		src = src[2:]
		if n, ok = length(int(token & 15)); !ok || back == 0 || back > at || n+4 > len(dst)-at {
			return errSize
		}
		for n += 4; n > 0; {
			m := copy(dst[at:min(at+n, len(dst))], dst[at-back:at])
			at, n = at+m, n-m
		}
	}
	if at != len(dst) {
		return errSize
	}
	return nil
}
