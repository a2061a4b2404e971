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

// withLog sends warnings that Beam logs about a pipeline to the log of the job; with Verbose,
// everything goes where the program sends Beam's log lines.
func (e Engine) withLog(ctx context.Context) context.Context {
	if e.Verbose {
		return ctx
	}
	beamlog.SetLogger(jobLogger{}) // every time, because a worker in this process replaces it
	return context.WithValue(ctx, logKey{}, func(line string) { e.Say("beam: %s", line) })
}

// jobLogger sorts Beam's log lines: lines of this package's jobs go to the job's log, others
// to slog, as Beam does by default.
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

// known tells whether a warning only repeats the job's error.
func known(message string) bool {
	var reported *transforms.Fault
	return errors.As(transforms.FindFault(errors.New(message)), &reported) ||
		slices.ContainsFunc(noise, func(n string) bool { return strings.Contains(message, n) })
}

// noise lists Beam's needless warnings.
var noise = []string{
	"bundle inst",         // why a job failed, which its error says
	"forcing DataChannel", // a worker connects again, as it does while a job ends
}
