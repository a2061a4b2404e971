package pipelines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// segmentedRow is a row of a table whose columns a condition can be on.
type segmentedRow struct{ day, country, source, text string }

// holds reports whether a condition with these parts holds for the row.
func (r segmentedRow) holds(countries []string, source, from string, not bool) bool {
	in := false
	for _, c := range countries {
		in = in || c == r.country
	}
	return in != not && (source == "" || r.source == source) && r.day >= from
}

// segmentedTables writes a table for each of a few days and returns the rows that can be used. Rows are
// given by kind.
func segmentedTables(t *testing.T, dir, kind string) (header string, rows []segmentedRow, days []string) {
	r := rand.New(rand.NewPCG(uint64(len(kind)), 3))
	header = "x,z,country,source,g,w,y\n"
	for d := range 4 {
		day := fmt.Sprintf("2026-01-%02d", 30+d)
		if d > 1 {
			day = fmt.Sprintf("2026-02-%02d", d-1)
		}
		days = append(days, day)
		text := header
		for i := range 60 {
			country := []string{"DE", "FR", "U S", "a=b/c", ""}[min(r.IntN(9)/2, 4)]
			source := []string{"web", "app"}[r.IntN(2)]
			x, z := r.NormFloat64(), r.NormFloat64()
			if kind == "copies" {
				x, z = float64(r.IntN(3)), float64(r.IntN(2))
			}
			y := fmt.Sprintf("%.3f", x+z*z)
			if kind != "targets" {
				y = []string{"no", "yes"}[r.IntN(2)]
				if country == "FR" && d > 0 && i%2 == 0 {
					y = "maybe" // a class that other segments lack
				}
			}
			line := fmt.Sprintf("%.3f,%.3f,%s,%s,%d,%d,%s\n", x, z, country, source, r.IntN(9), 1+r.IntN(3), y)
			rows = append(rows, segmentedRow{day, country, source, line})
			text += line
		}
		if kind == "classes" {
			const aside = "1,1,DE,web,1,1,\n" // has no label, and so it counts only where all segments are taken
			rows = append(rows, segmentedRow{text: aside})
			text += aside
		}
		jobtest.Write(t, dir, "day-"+day+".csv", text)
	}
	return header, rows, days
}

// A model that fit makes from the segments for which a condition holds equals, byte for byte, the model of
// a training run by the recipe on these rows.
func TestModelOfSegmentsEqualsModelOfTheirRows(t *testing.T) {
	tries := 5
	if os.Getenv("BOCHNER_LONG") != "" {
		tries = 2500
	}
	for _, kind := range []string{"targets", "classes", "copies", "groups"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			at := func(name string) string { return filepath.Join(dir, name) }
			header, rows, days := segmentedTables(t, dir, kind)
			data := func(name string) dataset.Options {
				o := dataset.Options{Files: []string{at(name)}, Label: "y"}
				if kind == "groups" {
					o.Weight = "w"
				}
				return o
			}
			o := options.Train{Model: at("recipe"), Prepare: options.Prepare{Data: data("day-" + days[0] + ".csv"), Seed: 1,
				Kernel: &fourier.GaussianOptions{Features: 12}, MaxBadFraction: 0.1, Room: 5}}
			o.Data.Drop = []string{"country", "source", "g", "w"}
			if kind == "groups" {
				o.Split.Group = []string{"g"}
				o.Data.Drop = []string{"country", "source"}
			}
			_, err := trainPlain(jobtest.Ctx, o)
			for _, day := range days {
				if err == nil {
					_, err = Sum(jobtest.Ctx, options.Sum{Recipe: o.Model, Data: data("day-" + day + ".csv"), MaxBadFraction: 0.1,
						By: []string{"country", "source"}, MinRows: 3, Out: at("sums/dt=" + day)})
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(at("sums/dt=" + days[0] + "/copies.bin")); (err == nil) != (kind == "copies") {
				t.Fatalf("are rows counted apart? %v", err)
			}
			auditsSegments(t, dir, days, data)
			r := rand.New(rand.NewPCG(1, 2))
			for i := range tries {
				fitsAsTrained(t, r, dir, i, header, rows, func(name string) dataset.Options { return data(name) })
			}
		})
	}
}

// fitsAsTrained compares fit under a random condition with a training on the rows for which it holds.
func fitsAsTrained(t *testing.T, r *rand.Rand, dir string, i int, header string, rows []segmentedRow,
	data func(name string) dataset.Options) {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	countries := []string{"DE", "FR", "U S", "a=b/c", ""}
	r.Shuffle(len(countries), func(i, j int) { countries[i], countries[j] = countries[j], countries[i] })
	countries = countries[:1+r.IntN(3)]
	source, from, not := []string{"", "web", "app"}[r.IntN(3)], []string{"", "2026-01-31", "2026-02-01"}[r.IntN(3)], r.IntN(2) == 0
	condition := "country in ('" + strings.Join(countries, "', '") + "')"
	if not {
		condition = "not " + condition
	}
	if source != "" {
		condition += " and source=" + source
	}
	switch from {
	case "2026-01-31":
		condition += " and dt>=2026-01-31"
	case "2026-02-01":
		condition += " and dt=2026-02"
	}
	if i == 0 {
		condition = ""
	}
	text := header
	for _, row := range rows {
		if i == 0 || row.day != "" && row.holds(countries, source, from, not) {
			text += row.text
		}
	}
	jobtest.Write(t, dir, "some.csv", text)
	fitted, fitErr := Fit(jobtest.Ctx, options.Fit{SumDirs: options.SumDirs{Sums: []string{at("sums/*")}, Where: condition},
		Model: at("fitted")})
	trained, trainErr := Train(jobtest.Ctx, options.Train{Recipe: at("recipe"), Model: at("trained"),
		Prepare: options.Prepare{Data: data("some.csv"), MaxBadFraction: 0.1}})
	if fitErr != nil || trainErr != nil {
		// Both refuse rows of one class, or none; and segments that are pooled cannot be divided.
		if fitErr == nil || trainErr == nil && !strings.Contains(fitErr.Error(), "are pooled") {
			t.Errorf("%d: %s: %v, but %v", i, condition, fitErr, trainErr)
		}
	} else if got, want := manifestOf(t, at("fitted")), manifestOf(t, at("trained")); got != want {
		t.Errorf("%d: %s: fitted to %v rows and trained on %v, the models differ:\n%s\n%s", i, condition, fitted.Rows,
			trained.Rows, got, want)
	}
	for _, name := range []string{"fitted", "trained"} {
		if err := os.RemoveAll(at(name)); err != nil {
			t.Fatal(err)
		}
	}
}

// auditsSegments compares sums by segment with rows: rows may change neither their values nor their segments, except
// for segments that are not audited, and segments of several directories.
func auditsSegments(t *testing.T, dir string, days []string, data func(name string) dataset.Options) {
	t.Helper()
	audit := func(day, condition, file, want string) {
		t.Helper()
		o := options.AuditSums{SumDirs: options.SumDirs{Sums: []string{filepath.Join(dir, "sums", "dt="+day)}, Where: condition},
			Data: data(file), MaxBadFraction: 0.1}
		if day == "*" {
			for _, day := range days[1:] {
				o.Data.Files = append(o.Data.Files, filepath.Join(dir, "day-"+day+".csv"))
			}
		}
		r, err := AuditSums(jobtest.Ctx, o)
		code := exit.CodeGate
		if want == "" {
			code = exit.CodeOK
		}
		if exit.CodeOf(err) != code || r == nil || r.Holds != (want == "") || !strings.Contains(strings.Join(r.Why, "; "), want) {
			t.Errorf("sums of %s where %q with %s: %v, want %q", day, condition, file, err, want)
		}
	}
	changed := func(old, new string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, "day-"+days[0]+".csv"))
		if err != nil || !strings.Contains(string(text), old) {
			t.Fatal(old, err)
		}
		jobtest.Write(t, dir, "changed.csv", strings.Replace(string(text), old, new, 1))
	}
	first := "day-" + days[0] + ".csv"
	audit(days[0], "", first, "")
	audit(days[0], "country=DE", first, "")
	audit("*", "", first, "")
	changed(",DE,web,", ",FR,web,")
	audit(days[0], "", "changed.csv", "/country=DE/source=web, ")
	audit(days[0], "", "changed.csv", "/country=FR/source=web, ")
	audit(days[0], "country=FR", "changed.csv", "/country=FR/source=web, ")
	audit(days[0], "country='U S'", "changed.csv", "")
	audit("*", "", "changed.csv", "")
	changed(",DE,web,", ",IT,web,")
	audit(days[0], "", "changed.csv", "rows of other segments, ")
	audit(days[0], "country=FR", "changed.csv", "")

	m, err := models.LoadURI(jobtest.Ctx, filepath.Join(dir, "recipe"))
	if err != nil {
		t.Fatal(err)
	}
	m.Manifest.Segments = &models.Segments{Column: "x", Of: []models.Segment{{Name: "1", Value: 1, Rows: 9}}}
	m.Manifest.Segments.SetWeights([]*linear.Model{m.Linear})
	files, err := models.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := storage.Publish(jobtest.Ctx, filepath.Join(dir, "segments"), files); err != nil {
		t.Fatal(err)
	}
	_, err = AuditSums(jobtest.Ctx, options.AuditSums{SumDirs: options.SumDirs{Sums: []string{filepath.Join(dir, "sums", "*")}},
		Model: filepath.Join(dir, "segments")})
	jobtest.WantError(t, "segments", err, exit.CodeData, "has segments")
}

func manifestOf(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A condition that cannot choose sums is rejected with the reason.
func TestInvalidConditionsOnSumsAreRejected(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	_, _, days := segmentedTables(t, dir, "targets")
	data := dataset.Options{Files: []string{at("day-" + days[0] + ".csv")}, Label: "y"}
	o := options.Train{Model: at("recipe"), Prepare: options.Prepare{Data: data, Seed: 1,
		Kernel: &fourier.GaussianOptions{Features: 12}}}
	o.Data.Drop = []string{"country", "source", "g", "w"}
	_, err := trainPlain(jobtest.Ctx, o)
	sum := options.Sum{Recipe: o.Model, Data: data, By: []string{"country"}, MinRows: 13, Out: at("sums/dt=" + days[0])}
	if err == nil {
		_, err = Sum(jobtest.Ctx, sum)
	}
	if err != nil {
		t.Fatal(err)
	}
	for condition, want := range map[string]string{
		"country=":    "ends where a value should follow",
		"city=Berlin": "has no city",
		"country=DE":  "are pooled",
		"dt>2027":     "leave out all sums",
	} {
		_, err := Fit(jobtest.Ctx, options.Fit{SumDirs: options.SumDirs{Sums: []string{at("sums/*")}, Where: condition}, Model: at("m")})
		if code := exit.CodeOf(err); err == nil || !strings.Contains(err.Error(), want) ||
			code != exit.CodeUsage && code != exit.CodeData {
			t.Errorf("%s: %v (code %d), want %q", condition, err, code, want)
		}
	}
	written := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(sum.Out, "manifest.json"), written, written); err != nil {
		t.Fatal(err)
	}
	for date, want := range map[string]string{"2026-02-02": "none of the 1 directories", "2026-02-03": "", "2026-02": "",
		"soon": "must be a date"} {
		_, err := Fit(jobtest.Ctx, options.Fit{SumDirs: options.SumDirs{Sums: []string{at("sums/*")}, AsOf: date}, Model: at("m" + date)})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("as of %s: %v, want %q", date, err, want)
		}
	}
	sum.By = []string{"source"}
	_, err = Sum(jobtest.Ctx, sum)
	jobtest.WantError(t, "other segments", err, exit.CodeData, "has sums by other segments")
	sum.By, sum.Out = []string{"nothing"}, at("sums/dt=2026-03-01")
	_, err = Sum(jobtest.Ctx, sum)
	jobtest.WantError(t, "no such column", err, exit.CodeData, "nothing")
}

// Segments with similar names stay separate, sums of segments answer like sums of whole days, and the segments
// that a model was fitted to are not removed, in whichever directory it was asked from.
func TestSegmentsStandForTheirRowsInEveryJob(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	r := rand.New(rand.NewPCG(1, 1))
	o := options.Train{Model: at("recipe"), Prepare: options.Prepare{Seed: 1, Kernel: &fourier.GaussianOptions{Features: 24}, Room: 1}}
	for d := range 3 {
		day := fmt.Sprintf("dt=2026-12-0%d", d+1)
		text := "zip,a,y\n"
		for i := range 240 {
			a := 4*r.Float64() - 2
			text += fmt.Sprintf("%s,%.4f,%.4f\n", []string{"01", "1", "x"}[i%3], a, float64(i%3-1)*a*a+0.1*r.Float64())
		}
		jobtest.Write(t, dir, day+".csv", text)
		data := dataset.Options{Files: []string{at(day + ".csv")}, Label: "y"}

		if d == 0 {
			o.Data, o.Types.Categorical = data, []string{"zip"}
			if _, err := trainPlain(jobtest.Ctx, o); err != nil {
				t.Fatal(err)
			}
		}
		for out, by := range map[string][]string{"by": {"zip"}, "plain": nil} {
			if _, err := Sum(jobtest.Ctx, options.Sum{Recipe: at("recipe"), Data: dataset.Options{Files: data.Files}, By: by,
				Out: at(out + "/" + day)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	fit := func(where, without string) (*results.Train, error) {
		p := options.SumDirs{Sums: []string{at("by/dt=*")}, Where: where}
		if without != "" {
			p.Without = []string{without}
		}
		os.RemoveAll(at("m"))
		return Fit(jobtest.Ctx, options.Fit{SumDirs: p, Model: at("m")})
	}
	for where, want := range map[string]int64{`zip="01"`: 240, "zip=1": 480, "zip=x": 240} {
		if m, err := fit(where, ""); err != nil || m.Rows.Used != want {
			t.Errorf("%s: %v, %v; want %d rows", where, m, err, want)
		}
	}
	_, err := fit("", "zip=99")
	jobtest.WantError(t, "nothing is left out", err, exit.CodeData, "leaves out nothing")

	for _, question := range []options.Question{options.QuestionCurve, options.QuestionBacktest} {
		var r2 []float64
		for _, sums := range []string{"plain/dt=*", "by/dt=*"} {
			asked := options.Ask{Question: question}
			asked.Sums = []string{at(sums)}
			a, err := Ask(jobtest.Ctx, asked)
			if err != nil {
				t.Fatal(err)
			}
			r2 = append(r2, *a.Tables[0].Rows[0].R2)
		}
		if math.Abs(r2[0]-r2[1]) > 1e-9 {
			t.Errorf("%s: R² %g of days, %g of their segments", question, r2[0], r2[1])
		}
	}

	if _, err := fit("", ""); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(at("by"), at("moved")); err != nil { // a lineage names places of before
		t.Fatal(err)
	}
	pruned, err := PruneSums(jobtest.Ctx, options.PruneSums{Sums: []string{at("moved/dt=*")}, Keep: "1d", Model: at("m"), Plan: true})
	if err != nil || len(pruned.Removed) > 0 || len(pruned.Kept) != 2 {
		t.Errorf("pruned %+v, %v", pruned, err)
	}
}
