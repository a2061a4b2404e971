package registry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
)

// Listed describes a model in a directory of models.
type Listed struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	Missing bool     `json:"missing,omitempty"` // it has an alias, but no longer exists
	Damaged string   `json:"damaged,omitempty"` // why its manifest cannot be read
	ListedModel
	Scores   map[string]float64 `json:"scores,omitempty"`
	Manifest string             `json:"manifest,omitempty"` // checksum of its manifest
	Program  string             `json:"program,omitempty"`
}

// ListedModel describes a model that can be read.
type ListedModel struct {
	Task     models.Task `json:"task,omitempty"`
	Learner  string      `json:"learner,omitempty"`
	Features int         `json:"features,omitempty"`
	Outputs  int         `json:"outputs,omitempty"`
	Rows     int64       `json:"rows,omitempty"` // number of training rows
	Lambda   float64     `json:"lambda,omitempty"`
}

// List holds the models of a directory with their aliases.
type List struct {
	Dir    string   `json:"models_dir"`
	Models []Listed `json:"models"` // sorted by name
	Events int      `json:"events"` // number of events in the history
}

// List lists the models. It reads only their manifests; InspectModel checks the other files.
func (r Registry) List(ctx context.Context) (*List, error) {
	s, err := r.State(ctx)
	if err != nil {
		return nil, err
	}
	objects, err := storage.List(ctx, storage.Join(r.Dir, "*", models.ManifestFile))
	if err != nil && !errors.Is(err, storage.ErrNoMatch) {
		return nil, err
	}
	l := &List{Dir: r.Dir, Events: s.Events, Models: make([]Listed, len(objects))}
	tasks, tctx := errgroup.WithContext(ctx)
	tasks.SetLimit(parallelReads)
	for i, o := range objects {
		tasks.Go(func() error {
			dir, _ := storage.Split(o.Name)
			x := &l.Models[i]
			x.Name = path.Base(dir)
			x.Aliases = s.Of(x.Name)
			m, err := models.ReadManifest(tctx, dir)
			if bad, ok := errors.AsType[*models.Error](err); ok {
				x.Damaged = bad.Err.Error()
				return nil
			}
			if err != nil {
				return err
			}
			x.ListedModel = ListedModel{Task: m.Task, Learner: m.Learner.Kind, Features: m.Features, Outputs: m.Outputs,
				Rows: m.Rows.Used, Lambda: m.Learner.Lambda}
			x.Scores, x.Manifest, x.Program = m.Scores, m.SHA256, m.Program
			return nil
		})
	}
	if err := tasks.Wait(); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, m := range l.Models {
		seen[m.Name] = true
	}
	for _, a := range models.AliasNames() {
		if m := s.Model(a); m != "" && !seen[m] {
			seen[m] = true
			l.Models = append(l.Models, Listed{Name: m, Aliases: s.Of(m), Missing: true})
		}
	}
	return l, nil
}

// WriteTo prints the list for people.
func (l *List) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	if len(l.Models) == 0 {
		fmt.Fprintf(&b, "%s has no models\n", l.Dir)
	} else {
		tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprint(tw, "model\talias\tlearner\tfeatures\trows\tlambda\tmanifest\n")
		for _, m := range l.Models {
			as := strings.Join(m.Aliases, ", ")
			switch {
			case m.Missing:
				fmt.Fprintf(tw, "%s\t%s\tno longer exists\n", m.Name, as)
			case m.Damaged != "":
				fmt.Fprintf(tw, "%s\t%s\tdamaged: %s\n", m.Name, as, m.Damaged)
			default:
				fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%d\t%g\t%.12s\n", m.Name, as, m.Learner, m.Features, m.Rows, m.Lambda, m.Manifest)
			}
		}
		tw.Flush()
	}
	return writeText(w, b.String())
}

// Events is a history for printing, the latest event first.
type Events struct {
	Dir    string  `json:"models_dir"`
	Events []Event `json:"events"`
}

// WriteTo prints the history for people.
func (h *Events) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	if len(h.Events) == 0 {
		fmt.Fprintf(&b, "%s has no history: no model was promoted yet\n", h.Dir)
	} else {
		tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprint(tw, "event\ttime (UTC)\taction\tmodel\tchampion\tgates\tby\twhy\n")
		for _, e := range h.Events {
			champion := e.To
			if e.From != e.To {
				champion = cmp.Or(e.From, "none") + " → " + e.To
			}
			fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Number, e.when(), e.Action, e.Model, champion, e.gates(),
				e.By, e.Why)
		}
		tw.Flush()
	}
	return writeText(w, b.String())
}

// WriteTo prints the event for people.
func (e *Event) WriteTo(w io.Writer) (int64, error) {
	if e.From == e.To {
		return writeText(w, fmt.Sprintf("event %d: %s %s; the champion is %s as before\n", e.Number, e.Action, e.Model, e.To))
	}
	return writeText(w, fmt.Sprintf("event %d: %s: the champion is %s (before: %s)\n", e.Number, e.Action, e.To,
		cmp.Or(e.From, "none")))
}

// writeText writes a text without spaces at the ends of lines.
func writeText(w io.Writer, text string) (int64, error) {
	var b bytes.Buffer
	for line := range strings.Lines(text) {
		fmt.Fprintln(&b, strings.TrimRight(line, " \n"))
	}
	return b.WriteTo(w)
}
