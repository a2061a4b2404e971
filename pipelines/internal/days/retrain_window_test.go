package days

import (
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/pipelines/results"
)

// A chosen window moves with the data: from all days to those after a break, and back when the break is
// withdrawn. The sums of days outside stay, although others are removed, since a later night may choose them;
// such days are not new and do not judge.
func TestWindowIsChosenEveryNight(t *testing.T) {
	s := newShop(t)
	s.o.Window.Auto, s.o.KeepSums.Prune, s.o.MaxDrift = true, true, 0.9
	s.put(1, modelRows(1))
	s.put(2, modelRows(2))
	s.night(t, 2, results.Promoted, "note       the window takes all days: it is chosen by sums of a recipe, and this recipe is new")
	for day := 3; day <= 8; day++ {
		rows := modelRows(day)
		if day == 6 {
			rows += " break"
		}
		s.put(day, rows)
		if r := s.night(t, day, results.Promoted); day > 3 && !slices.Equal(r.New, []string{date(day - 1), date(day)}) {
			t.Errorf("day %d: new are %v", day, r.New)
		}
	}
	s.night(t, 8, results.Promoted, "nothing is left to do", "window: last 2 days of 7 (--window 3d), by the errors of 6 days") // by the history
	s.put(9, modelRows(9))
	r := s.night(t, 9, results.Promoted, "trained on 3 partitions, 2026-01-06 to 2026-01-08",
		"window     last 3 days of 8 (--window 4d), by the errors of 7 days forward in time (R² -; all days -)\n")
	s.did(t, "sum 1", "choose 8", "fit 2-0") // the total before, and a day
	if r.Window.Days != 4 || r.Window.Dates != 3 || r.Removed > 0 || len(r.Drifts) != 2 || len(r.Late) > 0 {
		t.Errorf("%+v", r)
	}
	s.hasSums(t, "01 02 03 04 05 06 07 08 09")
	s.o.Day = date(9)
	s.withdraw(t, 9)
	s.put(4, "m4 n4 o4") // replaced, outside of the window
	s.night(t, 10, results.Nothing, "the champion was trained on every partition")

	s.put(6, modelRows(6)+" c")
	s.put(10, modelRows(10)+" break")
	s.put(11, modelRows(11))
	s.night(t, 11, results.Promoted, "trained on 1 partition, 2026-01-10\n")
	s.put(10, modelRows(10))
	s.put(12, modelRows(12))
	s.night(t, 12, results.Promoted, "trained on 10 partitions, 2026-01-01 to 2026-01-11\n", "replaced   2026-01-10")
	s.did(t, "sum 1", "sum 1", "choose 10", "fit 10-0") // which is less than from the sums of another version of a day
	s.put(13, modelRows(13))
	s.night(t, 13, results.Promoted)
	s.did(t, "sum 1", "choose 11", "fit 2-0")
	s.put(3, "one-class")
	s.put(14, modelRows(14))
	s.night(t, 14, results.Promoted, "note       the window takes all days, because it cannot be chosen: all rows are of one class")

	s.o.Window.Days = 4
	s.put(15, modelRows(15))
	s.night(t, 15, results.Promoted, "trained on 3 partitions, 2026-01-12 to 2026-01-14", "window     last 3 days of 3 (--window 4d)")
	s.hasSums(t, "01 02 03 04 05 06 07 08 10 11 12 13 14 15") // champion and previous have them all
	s.put(16, modelRows(16))
	s.night(t, 16, results.Promoted)
	s.put(17, modelRows(17))
	s.night(t, 17, results.Promoted)
	s.hasSums(t, "13 14 15 16 17")
}

// A recipe that is drawn again is drawn from the rows of the window.
func TestRecipeIsDrawnFromTheChosenWindow(t *testing.T) {
	s := newShop(t)
	s.o.Window.Auto, s.o.Redraw = true, 0.4
	for day := 1; day <= 5; day++ {
		rows := modelRows(day)
		if day >= 4 {
			rows = strings.ReplaceAll(modelRows(day), "a", "x") + " x" + date(day) + "2"
		}
		if day == 4 {
			rows += " break"
		}
		s.put(day, rows)
		if day > 1 {
			s.o.Day = date(day)
			s.jobs.calls = nil
			if r, _ := Retrain(ctx, s.o, s.jobs); r == nil || (r.Redrawn != "") != (day == 2 || day == 5) {
				t.Fatalf("day %d: %+v", day, r)
			} else if day == 5 && (r.First != date(4) || r.Partitions != 1) {
				t.Errorf("drawn from %s to %s", r.First, r.Last)
			}
		}
	}
}
