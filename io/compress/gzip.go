package compress

import (
	"bufio"
	"io"

	"github.com/klauspost/compress/gzip"
)

// members reads the members of a gzip file one after the other. gzip.Reader could do
// that too, but it accepts a file that ends inside the name field of a later member's
// header.
type members struct {
	br *bufio.Reader
	z  *gzip.Reader // nil before the first member
	in bool         // inside a member
}

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
