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

// A frame is a part of a sum: a byte that says how many bytes each number takes, a byte that says
// how they are packed, and the numbers as two's complement integers, byte by byte: first the lowest
// byte of each number, then the next ones.
const (
	plain  = 0
	packed = 1 // by zstd
)

// maxWidth is enough for numbers below 2⁵³ in magnitude.
const maxWidth = 7

// Frame describes a frame of a file.
type Frame struct {
	Size   int64  `json:"size"`   // in the file
	SHA256 string `json:"sha256"` // of the numbers: the frame before it is packed
}

// encoder packs frames. It is not safe for concurrent use.
type encoder struct {
	zstd  *zstd.Encoder
	plain []byte
}

func newEncoder() (*encoder, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	return &encoder{zstd: z}, err
}

// unpacked makes e.plain the frame of whole numbers below 2⁵³ in magnitude, before it is packed.
func (e *encoder) unpacked(values []float64) Frame {
	var any uint64 // bits that differ from the sign
	for _, v := range values {
		i := int64(v)
		any |= uint64(i ^ i>>63)
	}
	width := 0
	if any != 0 || negative(values) {
		width = bits.Len64(any)/8 + 1 // a bit for the sign
	}
	e.plain = append(e.plain[:0], byte(width), plain)
	for b := range width {
		shift := 8 * b
		for _, v := range values {
			e.plain = append(e.plain, byte(int64(v)>>shift))
		}
	}
	sum := sha256.Sum256(e.plain)
	return Frame{SHA256: hex.EncodeToString(sum[:])}
}

// append appends the frame of whole numbers below 2⁵³ in magnitude.
func (e *encoder) append(dst []byte, values []float64) ([]byte, Frame) {
	f := e.unpacked(values)
	from := len(dst)
	dst = e.zstd.EncodeAll(e.plain[2:], append(dst, e.plain[0], packed))
	if len(dst)-from >= len(e.plain) {
		dst = append(dst[:from], e.plain...)
	}
	f.Size = int64(len(dst) - from)
	return dst, f
}

func negative(values []float64) bool {
	for _, v := range values {
		if v < 0 {
			return true
		}
	}
	return false
}

// decoder unpacks frames. It is not safe for concurrent use.
type decoder struct {
	zstd  *zstd.Decoder
	plain []byte
}

func newDecoder() (*decoder, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<28), zstd.WithDecodeAllCapLimit(true))
	return &decoder{zstd: z}, err
}

func (d *decoder) close() { d.zstd.Close() }

var errDamaged = errors.New("is damaged: its checksum does not match; sum that part of the data again")

// maxFrame is the largest frame of n numbers.
func maxFrame(n int) int64 { return int64(2 + maxWidth*n) }

// decode stores the numbers of a frame in dst, which has as many as the frame must have.
func (d *decoder) decode(dst []float64, frame []byte, want Frame) error {
	n := len(dst)
	if len(frame) < 2 || frame[0] > maxWidth || frame[1] > packed {
		return errDamaged
	}
	width := int(frame[0])
	d.plain = append(d.plain[:0], frame[0], plain)
	if frame[1] == plain {
		d.plain = append(d.plain, frame[2:]...)
	} else {
		// The decoder makes no more than fits.
		d.plain = slices.Grow(d.plain, width*n)[: 2 : 2+width*n]
		var err error
		if d.plain, err = d.zstd.DecodeAll(frame[2:], d.plain); err != nil {
			return errDamaged
		}
	}
	if len(d.plain) != 2+width*n {
		return errDamaged
	}
	if sum := sha256.Sum256(d.plain); hex.EncodeToString(sum[:]) != want.SHA256 {
		return errDamaged
	}
	planes := d.plain[2:]
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

// digestOf returns the SHA-256 of texts that hold no zero bytes.
func digestOf(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%s\x00", t)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// contentOf returns the SHA-256 of a file.
func contentOf(ctx context.Context, o storage.Object) (string, error) {
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
