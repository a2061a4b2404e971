// Package compress recognises compressed data by its first bytes and decompresses it:
// gzip (RFC 1952) and Zstandard (RFC 8878).
//
// Its errors name the compression and what is wrong with the data, not the file: the
// caller knows the name and adds it.
package compress

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Kind is the name of a compression.
type Kind string

const (
	None Kind = ""
	Gzip Kind = "gzip"
	Zstd Kind = "zstd"
)

// headBytes is the number of first bytes that Sniff needs at most.
const headBytes = 4

// sniff returns the compression of a file from its first bytes, None if they are too
// few or unknown.
func sniff(head []byte) Kind {
	switch {
	case len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		return Gzip
	case len(head) < 4:
		return None
	case head[0] == 0x28 && head[1] == 0xb5 && head[2] == 0x2f && head[3] == 0xfd:
		return Zstd
	// A skippable frame (RFC 8878 §3.1.2). Parallel compressors put one first.
	case head[0]&0xf0 == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18:
		return Zstd
	}
	return None
}

// maxWindow is the largest supported Zstandard window in bytes. It bounds
// the reader's memory; `zstd --ultra -22` and `zstd --long` stay within it.
const maxWindow = 128 << 20

const bufferSize = 64 << 10

// Error says what is wrong with compressed data. Unwrap returns the decoder's error,
// and io.ErrUnexpectedEOF for data that ends early.
type Error struct {
	Kind   Kind
	Offset int64  // decompressed bytes delivered before the error
	Reason string // what is wrong: "data ends early (truncated file?)"
	Advice string // the next step; often empty
	Err    error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%v %s after %d decompressed bytes", e.Kind, e.Reason, e.Offset)
	if e.Advice != "" {
		s += "; " + e.Advice
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

var (
	errTrailing = errors.New("data after the last member")
	errClosed   = errors.New("compress: read after Close")
)

// NewReader reads the first bytes of r and returns a reader of the decompressed data
// and the kind of compression. Data without a known compression, such as an empty file,
// is read as it is.
//
// Read returns io.EOF only where the compressed data ends as its format requires, and
// an *Error where it ends early, fails a checksum, or cannot be decoded; errors of r
// are returned unchanged. Members (gzip) and frames (zstd) that follow one another are
// read as one stream. Zero bytes after the last gzip member are padding (tapes, block
// devices); any other byte there is an error.
//
// The reader reads ahead of what it delivers. Close frees the decoder's memory;
// r stays open.
func NewReader(r io.Reader) (io.ReadCloser, Kind, error) {
	return newReader(r, maxWindow)
}

func newReader(r io.Reader, maxWindow uint64) (io.ReadCloser, Kind, error) {
	src := &source{r: r}
	br := bufio.NewReaderSize(src, bufferSize)
	head, err := br.Peek(headBytes)
	if err != nil && err != io.EOF {
		return nil, None, err
	}
	d := &reader{kind: sniff(head), src: src}
	switch d.kind {
	case Gzip:
		d.dec = &members{br: br}
	case Zstd:
		dec, err := zstd.NewReader(br,
			zstd.WithDecoderConcurrency(1), // no goroutines: workers already run one reader per thread
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, Zstd, fmt.Errorf("zstd decoder: %w", err)
		}
		d.dec = dec.IOReadCloser()
	default:
		d.dec = io.NopCloser(br)
	}
	return d, d.kind, nil
}

// source records why reading the compressed bytes failed. Decoders treat an
// io.ErrUnexpectedEOF of their input, which is how net/http reports a broken
// connection, as the end of the data; zstd accepts it between frames.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// reader converts the errors of a decoder to an *Error and repeats it on every later
// call: after a failed checksum, klauspost's zstd decoder returns the rest of a block
// without an error.
type reader struct {
	kind Kind
	src  *source
	dec  io.ReadCloser
	n    int64
	err  error
}

func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.dec.Read(p)
	r.n += int64(n)
	if err != nil {
		r.err = r.explain(err)
	}
	return n, r.err
}

func (r *reader) Close() error {
	if errors.Is(r.err, errClosed) {
		return nil
	}
	r.err = errClosed
	return r.dec.Close()
}

func (r *reader) explain(err error) error {
	switch {
	case r.src.err != nil:
		return r.src.err
	case err == io.EOF || r.kind == None:
		return err
	}
	reason, advice := describe(err)
	return &Error{Kind: r.kind, Offset: r.n, Reason: reason, Advice: advice, Err: err}
}

// again is the next step for damaged data.
const again = "copy or download the file again"

// describe returns why compressed data cannot be read, and what the user can do.
func describe(err error) (reason, advice string) {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "data ends early (truncated file?)", again
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, zstd.ErrCRCMismatch):
		return "checksum does not match (corrupt file)", again
	case errors.Is(err, gzip.ErrHeader):
		return "header is damaged (corrupt file)", again
	case errors.Is(err, errTrailing), errors.Is(err, zstd.ErrMagicMismatch):
		return "data is followed by something else (trailing garbage)", ""
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Sprintf("data needs a window of more than %d MiB (or is corrupt)", maxWindow>>20),
			"compress it with --long=27 or less"
	case errors.Is(err, zstd.ErrUnknownDictionary):
		return "data needs a dictionary", "compress it without one"
	}
	return "data cannot be decoded (corrupt file)", again
}

// members reads the members of a gzip file one after the other. gzip.Reader could do
// that too, but it accepts a file that ends inside the name field of a later member's
// header.
type members struct {
	br *bufio.Reader
	z  *gzip.Reader // nil before the first member
	in bool         // inside a member
}

// Read reads across the members of a gzip file, which are decompressed one after the other.
func (m *members) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if !m.in {
			if err := m.next(); err != nil {
				return 0, err
			}
		}
		n, err := m.z.Read(p)
		if err == io.EOF {
			m.in, err = false, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// next enters the next member, or returns io.EOF if the file ends properly.
func (m *members) next() error {
	head, err := m.br.Peek(2)
	switch {
	case err != nil && err != io.EOF:
		return err
	case len(head) == 0 && m.z != nil:
		return io.EOF
	case len(head) > 0 && head[0] == 0 && m.z != nil:
		return m.padding()
	case m.z != nil && (head[0] != 0x1f || len(head) == 2 && head[1] != 0x8b):
		return errTrailing
	}
	if m.z == nil {
		m.z, err = gzip.NewReader(m.br)
	} else {
		err = m.z.Reset(m.br)
	}
	if err == io.EOF { // the header is incomplete
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	m.z.Multistream(false)
	m.in = true
	return nil
}

// padding consumes zero bytes to the end of the file.
func (m *members) padding() error {
	for {
		b, err := m.br.ReadByte()
		if err != nil {
			return err
		}
		if b != 0 {
			return errTrailing
		}
	}
}

// Close returns no error: gzip.Reader.Close only repeats the one from Read.
func (m *members) Close() error {
	m.br, m.z = nil, nil
	return nil
}
