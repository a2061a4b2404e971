package registry

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// sevenEvents makes seven events, with which b is champion, a the previous one and d the challenger, and returns the file of aliases.
func sevenEvents(t *testing.T, dir string) (Registry, []byte) {
	t.Helper()
	r := with(t, dir, "a", "b", "c", "d", "e")
	for _, step := range []func() (*Event, error){
		func() (*Event, error) { return r.Promote(ctx, "a", Change{}) },
		func() (*Event, error) { return r.Keep(ctx, "e", Change{}) },
		func() (*Event, error) { return r.Promote(ctx, "b", Change{}) },
		func() (*Event, error) { return r.Promote(ctx, "c", Change{}) },
		func() (*Event, error) { return r.Refuse(ctx, "c", Change{}) },
		func() (*Event, error) { return r.Rollback(ctx, "", Change{}) },
		func() (*Event, error) { return r.Keep(ctx, "d", Change{}) },
	} {
		if _, err := step(); err != nil {
			t.Fatal(err)
		}
	}
	data, err := storage.ReadFile(ctx, storage.Join(dir, models.AliasFile), storage.MaxSwap)
	if err != nil {
		t.Fatal(err)
	}
	return r, data
}

// places are the directories of a disk and of a bucket.
func places(t *testing.T) map[string]string {
	_, inBucket := bucket(t)
	return map[string]string{"disk": t.TempDir(), "bucket": inBucket}
}

func TestLostAliasesMatchTheHistory(t *testing.T) {
	for where, dir := range places(t) {
		r, whole := sevenEvents(t, dir)
		file := storage.Join(dir, models.AliasFile)
		for damage, left := range map[string][]byte{"missing": nil, "empty": {}, "cut": whole[:len(whole)/2],
			"of no event": []byte(`{"format":1}`)} {
			if err := storage.Remove(ctx, file); err != nil {
				t.Fatal(err)
			}
			if left != nil {
				if err := storage.WriteFile(ctx, file, left); err != nil {
					t.Fatal(err)
				}
			}
			s, err := r.State(ctx)
			if err != nil {
				t.Fatalf("%s, %s: %v", where, damage, err)
			}
			if data, err := s.Encode(); err != nil || string(data) != string(whole) ||
				!strings.Contains(s.Rebuilt, "the last of the 7 events") {
				t.Errorf("%s, %s: %v, %q\n%s\nwant\n%s", where, damage, err, s.Rebuilt, data, whole)
			}
			if place, err := models.ResolveAlias(ctx, dir+"@champion"); err != nil || place != r.ModelDir("b") {
				t.Errorf("%s, %s: the champion is %s, %v", where, damage, place, err)
			}
			if got := r.story(t); !strings.HasSuffix(got, "7 keep d") {
				t.Errorf("%s, %s: %s", where, damage, got)
			}
		}
		if _, err := r.Promote(ctx, "e", Change{IfChampion: ChampionIs("b")}); err != nil {
			t.Fatal(err)
		}
		if s, err := r.State(ctx); err != nil || s.Rebuilt != "" || s.Events != 8 || r.state(t) != "e b d" {
			t.Errorf("%s: %+v, %v after the next event", where, s, err)
		}
	}
}

func TestConcurrentPromotionAfterLostAliasesHasOneWinner(t *testing.T) {
	for where, dir := range places(t) {
		for _, left := range []string{"", "{"} {
			r, _ := sevenEvents(t, storage.Join(dir, "of"+left+"x"))
			file := storage.Join(r.Dir, models.AliasFile)
			if err := errors.Join(storage.Remove(ctx, file), storage.WriteFile(ctx, file, []byte(left))); err != nil {
				t.Fatal(err)
			}
			var both sync.WaitGroup
			var results [2]error
			for i, name := range []string{"d", "e"} {
				both.Go(func() { _, results[i] = r.Promote(ctx, name, Change{IfChampion: ChampionIs("b")}) })
			}
			both.Wait()
			lost := 0
			for _, err := range results {
				if _, ok := errors.AsType[*ConflictError](err); ok {
					lost++
				}
			}
			if lost != 1 || (results[0] == nil) == (results[1] == nil) {
				t.Errorf("%s: %v", where, results)
			}
			if s, err := r.State(ctx); err != nil || s.Events != 8 || s.Rebuilt != "" || s.Previous != "b" {
				t.Errorf("%s: %+v, %v", where, s, err)
			}
		}
	}
}

func TestAliasesAreNotGuessedFromAHistoryWithAGap(t *testing.T) {
	r, whole := sevenEvents(t, t.TempDir())
	file := storage.Join(r.Dir, models.AliasFile)
	newer := strings.Replace(string(whole), `"format": 1`, `"format": 2`, 1)
	if err := storage.WriteFile(ctx, file, []byte(newer)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.State(ctx); exit.CodeOf(err) != exit.CodeModel || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("a file of a newer version: %v", err)
	}
	if err := errors.Join(storage.Remove(ctx, file), storage.Remove(ctx, models.EventFile(r.Dir, 4))); err != nil {
		t.Fatal(err)
	}
	_, err := r.State(ctx)
	if exit.CodeOf(err) != exit.CodeModel || !strings.Contains(err.Error(),
		"00000004.json: no such event; restore one of the two") {
		t.Errorf("a gap: code %d, %v", exit.CodeOf(err), err)
	}
}
