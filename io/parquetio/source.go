package parquetio

import (
	"context"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/io/compress"
	"github.com/bochner-ml/bochner/io/parquetio/meta"
	"github.com/bochner-ml/bochner/io/storage"
)

// source reads parts of a file.
type source struct {
	ctx    context.Context
	object storage.Object
	last   []byte // the end of the file
	window int64  // bytes of a column that are read at once
	group  []byte // a part of a row group
	from   int64  // where it begins
}

// Bytes of memory for the chunks of a row group, and the least and the most for one column.
const (
	groupBytes  = 16 << 20
	leastWindow = 64 << 10
	maxWindow   = 4 << 20
)

// readTail reads the end of a file, at least the whole footer, and parses that.
func readTail(ctx context.Context, o storage.Object,
	open func(off, n int64) (io.Reader, error)) ([]byte, *footer, error) {
	if o.Size < 12 {
		return nil, nil, fmt.Errorf("has %d bytes, which is too short for a Parquet file (truncated?)", o.Size)
	}
	r, err := open(tailRange(o.Size))
	if err != nil {
		return nil, nil, err
	}
	last := make([]byte, min(tail, o.Size))
	if _, err := io.ReadFull(r, last); err != nil {
		return nil, nil, fmt.Errorf("its end cannot be read: %w", err)
	}
	n, err := footerSize(last, o.Size)
	if err != nil {
		return nil, nil, err
	}
	if n > int64(len(last)) {
		last = make([]byte, n)
		s := source{ctx: ctx, object: o}
		if err := s.read(last, o.Size-n); err != nil {
			return nil, nil, err
		}
	}
	f, err := parseFooter(last[int64(len(last))-n:], o.Size)
	return last, f, err
}

// tailRange is the part of a file that is read first.
func tailRange(size int64) (off, n int64) { return max(0, size-tail), -1 }

// read fills dst with the file from an offset.
func (s *source) read(dst []byte, off int64) error {
	if from := s.object.Size - int64(len(s.last)); off >= from && len(s.last) > 0 {
		copy(dst, s.last[off-from:])
		return nil
	}
	r, err := s.object.Open(s.ctx, off, int64(len(dst)))
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := io.ReadFull(r, dst); err != nil {
		return fmt.Errorf("at byte %d: %w", off, err)
	}
	return nil
}

// begin prepares to read chunks of a row group: if they lie close together, in one go.
func (s *source) begin(chunks []*meta.Chunk) error {
	var lo, hi, used int64
	for i, c := range chunks {
		if i == 0 || c.Start() < lo {
			lo = c.Start()
		}
		hi = max(hi, c.Start()+c.Size)
		used += c.Size
	}
	s.group = s.group[:0]
	if hi-lo > groupBytes || hi-lo > 2*used {
		s.window = min(max(groupBytes/int64(len(chunks)), leastWindow), maxWindow)
		return nil
	}
	s.group, s.from = compress.Grow(s.group, int(hi-lo)), lo
	return s.read(s.group, lo)
}

// stream reads a chunk.
type stream struct {
	source *source
	at     int64 // of the file, after what is in buf
	end    int64
	buf    []byte
	pos    int
	own    []byte // memory of buf, unless buf is in the memory of the source
}

// begin begins a chunk.
func (s *stream) begin(c *meta.Chunk) {
	end := c.Start() + c.Size
	s.at, s.end, s.pos = end, end, 0
	if len(s.source.group) > 0 {
		from := s.source.from
		s.buf = s.source.group[c.Start()-from : end-from]
		return
	}
	s.at, s.buf = c.Start(), s.own[:0]
}

// left returns the number of unread bytes.
func (s *stream) left() int64 { return int64(len(s.buf)-s.pos) + s.end - s.at }

// peek returns the next n bytes, or all that are left if those are fewer.
func (s *stream) peek(n int64) ([]byte, error) {
	n = min(n, s.left())
	if have := int64(len(s.buf) - s.pos); have < n {
		more := min(max(n-have, s.source.window), s.end-s.at)
		rest := s.buf[s.pos:]
		if int64(cap(s.own)) < have+more {
			s.own = make([]byte, have+more)
		}
		s.own = s.own[:cap(s.own)]
		copy(s.own, rest)
		s.buf, s.pos = s.own[:have+more], 0
		if err := s.source.read(s.buf[have:], s.at); err != nil {
			return nil, err
		}
		s.at += more
	}
	return s.buf[s.pos:][:n], nil
}

func (s *stream) skip(n int64) { s.pos += int(n) }
