package sums

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/bochner-ml/bochner/io/storage"
)

// A frame encodes a part of a sum: a byte with the bytes per number, a byte with the compression, and the
// numbers as two's complement integers, stored by significance: first the lowest byte of each number, then
// the next byte of each, and so on.
const (
	plain  = 0
	packed = 1 // compressed by zstd
)

// maxWidth is enough for numbers below 2⁵³ in magnitude.
const maxWidth = 7

// Frame describes a frame in a file.
type Frame struct {
	Size   int64  `json:"size"`   // bytes in the file
	SHA256 string `json:"sha256"` // of the frame before compression
}

// Writer writes the sums of a part. It is not safe for concurrent use.
type Writer struct {
	zstd  *zstd.Encoder
	plain []byte
}

// NewWriter returns a Writer.
func NewWriter() (*Writer, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	return &Writer{zstd: z}, err
}

// WriteFold writes the parts of the sum of a fold to out, in order. If out is nil it only computes the digests,
// and the sizes of the frames are not set.
func (w *Writer) WriteFold(out io.Writer, parts int, load func(i int) ([]float64, error)) ([]Frame, error) {
	frames := make([]Frame, parts)
	var buf []byte
	for i := range frames {
		values, err := load(i)
		if err != nil {
			return nil, err
		}
		if out == nil {
			frames[i] = w.unpacked(values)
			continue
		}
		buf, frames[i] = w.append(buf[:0], values)
		if _, err := out.Write(buf); err != nil {
			return nil, err
		}
	}
	return frames, nil
}

// unpacked stores in w.plain the uncompressed frame of whole numbers below 2⁵³ in magnitude.
func (w *Writer) unpacked(values []float64) Frame {
	var set uint64 // bits that differ from the sign bit
	for _, v := range values {
		i := int64(v)
		set |= uint64(i ^ i>>63)
	}
	width := 0
	if set != 0 || slices.ContainsFunc(values, func(v float64) bool { return v < 0 }) {
		width = bits.Len64(set)/8 + 1 // a bit for the sign
	}
	w.plain = append(w.plain[:0], byte(width), plain)
	for b := range width {
		shift := 8 * b
		for _, v := range values {
			w.plain = append(w.plain, byte(int64(v)>>shift))
		}
	}
	sum := sha256.Sum256(w.plain)
	return Frame{SHA256: hex.EncodeToString(sum[:])}
}

// append appends the frame of whole numbers below 2⁵³ in magnitude.
func (w *Writer) append(dst []byte, values []float64) ([]byte, Frame) {
	f := w.unpacked(values)
	from := len(dst)
	dst = w.zstd.EncodeAll(w.plain[2:], append(dst, w.plain[0], packed))
	if len(dst)-from >= len(w.plain) {
		dst = append(dst[:from], w.plain...)
	}
	f.Size = int64(len(dst) - from)
	return dst, f
}

var errDamaged = errors.New("is damaged: its checksum does not match; sum that part of the data again")

// maxFrame returns the largest size of a frame of n numbers.
func maxFrame(n int) int64 { return int64(2 + maxWidth*n) }

// decode stores the numbers of a frame in dst. The frame must have len(dst) numbers.
func (r *Reader) decode(dst []float64, frame []byte, want Frame) error {
	n := len(dst)
	if len(frame) < 2 || frame[0] > maxWidth || frame[1] > packed {
		return errDamaged
	}
	width := int(frame[0])
	r.plain = append(r.plain[:0], frame[0], plain)
	if frame[1] == plain {
		r.plain = append(r.plain, frame[2:]...)
	} else {
		// The decoder fails rather than exceed this capacity.
		r.plain = slices.Grow(r.plain, width*n)[: 2 : 2+width*n]
		var err error
		if r.plain, err = r.zstd.DecodeAll(frame[2:], r.plain); err != nil {
			return errDamaged
		}
	}
	if len(r.plain) != 2+width*n {
		return errDamaged
	}
	if sum := sha256.Sum256(r.plain); hex.EncodeToString(sum[:]) != want.SHA256 {
		return errDamaged
	}
	planes := r.plain[2:]
	for i := range dst {
		var v int64
		for b := range width {
			v |= int64(planes[b*n+i]) << (8 * b)
		}
		if width > 0 {
			v = v << (64 - 8*width) >> (64 - 8*width)
		}
		dst[i] = float64(v)
	}
	return nil
}

// hexDigest returns the SHA-256 of texts, which must not contain zero bytes.
func hexDigest(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%s\x00", t)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fileDigest returns the SHA-256 of a file.
func fileDigest(ctx context.Context, o storage.Object) (string, error) {
	in, err := o.Open(ctx, 0, -1)
	if err != nil {
		return "", err
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
