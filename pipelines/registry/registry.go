// Package registry manages a directory of models: which model is champion, challenger and previous champion,
// and the history of changes. A Registry names the directory; Promote, Rollback, Keep and Refuse change the
// aliases.
//
// The aliases are in one small file, aliases.json, which is replaced by compare-and-swap: of two processes that
// promote at the same time one succeeds, and the other gets an error. The file also has the last event. Each
// event is also stored as a file of its own, history/N.json, which is never replaced. So a stopped process
// leaves the state before or after the change, and no event is lost if its file was not written.
package registry

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// Registry is a directory of models.
type Registry struct {
	Dir string
	Now func() time.Time // nil is time.Now
}

// Change holds what the history records about a change, and the champion that it requires.
type Change struct {
	By      string // who makes the change; "" is the user and the machine
	Why     string
	Gates   []Gate
	Day     string // day of a retraining
	Command string

	IfChampion Precondition // if it does not hold, nothing changes, and the error is a *ConflictError
}

// Precondition is a condition on the champion before a change. The zero value allows any.
type Precondition struct {
	isSet    bool
	champion string
}

// ChampionIs requires that the model is champion, or with "" that none is.
func ChampionIs(model string) Precondition { return Precondition{true, model} }

// ConflictError means that another process has changed the champion in the meantime.
type ConflictError struct{ Message string }

func (e *ConflictError) Error() string { return e.Message }

// State returns the aliases. A new directory has none.
func (r Registry) State(ctx context.Context) (*models.Aliases, error) {
	s, _, err := r.read(ctx)
	return s, err
}

func (r Registry) read(ctx context.Context) (*models.Aliases, []byte, error) {
	if r.Dir == "" {
		return nil, nil, exit.Usagef("--models is missing: name a directory of models")
	}
	s, data, err := models.ReadAliases(ctx, r.Dir)
	if _, failed := errors.AsType[*storage.Error](err); err != nil && !failed {
		err = models.NewError(r.Dir, err)
	}
	if err == nil && s == nil {
		s = &models.Aliases{Format: models.AliasFormat}
	}
	return s, data, err
}

// ModelDir returns the directory of a model.
func (r Registry) ModelDir(model string) string { return storage.Join(r.Dir, model) }

// isOwnDir reports whether dir is the directory of the registry.
func (r Registry) isOwnDir(dir string) bool {
	have, err := storage.Abs(strings.TrimRight(dir, "/"))
	if err != nil {
		return false
	}
	want, err := storage.Abs(strings.TrimRight(r.Dir, "/"))
	return err == nil && have == want
}

// Name returns the name of a model, given its name, its directory or an alias such as challenger or
// DIR@challenger.
func (r Registry) Name(ctx context.Context, model string) (string, error) {
	if dir, alias, ok := models.SplitAlias(model); ok && r.isOwnDir(dir) {
		model = alias
	}
	if slices.Contains(models.AliasNames(), model) {
		s, err := r.State(ctx)
		if err == nil && s.Model(model) == "" {
			err = exit.Dataf("registry: no model of %s is %s", r.Dir, model)
		}
		if err != nil {
			return "", err
		}
		return s.Model(model), nil
	}
	if dir, name := storage.Split(strings.TrimRight(model, "/")); name != "" && dir != "." && r.isOwnDir(dir) {
		model = name
	}
	if err := models.CheckModelName(model); err != nil {
		return "", exit.Usagef("registry: %w; give the name of a directory in %s", err, r.Dir)
	}
	return model, nil
}

// Promote makes a model champion, and the current champion the previous one. It checks the files of the model
// first.
func (r Registry) Promote(ctx context.Context, model string, c Change) (*Event, error) {
	return r.change(ctx, Promoted, model, c, func(s *models.Aliases) error {
		if s.Champion == model {
			return exit.Dataf("registry: %s is already the champion of %s", model, r.Dir)
		}
		s.Promote(model)
		return nil
	})
}

// Rollback makes an earlier champion champion again, the previous one if model is "". The current champion does
// not become the previous one, so a second rollback goes further back.
func (r Registry) Rollback(ctx context.Context, model string, c Change) (*Event, error) {
	s, err := r.State(ctx)
	if err != nil {
		return nil, err
	}
	model = cmp.Or(model, s.Previous)
	if model == "" {
		return nil, exit.Dataf("registry: %s has no previous champion to go back to; name a model to promote", r.Dir)
	}
	if !c.IfChampion.isSet {
		c.IfChampion = ChampionIs(s.Champion) // roll back the champion that was read above
	}
	return r.change(ctx, RolledBack, model, c, func(s *models.Aliases) error {
		switch {
		case s.Champion == model:
			return exit.Dataf("registry: %s is already the champion of %s", model, r.Dir)
		case s.Previous != model && !slices.Contains(s.Earlier, model):
			return exit.Dataf("registry: %s was never champion of %s; use promote", model, r.Dir)
		}
		for s.Champion != model {
			s.Rollback()
		}
		return nil
	})
}

// Keep records that a challenger did not become champion. It stays challenger.
func (r Registry) Keep(ctx context.Context, model string, c Change) (*Event, error) {
	return r.change(ctx, Kept, model, c, func(s *models.Aliases) error {
		s.Challenger = model
		return nil
	})
}

// Refuse records that new data was refused and the champion stays.
func (r Registry) Refuse(ctx context.Context, champion string, c Change) (*Event, error) {
	return r.change(ctx, Refused, champion, c, func(*models.Aliases) error { return nil })
}

// maxChanges is the number of attempts to make a change while other processes change the aliases.
const maxChanges = 20

// change applies edit to the aliases, and records the event.
func (r Registry) change(ctx context.Context, action Action, model string, c Change,
	edit func(*models.Aliases) error) (*Event, error) {
	if err := models.CheckModelName(model); err != nil {
		return nil, exit.Usagef("registry: %w; give the name of a directory in %s", err, r.Dir)
	}
	m, err := models.CheckDir(ctx, r.ModelDir(model))
	if err != nil {
		return nil, err
	}
	e := &Event{ID: rand.Text(), Action: action, Subject: Subject{Model: model, Manifest: m.SHA256, Gates: c.Gates,
		Why: c.Why}, Day: c.Day, Command: c.Command, By: c.By}
	if e.By == "" {
		e.By = who()
	}
	for try := 1; ; try++ {
		again, err := r.attempt(ctx, e, c.IfChampion, edit)
		switch {
		case err == nil:
			return e, nil
		case !again || try == maxChanges:
			return nil, err
		}
	}
}

// attempt applies edit to the aliases, unless an earlier attempt has made the change e. If the attempt fails,
// again tells whether another one may succeed.
func (r Registry) attempt(ctx context.Context, e *Event, want Precondition,
	edit func(*models.Aliases) error) (again bool, err error) {
	s, old, err := r.read(ctx)
	if err != nil {
		return false, err
	}
	if r.recorded(ctx, s, e) {
		return false, r.flushEvent(ctx, s, old) // the change was made, although the storage reported an error
	}
	if e.From != e.To && !want.isSet {
		// If two processes promote without naming the champion that they replace, the second one gets an error.
		want = ChampionIs(e.From)
	}
	if want.isSet && want.champion != s.Champion {
		return false, r.conflict(s, want.champion)
	}
	if old != nil {
		if err := r.flushEvent(ctx, s, old); err != nil {
			return false, err
		}
	}
	e.Number, e.From = s.Events+1, s.Champion
	if err := edit(s); err != nil {
		return false, err
	}
	e.To, e.Time = s.Champion, r.now()
	if s.Last, err = json.Marshal(e); err != nil {
		return false, err
	}
	s.Events = e.Number
	data, err := s.Encode()
	if err != nil {
		return false, err
	}
	err = storage.CompareAndSwap(ctx, storage.Join(r.Dir, models.AliasFile), old, data)
	if err == nil {
		return false, r.storeEvent(ctx, s)
	}
	if errors.Is(err, storage.ErrSwapped) {
		return true, err
	}
	now, _, readErr := r.read(ctx)
	return readErr == nil && r.recorded(ctx, now, e), err
}

// flushEvent stores the last event of aliases that were read from file. Their writer may have been stopped
// before they were on disk, and after a power failure the history must not have an event that the aliases do
// not have. So it first writes the aliases again, unless the event is stored.
func (r Registry) flushEvent(ctx context.Context, s *models.Aliases, file []byte) error {
	exists, err := storage.Exists(ctx, models.EventFile(r.Dir, s.Events))
	if err == nil && !exists {
		err = storage.CompareAndSwap(ctx, storage.Join(r.Dir, models.AliasFile), file, file)
	}
	if err != nil && !errors.Is(err, storage.ErrSwapped) { // the change of another process is on disk
		return err
	}
	return r.record(ctx, s.Last)
}

// storeEvent stores the last event of aliases that are in place. If the storage fails, the next change will
// store it.
func (r Registry) storeEvent(ctx context.Context, s *models.Aliases) error {
	err := r.record(ctx, s.Last)
	if _, failed := errors.AsType[*storage.Error](err); failed {
		return nil
	}
	return err
}

// recorded reports whether an event was made although the storage reported an error.
func (r Registry) recorded(ctx context.Context, s *models.Aliases, e *Event) bool {
	if e.Number == 0 || s.Events < e.Number {
		return false
	}
	if last, err := decodeEvent(s.Last); err == nil && last.Number == e.Number {
		return last.ID == e.ID
	}
	stored, err := r.readEvent(ctx, e.Number)
	return err == nil && stored.ID == e.ID
}

// conflict returns the error for a champion that is not the expected one.
func (r Registry) conflict(s *models.Aliases, want string) error {
	now, before := "no model is champion of "+r.Dir, cmp.Or(want, "none")
	if s.Champion != "" {
		now = fmt.Sprintf("%s is champion of %s", s.Champion, r.Dir)
	}
	by := ""
	if last, err := decodeEvent(s.Last); err == nil {
		by = fmt.Sprintf(" since %s (%s by %s)", last.when(), last.Action, last.By)
	}
	return &exit.DataError{Err: &ConflictError{fmt.Sprintf("registry: %s%s, and not %s: another process changed it; "+
		"look at bochner models history, and decide again", now, by, before)}}
}

func (r Registry) now() time.Time {
	if r.Now != nil {
		return r.Now().UTC()
	}
	return time.Now().UTC().Truncate(time.Second)
}

// reportsDir is the name of the directory of reports in a directory of models.
const reportsDir = "reports"

// ReportsDir returns the directory of reports.
func (r Registry) ReportsDir() string { return storage.Join(r.Dir, reportsDir) }

// WriteReport stores the report of a day as JSON, as text and as an HTML page. It replaces an earlier report of
// the day.
func (r Registry) WriteReport(ctx context.Context, day string, report any, text string, page []byte) error {
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	if err := storage.WriteFile(ctx, storage.Join(r.ReportsDir(), day+".json"), append(data, '\n')); err != nil {
		return err
	}
	if err := storage.WriteFile(ctx, storage.Join(r.ReportsDir(), day+".html"), page); err != nil {
		return err
	}
	return storage.WriteFile(ctx, storage.Join(r.ReportsDir(), day+".txt"), []byte(text))
}
