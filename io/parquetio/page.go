package parquetio

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/bochner-ml/bochner/io/compress"
	"github.com/bochner-ml/bochner/io/parquetio/meta"
)

var codecNames = []string{"none", "Snappy", "gzip", "LZO", "Brotli", "LZ4 of Hadoop", "Zstandard", "LZ4"}

// blockOf are the codecs that can be decoded.
var blockOf = map[int64]compress.Block{
	meta.Snappy: compress.SnappyBlock, meta.Gzip: compress.GzipBlock, meta.Zstd: compress.ZstdBlock,
	meta.LZ4: compress.LZ4Block, meta.Brotli: compress.BrotliBlock,
}

// header is the header of a page.
type header struct{ meta.Page }

func (h *header) check(left int64) error {
	if h.Size < 0 || h.Size > compress.MaxBlock || h.Stored < 0 || h.Stored > left || h.Values < 0 ||
		h.DefBytes < 0 || h.RepBytes < 0 || h.DefBytes+h.RepBytes > h.Stored || h.DefBytes+h.RepBytes > h.Size {
		return fmt.Errorf("%w (its header)", errPage)
	}
	return nil
}

// content returns the content of a page after decompression, in dst where it has room. body
// is what the file stores. The levels of a page of version 2 are not compressed.
func (h *header) content(dst, body []byte, codec int64, z *compress.Blocks) ([]byte, error) {
	if h.HasCRC && crc32.ChecksumIEEE(body) != uint32(h.CRC) {
		return nil, errors.New("the checksum of a page does not match (corrupt file)")
	}
	if codec == meta.None || h.Kind == meta.PageDataV2 && !h.Compressed {
		if h.Size != h.Stored {
			return nil, errPage
		}
		return body, nil
	}
	levels := int(0)
	if h.Kind == meta.PageDataV2 {
		levels = int(h.DefBytes + h.RepBytes)
	}
	dst = append(dst[:0], body[:levels]...)
	dst, err := z.Append(dst, body[levels:], blockOf[codec], int(h.Size)-levels)
	if err != nil {
		return nil, fmt.Errorf("a page cannot be decompressed (%s): %w", codecNames[codec], err)
	}
	return dst, nil
}
