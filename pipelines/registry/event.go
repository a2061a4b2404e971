package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
)

// Action is the kind of an event.
type Action string

const (
	Promoted   Action = models.ActionPromote  // Model became champion
	RolledBack Action = models.ActionRollback // Model, an earlier champion, became champion again
	Kept       Action = models.ActionKeep     // Model, a challenger, did not become champion
	Refused    Action = models.ActionRefuse   // new data was refused; Model, the champion, stays
)

// Gate is a condition on a model, and whether it was met.
type Gate struct {
	Condition string `json:"condition"`
	Passed    bool   `json:"passed"`
	Result    string `json:"result,omitempty"` // the result in words
}

// Event is one line of the history.
type Event struct {
	Number int       `json:"number"` // from 1
	ID     string    `json:"id"`     // random, so that a writer recognises its own event
	Time   time.Time `json:"time"`
	By     string    `json:"by"` // user@host
	Action Action    `json:"action"`
	Subject
	Day     string `json:"day,omitempty"`     // day of a retraining
	Command string `json:"command,omitempty"` // command that made the event
}

// Subject holds the model that an event is about, and the champion before and after the event.
type Subject struct {
	Model    string `json:"model"`              // model that the event is about
	Manifest string `json:"manifest,omitempty"` // checksum of its manifest
	From     string `json:"from,omitempty"`     // the champion before
	To       string `json:"to,omitempty"`       // the champion after
	Gates    []Gate `json:"gates,omitempty"`
	Why      string `json:"why,omitempty"`
}

// who returns the user and the host of this process, as user@host.
func who() string {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	host, _ := os.Hostname() // information only
	return name + "@" + host
}

// record stores an event as a file of the history, unless it exists. The file never changes.
func (r Registry) record(ctx context.Context, event []byte) error {
	e, err := decodeEvent(event)
	if err != nil {
		return err
	}
	name := models.EventFile(r.Dir, e.Number)
	// Restore the indentation: the file of aliases has the event as part of a larger document.
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	err = storage.CompareAndSwap(ctx, name, nil, append(text, '\n'))
	if !errors.Is(err, storage.ErrSwapped) {
		return err
	}
	stored, err := r.readEvent(ctx, e.Number)
	if err == nil && stored.ID != e.ID {
		err = fmt.Errorf("registry: %s: has the event %s, want %s: the history of %s was changed by hand or copied", name,
			stored.ID, e.ID, r.Dir)
	}
	return err
}

func (r Registry) readEvent(ctx context.Context, number int) (*Event, error) {
	data, err := storage.ReadFile(ctx, models.EventFile(r.Dir, number), models.MaxEvent)
	if err != nil {
		return nil, err
	}
	e, err := decodeEvent(data)
	if err == nil && e.Number != number {
		err = fmt.Errorf("has the number %d", e.Number)
	}
	if err != nil {
		return nil, fmt.Errorf("registry: %s: %w", models.EventFile(r.Dir, number), err)
	}
	return e, nil
}

func decodeEvent(data []byte) (*Event, error) {
	e := new(Event)
	if err := json.Unmarshal(data, e); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	if e.Number < 1 || e.ID == "" || e.Model == "" {
		return nil, errors.New("event: without number, id or model")
	}
	return e, nil
}

// parallelReads is the number of events that are read at the same time.
const parallelReads = 32

// History returns the events, the latest first, and at most the given number of them; 0 means all.
func (r Registry) History(ctx context.Context, most int) ([]Event, error) {
	s, err := r.State(ctx)
	if err != nil || s.Events == 0 {
		return nil, err
	}
	n := s.Events
	if most > 0 {
		n = min(n, most)
	}
	events := make([]Event, n)
	tasks, tctx := errgroup.WithContext(ctx)
	tasks.SetLimit(parallelReads)
	for i := range events {
		tasks.Go(func() error {
			number := s.Events - i
			e, err := r.readEvent(tctx, number)
			if number == s.Events && errors.Is(err, fs.ErrNotExist) {
				e, err = decodeEvent(s.Last) // the file of the last event may not be stored yet
			}
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("registry: the history of %s has no event %d of %d: %w", r.Dir, number, s.Events, err)
			}
			if err == nil {
				events[i] = *e
			}
			return err
		})
	}
	return events, tasks.Wait()
}

// when formats the time of an event for people.
func (e *Event) when() string { return e.Time.UTC().Format("2006-01-02 15:04:05") }

// gates describes how many conditions were met, and which were not.
func (e *Event) gates() string {
	if len(e.Gates) == 0 {
		return ""
	}
	var failed []string
	for _, g := range e.Gates {
		if !g.Passed {
			failed = append(failed, g.Condition)
		}
	}
	if len(failed) == 0 {
		return strconv.Itoa(len(e.Gates)) + " passed"
	}
	return "not passed: " + strings.Join(slices.Compact(failed), ", ")
}
