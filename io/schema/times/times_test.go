package times

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// packageTime are the layouts of package time that a layout has, without those of fewer digits
// that package time takes for them.
var packageTime = map[string][]string{
	"iso": {
		"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02T15:04:05.999999999",
		"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999-0700",
	},
	"y/m/d": {"2006/1/2", "2006/1/2 15:04", "2006/1/2 15:04:05.999999999"},
	"d.m.y": {"2.1.2006", "2.1.2006 15:04", "2.1.2006 15:04:05.999999999"},
	"m/d/y": {"1/2/2006", "1/2/2006 15:04", "1/2/2006 15:04:05.999999999"},
	"d/m/y": {"2/1/2006", "2/1/2006 15:04", "2/1/2006 15:04:05.999999999"},
}

func TestTimesAreThoseOfPackageTime(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	parsed := 0
	for i := range 20000 {
		l := &Layouts[i%len(Layouts)]
		forms := packageTime[l.Name]
		form := forms[r.IntN(len(forms))]
		at := time.Unix(r.Int64N(8e9)-4e9, r.Int64N(1e9)).In(time.FixedZone("", (r.IntN(49)-24)*1800))
		text := []byte(at.Format(form))
		if r.IntN(2) == 0 { // often no time, or another one; package time skips spaces
			text[r.IntN(len(text))] = "0123456789-/.:TZ+x"[r.IntN(18)]
		}
		var want time.Time
		ok := false
		for _, form := range forms {
			if at, err := time.Parse(form, string(text)); err == nil {
				want, ok = at, true
				break
			}
		}
		got, is := l.Parse(text)
		if is != ok || is && !got.Equal(want) {
			t.Fatalf("%q as %s: %v %v, want %v %v", text, l.Name, got, is, want, ok)
		}
		if is {
			parsed++
		}
	}
	if parsed < 10000 {
		t.Errorf("only %d texts are times", parsed)
	}
}

func TestTextsHaveSeveralLayouts(t *testing.T) {
	for text, want := range map[string][]string{
		"2024-02-29":           {"iso"},
		"2024-2-29":            nil,
		"2023-02-29":           nil,
		"2024-02-29T24:00":     nil,
		"2024-02-29T23:59:60":  nil,
		"2024-02-29T1:00Z":     {"iso"},
		"2024/2/9":             {"y/m/d"},
		"1.12.2024 07:30":      {"d.m.y"},
		"1.13.2024":            nil,
		"1/12/2024":            {"m/d/y", "d/m/y"},
		"31/1/2024":            {"d/m/y"},
		"1/31/2024 0:00":       {"m/d/y"},
		"1/12/24":              nil,
		"1/12/2024Z":           nil,
		"2024-02-29 10:00:00.": nil,
		"":                     nil,
	} {
		if got := layoutsOf(text); !slices.Equal(got, want) {
			t.Errorf("%q has the layouts %q, want %q", text, got, want)
		}
	}
}

// layoutsOf returns the names of the layouts that a text has, in order of preference.
func layoutsOf(text string) (names []string) {
	for i := range Layouts {
		if _, ok := Layouts[i].Parse([]byte(text)); ok {
			names = append(names, Layouts[i].Name)
		}
	}
	return names
}

// The last seconds of a month may be rounded to the next day, but stay in their month.
func TestMonths(t *testing.T) {
	row := make([]float32, 4)
	for text, want := range map[string]string{
		"2024-02-01":                "2024-02",
		"2024-02-29 23:59:59.9":     "2024-02",
		"2024-01-01T00:30:00+01:00": "2023-12",
		"1969-12-31 23:59:59":       "1969-12",
	} {
		at, ok := Of("iso").Parse([]byte(text))
		if Values(row, at); !ok || Month(row) != want {
			t.Errorf("%q: %s of %v, want %s", text, Month(row), row, want)
		}
		if got, ok := MonthOf([]byte(text), "iso"); !ok || got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got, ok := MonthOf([]byte("soon"), "iso"); ok {
		t.Errorf("soon is %s", got)
	}
}
