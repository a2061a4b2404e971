package lines

import (
	"bytes"
	"io"
)

// A buffer has firstSize bytes, so that thousands of small files cost little, and bufferSize once there is
// more to read. It grows further only for records that do not fit.
const (
	firstSize  = 8 << 10
	bufferSize = 128 << 10
)

// buffer holds the part of the input that has been read and not yet consumed.
type buffer struct {
	buf      []byte
	pos, end int   // buf[pos:end] is unread
	base     int64 // offset of buf[0] in the file

	// Offset of the first unread quote and NUL, or a lower bound of it, so that each
	// byte is searched only once, however short the lines are.
	quote, nul int64
}

func (b *buffer) unread() []byte { return b.buf[b.pos:b.end] }

// has reports whether byte c is among the first n unread ones. mark is how far c was
// searched: there is no c between the first unread byte and mark.
func (b *buffer) has(mark *int64, c byte, n int) bool {
	at := max(int(*mark-b.base), b.pos)
	if at >= b.pos+n {
		return false
	}
	if b.buf[at] != c {
		if i := bytes.IndexByte(b.buf[at:b.end], c); i >= 0 {
			at += i
		} else {
			at = b.end
		}
	}
	*mark = b.base + int64(at)
	return at < b.pos+n
}

// fill reads once from in, after making room. The buffer grows up to limit, and
// there must be fewer than limit bytes unread.
func (b *buffer) fill(in io.Reader, limit int) error {
	size := len(b.buf)
	more := b.end == size // the last read left no room
	if b.pos > 0 {
		copy(b.buf, b.buf[b.pos:b.end])
		b.base += int64(b.pos)
		b.end -= b.pos
		b.pos = 0
	}
	if b.end == size || more && size < bufferSize {
		to := firstSize
		if size > 0 {
			to = max(bufferSize, min(4*size, limit))
		}
		grown := make([]byte, to)
		copy(grown, b.buf[:b.end])
		b.buf = grown
	}
	for range 100 {
		n, err := in.Read(b.buf[b.end:])
		b.end += n
		if n > 0 || err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}
