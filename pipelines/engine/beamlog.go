package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/bochner-ml/bochner/transforms/fault"
)

// logKey is the key of the function, in the context of a pipeline, that notes a line.
type logKey struct{}

// withLog has what Beam logs of a pipeline go to the log of the job, as far as it is
// a warning; with Verbose, all of it goes where the program has Beam's log lines go.
func (e Engine) withLog(ctx context.Context) context.Context {
	if e.Verbose {
		return ctx
	}
	beamlog.SetLogger(jobLogger{}) // each time: a worker in this process sets another
	return context.WithValue(ctx, logKey{}, func(line string) { e.say("beam: %s", line) })
}

// jobLogger sorts Beam's log lines: what comes of a job of this package is for that job's
// log; what does not goes to slog, as Beam has it without us.
type jobLogger struct{ beamlog.Structural }

func (l jobLogger) Log(ctx context.Context, severity beamlog.Severity, depth int, message string) {
	note, ours := ctx.Value(logKey{}).(func(string))
	switch {
	case !ours && jobopts.IsLoopback() && severity < beamlog.SevWarn:
		// Workers in this process log without the context of their job.
	case !ours:
		l.Structural.Log(ctx, severity, depth+1, message)
	case severity >= beamlog.SevWarn && !known(message):
		note(message)
	}
}

// known tells whether a warning is of what the job's error says too.
func known(message string) bool {
	var reported *fault.Fault
	return errors.As(fault.Find(errors.New(message)), &reported) ||
		slices.ContainsFunc(noise, func(n string) bool { return strings.Contains(message, n) })
}

// noise is what Beam warns of without need.
var noise = []string{
	"bundle inst", // why a job failed, which is its error too
}
