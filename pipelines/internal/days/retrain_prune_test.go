package days

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// hasNeeded checks that the sums that models with an alias were fitted to are there.
func (s *shop) hasNeeded(t testing.TB) {
	t.Helper()
	reg := registry.Registry{Dir: s.o.Models}
	state, err := reg.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, alias := range models.AliasNames() {
		if state.Model(alias) == "" {
			continue
		}
		l, err := registry.ReadLineage(ctx, reg.ModelDir(state.Model(alias)))
		if err != nil || l == nil {
			t.Fatalf("%s: %v", state.Model(alias), err)
		}
		for _, p := range l.Sources {
			if p.Sums == "" {
				continue
			}
			if there, err := storage.Exists(ctx, storage.Join(p.Sums, "manifest.json")); err != nil || !there {
				t.Errorf("%s needs %s, which is not there: %v", state.Model(alias), p.Sums, err)
			}
		}
	}
}

// sumsOf returns the days of the sums that there are, by recipe.
func (s *shop) sumsOf(t testing.TB) (recipes []string) {
	t.Helper()
	days := map[string][]string{}
	for name := range s.mem.Files("/shop/models-sums") {
		recipe, rest, _ := strings.Cut(name, "/")
		if strings.HasPrefix(recipe, "p") {
			continue // of references
		}
		if day, ok := dayOf(rest); ok {
			days[recipe] = append(days[recipe], day[len("2026-01-"):])
		} else if _, there := days[recipe]; !there && rest != indexFile {
			days[recipe] = nil
		}
	}
	for recipe := range days {
		slices.Sort(days[recipe])
		recipes = append(recipes, strings.Join(days[recipe], " "))
	}
	slices.Sort(recipes)
	return recipes
}

func (s *shop) hasSums(t testing.TB, want ...string) {
	t.Helper()
	s.hasNeeded(t)
	if got := s.sumsOf(t); !slices.Equal(got, want) {
		t.Errorf("%s: sums of %q, want %q", s.o.Day, got, want)
	}
}

func TestSumsThatNoModelNeedsAreRemoved(t *testing.T) {
	s := newShop(t)
	s.o.Window.Days, s.o.Redraw = 5, 0.3
	for day := 1; day <= 2; day++ {
		s.put(day, modelRows(day))
	}
	s.night(t, 2, results.Promoted)
	for day := 3; day <= 8; day++ {
		s.put(day, modelRows(day))
		s.night(t, day, results.Promoted)
	}
	s.night(t, 8, results.Promoted,
		"sums       no model needs 4 directories") // the previous champion has 3 to 6; the first reference summed 1 and 2
	s.hasSums(t, "01 02 03 04 05 06 07 08")
	s.o.KeepSums.Prune, s.o.KeepSums.Days = true, 7
	s.night(t, 8, results.Promoted, "removed    2 directories of sums")
	s.hasSums(t, "02 03 04 05 06 07 08")
	s.o.KeepSums.Days = 0
	s.night(t, 8, results.Promoted, "removed    2 directories of sums")
	s.hasSums(t, "03 04 05 06 07 08")
	s.put(9, modelRows(9))
	s.night(t, 9, results.Promoted)
	s.did(t, "sum 1", "fit 2-1") // by the total, from which a day is subtracted
	s.hasSums(t, "04 05 06 07 08 09")
	s.night(t, 5, results.Nothing, "was made for a later day") // which needs what is there today
	s.hasSums(t, "04 05 06 07 08 09")

	reg := registry.Registry{Dir: s.o.Models}
	if _, err := reg.Rollback(ctx, "", registry.Change{}); err != nil {
		t.Fatal(err)
	}
	s.put(10, modelRows(10))
	s.night(t, 10, results.Promoted)
	s.hasSums(t, "04 05 06 07 08 09 10")

	// All sums of a replaced recipe are removed once no model has it.
	for day := 11; day <= 14; day++ {
		s.put(day, modelRows(day)+fmt.Sprintf(" x%d y%[1]d x%[1]d0 x%[1]d1", day))
	}
	s.night(t, 14, results.Promoted, "drawn anew")
	s.hasSums(t, "06 07 08 09 10 11 12 13 14")
	s.o.Redraw = 0
	for day := 15; day <= 16; day++ {
		s.put(day, modelRows(day))
		s.night(t, day, results.Promoted)
	}
	s.hasSums(t, "11 12 13 14 15 16")
}

// Sums that another directory of models also uses stay.
func TestSumsOfOthersAreNotRemoved(t *testing.T) {
	s := newShop(t)
	s.o.Window.Days, s.o.Sums = 2, "/shop/models-sums"
	others := s.o
	others.Models = "/shop/others"
	for day := 1; day <= 6; day++ {
		s.put(day, modelRows(day))
		for _, o := range []options.RetrainData{others, s.o} {
			o.Day, o.KeepSums.Prune = date(day), o.Models == s.o.Models
			if r, _ := Retrain(ctx, o, s.jobs); r == nil || r.Removed > 0 {
				t.Errorf("day %d: %+v", day, r)
			}
		}
	}
	s.hasSums(t, "02 03 04 05 06")
}

// Sums without a note of their users stay, since they may have other users.
func TestSumsWhoseUsersAreNotKnownAreNotRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		i    index
		want []string
	}{
		"new":   {index{}, []string{"/shop/models"}},
		"older": {index{Days: map[string]*indexEntry{"2026-01-01-a": nil}}, []string{unknownModels, "/shop/models"}},
	} {
		if err := c.i.addModels("/shop/models"); err != nil || !slices.Equal(c.i.Models, c.want) {
			t.Errorf("%s: used by %q, %v; want %q", name, c.i.Models, err, c.want)
		}
	}
}

func modelRows(day int) string { return "a" + date(day) + " b" + date(day) }
