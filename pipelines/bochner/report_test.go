package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/pagetest"
)

// people is a table with numbers, a category, missing fields, names that are not harmless, and two classes.
func people(seed uint64, rows int) string {
	r := rand.New(rand.NewPCG(seed, 5))
	var b strings.Builder
	b.WriteString("age,\"job <b>&\",hours,class\n")
	for range rows {
		age, hours := 20+r.IntN(50), fmt.Sprint(10+r.IntN(50))
		job := []string{"clerk", "<script>alert(1)</script>", "smith"}[r.IntN(3)]
		class := "no"
		if float64(age)+15*r.NormFloat64() > 45 || job == "smith" {
			class = "yes & <i>"
		}
		if r.IntN(9) == 0 {
			hours = ""
		}
		fmt.Fprintf(&b, "%d,%s,%s,%s\n", age, job, hours, class)
	}
	return b.String()
}

// reportsOf makes a model, and returns the reports on it and others by name.
func reportsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	write(t, dir, "train.csv", people(1, 500))
	write(t, dir, "test.csv", people(2, 400))
	flags := []string{"--data", "train.csv", "--label", "class", "--features", "64", "--quiet"}
	must(t, dir, append([]string{"train", "--model", "model", "--search", "auto", "--calibrate", "platt"}, flags...)...)
	must(t, dir, append([]string{"train", "--model", "plain", "--search", "none"}, flags...)...)
	must(t, dir, append([]string{"train", "--model", "sizes", "--search", "none", "--worth", "1%"}, append(flags,
		"--features",
		"1024")...)...)
	must(t, dir, append([]string{"train", "--model", "rounds", "--search", "none", "--learner", "svm"}, flags...)...)
	must(t, dir, "report", "model", "--data", "test.csv", "--slices", "job <b>&", "--out", "test.html", "--quiet")
	must(t, dir, "compare", "--champion", "plain", "--challenger", "model", "--data", "test.csv", "--slices", "age", "--report",
		"compare.html", "--quiet")
	all := asked(t, dir)
	for day := range 3 {
		name := fmt.Sprintf("days/dt=2026-01-%02d", day+1)
		if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, dir, name+"/x.csv", people(uint64(10+day), 500))
	}
	must(t, dir, "retrain", "--models", "models", "--data", "days/dt=YYYY-MM-DD/*", "--label", "class", "--day", "2026-01-03",
		"--features", "64", "--search", "none", "--quiet")
	for name, file := range map[string]string{"train": "model/report.html", "plain": "plain/report.html",
		"rounds": "rounds/report.html", "sizes": "sizes/report.html", "test": "test.html", "compare": "compare.html",
		"retrain": "models/reports/2026-01-03.html"} {
		all[name] = file
	}
	return all
}

// asked asks every question about sums of two sources on five dates, of which a matrix has an interval for some pairs
// only, and returns the reports by name.
func asked(t *testing.T, dir string) map[string]string {
	t.Helper()
	for i := range 10 {
		write(t, dir, "day.csv", people(uint64(30+i), 60))
		must(t, dir, "sum", "--recipe", "plain", "--data", "day.csv", "--out",
			fmt.Sprintf("sums/source=%s/dt=2026-01-%02d", []string{"app", "web"}[i%2], 1+i/2), "--quiet")
	}
	all := map[string]string{}
	for question, flags := range map[string][]string{"backtest": nil, "curve": nil, "window": nil, "bisect": nil,
		"groups": {"--by", "source"}, "matrix": {"--by", "source"}, "worth": {"--by", "source", "--judge",
			"dt>=2026-01-04"}} {
		all["ask-"+question] = question + ".html"
		must(t, dir, append([]string{"ask", question, "--sums", "sums/*/dt=*", "--report", question + ".html", "--plot",
			question + ".svg", "--quiet"}, flags...)...)
	}
	return all
}

func TestReportsAreSelfContainedAndShowTheirFigures(t *testing.T) {
	dir := t.TempDir()
	for name, file := range reportsOf(t, dir) {
		data := read(t, dir, file)
		text := pagetest.Check(t, []byte(data))
		if strings.Contains(data, dir) {
			t.Errorf("%s names the directory that it was made in", name)
		}
		for _, want := range map[string][]string{
			"train":  {"held-out error", "95% interval", "yes & <i>", "job <b>&", "candidates were tried", "bochner train"},
			"plain":  {"held-out error", "Regularisation", "mean squared error"},
			"rounds": {"Training by rounds", "duality gap"},
			"test": {"ROC curve", "Precision and recall", "Reliability", "Confusions", "Worst rows",
				"Effects of columns on predictions", "Dependence on age", "by job <b>&", "Drift", "<script>alert(1)</script>"},
			"compare": {"challenger", "Difference in error, %", "By age"},
			"retrain": {"2026-01-03", "promoted"},
			"sizes":   {"Held-out error by number of features", "improvement of MSE, %"},

			"ask-backtest": {"R² by date", "date that was judged", "95% interval"},
			"ask-curve":    {"R² by training rows", "from the newest date back", "in random order"},
			"ask-window":   {"R² in hindsight", "half-life 1"},
			"ask-bisect":   {"R² by training rows"},
			"ask-groups":   {"R² by group"},
			"ask-matrix":   {"R² by pair of groups", "app, web", "with 95% intervals"},
			"ask-worth":    {"What groups add to R²", "Shapley"},
		}[name] {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
	}
}

// Reports have the notes of the terminal about rows that count differently, or not at all.
func TestReportsSayHowRowsCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	table := func(file string, seed uint64, label func(i int) string, x0 string) {
		r := rand.New(rand.NewPCG(seed, 6))
		var b strings.Builder
		b.WriteString("x,z,w,who,y,a,b\n")
		for i := range 300 {
			x, z := fmt.Sprintf("%.4f", r.NormFloat64()), r.NormFloat64()
			if i == 0 && x0 != "" {
				x = x0
			}
			fmt.Fprintf(&b, "%s,%.4f,%d,p%d,%s,%.4f,%.4f\n", x, z, i%4, i/3, label(i), z, 10*z)
		}
		write(t, dir, file, b.String())
	}
	half := func(i int) string { return []string{"no", "yes"}[i%2] }
	table("train.csv", 1, half, "")
	table("test.csv", 2, func(i int) string { return map[bool]string{true: "maybe", false: half(i)}[i == 2] }, "")
	table("large.csv", 3, half, "3e37")
	train := func(model, label string, flags ...string) {
		must(t, dir, append([]string{"train", "--data", "train.csv", "--label", label, "--model", model, "--search", "none",
			"--quiet"}, flags...)...)
	}
	train("weighted", "y", "--features", "32", "--weight_column", "w", "--group_column", "who", "--columns", "x,z")
	train("same", "y", "--features", "16", "--weight_column", "w", "--group_column", "who", "--columns", "x,z")
	train("linear", "a,b", "--kernel", "linear", "--columns", "x,z")
	for _, c := range []struct {
		args  []string
		wants []string
	}{
		{[]string{"report", "weighted", "--data", "test.csv", "--out", "r.html"}, []string{
			"rows: 300 read = 225 used + 75 set aside (75 of weight 0)",
			`weights of column "w" from 1 to 3: rates and means are weighted`, "groups of column who: intervals are for ",
			`labels that are not classes of the model: "maybe" (1 row)`}},
		{[]string{"report", "linear", "--data", "large.csv", "--out", "r.html", "--slices", "z"}, []string{
			"coverage of a: left out: 1 row without a finite interval", "a: 1 of 300 predictions are far outside the range",
			"error of a, in its unit", "mean prediction of a", "Mean R² -"}},
		{[]string{"compare", "--champion", "weighted", "--challenger", "same", "--data", "test.csv", "--report", "r.html"},
			[]string{"rows: 300 read = 225 used", `weights of column "w"`, `labels that are not classes of the champion: "maybe"`,
				"groups: who: tests count groups"}},
	} {
		must(t, dir, append(c.args, "--quiet")...)
		text := pagetest.Check(t, []byte(read(t, dir, "r.html")))
		for _, want := range c.wants {
			if !strings.Contains(text, want) {
				t.Errorf("%v: the report does not say %q", c.args, want)
			}
		}
		if long := regexp.MustCompile(`[0-9]{20}`).FindString(regexp.MustCompile(`[0-9a-f]{64}`).ReplaceAllString(text, "")); long != "" {
			t.Errorf("%v: the report has a number of 20 digits", c.args)
		}
	}
}

// Equal inputs give equal reports, with all readers and in all directories; report makes the page of train
// again, and the command in it makes the weights again.
func TestEqualInputsGiveEqualReports(t *testing.T) {
	campaign.Long(t)
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "elsewhere"), 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "train.csv", people(1, 600))
	write(t, dir, "elsewhere/train.csv", people(1, 600))
	write(t, dir, "test.csv", people(2, 400))
	flags := []string{"train", "--label", "class", "--features", "1024", "--worth", "50%", "--calibrate", "platt",
		"--search",
		"none", "--lambda", "1e-4,1e-3"}
	must(t, dir, append(flags, "--data", "train.csv", "--model", "m1", "--quiet")...)
	must(t, dir, append(flags, "--data", filepath.Join(dir, "elsewhere/train.csv"), "--model", "m3", "--runner", "prism", "--readers", "3", "--shard_bytes",
		"3000", "--work", "secret-work", "--threads", "2", "--quiet")...)
	must(t, dir, append(flags, "--data", "train.csv", "--model", "none", "--report", "none", "--quiet")...)
	if _, err := os.Stat(filepath.Join(dir, "none/report.html")); err == nil {
		t.Error("--report none has a report")
	}
	first := read(t, dir, "m1/report.html")
	if first != read(t, dir, "m3/report.html") {
		t.Error("three readers elsewhere make another report than one")
	}
	must(t, dir, "report", "m1", "--out", "again.html", "--quiet")
	if first != read(t, dir, "again.html") {
		t.Error("report makes another report than train")
	}
	must(t, dir, "report", "m1", "--data", "test.csv", "--out", "one.html", "--quiet")
	must(t, dir, "evaluate", "--model", "m3", "--data", "test.csv", "--report", "three.html", "--runner", "prism", "--readers", "3", "--shard_bytes",
		"2000", "--work", "work", "--quiet")
	if read(t, dir, "one.html") != read(t, dir, "three.html") {
		t.Error("three readers make another report on labelled rows than one")
	}
	_, command, _ := strings.Cut(first, "<pre>bochner ")
	command, _, _ = strings.Cut(command, "</pre>")
	want := "train --calibrate=platt --data=train.csv --features=1024 --label=class --lambda=0.0001,0.001 --search=none " +
		"--worth=50% --model=model"
	if command != want {
		t.Fatalf("command %q, want %q", command, want)
	}
	must(t, filepath.Join(dir, "elsewhere"), strings.Fields(command)...)
	if digestOf(t, filepath.Join(dir, "elsewhere/model")) != digestOf(t, filepath.Join(dir, "m1")) {
		t.Error("the command of the report makes another model")
	}
}

func TestReportRejectsInvalidArguments(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "train.csv", people(1, 300))
	must(t, dir, "train", "--data", "train.csv", "--label", "class", "--features", "64", "--search", "none", "--model", "m", "--quiet")
	for want, args := range map[string][]string{
		"must end in .html":      {"report", "m", "--out", "report.pdf"},
		"needs labelled rows":    {"report", "m", "--slices", "age", "--out", "x.html"},
		"accepts 1 arg(s)":       {"report"},
		"must end in .html ":     {"compare", "--champion", "m", "--challenger", "m", "--data", "train.csv", "--report", "x"},
		"no manifest.json":       {"report", "nothing"},
		"must end in .html in e": {"evaluate", "--model", "m", "--data", "train.csv", "--report", "x.txt"},
	} {
		r := run(t, dir, args...)
		want = strings.TrimSuffix(strings.TrimSuffix(want, " in e"), " ")
		if r.code == 0 {
			t.Errorf("%v: exit code 0", args)
		} else if want != "no manifest.json" && !strings.Contains(r.stderr, want) {
			t.Errorf("%v: %s, want %q", args, r.stderr, want)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "*.html")); len(found) > 0 {
		t.Errorf("refused jobs have written %v", found)
	}
}

// screenshots is the directory for pictures of reports; "" for none.
var screenshots = os.Getenv("BOCHNER_SCREENSHOTS")

// A browser draws all reports, for people to look at: make screenshots.
func TestReportScreenshotsAreTaken(t *testing.T) {
	if screenshots == "" {
		t.Skip("BOCHNER_SCREENSHOTS does not name a directory for screenshots; make screenshots does")
	}
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("Chromium is not installed")
	}
	out, err := filepath.Abs(screenshots)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, file := range reportsOf(t, dir) {
		for _, width := range []int{400, 1200} {
			seen := map[string]pixels{}
			for _, scheme := range []string{"light", "dark"} {
				png := filepath.Join(out, fmt.Sprintf("%s-%d-%s.png", name, width, scheme))
				shoot(t, browser, filepath.Join(dir, file), png, width, scheme)
				seen[scheme] = pixelsOf(t, png, width)
			}
			if l, d := seen["light"], seen["dark"]; l.mean < 0.8 || d.mean > 0.4 || l.different < 100 || d.different < 100 {
				t.Errorf("%s, %d wide: light %+v, dark %+v", name, width, l, d)
			}
		}
	}
}
