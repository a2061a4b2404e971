package pipelines

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// asked are days of rows with their sums, for questions, and the rows as a training sees them.
type asked struct {
	sums []string
	days map[string][]gridRow
}

// gridRow has features on the grid of the recipe, targets or codes of classes, and a weight.
type gridRow struct {
	phi, y []float64
	weight float64
}

// newAsked sums days of rows, CSV with the label last and perhaps a column of weights w before it, by the recipe of the
// first.
func newAsked(t *testing.T, o options.Train, days []string, labels func(i int) string) *asked {
	t.Helper()
	dir := t.TempDir()
	a := &asked{sums: []string{dir + "/sums/*/*"}, days: map[string][]gridRow{}}
	o.Model, o.Data.Label = dir+"/recipe", "y"
	for i, text := range days {
		name := jobtest.Write(t, dir, fmt.Sprintf("day-%d.csv", i), text)
		if o.Data.Files = []string{name}; i == 0 {
			if _, err := trainPlain(jobtest.Ctx, o); err != nil {
				t.Fatal(err)
			}
		}
		s := options.Sum{Recipe: o.Model, Data: o.Data, Out: dir + "/sums/" + labels(i)}
		if _, err := Sum(jobtest.Ctx, s); err != nil {
			t.Fatal(err)
		}
		_, date, _ := strings.Cut(s.Out, "dt=")
		a.days[date] = gridRows(t, o.Model, name)
	}
	return a
}

// gridRows maps the rows of a file as training by a recipe does.
func gridRows(t *testing.T, model, file string) (all []gridRow) {
	t.Helper()
	r, _, err := sums.ReadRecipe(jobtest.Ctx, model)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := r.Features.Open()
	if err != nil {
		t.Fatal(err)
	}
	mapped, err := opened.New()
	if err != nil {
		t.Fatal(err)
	}
	m := mapped.(features.Gridded)
	step, ranges := ridge.GridOf(m, r.Rule.Steps)
	z, ints := features.NewGrid(r.Dim, r.Rule.Steps), make([]int16, r.Dim)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		row, x := gridRow{weight: 1}, []float32(nil)
		for c, text := range line[:len(line)-1] {
			v, err := strconv.ParseFloat(text, 32)
			if err != nil {
				t.Fatal(err)
			}
			if lines[0][c] == "w" {
				row.weight = float64(r.Rule.Weights.AppendWeights(nil, &rowio.Block{N: 1, Weights: []float64{v}}, 0, 1)[0])
			} else {
				x = append(x, float32(v))
			}
		}
		m.Quantize(z, x, 1, 1)
		z.Row(ints, 0)
		for j, v := range ints {
			phi := step * float64(v)
			if ranges.Half != nil {
				phi = ranges.Centre[j] + ranges.Half[j]*phi
			}
			row.phi = append(row.phi, phi)
		}
		label := line[len(line)-1]
		if r.TargetGrid != nil {
			v, _ := strconv.ParseFloat(label, 64)
			row.y = []float64{r.TargetGrid[0].Value(r.TargetGrid.Append(nil, []float64{v})[0])}
		} else {
			for _, c := range []string{"a", "b", "c"} {
				row.y = append(row.y, map[bool]float64{true: 1, false: -1}[c == label])
			}
		}
		all = append(all, row)
	}
	return all
}

// explicit returns the mean squared error on rows of ridge regression on others, by the normal equations of the
// rows and one prediction for each, and the variance of the former.
func explicit(train, judged []gridRow, lambda float64) (mse, variance float64) {
	d, k := len(train[0].phi), len(train[0].y)
	mean := func(rows []gridRow) (phi, y []float64, n float64) {
		phi, y = make([]float64, d), make([]float64, k)
		for _, r := range rows {
			n += r.weight
			for j, v := range r.phi {
				phi[j] += r.weight * v
			}
			for c, v := range r.y {
				y[c] += r.weight * v
			}
		}
		for j := range phi {
			phi[j] /= n
		}
		for c := range y {
			y[c] /= n
		}
		return phi, y, n
	}
	phi, y, n := mean(train)
	a := make([][]float64, d)
	for j := range a {
		a[j] = make([]float64, d+k)
		a[j][j] = n * lambda
		for _, r := range train {
			for l, v := range r.phi {
				a[j][l] += r.weight * (r.phi[j] - phi[j]) * (v - phi[l])
			}
			for c, v := range r.y {
				a[j][d+c] += r.weight * (r.phi[j] - phi[j]) * (v - y[c])
			}
		}
	}
	for p := range a { // Gauss and Jordan; the matrix is positive definite
		for c := d + k - 1; c >= p; c-- {
			a[p][c] /= a[p][p]
		}
		for i := range a {
			if f := a[i][p]; i != p {
				for c := p; c < d+k; c++ {
					a[i][c] -= f * a[p][c]
				}
			}
		}
	}
	_, own, m := mean(judged)
	for _, r := range judged {
		for c, v := range r.y {
			e := v - y[c]
			for j, z := range r.phi {
				e -= a[j][d+c] * (z - phi[j])
			}
			mse += r.weight * e * e / m
			variance += r.weight * (v - own[c]) * (v - own[c]) / m
		}
	}
	return mse, variance
}

// rows returns the rows of some days.
func (a *asked) rows(in func(day string) bool) (all []gridRow) {
	for day, rows := range a.days {
		if in(day) {
			all = append(all, rows...)
		}
	}
	return all
}

// check compares a row of an answer with the training that it stands for.
func (a *asked) check(t *testing.T, answer *results.Ask, row int, trained, judged func(day string) bool) {
	t.Helper()
	r := answer.Tables[0].Rows[row]
	train, rows := a.rows(trained), a.rows(judged)
	mse, variance := explicit(train, rows, r.Lambda)
	if len(rows[0].y) > 1 {
		mse, variance = mse/4, variance/4
	}
	near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-12*want }
	if !near(r.Error, mse) || !near((1-*r.R2)*variance, mse) || r.TrainedRows != int64(len(train)) {
		t.Errorf("%s, row %d: error %.15g, R² %.15g on %d rows; by the rows %.15g, %.15g on %d", answer.Question, row, r.Error,
			*r.R2, r.TrainedRows, mse, 1-mse/variance, len(train))
	}
}

// friedmanDays and classDays return days for asked: numbers, and three classes of few distinct rows, counted
// separately, with weights; the third day lacks a class.
func friedmanDays(t *testing.T, n int) (o options.Train, days []string) {
	t.Helper()
	for i := range n {
		name := filepath.Join(t.TempDir(), "rows.csv")
		if _, err := Generate(jobtest.Ctx, options.Generate{Set: "friedman", Rows: 50, Seed: uint64(i), Noise: -1, Out: name}); err != nil {
			t.Fatal(err)
		}
		data, err := storage.ReadFile(jobtest.Ctx, name, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		days = append(days, string(data))
	}
	o.Kernel, o.Room = &fourier.GaussianOptions{Features: 24}, 2
	o.Lambda.Path = []float64{1e-1, 1e-2, 1e-3}
	return o, days
}

func classDays(n int) (o options.Train, days []string) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range n {
		var text strings.Builder
		text.WriteString("u,v,w,y\n")
		for range 80 {
			u, v := r.IntN(3), r.IntN(2)
			class := (u + v + r.IntN(2)) % 3
			if i == 2 && class == 2 {
				class = 0
			}
			fmt.Fprintf(&text, "%d,%d,%d,%c\n", u, v, 1+u, 'a'+class)
		}
		days = append(days, text.String())
	}
	o.Kernel, o.Data.Weight = &fourier.GaussianOptions{Features: 16, Width: 1.5}, "w"
	o.Lambda.Path = []float64{1e-1, 1e-2, 1e-3}
	return o, days
}

func TestAskMatchesTrainingAndEvaluating(t *testing.T) {
	campaign.Long(t)
	numbers, days := friedmanDays(t, 7)
	classes, classDays := classDays(7)
	for name, c := range map[string]struct {
		o    options.Train
		days []string
	}{"numbers": {numbers, days}, "weighted classes": {classes, classDays}} {
		t.Run(name, func(t *testing.T) {
			date := func(i int) string { return fmt.Sprintf("2026-11-%02d", i+1) }
			source := func(day string) string { return []string{"app", "web"}[day[len(day)-1]%2] }
			a := newAsked(t, c.o, c.days, func(i int) string { return "source=" + source(date(i)) + "/dt=" + date(i) })
			apart := 0
			ask := func(question options.Question, set func(*options.Ask)) *results.Ask {
				t.Helper()
				o := options.Ask{Question: question, Seed: 1}
				o.Sums = a.sums
				set(&o)
				var first *results.Ask
				for _, limits := range [][2]int{{1, 0}, {3, 0}, {2, 1}} {
					o.Threads, o.Memory = limits[0], int64(limits[1])
					answer, err := Ask(jobtest.Ctx, o)
					if err != nil {
						t.Fatal(err)
					}
					if answer.Seconds = 0; first == nil {
						first = answer
					} else if !reflect.DeepEqual(first, answer) {
						t.Errorf("%s: another answer with %d threads and memory %d", question, limits[0], limits[1])
					}
				}
				return first
			}
			between := func(from, to int) func(string) bool {
				return func(day string) bool { return date(from) <= day && day <= date(to) }
			}
			b := ask("backtest", func(o *options.Ask) { o.Dates, o.Gap = 2, 1 })
			errors := make([]float64, len(c.o.Lambda.Path))
			for k := range 5 {
				trained, judged := between(max(0, k-1), k), between(k+2, k+2)
				a.check(t, b, k, trained, judged)
				// λ has the least error on the days judged before.
				if r := b.Tables[0].Rows[k]; k > 0 && r.Lambda != c.o.Lambda.Path[slices.Index(errors, slices.Min(errors))] {
					t.Errorf("%s: lambda %g, errors before %g", r.Name, r.Lambda, errors)
				}
				for l, lambda := range c.o.Lambda.Path {
					mse, _ := explicit(a.rows(trained), a.rows(judged), lambda)
					for _, r := range a.rows(judged) {
						errors[l] += r.weight * mse
					}
				}
			}
			for k, answer := range []*results.Ask{
				ask("groups", func(o *options.Ask) { o.By = []string{"source"} }),
				ask("groups", func(o *options.Ask) { o.Judge = "dt>=2026-11-04" }),
			} {
				for i := range 2 {
					out := func(day string) bool { return source(day) == []string{"app", "web"}[i] }
					if k == 1 {
						out = between(i+3, i+3)
					}
					a.check(t, answer, i, func(day string) bool { return !out(day) }, out)
				}
			}
			m := ask("matrix", func(o *options.Ask) { o.By = []string{"source"} })
			for i, name := range []string{"app", "web"} {
				of := func(day string) bool { return source(day) == name }
				a.check(t, m, 1+i, of, func(day string) bool { return !of(day) })
			}
			last := func(o *options.Ask) { o.Judge = "dt>=2026-11-06" }
			curve := ask("curve", last)
			for i, n := range []int{1, 2, 4, 5} {
				a.check(t, curve, i, between(5-n, 4), between(5, 6))
			}
			if rows := curve.Tables[1].Rows[3].TrainedRows; rows != curve.Tables[0].Rows[3].TrainedRows {
				t.Errorf("curve: orders of all dates are trained on %d rows", rows)
			}
			w := ask("worth", last)
			for i, r := range w.Tables[0].Rows {
				a.check(t, w, i, func(day string) bool { return day < date(5) && day != r.Name }, between(5, 6))
			}
			b = ask("bisect", last)
			for i, r := range b.Tables[0].Rows {
				a.check(t, b, i, func(day string) bool { return day <= r.Name }, between(5, 6))
			}
			places, _ := filepath.Glob(a.sums[0])
			for _, place := range places {
				if p, err := sums.ReadManifest(jobtest.Ctx, place); err != nil {
					t.Fatal(err)
				} else if p.Copies != nil {
					apart++
				}
			}
			if (apart > 0) != (name == "weighted classes") {
				t.Errorf("%d of %d days have rows counted apart", apart, len(places))
			}
		})
	}
}

// Shapley values of few groups are means over all orders of the groups.
func TestShapleyValuesAreMeansOverAllOrders(t *testing.T) {
	o, days := friedmanDays(t, 5)
	a := newAsked(t, o, days, func(i int) string { return fmt.Sprintf("source=%d/dt=2026-11-%02d", i%4, i+1) })
	asking := options.Ask{Question: "worth", Seed: 1}
	asking.Sums, asking.By, asking.Judge, asking.Lambda.Path = a.sums, []string{"source"}, "dt=2026-11-05", []float64{1e-2}
	answer, err := Ask(jobtest.Ctx, asking)
	if err != nil {
		t.Fatal(err)
	}
	r2 := func(in []int) float64 {
		if len(in) == 0 {
			return 0
		}
		mse, variance := explicit(a.rows(func(day string) bool { return slices.Contains(in, int(day[9]-'1')) }),
			a.days["2026-11-05"], 1e-2)
		return 1 - mse/variance
	}
	var total float64
	for _, row := range answer.Tables[0].Rows[:4] {
		g, _ := strconv.Atoi(row.Name)
		var want float64
		var orders func(rest, before []int, n float64)
		orders = func(rest, before []int, n float64) {
			for i, h := range rest {
				if h == g {
					want += (r2(append(slices.Clone(before), g)) - r2(before)) / n / float64(len(rest))
					continue
				}
				orders(slices.Delete(slices.Clone(rest), i, i+1), append(slices.Clone(before), h), n*float64(len(rest)))
			}
		}
		orders([]int{0, 1, 2, 3}, nil, 1)
		if got := *row.Contribution.Shapley; math.Abs(got-want) > 1e-12 {
			t.Errorf("group %d: %.15g, by all orders %.15g", g, got, want)
		}
		total += *row.Contribution.Shapley
	}
	if all := *answer.Tables[0].Rows[4].R2; math.Abs(total-all) > 1e-12 {
		t.Errorf("the values add up to %.15g, R² is %.15g", total, all)
	}
}

func TestUnanswerableQuestionsAreRejected(t *testing.T) {
	o, days := friedmanDays(t, 3)
	o.Kernel = &fourier.GaussianOptions{Features: 128} // more than rows
	a := newAsked(t, o, days, func(i int) string { return fmt.Sprintf("source=app/dt=2026-11-%02d", i+1) })
	for _, c := range []struct {
		set  func(*options.Ask)
		code exit.Code
		want string
	}{
		{func(o *options.Ask) { o.Question = "oracle" }, 2, "backtest"},
		{func(o *options.Ask) { o.Sums = nil }, 2, "--sums is missing"},
		{func(o *options.Ask) { o.Judge = "dt>" }, 2, "--judge"},
		{func(o *options.Ask) { o.Judge = "country=DE" }, 3, "country"},
		{func(o *options.Ask) { o.Gap = 5 }, 3, "--gap_dates 5"},
		{func(o *options.Ask) { o.Question, o.By = "groups", []string{"source"} }, 3, "have 1 group"},
		{func(o *options.Ask) { o.Question, o.By = "matrix", []string{"land"} }, 3, "--by land"},
		{func(o *options.Ask) { o.Question = "matrix" }, 2, "--by"},
		{func(o *options.Ask) { o.Question, o.Judge = "worth", "dt<2027" }, 3, "0 directories of sums to train on"},
		{func(o *options.Ask) { o.Question, o.Judge = "worth", "dt>=2026-11-02" }, 3, "(have 1)"},
		{func(o *options.Ask) { o.DateLabel = "source" }, 2, "--date_label source"},
		{func(o *options.Ask) { o.Where = "dt=2026-11-01" }, 3, "two or more"},
		{func(o *options.Ask) { o.Lambda.Path = []float64{0} }, 3, "raise --lambda"},
		{func(o *options.Ask) { o.Question, o.Lambda.Path = "groups", []float64{0} }, 3, "raise --lambda"},
		{func(o *options.Ask) { o.Plot = "answer.pdf" }, 2, ".png"},
	} {
		o := options.Ask{Question: "backtest"}
		o.Sums = a.sums
		c.set(&o)
		_, err := Ask(jobtest.Ctx, o)
		jobtest.WantError(t, c.want, err, c.code, c.want)
	}
}
