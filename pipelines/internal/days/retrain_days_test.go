package days

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// The first night compares the days of the window with each other: it trains on those that are similar and
// names the others, which do not block a later night.
func TestFirstNightTrainsOnSimilarDays(t *testing.T) {
	for _, rounds := range []bool{false, true} {
		s := newShop(t)
		s.jobs.rounds, s.o.MaxDrift = rounds, 0.5
		s.put(1, "z1 z2")
		s.put(2, "a2 b2")
		s.put(3, "unreadable")
		s.put(4, "m4 m5")
		s.put(5, "a2 b2")
		s.put(6, "a6 b6")
		s.put(7, "a7 b7")
		s.put(8, "a8 b8")
		words := []string{"refused    2026-01-04: drift 1, more than 0.5: first",
			"refused    2026-01-05: has the same 2 rows as 2026-01-02",
			"refused    2026-01-03: /shop/data/dt=2026-01-03/a.csv: a row is not a number"}
		s.night(t, 8, results.Promoted, append(words, "refused    2026-01-01: /shop/data/dt=2026-01-01/a.csv: has other columns")...)
		if got, want := s.rows(t), "a2 a6 a7 b2 b6 b7"; got != want {
			t.Errorf("by rounds %t: trained on %s, want %s", rounds, got, want)
		}
		s.put(9, "a9 b9")
		s.night(t, 9, results.Promoted, "judged by  2026-01-09", "refused    2026-01-05")
		s.put(10, "a10 a11")
		s.put(4, "a4 b4") // corrected
		s.night(t, 10, results.Promoted)
		if got := s.rows(t); !strings.Contains(got, "a4") || !strings.Contains(got, "a9") {
			t.Errorf("by rounds %t: trained on %s", rounds, got)
		}
		s.put(11, "m1 x2 x3")
		s.night(t, 11, results.Refused, "refused    2026-01-11: drift ")
	}
}

// If no more than half of the days are similar, nobody knows which ones are right, and all that differ are
// named.
func TestDaysThatDisagreeAreNotTrainedOn(t *testing.T) {
	s := newShop(t)
	s.o.MaxDrift = 0.4
	s.put(1, "z1 z2")
	s.put(2, "a2 b2")
	r := s.night(t, 2, results.Refused, "no more than half of the 2 partitions are alike, so it is not known which ones are right",
		"refused    2026-01-01", "refused    2026-01-02")
	if len(r.Refused) != 2 {
		t.Errorf("a day is named twice: %+v", r.Refused)
	}
	s.put(3, "m1 m2")
	s.night(t, 3, results.Refused, "no more than half of the 3 partitions are alike")
	s.put(4, "a4 b4")
	s.night(t, 4, results.Refused, "no more than half of the 4 partitions")
	s.put(5, "unreadable") // which does not count
	s.night(t, 5, results.Refused)
	s.put(6, "a6 b6")
	s.night(t, 6, results.Promoted, "refused    2026-01-01: /shop/data/dt=2026-01-01/a.csv: has other columns",
		"refused    2026-01-03: drift 1, more than 0.4", "refused    2026-01-05")
	if got, want := s.rows(t), "a2 a4 b2 b4"; got != want {
		t.Errorf("trained on %s, want %s", got, want)
	}
}

// If no day can be used, all are named, with and without a champion, and the champion stays.
func TestDaysOfWhichNoneCanBeUsedAreAllNamed(t *testing.T) {
	s := newShop(t)
	s.jobs.rounds = true
	s.put(1, "unreadable")
	s.put(2, "unreadable")
	words := []string{"no partition can be used",
		"refused    2026-01-01: /shop/data/dt=2026-01-01/a.csv: a row is not a number", "refused    2026-01-02: /shop"}
	s.night(t, 2, results.Refused, append(words, "champion   none")...)
	s.put(3, "a3 b3")
	s.put(4, "a4 b4")
	champion := s.night(t, 4, results.Promoted).Champion
	s.put(3, "unreadable")
	s.put(4, "unreadable")
	s.put(5, "unreadable")
	s.night(t, 5, results.Refused, append(words, "refused    2026-01-05", "champion   "+champion)...)
	s.put(5, "wrong flag") // one day for which the flags are wrong says nothing of the others
	s.put(6, "a6 b6")
	s.put(7, "a7 b7")
	s.night(t, 7, results.Promoted, "refused    2026-01-05: no column")
	s = newShop(t)
	s.put(1, "unreadable")
	s.put(2, "wrong flag")
	s.o.Day = date(2)
	if r, err := Retrain(ctx, s.o, s.jobs); r != nil || exit.CodeOf(err) != exit.CodeUsage {
		t.Errorf("flags that fit no day: %+v, %v", r, err)
	}
}

// A reference that is drawn from a copy measures drift like any other.
func TestReferenceOfACopyMeasuresDrift(t *testing.T) {
	s := newShop(t)
	s.o.MaxDrift = 0.4
	s.put(1, "a1 b1")
	s.put(2, "x2 x3")
	s.put(3, "a3 b3")
	s.put(4, "a1 b1")
	s.put(5, "a5 b5")
	r := s.night(t, 5, results.Promoted, "refused    2026-01-02: drift 1, more than 0.4: rows begin with x",
		"refused    2026-01-04: has the same 2 rows as 2026-01-01")
	if len(r.Notes) > 0 {
		t.Errorf("%q", r.Notes)
	}
}

// A champion whose directory is lost is replaced as if there were none, if it is still the champion.
func TestLostChampionIsReplaced(t *testing.T) {
	for _, rounds := range []bool{false, true} {
		s := newShop(t)
		s.jobs.rounds, s.o.MaxDrift = rounds, 0.4
		s.put(1, "a1 b1")
		s.put(2, "a2 b2")
		lost := s.night(t, 2, results.Promoted).Champion
		if err := errors.Join(s.mem.RemoveAll("/shop/models/"+lost), s.mem.Sync("/shop/models")); err != nil {
			t.Fatal(err)
		}
		s.put(3, "m3 m4")
		s.put(4, "a4 b4")
		s.night(t, 4, results.Promoted, "before: "+lost, "note       the champion "+lost+" is lost", "refused    2026-01-03: drift 1")
		if got, want := s.rows(t), "a1 a2 b1 b2"; got != want {
			t.Errorf("by rounds %t: trained on %s, want %s", rounds, got, want)
		}
		s.put(5, "a5 b5")
		s.night(t, 5, results.Promoted, "judged by  2026-01-05")
	}
}

// Days that the champion was trained on are trusted, even if more days are similar to each other and differ
// from them.
func TestDaysOfTheChampionAreTrusted(t *testing.T) {
	s := newShop(t)
	s.jobs.rounds, s.o.MaxDrift = true, 0.4
	s.put(1, "a1 b1")
	s.put(2, "a2 b2")
	s.night(t, 2, results.Promoted)
	s.withdraw(t, 2)
	for day := 3; day <= 5; day++ {
		s.put(day, fmt.Sprintf("z%d z%[1]d0", day))
	}
	s.night(t, 5, results.Refused, "the data of 2026-01-05 is refused: /shop/data/dt=2026-01-05/a.csv: has other columns")
	s.put(6, "a6 b6")
	s.put(7, "a7 b7")
	s.night(t, 7, results.Promoted, "trained on 2 partitions, 2026-01-01 to 2026-01-06", "refused    2026-01-03",
		"refused    2026-01-05")
}

// A night sums only the new day by the reference, and removes the sums of days that leave the window.
func TestReferencesSumEachDayOnce(t *testing.T) {
	s := newShop(t)
	s.jobs.rounds, s.o.Window.Days, s.o.KeepSums.Prune, s.o.MaxDrift = true, 6, true, 0.5
	short := 0
	for day := 1; day <= 14; day++ {
		s.put(day, modelRows(day))
		if day == 1 {
			continue
		}
		s.night(t, day, results.Promoted)
		sums := len(slices.DeleteFunc(slices.Clone(s.jobs.calls), func(call string) bool { return call != "sum 1" }))
		if sums == 1 {
			short++
		} else if day > 2 && sums != 6 { // a new reference, because the day of the last one has left the window
			t.Errorf("day %d: %q", day, s.jobs.calls)
		}
	}
	if short < 9 {
		t.Errorf("%d nights summed a single day", short)
	}
	for name := range s.mem.Files("/shop/models-sums") {
		_, file, _ := strings.Cut(name, "/")
		if day, ok := dayOf(file); ok && day < date(9) {
			t.Errorf("%s is left", name)
		}
	}
}
