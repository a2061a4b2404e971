package pipelines

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// badDay is what can be wrong with a day.
type badDay struct {
	name string
	day  int // on which it comes
	make func(good, dayOne string) (files []string)
	why  string // is in the reason
}

// badDays come between the good days 1, 3, 7, 10, 11 and 12.
var badDays = []badDay{
	{"a column in other units", 2, func(good, _ string) []string { return []string{inUnits(good, 0)} }, "drift "},
	{"copied under other names", 4, func(_, dayOne string) []string { return halves(dayOne) },
		"has the same 60 rows as " + dayName(1)},
	{"a file that cannot be read", 5, func(good, _ string) []string { return []string{good, "PK\x03\x04 a b c"} },
		"part-1.csv"},
	{"other columns", 6, func(good, _ string) []string { return []string{strings.Replace(good, "a,", "other,", 1)} },
		"missing column a"},
	{"no row", 8, func(good, _ string) []string { return []string{good[:strings.IndexByte(good, '\n')+1]} }, "no rows"},
	{"an empty file", 9, func(string, string) []string { return []string{""} }, "is empty"},
}

// labelInUnits is wrong only for numbers.
var labelInUnits = badDay{"labels in other units", 9,
	func(good, _ string) []string { return []string{inUnits(good, 2)} }, "drift "}

const lastDay = 12

// inUnits multiplies a column by 100.
func inUnits(text string, column int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines[1:] {
		fields := strings.Split(line, ",")
		fields[column] += "e2"
		lines[i+1] = strings.Join(fields, ",")
	}
	return strings.Join(lines, "\n") + "\n"
}

// halves are the same rows in two files, in another order.
func halves(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	rows := lines[1:]
	slices.Reverse(rows)
	file := func(rows []string) string { return lines[0] + "\n" + strings.Join(rows, "\n") + "\n" }
	return []string{file(rows[:len(rows)/3]), file(rows[len(rows)/3:])}
}

// situations are the days on which runs begin, and the one before which the models are lost.
var situations = []struct {
	name         string
	begins, lost int
}{{"first night", 11, 0}, {"champion there", 3, 0}, {"champion lost", 3, 10}}

// apprentice is a learner on classes or numbers.
type apprentice struct {
	name    string
	learner iterative.Options
	numbers bool
}

func apprentices(rounds int) []apprentice {
	short := func(s *iterative.Shared) { s.Rounds = rounds }
	return []apprentice{
		{"ridge", nil, false}, {"sgd of numbers", jobtest.Iterative("sgd", short), true},
		{"svm", jobtest.Iterative("svm", short), false}, {"softmax", jobtest.Iterative("sgd", short), false},
	}
}

// dayRows are the rows of a day.
func (a apprentice) dayRows(day int) string {
	if !a.numbers {
		return dailyCSV(day, 1)
	}
	r := rand.New(rand.NewPCG(uint64(day), 78))
	text := "a,b,y\n"
	for range dailyRows {
		x, z := r.Float64(), r.Float64()
		text += fmt.Sprintf("%.6f,%.6f,%.6f\n", x, z, 1+x*z+0.1*r.NormFloat64())
	}
	return text
}

// nightsOf runs the nights of a situation, with these bad days, and returns the weights and reports of the last ones.
func (a apprentice) nightsOf(t *testing.T, begins, lost int, bad []badDay) (weights []string,
	reports []*results.Retrain) {
	t.Helper()
	dir := t.TempDir()
	n := newNights(calendar{}, diskStops{}, dir+"/models", dir+"/data", dir+"/data")
	n.o.Gate, n.o.PairedGate, n.o.Train.Learner = "", options.NoGate, a.learner
	for day := 1; day <= lastDay; day++ {
		files := []string{a.dayRows(day)}
		if i := slices.IndexFunc(badDays, func(b badDay) bool { return b.day == day }); i >= 0 {
			files = nil // bad, or nothing
		}
		if i := slices.IndexFunc(bad, func(b badDay) bool { return b.day == day }); i >= 0 {
			files = bad[i].make(a.dayRows(day), a.dayRows(1))
		}
		for i, text := range files {
			if err := storage.WriteFile(jobtest.Ctx, fmt.Sprintf("%s/part-%d.csv", partition(n.root, day), i),
				[]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if day == lost {
			if err := os.RemoveAll(n.o.Models); err != nil {
				t.Fatal(err)
			}
		}
		if day < begins || files == nil {
			continue
		}
		n.o.Day = dayName(day)
		r, err := Retrain(jobtest.Ctx, n.o)
		if r == nil {
			t.Fatalf("day %d: %v", day, err)
		}
		want := results.Promoted
		if slices.ContainsFunc(bad, func(b badDay) bool { return b.day == day }) {
			want = results.Refused
		}
		if r.Outcome != want {
			t.Errorf("day %d: %s, want %s\n%s", day, r.Outcome, want, r.Text())
		}
		if day > 10 && r.Model != "" {
			text, err := os.ReadFile(filepath.Join(n.o.Models, r.Model, "weights.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			weights, reports = append(weights, string(text)), append(reports, r)
		}
	}
	return weights, reports
}

// With every learner, with and without a champion, bad days are rejected by name, the model is, byte for byte,
// the model of the good days only, and the next night succeeds. The year of make test-year has all learners in
// all situations, and each kind of bad day also by itself.
func TestBadDaysAreRejectedByNameAndTheNextNightSucceeds(t *testing.T) {
	campaign.Long(t)
	year := os.Getenv("BOCHNER_YEAR") != ""
	for k, a := range apprentices(2) {
		all := slices.Clone(badDays)
		if a.numbers {
			all[len(all)-1] = labelInUnits
		}
		choices := [][]badDay{all}
		if year {
			for i := range all {
				choices = append(choices, all[i:i+1])
			}
		}
		for j, s := range situations {
			if !year && !a.numbers && k%len(situations) != j {
				continue
			}
			t.Run(a.name+", "+s.name, func(t *testing.T) {
				want, _ := a.nightsOf(t, s.begins, s.lost, nil)
				for _, bad := range choices {
					got, reports := a.nightsOf(t, s.begins, s.lost, bad)
					if len(want) != 2 || !slices.Equal(got, want) {
						t.Errorf("%s: %d models, which differ from %d of the good days alone", bad[0].name, len(got), len(want))
					}
					for _, r := range reports {
						refused := slices.EqualFunc(r.Refused, bad, func(r results.RefusedDay, b badDay) bool {
							return r.Day == dayName(b.day) && strings.Contains(r.Why, b.why)
						})
						if !refused {
							t.Errorf("%s: refused are %+v", bad[0].name, r.Refused)
						}
					}
				}
			})
		}
	}
}

// The recipe to which days are compared does not have the label if that is the same in all rows of its day. A day that
// lacks the label is refused by name, and the next night goes on.
func TestDaysThatLackTheLabelAreRefused(t *testing.T) {
	dir := t.TempDir()
	n := newNights(calendar{}, diskStops{}, dir+"/models", dir+"/data", dir+"/data")
	n.o.Gate, n.o.PairedGate, n.o.Train.Learner = "", options.NoGate, apprentices(2)[3].learner
	for day := 1; day <= 5; day++ {
		text := dailyCSV(day, 1)
		switch day {
		case 2:
			text = strings.ReplaceAll(text, ",below", ",above")
		case 4:
			text = strings.NewReplacer(",y", "", ",below", "", ",above", "").Replace(text)
		}
		n.put(t, day, text)
		if n.o.Day = dayName(day); day < 3 {
			continue
		}
		want := results.Promoted
		if day == 4 {
			want = results.Refused
		}
		r, err := Retrain(jobtest.Ctx, n.o)
		if r == nil || r.Outcome != want {
			t.Fatalf("day %d: want %s: %v, %+v", day, want, err, r)
		}
		if day >= 4 && (len(r.Refused) != 1 || r.Refused[0].Day != dayName(4) ||
			!strings.Contains(r.Refused[0].Why, `no column "y"`)) {
			t.Errorf("day %d: refused are %+v", day, r.Refused)
		}
	}
}

// A row without a label, or without a value, does not make its day bad: a training run sets it aside, or fills
// it in.
func TestDaysMayLackLabelsAndValues(t *testing.T) {
	dir := t.TempDir()
	n := newNights(calendar{}, diskStops{}, dir+"/models", dir+"/data", dir+"/data")
	a := apprentices(2)[1]
	n.o.Gate, n.o.PairedGate, n.o.Train.Learner = "", options.NoGate, a.learner
	for day := 1; day <= 4; day++ {
		lines := strings.SplitAfter(a.dayRows(day), "\n")
		if day%3 == 1 {
			lines[1] = lines[1][:strings.LastIndexByte(lines[1], ',')+1] + "\n"
			lines[2] = lines[2][strings.IndexByte(lines[2], ','):]
		}
		n.put(t, day, strings.Join(lines, ""))
	}
	for day := 3; day <= 4; day++ {
		n.o.Day = dayName(day)
		r, err := Retrain(jobtest.Ctx, n.o)
		if err != nil || len(r.Refused) > 0 || r.Rows.SetAside != 1 || r.Rows.Used != int64(dailyRows*(day-1))-1 {
			t.Fatalf("day %d: %v, %+v", day, err, r)
		}
	}
}
