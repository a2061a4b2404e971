package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/internal/testing/disktest"
	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	_ "github.com/bochner-ml/bochner/io/storage/s3"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

var ctx = context.Background()

// files returns the files of a small model.
func files(t testing.TB, seed uint64) []storage.File {
	t.Helper()
	recipe, err := features.Seal(fourier.Gaussian{In: 2, Out: 4, Width: 1, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	f, err := models.Encode(&models.Model{
		Linear: &linear.Model{K: 2, D: 4, W: make([]float32, 8), B: make([]float32, 2)},
		Manifest: &models.Manifest{
			Program: "test", Task: models.Classification, Recipe: recipe, Seed: seed, Learner: models.Learner{Kind: "ridge",
				Lambda: 1e-6, Folds: 1},
			Input: models.Input{Format: "csv", Dim: 2}, Targets: models.Targets{Vocabulary: &schema.Vocabulary{Classes: []string{"no", "yes"}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// with makes models of these names in a directory.
func with(t testing.TB, dir string, names ...string) Registry {
	t.Helper()
	for i, name := range names {
		if err := storage.Publish(ctx, storage.Join(dir, name), files(t, uint64(i))); err != nil {
			t.Fatal(err)
		}
	}
	return Registry{Dir: dir}
}

// state is champion, previous and challenger.
func (r Registry) state(t testing.TB) string {
	t.Helper()
	s, err := r.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s %s", s.Champion, s.Previous, s.Challenger)
}

// story is the history, the first event first.
func (r Registry) story(t testing.TB) string {
	t.Helper()
	events, err := r.History(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, e := range slices.Backward(events) {
		words = append(words, fmt.Sprintf("%d %s %s", e.Number, e.Action, e.Model))
	}
	return strings.Join(words, ", ")
}

func TestPromotionsAndRollbacksMoveTheAliases(t *testing.T) {
	r := with(t, t.TempDir(), "a", "b", "c", "d")
	step := func(want string, e *Event, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if got := r.state(t); got != want {
			t.Errorf("after %s %s: %q, want %q", e.Action, e.Model, got, want)
		}
	}
	refused := func(want string, code exit.Code, e *Event, err error) {
		t.Helper()
		if err == nil || e != nil || !strings.Contains(err.Error(), want) || exit.CodeOf(err) != code {
			t.Errorf("%v, %v (code %d); want %q, code %d", e, err, exit.CodeOf(err), want, code)
		}
	}
	e, err := r.Rollback(ctx, "", Change{})
	refused("has no previous champion", 3, e, err)
	e, err = r.Promote(ctx, "a", Change{})
	step("a  ", e, err)
	e, err = r.Keep(ctx, "b", Change{Why: "no better", Gates: []Gate{{Condition: "accuracy>=0.9", Result: "0.85"}}})
	step("a  b", e, err)
	e, err = r.Keep(ctx, "c", Change{})
	step("a  c", e, err)
	e, err = r.Promote(ctx, "c", Change{IfChampion: ChampionIs("a")})
	step("c a ", e, err)
	e, err = r.Promote(ctx, "d", Change{})
	step("d c ", e, err)
	e, err = r.Rollback(ctx, "", Change{Why: "wrong"})
	step("c a ", e, err)
	e, err = r.Rollback(ctx, "", Change{}) // goes further back, and not forward again
	step("a  ", e, err)
	e, err = r.Promote(ctx, "b", Change{})
	step("b a ", e, err)
	e, err = r.Promote(ctx, "d", Change{})
	step("d b ", e, err)
	e, err = r.Rollback(ctx, "a", Change{})
	step("a  ", e, err)

	e, err = r.Rollback(ctx, "d", Change{})
	refused("d was never champion", 3, e, err)
	e, err = r.Promote(ctx, "a", Change{})
	refused("a is already the champion", 3, e, err)
	e, err = r.Promote(ctx, "b", Change{IfChampion: ChampionIs("c")})
	refused("a is champion of "+r.Dir+" since ", 3, e, err)
	e, err = r.Promote(ctx, "b", Change{IfChampion: ChampionIs("")})
	refused("and not none", 3, e, err)
	e, err = r.Promote(ctx, "x", Change{})
	refused("does not exist", 6, e, err)
	e, err = r.Promote(ctx, "../a", Change{})
	refused("cannot be the name", 2, e, err)
	const story = "1 promote a, 2 keep b, 3 keep c, 4 promote c, 5 promote d, 6 rollback c, 7 rollback a, 8 promote b, 9 promote d, 10 rollback a"
	if got := r.story(t); got != story {
		t.Errorf("%s\nwant %s", got, story)
	}
	events, err := r.History(ctx, 9)
	if last := events[8]; err != nil || len(events) != 9 || last.Why != "no better" || last.From != "a" ||
		last.To != "a" || last.Manifest == "" || last.By == "" || len(last.Gates) != 1 {
		t.Errorf("%v %+v", err, events)
	}
}

func TestModelsAreNamedByPathAndAlias(t *testing.T) {
	dir := t.TempDir()
	r := with(t, dir+"/models", "a", "b")
	if _, err := r.Promote(ctx, "a", Change{}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "a", "b": "b", dir + "/models/b": "b", dir + "/models/b/": "b",
		"champion": "a"} {
		if got, err := r.Name(ctx, name); err != nil || got != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	for name, code := range map[string]exit.Code{"challenger": 3, dir + "/b": 2, "": 2, ".b": 2} {
		if got, err := r.Name(ctx, name); exit.CodeOf(err) != code {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	if m, err := models.LoadURI(ctx, dir+"/models@champion"); err != nil || m.Manifest.Seed != 0 {
		t.Errorf("%v", err)
	}
	if _, err := models.LoadURI(ctx, dir+"/models@previous"); !errors.Is(err, models.ErrBadModel) ||
		!strings.Contains(err.Error(), "no model of "+dir+"/models is previous") {
		t.Errorf("%v", err)
	}
	if err := storage.Remove(ctx, dir+"/models/a"); err != nil {
		t.Fatal(err)
	}
	if _, err := models.LoadURI(ctx, dir+"/models@champion"); !errors.Is(err, models.ErrBadModel) ||
		!strings.Contains(err.Error(), "champion is the model a, which no longer exists") {
		t.Errorf("%v", err)
	}
	l, err := r.List(ctx)
	if err != nil || len(l.Models) != 2 || l.Models[0].Name != "b" || !l.Models[1].Missing || l.Models[1].Name != "a" {
		t.Errorf("%v %+v", err, l)
	}
}

// race lets processes promote models of their own at the same time: every event happens
// once, in an order, and the error of each that did not names the one that did.
func race(t *testing.T, dir string) {
	names := []string{"a", "b", "c", "d"}
	r := with(t, dir, append([]string{"first"}, names...)...)
	if _, err := r.Promote(ctx, "first", Change{}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	won := make(chan string, len(names))
	for _, name := range names {
		all.Go(func() {
			_, err := r.Promote(ctx, name, Change{IfChampion: ChampionIs("first"), By: name + "@test"})
			var lost *ConflictError
			switch {
			case err == nil:
				won <- name
			case !errors.As(err, &lost) || exit.CodeOf(err) != exit.CodeData ||
				!strings.Contains(err.Error(), "another process changed it"):
				t.Error(err)
			}
			for range 3 {
				if _, err := r.Keep(ctx, name, Change{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	close(won)
	var winners []string
	for w := range won {
		winners = append(winners, w)
	}
	s, err := r.State(ctx)
	if err != nil || len(winners) != 1 || s.Champion != winners[0] || s.Previous != "first" {
		t.Errorf("%v: %v won, %+v", err, winners, s)
	}
	events, err := r.History(ctx, 0)
	ids := map[string]bool{}
	for i, e := range events {
		ids[e.ID] = true
		if e.Number != len(events)-i {
			t.Errorf("event %d at %d of %d", e.Number, i, len(events))
		}
	}
	if want := 2 + 3*len(names); err != nil || len(events) != want || len(ids) != want {
		t.Errorf("%v: %d events, %d of them different, want %d: %s", err, len(events), len(ids), want, r.story(t))
	}
}

func TestConcurrentPromotionHasOneWinnerAndOneLostError(t *testing.T) { race(t, t.TempDir()) }

// bucket is a bucket of a server in this process.
func bucket(t *testing.T) (*gcstest.S3, string) {
	s := gcstest.StartS3(t)
	return s, "s3://bucket/models"
}

func TestPromotersRaceInABucketWithFaults(t *testing.T) {
	s, dir := bucket(t)
	s.Faults.Set(gcstest.Rules{Share: 0.1, Seed: 4})
	race(t, dir)
	l, err := (Registry{Dir: dir}).List(ctx)
	if err != nil || len(l.Models) != 5 {
		t.Errorf("%v: %+v", err, l)
	}
}

// If a promotion is stopped at any call, the champion is the previous or the new one, no reported change is
// lost, and the next promotion succeeds.
func TestPromotionIsWholeOrAbsent(t *testing.T) {
	dead := errors.New("the process is gone")
	restore := disk.Swap(disk.OS{})
	t.Cleanup(restore)
	for _, way := range []struct {
		name  string
		err   error
		on    bool
		after func(*disktest.Mem)
	}{
		{"an error", syscall.EIO, false, func(*disktest.Mem) {}},
		{"a full disk", syscall.ENOSPC, false, func(*disktest.Mem) {}},
		{"killed", dead, true, (*disktest.Mem).Kill},
		{"a power cut", dead, true, (*disktest.Mem).PowerCutZeros},
		{"a power cut afterwards", nil, false, (*disktest.Mem).PowerCutZeros},
	} {
		before, after := 0, 0
		for at := 1; ; at++ {
			m := disktest.New()
			disk.Swap(m)
			r := with(t, "/models", "a", "b", "c")
			if _, err := r.Promote(ctx, "a", Change{}); err != nil {
				t.Fatal(err)
			}
			f := &disktest.Fault{FS: m, At: at, Do: func() error { return way.err }, On: way.on, Writes: true}
			disk.Swap(f)
			_, err := r.Promote(ctx, "b", Change{})
			if f.Hit() == "" {
				break
			}
			way.after(m)
			disk.Swap(m)
			when := fmt.Sprintf("%s at call %d (%s): %v", way.name, at, f.Hit(), err)
			switch state, story := r.state(t), r.story(t); {
			case state == "b a " && story == "1 promote a, 2 promote b":
				after++
			case err != nil && state == "a  " && story == "1 promote a":
				before++
			default:
				t.Errorf("%s: %s; %s", when, state, story)
			}
			if _, err := r.Promote(ctx, "c", Change{}); err != nil || !strings.HasPrefix(r.state(t), "c ") ||
				!strings.HasSuffix(r.story(t), " promote c") {
				t.Errorf("%s; and then: %v, %s; %s", when, err, r.state(t), r.story(t))
			}
			if names, _ := storage.Names(ctx, "/models"); len(names) != 5 {
				t.Errorf("%s: left behind: %v", when, names)
			}
		}
		if after == 0 || way.err != nil && before == 0 {
			t.Errorf("%s: %d times before, %d times after", way.name, before, after)
		}
	}
}

// If the aliases were replaced but the response was lost before they were on the disk, a power cut does not
// leave a history that is ahead of the aliases.
func TestPowerCutAfterALostResponseUndoesNothing(t *testing.T) {
	m, lost := disktest.New(), false
	f := &disktest.Fault{FS: m, Each: func(op, name string, _ bool) error {
		if op == "rename" && strings.HasSuffix(name, "/"+models.AliasFile) && !lost {
			lost = true
			return &disktest.Done{Err: syscall.EIO}
		}
		return nil
	}}
	t.Cleanup(disk.Swap(m))
	r := with(t, "/models", "a", "b")
	if _, err := r.Promote(ctx, "a", Change{}); err != nil {
		t.Fatal(err)
	}
	disk.Swap(f)
	if _, err := r.Promote(ctx, "b", Change{}); err != nil || !lost {
		t.Fatal(lost, err)
	}
	m.PowerCut()
	if got := r.state(t); got != "b a " {
		t.Errorf("aliases %q", got)
	}
	if _, err := r.Rollback(ctx, "", Change{}); err != nil {
		t.Error(err)
	}
}

func TestChangedHistoryIsNoticed(t *testing.T) {
	r := with(t, t.TempDir(), "a", "b", "c")
	r.Now = func() time.Time { return time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC) }
	for _, name := range []string{"a", "b"} {
		if _, err := r.Promote(ctx, name, Change{By: "me@here"}); err != nil {
			t.Fatal(err)
		}
	}
	h := Events{Dir: r.Dir}
	h.Events, _ = r.History(ctx, 0)
	var text strings.Builder
	h.WriteTo(&text)
	const want = "event  time (UTC)           action   model  champion  gates  by       why\n" +
		"2      2026-11-20 03:00:00  promote  b      a → b            me@here\n" +
		"1      2026-11-20 03:00:00  promote  a      none → a         me@here\n"
	if text.String() != want {
		t.Errorf("%s\nwant\n%s", text.String(), want)
	}
	if err := storage.WriteFile(ctx, models.EventFile(r.Dir, 2), []byte(`{"number":2,"id":"x","model":"a"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Promote(ctx, "c", Change{}); err == nil || !strings.Contains(err.Error(), "was changed by hand") {
		t.Error(err)
	}
	if err := storage.Remove(ctx, models.EventFile(r.Dir, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.History(ctx, 0); err == nil || !strings.Contains(err.Error(), "has no event 1 of 2") {
		t.Error(err)
	}
	if err := storage.WriteFile(ctx, storage.Join(r.Dir, models.AliasFile), []byte("{")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.State(ctx); exit.CodeOf(err) != exit.CodeModel {
		t.Error(err)
	}
}

func TestLineageIsNextToTheManifest(t *testing.T) {
	r := with(t, t.TempDir(), "a")
	if l, err := ReadLineage(ctx, r.ModelDir("a")); l != nil || err != nil {
		t.Error(l, err)
	}
	want := &Lineage{Program: "v1", Origins: Origins{Recipe: "a"},
		Sources: []Source{{Name: "dt=1", Files: []File{{Name: "x.csv", Bytes: 3, Version: "7"}}}}}
	if err := r.WriteLineage(ctx, "a", want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadLineage(ctx, r.ModelDir("a"))
	if err != nil || got.Sources[0].Files[0] != want.Sources[0].Files[0] {
		t.Errorf("%v %+v", err, got)
	}
	if _, err := models.CheckDir(ctx, r.ModelDir("a")); err != nil {
		t.Error(err)
	}
}
