package compress

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// Block is a codec for blocks of data that do not store their own sizes.
type Block int

// The codecs of blocks.
const (
	SnappyBlock Block = iota
	GzipBlock
	DeflateBlock
	ZstdBlock
	LZ4Block
	BrotliBlock
)

// MaxBlock is the largest size of a block in bytes after decompression.
const MaxBlock = 1 << 30

// Blocks decompresses blocks. It is not safe for concurrent use; the zero value is ready.
type Blocks struct {
	gzip   *gzip.Reader
	flate  io.ReadCloser
	zstd   *zstd.Decoder
	brotli *brotli.Reader
	src    bytes.Reader
}

var errSize = errors.New("the size of a block is wrong (corrupt file)")

// Append appends the content of a block to dst; size is its length in bytes, −1 if
// unknown. It allocates memory in proportion to src, whatever sizes src claims.
func (b *Blocks) Append(dst, src []byte, codec Block, size int) ([]byte, error) {
	if len(src) == 0 && size <= 0 {
		return dst, nil
	}
	if size > MaxBlock {
		return nil, errSize
	}
	at := len(dst)
	switch codec {
	case SnappyBlock:
		n, err := snappy.DecodedLen(src)
		if err != nil || size >= 0 && n != size || n > 22*len(src) { // 64 bytes take 3 or more
			return nil, errSize
		}
		dst = Grow(dst, n)
		_, err = snappy.Decode(dst[at:], src)
		return dst, err
	case LZ4Block:
		if size < 0 || size > 256*len(src) {
			return nil, errSize
		}
		dst = Grow(dst, size)
		return dst, lz4(dst[at:], src)
	case ZstdBlock:
		return b.appendZstd(dst, src, size)
	case GzipBlock:
		b.src.Reset(src)
		if b.gzip == nil {
			b.gzip = new(gzip.Reader)
		}
		if err := b.gzip.Reset(&b.src); err != nil {
			return nil, err
		}
		return readBlock(dst, b.gzip, size)
	case BrotliBlock:
		return b.appendBrotli(dst, src, size)
	}
	b.src.Reset(src)
	if b.flate == nil {
		b.flate = flate.NewReader(&b.src)
	} else if err := b.flate.(flate.Resetter).Reset(&b.src, nil); err != nil {
		return nil, err
	}
	return readBlock(dst, b.flate, size)
}

// appendBrotli takes up to 16 MiB, the largest window of the format, besides the data.
func (b *Blocks) appendBrotli(dst, src []byte, size int) (_ []byte, err error) {
	defer func() {
		if r := recover(); r != nil { // on damaged data, the library may use an index out of range
			b.brotli, err = nil, fmt.Errorf("brotli: %v", r)
		}
	}()
	b.src.Reset(src)
	if b.brotli == nil {
		b.brotli = brotli.NewReader(&b.src)
	} else if err := b.brotli.Reset(&b.src); err != nil {
		return nil, err
	}
	return readBlock(dst, b.brotli, size)
}

// readBlock appends all of r, which has size bytes, or −1 if that is unknown.
func readBlock(dst []byte, r io.Reader, size int) ([]byte, error) {
	at := len(dst)
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		got := len(dst) - at
		switch {
		case got > MaxBlock || size >= 0 && got > size:
			return nil, errSize
		case err == io.EOF && (size < 0 || got == size):
			return dst, nil
		case err == io.EOF:
			return nil, errSize
		case err != nil:
			return nil, err
		}
	}
}

// appendZstd appends the decompressed block src to dst. size is its size after decompression, or negative if unknown.
func (b *Blocks) appendZstd(dst, src []byte, size int) (_ []byte, err error) {
	bound := zstdBound(src)
	if bound < 0 || size > bound {
		return nil, errSize
	}
	if b.zstd == nil {
		if b.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(MaxBlock)); err != nil {
			return nil, err
		}
	}
	at := len(dst)
	if size >= 0 {
		dst = Grow(dst, size)[:at]
	}
	dst, err = b.zstd.DecodeAll(src, dst)
	if err == nil && size >= 0 && len(dst) != at+size {
		err = errSize
	}
	return dst, err
}

// Grow extends b by n bytes, and takes no more memory than that if it has to move.
func Grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b[:len(b)+n]
	}
	out := make([]byte, len(b)+n)
	copy(out, b)
	return out
}

// zstdBound returns a bound on the decompressed size of the frames in src, −1 if they are damaged.
func zstdBound(src []byte) (bound int) {
	for len(src) > 0 {
		var h zstd.Header
		if h.Decode(src) != nil || h.HeaderSize > len(src) {
			return -1
		}
		before := bound
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
			case 0: // stored as it is
			case 1: // a repeated byte
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
		if h.HasFCS && h.FrameContentSize > uint64(bound-before) {
			return -1
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
			n += int(c)
			if c != 255 {
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
		n, ok = length(int(token & 15))
		if !ok || back == 0 || back > at || n+4 > len(dst)-at {
			return errSize
		}
		for n += 4; n > 0; {
			m := copy(dst[at:min(at+n, len(dst))], dst[at-back:at])
			at += m
			n -= m
		}
	}
	if at != len(dst) {
		return errSize
	}
	return nil
}
