package command

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// jsonLog writes each line as a JSON object with time, level and msg. Notes have the level WARN,
// errors that end the program ERROR, and progress INFO.
type jsonLog struct {
	mu      sync.Mutex
	handler slog.Handler
	rest    []byte // the beginning of a line
}

func newJSONLog(w io.Writer) *jsonLog { return &jsonLog{handler: slog.NewJSONHandler(w, nil)} }

func (l *jsonLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		l.rest = rest
		level, text := levelOf(string(line))
		if text == "" {
			continue
		}
		if err := l.handler.Handle(context.Background(), slog.NewRecord(time.Now(), level, text, 0)); err != nil {
			return 0, err
		}
	}
}

// levelOf returns the level of a line, and the line without the prefix that shows the level.
func levelOf(line string) (slog.Level, string) {
	line = strings.TrimSpace(line)
	if text, is := strings.CutPrefix(line, "note: "); is {
		return slog.LevelWarn, text
	}
	if text, is := strings.CutPrefix(line, "bochner: "); is {
		return slog.LevelError, text
	}
	return slog.LevelInfo, line
}
