package transforms

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
)

func init() { beam.RegisterDoFn(reflect.TypeFor[*driveFn]()) }

// RunProgram adds a step that runs this program with the given arguments, in a process of its own
// on one worker. With it, a launcher that accepts only one graph can run a job of several
// pipelines. A retried step repeats the command, so the arguments should let it resume.
func RunProgram(s beam.Scope, args []string) {
	beam.ParDo0(s.Scope("transforms.RunProgram"), &driveFn{Args: args}, beam.Impulse(s))
}

type driveFn struct{ Args []string }

func (f *driveFn) ProcessElement(ctx context.Context, _ []byte) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := os.Stat(self); err != nil {
		self = "/proc/self/exe" // a worker may have removed the file that it was started from
	}
	return drive(ctx, exec.CommandContext(ctx, self, f.Args...))
}

// driveTail is the number of last lines of output that the error of a command quotes.
const driveTail = 5

// drive runs a command and logs its output.
func drive(ctx context.Context, cmd *exec.Cmd) error {
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	var tail []string
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			log.Info(ctx, lines.Text())
			tail = append(tail, lines.Text())
			if len(tail) > driveTail {
				tail = tail[1:]
			}
		}
		io.Copy(io.Discard, r) // after a line that is too long, so that the command is not blocked
	}()
	err := cmd.Run()
	w.Close()
	<-read
	if err != nil {
		return fmt.Errorf("transforms: %s: %w: %s", strings.Join(cmd.Args, " "), err, strings.Join(tail, "\n"))
	}
	return nil
}
