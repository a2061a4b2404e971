package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/storage"
)

// The aliases.
const (
	Champion   = "champion"   // the model in use
	Challenger = "challenger" // the newest candidate
	Previous   = "previous"   // the champion before this one, to which a rollback returns
)

// AliasNames returns the aliases.
func AliasNames() []string { return []string{Champion, Challenger, Previous} }

// AliasFile is the name of the file of aliases in a directory of models.
const AliasFile = "aliases.json"

// AliasFormat is the version of the file that this program writes, and the newest that it reads.
const AliasFormat = 1

// maxEarlier is the number of former champions that Aliases remember in addition to Previous.
const maxEarlier = 30

// Aliases is the content of the file of aliases. A model is named by its directory within the directory of
// models; "" means none.
type Aliases struct {
	Format     int      `json:"format"`
	Champion   string   `json:"champion,omitempty"`
	Challenger string   `json:"challenger,omitempty"`
	Previous   string   `json:"previous,omitempty"`
	Earlier    []string `json:"earlier,omitempty"` // champions before Previous, the latest first
	Events     int      `json:"events"`            // number of events so far
	// Last is the last event, in full, until the next one. So the history gets every event even if the
	// process that made it was stopped before it wrote the event.
	Last json.RawMessage `json:"last,omitempty"`

	// Rebuilt is the reason why the aliases were rebuilt from the history; "" if they were read from the file.
	Rebuilt string `json:"-"`
}

// Promote makes a model champion.
func (a *Aliases) Promote(model string) {
	if a.Previous != "" {
		a.Earlier = slices.Insert(a.Earlier, 0, a.Previous)
	}
	a.Earlier = a.Earlier[:min(len(a.Earlier), maxEarlier)]
	a.Previous, a.Champion = a.Champion, model
	if a.Challenger == model {
		a.Challenger = ""
	}
}

// Rollback makes the previous champion the champion again.
func (a *Aliases) Rollback() {
	a.Champion, a.Previous = a.Previous, ""
	if len(a.Earlier) > 0 {
		a.Previous, a.Earlier = a.Earlier[0], slices.Clone(a.Earlier[1:])
	}
}

// Model returns the model of an alias, "" for none.
func (a *Aliases) Model(alias string) string {
	switch alias {
	case Champion:
		return a.Champion
	case Challenger:
		return a.Challenger
	case Previous:
		return a.Previous
	}
	return ""
}

// Of returns the aliases that a model has.
func (a *Aliases) Of(model string) (aliases []string) {
	for _, name := range AliasNames() {
		if model != "" && a.Model(name) == model {
			aliases = append(aliases, name)
		}
	}
	return aliases
}

// CheckModelName returns an error unless name can be the name of a model in a directory of models.
func CheckModelName(name string) error {
	switch {
	case name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\\@\n\r\x00"):
		return fmt.Errorf("%q cannot be the name of a model: it is empty, begins with a dot, or contains a slash, an @ or a line end", name)
	case slices.Contains(AliasNames(), name), name == AliasFile, name == HistoryDir, name == "reports":
		return fmt.Errorf("%q cannot be the name of a model; choose another", name)
	}
	return nil
}

var errNewer = errors.New("which a newer version of bochner wrote")

// decodeAliases decodes a file of aliases.
func decodeAliases(data []byte) (*Aliases, error) {
	s := new(Aliases)
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("%s: %w", AliasFile, err)
	}
	if version.Format > AliasFormat {
		return nil, fmt.Errorf("%s has the format %d, %w; this one reads up to %d", AliasFile, version.Format, errNewer,
			AliasFormat)
	}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%s: %w", AliasFile, err)
	}
	if s.Format < 1 || s.Events < 1 || len(s.Last) == 0 || len(s.Earlier) > maxEarlier {
		return nil, fmt.Errorf("%s: format %d, %d events, %d earlier champions: not a file of aliases", AliasFile, s.Format,
			s.Events, len(s.Earlier))
	}
	for _, m := range append([]string{s.Champion, s.Challenger, s.Previous}, s.Earlier...) {
		if m == "" {
			continue
		}
		if err := CheckModelName(m); err != nil {
			return nil, fmt.Errorf("%s: %w", AliasFile, err)
		}
	}
	return s, nil
}

// Encode encodes the file of aliases.
func (a *Aliases) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(a, "", "  ")
	return append(data, '\n'), err
}

// reads is how often the file is read again if it is replaced meanwhile.
const reads = 10

// ReadAliases returns the aliases of a directory of models, and the bytes of their file. Both are nil if
// there are none yet. If the file is missing or damaged, the aliases are rebuilt from the history.
func ReadAliases(ctx context.Context, dir string) (*Aliases, []byte, error) {
	for try := 1; ; try++ {
		data, err := storage.ReadFile(ctx, storage.Join(dir, AliasFile), storage.MaxSwap)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s, err := rebuild(ctx, dir, "is missing")
			return s, nil, err
		case errors.Is(err, storage.ErrChanged) && try < reads:
			continue
		case err != nil:
			return nil, nil, err
		}
		s, err := decodeAliases(data)
		if err != nil && !errors.Is(err, errNewer) {
			if rebuilt, failed := rebuild(ctx, dir, fmt.Sprintf("is damaged (%v)", err)); failed != nil || rebuilt != nil {
				s, err = rebuilt, failed
			}
		}
		return s, append([]byte{}, data...), err // not nil, even if the file is empty
	}
}

// SplitAlias splits DIR@ALIAS. ok is false for any other name.
func SplitAlias(name string) (dir, alias string, ok bool) {
	at := strings.LastIndexByte(name, '@')
	if at <= 0 || !slices.Contains(AliasNames(), name[at+1:]) {
		return name, "", false
	}
	return strings.TrimRight(name[:at], "/"), name[at+1:], true
}

// ResolveAlias returns the directory of the model that a name refers to: DIR@ALIAS, or the directory
// itself. Add a slash to the name of a directory that ends like an alias.
func ResolveAlias(ctx context.Context, name string) (string, error) {
	dir, alias, ok := SplitAlias(name)
	if !ok {
		return name, nil
	}
	s, _, err := ReadAliases(ctx, dir)
	if err != nil {
		return "", err
	}
	if s == nil {
		return "", &storage.ReasonError{Text: fmt.Sprintf("%s has no aliases yet; bochner models promote makes a model champion",
			dir), Kind: fs.ErrNotExist}
	}
	model := s.Model(alias)
	if model == "" {
		return "", &storage.ReasonError{Text: fmt.Sprintf("no model of %s is %s; bochner models list shows the aliases", dir,
			alias), Kind: fs.ErrNotExist}
	}
	path := storage.Join(dir, model)
	exists, err := storage.Exists(ctx, path)
	if err == nil && !exists {
		err = &storage.ReasonError{Text: fmt.Sprintf("%s is the model %s, which no longer exists in %s; promote another, or "+
			"restore it", alias, model, dir), Kind: fs.ErrNotExist}
	}
	return path, err
}

// Resolve returns the directory of the model that a name refers to, if it is DIR@champion, DIR@challenger
// or DIR@previous in a directory of models; otherwise the name itself. A program that reads several files
// of a model should resolve its name once, because a promotion may change it. The error is an *Error if no
// model has the alias.
func Resolve(ctx context.Context, name string) (string, error) {
	dir, err := ResolveAlias(ctx, name)
	if _, failed := errors.AsType[*storage.Error](err); err == nil || failed {
		return dir, err
	}
	return "", &Error{name, err}
}

// HistoryDir is the directory of the events in a directory of models.
const HistoryDir = "history"

// MaxEvent is the largest event that is read, in bytes.
const MaxEvent = 1 << 20

// Actions of events.
const (
	ActionPromote  = "promote"
	ActionRollback = "rollback"
	ActionKeep     = "keep"
	ActionRefuse   = "refuse"
)

// EventFile returns the name of the file of an event. Names sort in the order of events.
func EventFile(dir string, number int) string {
	return storage.Join(dir, HistoryDir, fmt.Sprintf("%08d.json", number))
}

// rebuild replays the events of the history. It returns nil if there are none, and an error if one is
// missing. why is the reason, for messages.
func rebuild(ctx context.Context, dir, why string) (*Aliases, error) {
	path, history := storage.Join(dir, AliasFile), storage.Join(dir, HistoryDir)
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
			return nil, fmt.Errorf("%s %s, and the history does not say which model is champion: %s: %w; %s", path, why,
				name, err, next)
		}
	}
	s.Rebuilt = fmt.Sprintf("%s %s: the aliases are those after the last of the %d events in %s, and the next event writes the file anew",
		path, why, s.Events, history)
	return s, nil
}

// repeat replays the last event.
func (a *Aliases) repeat() error {
	var e struct {
		Number            int
		Action, Model, To string
	}
	if err := json.Unmarshal(a.Last, &e); err != nil {
		return err
	}
	if err := CheckModelName(e.Model); err != nil {
		return err
	}
	switch e.Action {
	case ActionPromote:
		a.Promote(e.Model)
	case ActionRollback:
		for a.Champion != e.Model && a.Champion != "" {
			a.Rollback()
		}
	case ActionKeep:
		a.Challenger = e.Model
	case ActionRefuse:
	default:
		return fmt.Errorf("unknown action %q", e.Action)
	}
	if e.Number != a.Events || e.To != a.Champion {
		return fmt.Errorf("event %d makes %q champion, and the events before it %q", e.Number, e.To, a.Champion)
	}
	return nil
}
