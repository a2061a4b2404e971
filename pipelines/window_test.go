package pipelines

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// slides is how often the window of the test moves: as many days are added and subtracted.
const slides = 200

// A window of 30 days that has moved 300 times, each time by adding a day and subtracting one, equals the sum
// of its 30 days, byte for byte.
func TestSlidingWindowEqualsTheSumOfItsDays(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	const window, days = 30, 37 // of which each comes again after it has left
	r := rand.New(rand.NewPCG(5, 7))
	day := func(i int) string { return in(fmt.Sprint("day-", i%days)) }
	train := options.Train{Model: in("recipe")}
	train.Data.Files, train.Data.Label = []string{in("rows-0.csv")}, "l"
	train.Kernel, train.Lambda.Folds = &fourier.GaussianOptions{Features: 24, Form: fourier.Offset}, 2
	for i := range days {
		text := "x,y,l\n"
		for range 12 {
			x, y := r.NormFloat64(), r.NormFloat64()
			text += fmt.Sprintf("%.3f,%.3f,%c\n", x, y, 'a'+r.IntN(2))
		}
		name := jobtest.Write(t, dir, fmt.Sprintf("rows-%d.csv", i), text)
		if i == 0 {
			if _, err := trainPlain(jobtest.Ctx, train); err != nil {
				t.Fatal(err)
			}
		}
		o := options.Sum{Recipe: in("recipe"), Out: day(i)}
		o.Data.Files = []string{name}
		if _, err := Sum(jobtest.Ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	add := func(out string, from, without []string) *sums.Manifest {
		t.Helper()
		o := options.AddSums{SumDirs: options.SumDirs{Sums: from, Without: without}, Out: out}
		r, err := AddSums(jobtest.Ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		return r.Manifest
	}
	all := func(last int) (places []string) {
		for i := last - window + 1; i <= last; i++ {
			places = append(places, day(i))
		}
		return places
	}
	total := in("total-0")
	add(total, all(window-1), nil)
	for i := 1; i <= slides; i++ {
		last, next := window-1+i, in(fmt.Sprint("total-", i))
		slid := add(next, []string{total, day(last)}, []string{day(last - window)})
		if err := os.RemoveAll(total); err != nil {
			t.Fatal(err)
		}
		total = next
		if i%100 != 0 {
			continue
		}
		alone := add(in("alone"), all(last), nil)
		if alone.Sums != slid.Sums || alone.Rows != slid.Rows || alone.Rows.Used != 12*window {
			t.Errorf("after %d days: %+v, want %+v", i, slid.Rows, alone.Rows)
		}
		for fold := range alone.Folds {
			name := sums.FoldFile(fold)
			want, errWant := os.ReadFile(filepath.Join(in("alone"), name))
			got, errGot := os.ReadFile(filepath.Join(total, name))
			if errWant != nil || errGot != nil || string(want) != string(got) {
				t.Errorf("after %d days: %s differs (%v, %v)", i, name, errWant, errGot)
			}
		}
		if err := os.RemoveAll(in("alone")); err != nil {
			t.Fatal(err)
		}
	}
}
