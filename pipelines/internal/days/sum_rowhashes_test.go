package days

import (
	"testing"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/sumdirs"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// Rows are listed only if that is needed and possible, so that the lists are bounded for any number of sums
// that are added.
func TestRowListsAreBounded(t *testing.T) {
	of := func(sign, rows int64, listed bool) sumdirs.Term {
		p := &sums.Manifest{Rows: models.RowCounts{Used: rows}}
		if listed {
			p.RowHashes = &models.FileEntry{Size: 8 * rows}
		}
		return sumdirs.Term{Dir: &sums.Dir{Manifest: p}, Sign: sign}
	}
	const most = sums.MaxRowHashes
	for _, c := range []struct {
		name  string
		save  string
		terms []sumdirs.Term
		want  int64
	}{
		{"saved", "out", []sumdirs.Term{of(1, 5, true), of(1, 7, true)}, 12},
		{"not saved", "", []sumdirs.Term{of(1, 5, true)}, 0},
		{"subtracted", "", []sumdirs.Term{of(1, 5, true), of(-1, 3, true)}, 5},
		{"one does not list its rows", "out", []sumdirs.Term{of(1, 5, true), of(1, 7, false)}, 0},
		{"as many as possible", "out", []sumdirs.Term{of(1, most, true)}, most},
		{"too many", "out", []sumdirs.Term{of(1, most, true), of(1, 1, true)}, 0},
		{"too many are added, although few are left", "out",
			[]sumdirs.Term{of(1, most, true), of(1, most, true), of(-1, most, true)}, 0},
	} {
		if got := listedRows((options.Fit{SaveSums: c.save}), &sumdirs.Total{Terms: c.terms}); got != c.want {
			t.Errorf("%s: %d rows are listed, want %d", c.name, got, c.want)
		}
	}
	if _, _, err := newRowHashKey(t.Context(), []sumdirs.Term{of(1, 7, false)}, nil); exit.CodeOf(err) != exit.CodeData {
		t.Errorf("forgetting from sums that do not list their rows: %v", err)
	}
}
