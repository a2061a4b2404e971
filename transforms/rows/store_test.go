package rows

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window/trigger"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/transforms"
)

// storePane sums some rows of a window as one of its panes and stores them.
func storePane(t *testing.T, out string, w beam.Window, pane int, rows ...Row) (st Stored, err error) {
	f := summingOf(t, 1, 1<<20)
	publish := publishFn{Fn: f.Fn, Out: out}
	transforms.Cached(f.Worker, 2,
		fmt.Sprint(publish.Recipe.Digest, publish.Recipe.Dir, publish.Recipe.Classes),
		func() (*recipe, error) { return f.sums.recipe, nil })
	var counts []count
	store := storeFn{Out: out}
	emit := func(x summed) {
		if err == nil {
			err = store.ProcessElement(t.Context(), w, x, func(_ int, c count) { counts = append(counts, c) })
		}
	}
	for _, r := range rows {
		if err := f.add(t.Context(), nil, r, placeIn(typex.NoFiringPane(), w, 0), emit); err != nil {
			return st, err
		}
	}
	if finishErr := f.FinishBundle(t.Context(), emit); finishErr != nil || err != nil {
		return st, fmt.Errorf("%w, %w", finishErr, err)
	}
	next := func(c *count) bool {
		if len(counts) == 0 {
			return false
		}
		*c, counts = counts[0], counts[1:]
		return true
	}
	emitted := 0
	err = publish.ProcessElement(context.WithoutCancel(t.Context()), beam.PaneInfo{Index: int64(pane)}, w, 0, next,
		func(x Stored) { st, emitted = x, emitted+1 })
	if err == nil && emitted != 1 {
		err = fmt.Errorf("%d directories", emitted)
	}
	return st, err
}

// Panes of a window have all of its sums in their last directory, in any order of processing, also if their
// rows are equal. A pane that is processed again finds its stored sums.
func TestLastStoredPaneHasAllSumsOfItsWindow(t *testing.T) {
	w := window.IntervalWindow{Start: 0, End: 24 * 3600 * 1000}
	row := func(x float64, label string) Row { return Row{Values: []float64{x, 1}, Label: label} }
	panes := [][]Row{{row(1, "a"), row(2, "b")}, {row(3, "a")}, {row(3, "a")}, {row(4, "b"), row(5, "a"), row(6, "a")}}
	names := []string{"dt=1970-01-01", "dt=1970-01-01-part-2", "dt=1970-01-01-part-3", "dt=1970-01-01-part-4"}
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 1, 0, 2}, {2, 3, 1, 0}} {
		out := t.TempDir()
		var places []string
		for i, pane := range order {
			places = append(places, filepath.Join(out, names[i]))
			for range 2 {
				st, err := storePane(t, out, w, pane, panes[pane]...)
				if err != nil {
					t.Fatalf("%v, pane %d: %v", order, pane, err)
				}
				want := Stored{Dir: places[i], Rows: int64(len(panes[pane])), Digest: st.Digest, Window: places}
				if d := cmp.Diff(want, st); d != "" {
					t.Errorf("%v, pane %d: %s", order, pane, d)
				}
			}
		}
		var rows int64
		for _, place := range places {
			m, err := sums.ReadManifest(t.Context(), place)
			if err != nil {
				t.Fatal(err)
			}
			rows += m.Rows.Used
		}
		if rows != 7 {
			t.Errorf("%v: %d rows, want 7", order, rows)
		}
		if _, err := storePane(t, out, w, order[0], row(7, "a")); err == nil || !strings.Contains(err.Error(), "has other sums") {
			t.Errorf("%v: other rows of a pane that is stored: %v", order, err)
		}
	}
}

// Panes that are stored at the same time have different names.
func TestConcurrentPanesHaveTheirOwnNames(t *testing.T) {
	const n = 8
	out := filepath.Join(t.TempDir(), "sums")
	var all [n]Stored
	var errs [n]error
	var group sync.WaitGroup
	for pane := range n {
		group.Go(func() {
			all[pane], errs[pane] = storePane(t, out, window.GlobalWindow{}, pane, Row{Values: []float64{1, 2}, Label: "a"})
		})
	}
	group.Wait()
	seen := map[string]bool{}
	longest := 0
	for pane, st := range all {
		if errs[pane] != nil {
			t.Fatalf("pane %d: %v", pane, errs[pane])
		}
		seen[st.Dir], longest = true, max(longest, len(st.Window))
	}
	if len(seen) != n || longest != n {
		t.Errorf("%d directories, at most %d of a window, want %d", len(seen), longest, n)
	}
}

// Sessions that fire more than once are rejected: they may merge with others between two panes, so that no name
// would identify the session of its sums.
func TestStoreTakesWindowsWhosePanesItCanName(t *testing.T) {
	store := func(windows *window.Fn, o ...beam.WindowIntoOption) (refusal any) {
		defer func() { refusal = recover() }()
		r := Recipe{Dir: "recipe"}
		_, s := beam.NewPipelineWithRoot()
		Store(s, r, "sums", Sum(s, r, beam.WindowInto(s, windows, beam.Create(s, Row{}), o...)))
		return nil
	}
	days, sessions := window.NewFixedWindows(24*time.Hour), window.NewSessions(time.Hour)
	late, repeated := beam.AllowedLateness(time.Hour), trigger.Repeat(trigger.AfterCount(1))
	afterEnd := beam.Trigger(trigger.AfterEndOfWindow().LateFiring(repeated))
	early := beam.Trigger(trigger.AfterEndOfWindow().EarlyFiring(repeated))
	for _, c := range []struct {
		windows *window.Fn
		options []beam.WindowIntoOption
		want    string // of the panic; "" for none
	}{
		{days, []beam.WindowIntoOption{afterEnd, late, beam.PanesDiscard()}, ""},
		{days, []beam.WindowIntoOption{afterEnd, late, beam.PanesAccumulate()}, "count rows twice: set beam.PanesDiscard()"},
		{sessions, nil, ""},
		{sessions, []beam.WindowIntoOption{beam.Trigger(trigger.AfterEndOfWindow())}, ""},
		{sessions, []beam.WindowIntoOption{beam.Trigger(trigger.Default())}, ""},
		{sessions, []beam.WindowIntoOption{late}, "leave out beam.AllowedLateness and beam.Trigger, or use fixed windows"},
		{sessions, []beam.WindowIntoOption{afterEnd}, "leave out"},
		{sessions, []beam.WindowIntoOption{early}, "leave out"},
		{sessions, []beam.WindowIntoOption{beam.Trigger(repeated)}, "leave out"},
	} {
		refusal := store(c.windows, c.options...)
		if text, _ := refusal.(string); (refusal == nil) != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%v with %v: %v, want %q", c.windows, c.options, refusal, c.want)
		}
	}
}
