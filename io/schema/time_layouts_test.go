package schema

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// packageTime lists the layouts of package time that a layout stands for, except those with fewer
// digits that package time also reads by a longer one.
var packageTime = map[string][]string{
	"iso": {
		"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04",
		"2006-01-02T15:04:05.999999999",
		"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999-0700",
	},
	"y/m/d": {"06/1/2", "2006/1/2", "2006/1/2 15:04", "2006/1/2 15:04:05.999999999"},
	"d.m.y": {"2.1.06", "2.1.2006", "2.1.2006 15:04", "2.1.2006 15:04:05.999999999"},
	"m/d/y": {"1/2/06", "1/2/2006", "1/2/2006 15:04", "1/2/2006 15:04:05.999999999"},
	"d/m/y": {"2/1/06", "2/1/2006", "2/1/2006 15:04", "2/1/2006 15:04:05.999999999"},
	"d-m-y": {"2-1-06", "2-1-2006", "2-1-2006 15:04"},
	"m-d-y": {"1-2-06", "1-2-2006", "1-2-2006 15:04"},
	"y-m-d": {"06-1-2", "2006-1-2", "2006-1-2 15:04"},
}

func TestTimesMatchPackageTime(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	parsed := 0
	for i := range 20000 {
		l := &TimeLayouts[i%len(TimeLayouts)]
		forms := packageTime[l.Name]
		if forms == nil {
			continue // see TestTimesAreReadAsWritten
		}
		form := forms[r.IntN(len(forms))]
		at := time.Unix(r.Int64N(8e9)-4e9, r.Int64N(1e9)).In(time.FixedZone("", (r.IntN(49)-24)*1800))
		text := []byte(at.Format(form))
		if r.IntN(2) == 0 { // often no time, or another one; package time skips spaces
			text[r.IntN(len(text))] = "0123456789-/.:TZ+x"[r.IntN(18)]
		}
		var want time.Time
		ok := false
		for _, form := range forms {
			if l.short && (text[0] == '-' || bytes.Contains(text, []byte("--")) ||
				bytes.ContainsAny(bytes.ReplaceAll(text, []byte{l.sep}, nil), "-+")) {
				break // package time takes a sign for the first digit of a year
			}
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
	if parsed < 8000 {
		t.Errorf("only %d texts are times", parsed)
	}
}

func TestTextsHaveSeveralLayouts(t *testing.T) {
	for text, want := range map[string][]string{
		"2024-02-29":           {"iso", "y-m-d"},
		"2024-2-29":            {"y-m-d"},
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
		"1/12/24":              {"m/d/y", "d/m/y"},
		"02/25/23":             {"m/d/y"},
		"25/02/23":             {"d/m/y", "y/m/d"},
		"1/12/124":             nil,
		"24-01-03":             {"d-m-y", "y-m-d"},
		"2024-1-3":             {"y-m-d"},
		"3-1-2024":             {"d-m-y", "m-d-y"},
		"20240229":             {"yyyymmdd"},
		"20230229":             nil,
		"18991231":             nil,
		"99999999":             nil,
		"2024022":              nil,
		"8:30":                 {"h:m"},
		"24:00":                nil,
		"8:60":                 nil,
		"13:00 PM":             nil,
		"0:30 AM":              nil,
		"8:30xPM":              nil,
		"3 Jam 2024":           nil,
		"31 Feb 2024":          nil,
		"Jan 2024":             nil,
		"Jan":                  nil,
		"Jan, 2024":            nil,
		"Marc 3 2024":          nil,
		"3Jan2024":             nil,
		"1/12/2024Z":           nil,
		"2024-02-29 10:00:00.": nil,
		"":                     nil,
	} {
		if got := layoutsOf(text); !slices.Equal(got, want) {
			t.Errorf("%q has the layouts %q, want %q", text, got, want)
		}
	}
}

func TestTimesAreReadAsWritten(t *testing.T) {
	for text, want := range map[string]string{
		"02/25/23":               "2023-02-25 00:00",
		"1.12.69":                "1969-12-01 00:00",
		"1.12.68":                "2068-12-01 00:00",
		"3 Jan 2024":             "2024-01-03 00:00",
		"03-Jan-24":              "2024-01-03 00:00",
		"3. SEPTEMBER 2024":      "2024-09-03 00:00",
		"3/sept/2024 7:05":       "2024-09-03 07:05",
		"Jan 3, 2024":            "2024-01-03 00:00",
		"may 3 2024 12:15 AM":    "2024-05-03 00:15",
		"December 31, 1999":      "1999-12-31 00:00",
		"20240229":               "2024-02-29 00:00",
		"20240229 07:00":         "2024-02-29 07:00",
		"1/2/2024 12:30 PM":      "2024-01-02 12:30",
		"1/2/2024 1:30:00pm":     "2024-01-02 13:30",
		"2024-01-02 11:59 PM":    "2024-01-02 23:59",
		"08:30":                  "1970-01-01 08:30",
		"08:30:15":               "1970-01-01 08:30",
		"2024-01-02T08:30+02:00": "2024-01-02 06:30",
	} {
		var at time.Time
		if names := layoutsOf(text); len(names) > 0 {
			at, _ = timeLayoutOf(names[0]).Parse([]byte(text))
		}
		if got := at.Format("2006-01-02 15:04"); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]bool{
		"2024-01-02": false, "2024-01-02T08:30": false, "2024-01-02T08:30Z": true, "2024-01-02 08:30-0500": true,
		"2024-01-02T08:30+02:00": true,
	} {
		if got := timeLayoutOf("iso").zoned([]byte(text)); got != want {
			t.Errorf("%q has a zone: %t", text, got)
		}
	}
}

// FuzzParseTime looks for texts that panic, or that mean times outside the years which a layout can write.
func FuzzParseTime(f *testing.F) {
	for _, text := range []string{"2024-02-29T10:00:00Z", "3. Jan 24 8:30 PM", "Jan 3, 2024", "20240229", "08:30:15.5"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for i := range TimeLayouts {
			if at, ok := TimeLayouts[i].Parse(text); ok && (at.Year() < -1 || at.Year() > 10000) {
				t.Errorf("%q is %v", text, at)
			}
		}
	})
}

func TestLikeTimeRecognisesDates(t *testing.T) {
	for text, want := range map[string]bool{
		"03JAN2024": true, "Jan-3": true, "2024-03": true, "2024-03-01T10:00:00 UTC": true, "Mon, 3 March 2024": true,
		"marker 1": false, "Mars 5": false, "may": false, "12-34": false, "4711-5": false, "2024": false, "": false,
		"20240-1": false,
	} {
		if got := likeTime([]byte(text)); got != want {
			t.Errorf("%q looks like a date: %t", text, got)
		}
	}
}

// layoutsOf returns the names of the layouts that a text has, in order of preference.
func layoutsOf(text string) (names []string) {
	for i := range TimeLayouts {
		if _, ok := TimeLayouts[i].Parse([]byte(text)); ok {
			names = append(names, TimeLayouts[i].Name)
		}
	}
	return names
}

// The last seconds of a month may be rounded to the next day, but stay in their month.
func TestRoundedTimesStayInTheirMonth(t *testing.T) {
	row := make([]float32, 4)
	for text, want := range map[string]string{
		"2024-02-01":                "2024-02",
		"2024-02-29 23:59:59.9":     "2024-02",
		"2024-01-01T00:30:00+01:00": "2023-12",
		"1969-12-31 23:59:59":       "1969-12",
	} {
		at, ok := timeLayoutOf("iso").Parse([]byte(text))
		if timeLayoutOf("iso").values(row, at); !ok || Month(row) != want {
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
