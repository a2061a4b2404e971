package exit

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// Output is standard output. Err is the error of the first failed write; the code that prints help ignores it.
type Output struct {
	io.Writer
	Err error
}

func (o *Output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.Err == nil {
		o.Err = err
	}
	return n, err
}

// Fd returns the file descriptor, by which help finds the width of the terminal. It is ^0 if the
// writer is no file.
func (o *Output) Fd() uintptr {
	if f, ok := o.Writer.(*os.File); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// ReaderGone reports whether the reader of the output closed the pipe, as head does, and err is nil
// or a consequence of this.
func (o *Output) ReaderGone(err error) bool {
	return errors.Is(o.Err, syscall.EPIPE) && (err == nil || errors.Is(err, syscall.EPIPE))
}

// CheckOpen returns an error if standard output was closed when the program started: predictions would
// be lost. Go's runtime opens /dev/null in this case, for reading and writing. A shell that
// discards output opens it for writing only, but some other programs open it for both. So callers
// check it only before they write predictions.
func (o *Output) CheckOpen() error {
	f, ok := o.Writer.(*os.File)
	if !ok {
		return nil
	}
	to, err := f.Stat()
	null, bad := os.Stat(os.DevNull)
	if err != nil || bad != nil || !os.SameFile(to, null) {
		return nil
	}
	if _, err := f.Read(make([]byte, 1)); err == io.EOF {
		return Dataf("--out -: standard output is closed; open it, for instance with >file, or name a directory")
	}
	return nil
}
