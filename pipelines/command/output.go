package command

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/bochner-ml/bochner/pipelines/exit"
)

// output is standard output.
type output struct {
	io.Writer
	err error // of the first failed write, which the code that prints help ignores
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// Fd returns the file descriptor, by which help finds the width of the terminal. It is ^0 if the
// writer is not a file.
func (o *output) Fd() uintptr {
	if f, ok := o.Writer.(*os.File); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// readerGone reports whether the reader of the output closed the pipe, as head does, and err is nil
// or a consequence of this.
func (o *output) readerGone(err error) bool {
	return errors.Is(o.err, syscall.EPIPE) && (err == nil || errors.Is(err, syscall.EPIPE))
}

// checkOpen returns an error if standard output was closed when the program started: predictions would
// be lost. Go's runtime opens /dev/null in this case, for reading and writing. A shell that
// discards output opens it for writing only, but some other programs open it for both. So callers
// check it only before they write predictions.
func (o *output) checkOpen() error {
	f, ok := o.Writer.(*os.File)
	if !ok {
		return nil
	}
	to, err := f.Stat()
	null, nullErr := os.Stat(os.DevNull)
	if err != nil || nullErr != nil || !os.SameFile(to, null) {
		return nil
	}
	if _, err := f.Read(make([]byte, 1)); err == io.EOF {
		return exit.Dataf("--out -: standard output is closed; open it, for instance with >file, or name a directory")
	}
	return nil
}
