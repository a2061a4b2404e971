package compress

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// MaxWindow is the largest Zstandard window that is read, in bytes. It bounds
// the reader's memory; `zstd --ultra -22` and `zstd --long` stay within it.
const MaxWindow = 128 << 20

const bufferSize = 64 << 10

// Error says what is wrong with compressed data. The cause as the decoder names
// it is behind Unwrap; data that end early give io.ErrUnexpectedEOF there.
type Error struct {
	Kind   Kind
	Offset int64  // decompressed bytes delivered before the error
	Reason string // what is wrong: "data ends early (truncated file?)"
	Advice string // what to do about it; often empty
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
	errTrailing = errors.New("data behind the last member")
	errClosed   = errors.New("compress: read after Close")
)

// NewReader looks at the first bytes of r and returns a reader of the data
// behind its compression, and which compression that is. Data of no known
// compression, the empty file among them, are read as they are.
//
// Read returns io.EOF only where the compressed data end as their format
// demands, and an *Error where they end early, fail a checksum, or cannot be
// decoded; errors of r come through as they are. Members (gzip) and frames
// (zstd) that follow one another are read as one stream. Zero bytes after the
// last gzip member are padding (tapes, block devices); any other byte there is
// an error.
//
// The reader reads ahead of what it delivers. Close frees the decoder's memory;
// r stays open.
func NewReader(r io.Reader) (io.ReadCloser, Kind, error) {
	return newReader(r, MaxWindow)
}

func newReader(r io.Reader, maxWindow uint64) (io.ReadCloser, Kind, error) {
	src := &source{r: r}
	br := bufio.NewReaderSize(src, bufferSize)
	head, err := br.Peek(HeadBytes)
	if err != nil && err != io.EOF {
		return nil, None, err
	}
	d := &reader{kind: Sniff(head), src: src}
	switch d.kind {
	case Gzip:
		d.dec = &members{br: br}
	case Zstd:
		dec, err := zstd.NewReader(br,
			zstd.WithDecoderConcurrency(1), // no goroutines: workers run one reader a thread already
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

// source remembers why reading the compressed bytes failed. Decoders take an
// io.ErrUnexpectedEOF of their input, which is how net/http reports a broken
// connection, for the end of the data, even for a proper one (zstd, between
// frames).
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

// reader turns the errors of a decoder into sentences and keeps them: klauspost's
// zstd decoder hands out the rest of a block, and no error, when it is read again
// after a checksum that failed.
type reader struct {
	kind Kind
	src  *source
	dec  io.ReadCloser
	n    int64
	err  error
}

func (d *reader) Read(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	n, err := d.dec.Read(p)
	d.n += int64(n)
	if err != nil {
		d.err = d.explain(err)
	}
	return n, d.err
}

func (d *reader) Close() error {
	if d.err == errClosed {
		return nil
	}
	d.err = errClosed
	return d.dec.Close()
}

func (d *reader) explain(err error) error {
	switch {
	case d.src.err != nil:
		return d.src.err
	case err == io.EOF || d.kind == None:
		return err
	}
	reason, advice := sentence(err)
	return &Error{Kind: d.kind, Offset: d.n, Reason: reason, Advice: advice, Err: err}
}

// again is what to do about damaged data.
const again = "copy or download the file again"

func sentence(err error) (reason, advice string) {
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
		return fmt.Sprintf("data needs a window of more than %d MiB (or is corrupt)", MaxWindow>>20),
			"compress it with --long=27 or less"
	case errors.Is(err, zstd.ErrUnknownDictionary):
		return "data needs a dictionary", "compress it without one"
	}
	return "data cannot be decoded (corrupt file)", again
}
