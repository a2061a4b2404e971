package pipelines

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/days"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// breakingCSV makes the rows of a day of a target that changes its sign on one day.
func breakingCSV(day, breaks int) string {
	r := rand.New(rand.NewPCG(uint64(day), 78))
	var b strings.Builder
	b.WriteString("a,b,y\n")
	for range 200 {
		a, c := 4*r.Float64()-2, r.NormFloat64()
		y := math.Sin(2 * a)
		if day >= breaks {
			y = -y
		}
		fmt.Fprintf(&b, "%.6f,%.6f,%.6f\n", a, c, y+0.5*r.NormFloat64())
	}
	return b.String()
}

// A window is chosen every night of a year with a break before day b. From the night of day b+3 on,
// it has only days after the break: the night before is the first on which such a day can judge
// models of such days. The choice is the same after runs that were stopped and with sums that are
// made again, and the model equals the model of --window with the chosen number, byte for byte. In
// a year the errors on the next days are at most 1% above the errors of the best window in
// hindsight. In three weeks they are at most 3% above, because more of that time goes into learning
// which window suits.
func TestWindowIsChosenInAYearWithABreak(t *testing.T) {
	campaign.Long(t)
	c, breaks, loss := calendar{days: 24}, 13, 1.03
	if os.Getenv("BOCHNER_YEAR") != "" {
		c, breaks, loss = calendar{days: 365}, 181, 1.01
	}
	dir := t.TempDir()
	n := newNights(c, diskStops{}, dir+"/models", dir+"/data", dir+"/data")
	n.o.Window.Auto, n.o.Gate, n.o.PairedGate, n.o.MaxDrift = true, "", "mse not worse by 1000% at 50%", 0
	n.o.Train.Lambda, n.o.Train.Room = lambdaOf(1e-3), 2
	var squares float64
	fixed := map[int]float64{}
	var last *results.Retrain
	for day := 1; day <= c.days; day++ {
		n.put(t, day, breakingCSV(day, breaks))
		checked := day == breaks+3 || day == c.days
		if checked {
			for _, copied := range []string{"auto", "fixed"} {
				if err := os.CopyFS(dir+"/"+copied+fmt.Sprint(day), os.DirFS(n.o.Models)); err != nil {
					t.Fatal(err)
				}
			}
			n.o.Day = dayName(day)
			for _, call := range []int{20, 60, 90} {
				if n.stops.stop(call, func(ctx context.Context) { _, _ = Retrain(ctx, n.o) }) {
					n.kills++
				}
			}
		}
		r, _ := n.run(t, day)
		if day < 4 {
			continue
		}
		w := r.Window
		if w == nil || w.Of != day-1 {
			t.Fatalf("day %d: %+v\n%s", day, w, r.Text())
		}
		if last = r; day >= breaks+3 && w.Dates > day-breaks {
			t.Errorf("day %d: %s, the break was on day %d", day, w, breaks)
		}
		if checked {
			n.sameByItself(t, day, r)
		}
		if os.Getenv("BOCHNER_YEAR") != "" {
			squares += n.errorOn(t, day, n.o.Models+"/"+r.Model)
			n.errorsOf(t, day, r.Model, fixed)
		}
		if slices.Contains([]int{breaks, breaks + 1, breaks + 2, breaks + 3, breaks + 4, breaks + 8, c.days}, day) {
			t.Logf("day %d: %s, in %.2f of %.2f s", day, w, r.Steps["window"], stepsOf(r).Seconds())
		}
	}
	least := math.Inf(1)
	for _, row := range last.Window.Chosen.Hindsight {
		t.Logf("%-15s %.4f", row.Name, row.Error)
		least = min(least, row.Error)
	}
	if got := last.Window.Chosen.Error; got > loss*least || n.kills < 4 {
		t.Errorf("the error is %.4f, of the best window in hindsight %.4f; %d runs were stopped", got, least, n.kills)
	}
	for window, sum := range fixed {
		t.Logf("models of the last %d days: %.4f, chosen: %.4f", window, sum/float64(c.days-3), squares/float64(c.days-3))
		if squares > loss*sum {
			t.Errorf("models of the last %d days are better: %.6g, chosen %.6g", window, sum, squares)
		}
	}
}

// sameByItself repeats a night in copies of the models with sums of their own: by a choice, and
// with the window given.
func (n *nights) sameByItself(t *testing.T, day int, r *results.Retrain) {
	t.Helper()
	for _, copied := range []string{"auto", "fixed"} {
		o := n.o
		if o.Models = strings.TrimSuffix(n.o.Models, "models") + copied + fmt.Sprint(day); copied == "fixed" {
			o.Window = options.Window{Days: r.Window.Days}
		}
		own, err := Retrain(jobtest.Ctx, o)
		if own == nil || own.Outcome != r.Outcome {
			t.Fatalf("day %d, %s: %v", day, copied, err)
		}
		if copied == "auto" && !reflect.DeepEqual(own.Window, r.Window) {
			t.Errorf("day %d: by itself %+v, after others %+v", day, own.Window, r.Window)
		}
		for _, name := range []string{"weights.safetensors", "profile.json", "manifest.json"} {
			if contentOf(t, o.Models+"/"+own.Model+"/"+name) != contentOf(t, n.o.Models+"/"+r.Model+"/"+name) {
				t.Errorf("day %d, %s: %s differs", day, copied, name)
			}
		}
	}
}

// errorOn returns the mean squared error of a model on a day.
func (n *nights) errorOn(t *testing.T, day int, model string) float64 {
	t.Helper()
	r, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: model,
		Data: dataset.Options{Files: []string{partition(n.disk, day) + "/*"}, Label: "y"}})
	if err != nil {
		t.Fatal(err)
	}
	return r.Targets.RMSE * r.Targets.RMSE
}

// errorsOf adds to windows, for some lengths of a window, the error on a day of the model of the last
// days before it. It fits these models to the sums of the model of.
func (n *nights) errorsOf(t *testing.T, day int, of string, windows map[int]float64) {
	t.Helper()
	dir := t.TempDir()
	l, err := registry.ReadLineage(jobtest.Ctx, n.reg.ModelDir(of))
	if err != nil {
		t.Fatal(err)
	}
	for _, window := range []int{1, 2, 4, 8, 16, 32, 64, 128, 365} {
		var places []string
		for d := max(1, day-window); d < day; d++ {
			places = append(places, path.Dir(l.Sources[0].Sums)+"/"+dayName(d)+"-*")
		}
		model := fmt.Sprint(dir, "/", window)
		if _, err := days.Fit(jobtest.Ctx, options.Fit{SumDirs: options.SumDirs{Sums: places}, Model: model}); err != nil {
			t.Fatal(err)
		}
		windows[window] += n.errorOn(t, day, model)
	}
}

// A learner without sums cannot choose its window.
func TestWindowChoiceRequiresSums(t *testing.T) {
	dir := t.TempDir()
	n := newNights(fortnight, diskStops{}, dir+"/models", dir+"/data", dir+"/data")
	n.o.Day, n.o.Window.Auto, n.o.Train.Learner = dayName(2), true, apprentices(1)[2].learner
	r, err := Retrain(jobtest.Ctx, n.o)
	jobtest.WantError(t, fmt.Sprint(r), err, exit.CodeUsage,
		"--window auto chooses by the sums of days, which the learner svm does not have; give a number of days")
}
