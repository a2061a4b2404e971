package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// rmseOf returns the RMSE of a model on data.
func rmseOf(t *testing.T, dir, model, data string) float64 {
	t.Helper()
	var report struct{ RMSE float64 }
	if err := json.Unmarshal([]byte(must(t, dir, "evaluate", "--model", model, "--data", data, "--json")),
		&report); err != nil {
		t.Fatal(err)
	}
	return report.RMSE
}

// A column of numbers that differ little predicts as well as the same column with its mean subtracted.
func TestLargeNumbersThatDifferLittleKeepTheirDigits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rmse := map[float64]float64{}
	for _, size := range []float64{0, 1e4, 1e5, 1e6, 2e6, -1e7, 1e9} {
		r := rand.New(rand.NewPCG(13, 1))
		var text strings.Builder
		text.WriteString("q,y\n")
		for range 400 {
			v := math.Round(1e4*r.NormFloat64()) / 1e4
			fmt.Fprintf(&text, "%.4f,%.4f\n", size+v, v)
		}
		name := fmt.Sprintf("size%g", size)
		write(t, dir, name+".csv", text.String())
		must(t, dir, "train", "--data", name+".csv", "--label", "y", "--features", "64", "--lambda", "1e-9", "--model", name,
			"--quiet")
		rmse[size] = rmseOf(t, dir, name, name+".csv")
	}
	for size, got := range rmse {
		if got > 1.2*rmse[0] {
			t.Errorf("numbers near %g: RMSE %g, near 0: %g", size, got, rmse[0])
		}
	}
}

func TestTrainRejectsTargetsThatFloat32CannotHold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for power, want := range map[string]string{
		"e-200": "too small for float32 (numbers below 1.2e-38 lose digits): multiply them by a power of ten",
		"e45":   "do not fit in float32 (largest is 3.4e38): divide all labels by a power of ten",
	} {
		var one, two strings.Builder
		one.WriteString("x,y\n")
		two.WriteString("x,y,z\n")
		for i := range 60 {
			fmt.Fprintf(&one, "%d.5,%d.25%s\n", i%17, 1+i%17, power)
			fmt.Fprintf(&two, "%d.5,%d.25%s,%d\n", i%17, 1+i%17, power, i%13)
		}
		write(t, dir, "one.csv", one.String())
		if r := run(t, dir, "train", "--data", "one.csv", "--label", "y", "--features", "16", "--model", "m"); r.code != 3 ||
			!strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit code %d, %s", power, r.code, r.stderr)
		}
		write(t, dir, "two.csv", two.String())
		if r := run(t, dir, "train", "--data", "two.csv", "--label", "y,z", "--features", "16", "--model",
			"m"); r.code != 3 || !strings.Contains(r.stderr, "float32") {
			t.Errorf("%s of two targets: exit code %d, %s", power, r.code, r.stderr)
		}
	}
}

// columnOf writes rows of two columns and a target, of which each value of c is fn(i).
func columnOf(t *testing.T, dir, name string, rows int, fn func(i int) (c string, y float64)) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(rows), 7))
	var text strings.Builder
	text.WriteString("x,c,y\n")
	for i := range rows {
		x := r.Float64()
		c, y := fn(i)
		fmt.Fprintf(&text, "%.4f,%s,%.4f\n", x, c, x+y)
	}
	write(t, dir, name, text.String())
}

// rowOf returns the line of a report that begins with a word.
func rowOf(report, word string) string {
	for line := range strings.Lines(report) {
		if strings.HasPrefix(line, word+" ") {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return ""
}

func TestCodesAmongNumbersMakeACategory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	columnOf(t, dir, "codes.csv", 2000, func(i int) (string, float64) {
		if i%250 == 7 {
			return fmt.Sprintf("2A%d", i%500), 3
		}
		return fmt.Sprint(30000 + i%40), float64(i % 2)
	})
	out := must(t, dir, "train", "--data", "codes.csv", "--label", "y", "--features", "64", "--search", "none",
		"--model", "m")
	if want := `c (1992 of 2000 are numbers; others are such as "2A257"): numbers and other texts, read as a category; --numeric`; !strings.Contains(out, want) {
		t.Errorf("no note %q:\n%s", want, out)
	}
	columnOf(t, dir, "measured.csv", 2000, func(i int) (string, float64) { // one fault is not a code
		if i%250 == 7 {
			return "fault", 3
		}
		return fmt.Sprint(30000 + i%40), float64(i % 2)
	})
	if r := run(t, dir, "train", "--data", "measured.csv", "--label", "y", "--model", "n"); r.code != 3 ||
		!strings.Contains(r.stderr, "--missing") {
		t.Errorf("one fault: exit code %d, %s", r.code, r.stderr)
	}
}

func TestTrainNamesTheFlagThatReadsMissingWords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	words := []string{"-", "None", `\N`, "<NA>", "?"}
	columnOf(t, dir, "words.csv", 500, func(i int) (string, float64) {
		if i%20 == 7 {
			return words[i/20%len(words)], 0
		}
		return fmt.Sprint(i % 97), float64(i % 97)
	})
	r := run(t, dir, "train", "--data", "words.csv", "--label", "y", "--model", "m")
	if want := `--missing '?,n/a,na,nan,null,-,<NA>,None,\N' reads them as missing`; r.code != 3 ||
		!strings.Contains(r.stderr, want) {
		t.Fatalf("exit code %d, want %q:\n%s", r.code, want, r.stderr)
	}
	out := must(t, dir, "inspect", "--data", "words.csv", "--label", "y", "--missing", `?,n/a,na,nan,null,-,<NA>,None,\N`)
	if got := rowOf(out, "c"); !strings.HasPrefix(got, "c feature number 25 (? 5, - 5, <NA> 5, None 5, \\N 5) 0 to 96") {
		t.Errorf("as advised: %s", got)
	}
}

func TestWholeNumbersWithAFractionAreTheSameLevels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, format := range map[string]string{"whole": "%.0f", "float": "%.1f", "cents": "%.2f"} {
		columnOf(t, dir, name+".csv", 300, func(i int) (string, float64) {
			return fmt.Sprintf(format, float64(i%3)), []float64{0, 7, 1}[i%3]
		})
		must(t, dir, "train", "--data", name+".csv", "--label", "y", "--categorical", "c", "--features", "64", "--search",
			"none", "--model", name, "--quiet")
	}
	for _, model := range []string{"whole", "float", "cents"} {
		for _, data := range []string{"whole", "float", "cents"} {
			if got, want := rmseOf(t, dir, model, data+".csv"), rmseOf(t, dir, "whole", "whole.csv"); got != want {
				t.Errorf("%s by the model of %s: RMSE %g, want %g", data, model, got, want)
			}
		}
	}
}

func TestMissingCodesAreNumbers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	columnOf(t, dir, "codes.csv", 300, func(i int) (string, float64) {
		if i%10 == 0 {
			return []string{"-999", "-999.0", "-999.00"}[i/10%3], 0
		}
		return fmt.Sprint(i % 7), float64(i % 7)
	})
	for _, as := range []string{"--numeric", "--categorical"} {
		for _, code := range []string{"-999", "-999.0"} {
			if got := rowOf(must(t, dir, "inspect", "--data", "codes.csv", "--label", "y", "--missing", code, as, "c"),
				"c"); strings.Fields(got + " - - - -")[3] != "30" {
				t.Errorf("%s %s: %s", as, code, got)
			}
		}
	}
	out := must(t, dir, "train", "--data", "codes.csv", "--label", "y", "--missing", "-999", "--categorical", "c",
		"--features", "64", "--search", "none", "--model", "m")
	if got := rowOf(out, "fields"); got != "fields 30 missing, filled" {
		t.Errorf("trained with %q", got)
	}
}

func TestNumbersWithAUnitAreNumbers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for unit, format := range map[string]string{"$": "$%d", "€": "€ %d", "%": "%d%%", "£": "-£%d"} {
		columnOf(t, dir, "a.csv", 200, func(i int) (string, float64) { return fmt.Sprintf(format, i%97), float64(i % 97) })
		out := must(t, dir, "inspect", "--data", "a.csv", "--label", "y")
		if got := rowOf(out, "c"); !strings.HasPrefix(got, "c feature number - ") ||
			!strings.Contains(out, "200 of 200 with "+unit) {
			t.Errorf("%s: %s", unit, out)
		}
	}
	columnOf(t, dir, "dollars.csv", 200, func(i int) (string, float64) {
		return fmt.Sprintf("$%d", i%97),
			float64(i % 97)
	})
	columnOf(t, dir, "plain.csv", 200, func(i int) (string, float64) { return fmt.Sprint(i % 97), float64(i % 97) })
	columnOf(t, dir, "euros.csv", 200, func(i int) (string, float64) { return fmt.Sprintf("€%d", i%97), float64(i % 97) })
	columnOf(t, dir, "both.csv", 200, func(i int) (string,
		float64) {
		return []string{"€", "$"}[i%2] + fmt.Sprint(i%97), 0
	})
	must(t, dir, "inspect", "--data", "dollars.csv", "--label", "y", "--write_schema", "s.yaml")
	must(t, dir, "train", "--data", "dollars.csv", "--label", "y", "--schema", "s.yaml", "--features", "64", "--search",
		"none", "--model", "m", "--quiet")
	if got, want := rmseOf(t, dir, "m", "plain.csv"), rmseOf(t, dir, "m", "dollars.csv"); got != want {
		t.Errorf("numbers without the unit have RMSE %g, with it %g", got, want)
	}
	if r := run(t, dir, "evaluate", "--model", "m", "--data", "euros.csv"); r.code != 3 ||
		!strings.Contains(r.stderr, `"€0" is not a number`) {
		t.Errorf("euros for dollars: exit code %d, %s", r.code, r.stderr)
	}
	if out := must(t, dir, "inspect", "--data", "both.csv", "--label", "y"); !strings.Contains(out,
		"numbers with different units, not read as numbers") {
		t.Errorf("two units: %s", out)
	}
}

// Whole numbers that are dates are read as dates, also in tables of numbers only, by all commands.
func TestWholeNumbersThatAreDatesAreTimes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, fraction := range []string{"", ".0"} {
		columnOf(t, dir, "dates.csv", 200, func(i int) (string, float64) {
			return fmt.Sprint(20240100+100*(i%12)+1+i%28) + fraction, float64(i % 12)
		})
		for _, command := range []string{"inspect", "train"} {
			args := []string{command, "--data", "dates.csv", "--label", "y"}
			if command == "train" {
				args = append(args, "--features", "64", "--search", "none", "--model", "m"+fraction)
			}
			if out := must(t, dir, args...); !strings.Contains(out,
				"column c (20240101 to 20241228): whole numbers that are dates as yyyymmdd") {
				t.Errorf("%s has no note: %s", command, out)
			}
		}
	}
	columnOf(t, dir, "ids.csv", 200, func(i int) (string, float64) { return fmt.Sprint(20240100 + i), float64(i % 12) })
	if out := must(t, dir, "inspect", "--data", "ids.csv", "--label", "y"); strings.Contains(out, "yyyymmdd") {
		t.Errorf("20240132 is a date: %s", out)
	}
}

func TestOverflowErrorNamesTheLimitAndTheFlag(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	columnOf(t, dir, "large.csv", 200, func(i int) (string, float64) { return fmt.Sprintf("%de38", i%97), 0 })
	for _, command := range []string{"inspect", "train"} {
		args := []string{command, "--data", "large.csv", "--label", "y"}
		if command == "train" {
			args = append(args, "--model", "m")
		}
		want := "numbers beyond 3.4e38, the largest that can be used; rows with them cannot be used; --drop"
		if r := run(t, dir, args...); r.code != 3 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit code %d, %s", command, r.code, r.stderr)
		}
	}
}

func TestTimesWithOtherZonesThanTrainingAreNoted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, zone := range map[string]string{"none": "", "zone": "+05:00"} {
		columnOf(t, dir, name+".csv", 96, func(i int) (string, float64) {
			return fmt.Sprintf("2024-03-%02dT%02d:00:00%s", 1+i/24, i%24, zone), float64(i % 24)
		})
		must(t, dir, "train", "--data", name+".csv", "--label", "y", "--features", "64", "--search", "none", "--model", name,
			"--quiet")
	}
	for _, model := range []string{"none", "zone"} {
		for _, data := range []string{"none", "zone"} {
			want := ""
			if data != model {
				want = "fields 96 times that name a zone although times of the training data name none, or the reverse; times without a zone are read as UTC"
			}
			if got := rowOf(must(t, dir, "evaluate", "--model", model, "--data", data+".csv"), "fields"); got != want {
				t.Errorf("%s by the model of %s: %q, want %q", data, model, got, want)
			}
		}
	}
}

// Flags accept the names that a report gives to columns without a header.
func TestUnnamedColumnsHaveTheNamesOfReports(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "%d.5,a%d,%d.25\n", i%17, i%3, i%17+i%3)
	}
	write(t, dir, "a.csv", text.String())
	out := must(t, dir, "inspect", "--data", "a.csv", "--label", "c3")
	for column, want := range map[string]string{"c1": "c1 feature number", "c2": "c2 feature category",
		"c3": "c3 label number"} {
		if got := rowOf(out, column); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", column, got)
		}
	}
	must(t, dir, "train", "--data", "a.csv", "--label", "c3", "--drop", "c1", "--categorical", "c2", "--features", "64",
		"--search", "none", "--model", "m", "--quiet")
	if got := rmseOf(t, dir, "m", "a.csv"); !(got < 6) {
		t.Errorf("RMSE %g", got)
	}
	if r := run(t, dir, "inspect", "--data", "a.csv", "--drop", "c4"); r.code == 0 {
		t.Error("there is no c4")
	}
}
