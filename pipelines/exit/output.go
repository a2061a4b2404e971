package exit

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// Output is standard output. It keeps the error of the first failed write, which the code that
// prints help ignores.
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

// Fd returns the descriptor of a file, from which help takes the width of the terminal.
func (o *Output) Fd() uintptr {
	if f, is := o.Writer.(*os.File); is {
		return f.Fd()
	}
	return ^uintptr(0)
}

// Unread tells whether the command ended because, or although, the reader of its output had seen enough.
func (o *Output) Unread(err error) bool {
	return errors.Is(o.Err, syscall.EPIPE) && (err == nil || errors.Is(err, syscall.EPIPE))
}

// Open refuses a standard output that was closed when the program started: predictions would be
// lost. The runtime has then opened /dev/null in its place, and other than a shell that discards
// output, for reading too. So do some programs that discard it, which is why only predictions are
// refused.
func (o *Output) Open() error {
	f, is := o.Writer.(*os.File)
	if !is {
		return nil
	}
	to, err := f.Stat()
	null, bad := os.Stat(os.DevNull)
	if err != nil || bad != nil || !os.SameFile(to, null) {
		return nil
	}
	if _, err := f.Read(make([]byte, 1)); err == io.EOF {
		return Refuse("--out -: standard output is closed; open it, for instance with >file, or name a directory")
	}
	return nil
}
