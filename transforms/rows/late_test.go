package rows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/teststream"

	"github.com/bochner-ml/bochner/transforms/rows"
)

func init() {
	beam.RegisterFunction(oneOf)
	beam.RegisterFunction(sizeOf)
}

func oneOf(i int) (string, int) { return "all", i }

func sizeOf(_ string, next func(*int) bool) (n int) {
	for x := 0; next(&x); {
		n++
	}
	return n
}

// Rows that come after the end of their window are predicted like others, in their window and with their time,
// also after a Reshuffle; only steps that group by window can drop them, as the sum of the same rows shows.
func TestLateRowsArePredicted(t *testing.T) {
	model := classifier(t, t.TempDir(), 0)
	config := teststream.NewConfig()
	add := func(at time.Duration, numbers ...int) {
		if err := config.AddElementList(at.Milliseconds(), numbers); err != nil {
			t.Fatal(err)
		}
	}
	advance := func(to time.Duration) {
		if err := config.AdvanceWatermark(to.Milliseconds()); err != nil {
			t.Fatal(err)
		}
	}
	add(1*time.Second, 1, 2, 3)
	advance(100 * time.Second)
	add(2*time.Second, 4, 99) // late; 99 is not a number
	add(101*time.Second, 5)
	advance(1000 * time.Second)
	add(3*time.Second, 6) // later still
	if err := config.AdvanceWatermarkToInfinity(); err != nil {
		t.Fatal(err)
	}
	got, _ := gather(t, "prism", func(s beam.Scope) []beam.PCollection {
		numbers := beam.WindowInto(s, window.NewFixedWindows(10*time.Second), teststream.Create(s, config))
		points := beam.Reshuffle(s, beam.ParDo(s, pointOf, numbers))
		p, bad := rows.Predict(s, rows.Model{Name: model}, points)
		sizes := beam.ParDo(s, sizeOf, beam.GroupByKey(s, beam.ParDo(s, oneOf, numbers)))
		return []beam.PCollection{beam.ParDo(s, keyAndScores, p), bad, sizes}
	})
	want := []string{"0 10000 1000", "0 10000 1000", "0 10000 1000", "0 10000 2000", "0 10000 3000",
		"100000 110000 101000"}
	if len(got[0]) != len(want) {
		t.Fatalf("%d predictions, want %d: %q", len(got[0]), len(want), got[0])
	}
	for i, line := range got[0] {
		if place, _, _ := strings.Cut(line, ": "); place != want[i] {
			t.Errorf("prediction %d is at %s, want %s", i, place, want[i])
		}
	}
	if len(got[1]) != 1 || !strings.HasPrefix(got[1][0], "0 10000 2000: ") {
		t.Errorf("rejected %q", got[1])
	}
	if all := strings.Join(got[2], "; "); !strings.Contains(all, "0 10000 9999: 3") || len(got[2]) != 2 {
		t.Errorf("no row was late for the groups: %s", all)
	}
}
