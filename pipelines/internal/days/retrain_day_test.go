package days

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/io/storage/gcs"
)

var ctx = context.Background()

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// days names days with the number of their files.
func days(parts []Day) string {
	var words []string
	for _, p := range parts {
		words = append(words, p.Date+strings.Repeat("+", len(p.Files)))
	}
	return strings.Join(words, " ")
}

func TestPartitionsAreTheFilesOfADay(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"dt=2026-11-18/b.csv", "dt=2026-11-18/a.csv", "dt=2026-11-20/a.csv",
		"dt=2026-11-21/a.csv", "dt=2026-11-2/a.csv", "other/x.csv"} {
		write(t, filepath.Join(dir, "data", name), name)
	}
	for pattern, want := range map[string]string{
		"/data/dt=YYYY-MM-DD/*":       "2026-11-18++ 2026-11-20+ 2026-11-21+",
		"/data/dt=YYYY-MM-DD/b*":      "2026-11-18+",
		"/data/./dt=YYYY-MM-DD/?.csv": "2026-11-18++ 2026-11-20+ 2026-11-21+",
		"/none/dt=YYYY-MM-DD/*":       "",
	} {
		p, err := parsePattern(dir+pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		parts, err := p.days(ctx, "", "2026-12-31")
		if pattern == "/none/dt=YYYY-MM-DD/*" && err != nil {
			continue // a directory that does not exist is an error on the disk
		}
		if got := days(parts); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", pattern, got, err, want)
		}
	}
	p, _ := parsePattern(dir+"/data/dt=YYYY-MM-DD/*", "")
	before, err := p.days(ctx, "2026-11-18", "2026-11-20")
	if got := days(before); err != nil || got != "2026-11-18++ 2026-11-20+" {
		t.Errorf("%s, %v", got, err)
	}
	// Partitions that are replaced, withdrawn or added have another digest; the others do not.
	write(t, filepath.Join(dir, "data/dt=2026-11-18/a.csv"), "other")
	os.Chtimes(filepath.Join(dir, "data/dt=2026-11-18/a.csv"), time.Now(), time.Now().Add(time.Hour))
	after, err := p.days(ctx, "2026-11-18", "2026-11-20")
	if err != nil || after[0].Digest == before[0].Digest || after[1].Digest != before[1].Digest {
		t.Errorf("%v\n%v, %v", before, after, err)
	}
	write(t, filepath.Join(dir, "data/dt=2026-13-01/a.csv"), "")
	if _, err := p.days(ctx, "", "2026-12-31"); err == nil ||
		!strings.Contains(err.Error(), "no day of the calendar") {
		t.Error(err)
	}
}

func TestPartitionsOfABucketHaveGenerations(t *testing.T) {
	s, address := gcstest.Start(t)
	gcs.UseEmulator(func() string { return address })
	t.Cleanup(func() { gcs.UseEmulator(func() string { return "" }) })
	s.Fill("data/2026/11/20/a.csv", []byte("x"))
	p, err := parsePattern("gs://bucket/data/YYYY/MM/DD/**", "")
	if err != nil {
		t.Fatal(err)
	}
	before, err := p.days(ctx, "", "2026-11-20")
	if err != nil || days(before) != "2026-11-20+" {
		t.Fatal(before, err)
	}
	s.Fill("data/2026/11/20/a.csv", []byte("x"))
	s.Fill("data/2026/11/21/b/c.csv", []byte("x"))
	after, err := p.days(ctx, "", "2026-11-20")
	if err != nil || days(after) != "2026-11-20+" || after[0].Digest == before[0].Digest {
		t.Error(after, err)
	}
}

func TestInvalidDayPatternsAreRejected(t *testing.T) {
	for text, want := range map[string]string{
		"data/*":                     "contain YYYY once (has it 0 times)",
		"data/YYYY-MM-DD/YYYY/*":     "contain YYYY once (has it 2 times)",
		"data/dt=YYYY-MM-DD/[ab].*":  "cannot be used here",
		"nowhere://YYYY/MM/DD":       "unknown scheme",
		"data/dt=YYYY-MM/all.csv":    "contain DD once (has it 0 times)",
		"data/dt=YYYY-MM-DD/a\\*.gz": "cannot be used here",
	} {
		if _, err := parsePattern(text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := parseDay("2026-02-30"); err == nil {
		t.Error("the 30th of February")
	}
}

func TestDayColumnsHaveThePartsOfTheDay(t *testing.T) {
	for pattern, want := range map[string][]string{
		"data/dt=YYYY-MM-DD/*.csv": {"dt"}, "data/region=*/year=YYYY/month=MM/day=DD/*": {"year", "month",
			"day"}, "data/YYYY/MM/DD/part=1.csv": nil,
	} {
		if got := DayColumns(pattern); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

// A condition chooses files by their directories; a name that they lack is rejected.
func TestConditionChoosesFilesOfADay(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"country=DE/dt=2026-11-18/a.csv", "country=FR/dt=2026-11-18/a.csv",
		"country=FR/dt=2026-11-19/a.csv", "country=DE/dt=2026-11-20/a.csv"} {
		write(t, filepath.Join(dir, name), name)
	}
	for condition, want := range map[string]string{
		"":                                   "2026-11-18++ 2026-11-19+ 2026-11-20+",
		"country=DE":                         "2026-11-18+ 2026-11-20+",
		"dt!=2026-11-18":                     "2026-11-19+ 2026-11-20+",
		"country in (FR) and dt<=2026-11-18": "2026-11-18+",
		"country=IS":                         "",
		"source=web":                         "source",
		"country=":                           "ends where a value should follow",
	} {
		p, err := parsePattern(dir+"/country=*/dt=YYYY-MM-DD/*", condition)
		var parts []Day
		if err == nil {
			parts, err = p.days(ctx, "", "2026-12-31")
		}
		if got := days(parts); got != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %s, %v; want %s", condition, got, err, want)
		}
	}
}
