package transforms

import (
	"context"
	"log/slog"
	"strings"

	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
)

// fieldsOnly omits the time, level and message, which the log of a runner adds itself.
var fieldsOnly = &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}}

// logLine writes a line to the runner's log, which is plain text: fields, given as for slog,
// follow the message as key=value. In-process runners show it if the job is verbose.
func logLine(ctx context.Context, message string, fields ...any) {
	var text strings.Builder
	slog.New(slog.NewTextHandler(&text, fieldsOnly)).InfoContext(ctx, "", fields...)
	beamlog.Output(ctx, beamlog.SevInfo, 1, message+": "+strings.TrimSuffix(text.String(), "\n"))
}
