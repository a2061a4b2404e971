package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/bochner-ml/bochner/io/storage"
)

// HistoryDir is the directory of the events in a directory of models.
const HistoryDir = "history"

// MaxEvent is the largest event that is read, in bytes.
const MaxEvent = 1 << 20

// Actions of events.
const (
	Promoted   = "promote"
	RolledBack = "rollback"
	Kept       = "keep"
	Refused    = "refuse"
)

// EventFile returns the name of the file of an event. Names sort in the order of events.
func EventFile(dir string, number int) string {
	return storage.Join(dir, HistoryDir, fmt.Sprintf("%08d.json", number))
}

// rebuild replays the events of the history. It returns nil if there are none, and an error if one is
// missing. why says why the aliases are rebuilt.
func rebuild(ctx context.Context, dir, why string) (*Aliases, error) {
	place, history := storage.Join(dir, AliasFile), storage.Join(dir, HistoryDir)
	all, err := storage.List(ctx, storage.Join(history, "*.json"))
	if errors.Is(err, storage.ErrNoMatch) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &Aliases{Format: AliasFormat}
	for s.Events < len(all) {
		s.Events++
		name := EventFile(dir, s.Events)
		if s.Last, err = storage.ReadFile(ctx, name, MaxEvent); err == nil {
			err = s.repeat()
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("no such event")
		}
		if err != nil {
			const next = "restore one of the two from a copy, or move the directory of the history away and promote a model"
			return nil, fmt.Errorf("%s %s, and the history does not say which model is champion: %s: %w; %s", place, why,
				name, err, next)
		}
	}
	s.Rebuilt = fmt.Sprintf("%s %s: the aliases are those after the last of the %d events in %s, and the next event writes the file anew",
		place, why, s.Events, history)
	return s, nil
}

// repeat replays the last event.
func (s *Aliases) repeat() error {
	var e struct {
		Number            int
		Action, Model, To string
	}
	if err := json.Unmarshal(s.Last, &e); err != nil {
		return err
	}
	if err := ValidAlias(e.Model); err != nil {
		return err
	}
	switch e.Action {
	case Promoted:
		s.Promote(e.Model)
	case RolledBack:
		for s.Champion != e.Model && s.Champion != "" {
			s.Back()
		}
	case Kept:
		s.Challenger = e.Model
	case Refused:
	default:
		return fmt.Errorf("unknown action %q", e.Action)
	}
	if e.Number != s.Events || e.To != s.Champion {
		return fmt.Errorf("event %d makes %q champion, and the events before it %q", e.Number, e.To, s.Champion)
	}
	return nil
}
