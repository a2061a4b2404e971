package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/bochner-ml/bochner/transforms"
)

// logKey is the context key of the function that logs a line for a pipeline's job.
type logKey struct{}

// withLog returns a context that sends Beam's warnings about a pipeline to the log of its job. With
// Verbose it returns ctx, and Beam logs as usual.
func (e Engine) withLog(ctx context.Context) context.Context {
	if e.Verbose {
		return ctx
	}
	beamlog.SetLogger(jobLogger{}) // each time, because workers in this process replace it
	return context.WithValue(ctx, logKey{}, func(line string) { e.Say("beam: %s", line) })
}

// jobLogger sends Beam's log lines about our pipelines to the log of their job, and others to slog,
// as Beam does by default.
type jobLogger struct{ beamlog.Structural }

func (l jobLogger) Log(ctx context.Context, severity beamlog.Severity, depth int, message string) {
	note, ours := ctx.Value(logKey{}).(func(string))
	switch {
	case !ours && jobopts.IsLoopback() && severity < beamlog.SevWarn:
		// Workers in this process log without the context of their job.
	case !ours:
		l.Structural.Log(ctx, severity, depth+1, message)
	case severity >= beamlog.SevWarn && !isNoise(message):
		note(message)
	}
}

// isNoise reports whether a warning needs no line: it repeats the job's error or is listed in noise.
func isNoise(message string) bool {
	var reported *transforms.Fault
	return errors.As(transforms.FindFault(errors.New(message)), &reported) ||
		slices.ContainsFunc(noise, func(n string) bool { return strings.Contains(message, n) })
}

// noise has parts of Beam's warnings that tell users nothing.
var noise = []string{
	"bundle inst",         // the cause of a failed job, which its error has
	"forcing DataChannel", // a worker reconnects, as usual at the end of a job
}
