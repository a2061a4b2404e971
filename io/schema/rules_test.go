package schema

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/lines"
)

func TestCodesOfMissingValuesAreFoundInAnyCase(t *testing.T) {
	codes := []string{"?", "n/a", "NA", "-999", "ß", "Ölß", "na", "k", "", "longer than thirty-two bytes, by far"}
	m := newMissing(codes)
	r := rand.New(rand.NewPCG(1, 1))
	pieces := []string{"n", "N", "A", "a", "/", "?", "-", "9", "ß", "ö", "Ö", "L", "K", "K",
		"longer than thirty-two BYTES, by far"}
	found := 0
	for range 50000 {
		var text string
		for range 1 + r.IntN(4) {
			text += pieces[r.IntN(len(pieces))]
		}
		want, lower := -1, strings.ToLower(text)
		for i, code := range codes {
			if code != "" && strings.ToLower(code) == lower && want < 0 {
				want = i
			}
		}
		if got := m.find([]byte(text)); got != want {
			t.Fatalf("%q is code %d, want %d", text, got, want)
		}
		if want >= 0 {
			found++
		}
	}
	if found < 1000 {
		t.Errorf("only %d codes", found)
	}
	if m.value(-999) != 3 || m.value(999) != -1 || m.value(math.NaN()) != -1 {
		t.Error("codes that are numbers are not found")
	}
}

func TestNumbersAreReadInOtherForms(t *testing.T) {
	for _, c := range []struct {
		decimal, thousands byte
		text, want         string // "" if it is not a number
	}{
		{0, 0, "1.5", "1.5"}, {',', 0, "1,5", "1.5"}, {',', 0, "1.5", ""}, {',', 0, "-,5", "-.5"}, {',', 0, "1,5,5", ""},
		{0, ',', "1,234,567.8", "1234567.8"}, {0, ',', "12,34", ""}, {0, ',', "1,2345", ""}, {0, ',', ",123", ""}, {0, ',',
			"1234", "1234"},
		{',', '.', "1.234,5", "1234.5"}, {',', '.', "1.23,5", ""}, {0, ' ', "1 234", "1234"}, {0, '\'', "-1'234.5e3",
			"-1234.5e3"},
		{0, ',', "1,234.5,6", ""}, {',', '.', "0.123", ""}, {',', '.', "12345.678", ""}, {',', '.', "1.2e5", ""}, {',', '.',
			"-1.234", "-1234"},
		{',', '.', "-0.123", ""}, {',', '.', "1.234e5", ""}, {',', ' ', "1 234,5", "1234.5"}, {',', ' ', "1\u00a0234,5",
			"1234.5"}, {',', ' ', "12\u202f345\u2009678", "12345678"},
		{0, '\'', "1’234.5", "1234.5"}, {0, ' ', "\u00a0234", ""}, {0, ',', "1,234é", ""}, {',', '.', "1234.567,5", ""}, {',',
			'.', "0,123", "0.123"}, {0, ',', "1e2,345", ""}, {',', 0, "", ""}, {0, ',', "+1,000", "+1000"},
	} {
		var scratch []byte
		text, ok := lines.PlainNumber(&scratch, []byte(c.text), c.decimal, c.thousands)
		if _, err := strconv.ParseFloat(string(text), 64); err != nil {
			ok = false
		}
		if ok != (c.want != "") || ok && string(text) != c.want {
			t.Errorf("%q with %q and %q: %q %v, want %q", c.text, c.decimal, c.thousands, text, ok, c.want)
		}
	}
}

func TestNumbersKeepTheDigitsThatFloat32Lacks(t *testing.T) {
	d := NewDecoder(&Table{Rules: Rules{Missing: []string{"-999"}, Decimal: ',', Thousands: '.'},
		Columns: []Column{{Type: Number, Unit: "%"}}}, []float64{1.7e9})
	for text, want := range map[string]float64{"1.700.000.001,25 %": 1700000001.25, "-999,0": math.NaN(),
		"": math.NaN()} {
		v, reason := d.Number(0, []byte(text))
		if v != want && !(math.IsNaN(v) && math.IsNaN(want)) || reason != "" {
			t.Errorf("%q is %v, want %v; %s", text, v, want, reason)
		}
	}
	for _, text := range []string{"x", "1,5,5", "1e99"} {
		if v, reason := d.Number(0, []byte(text)); reason == "" || reason != d.Text(make([]float32, 1), 0, []byte(text)) {
			t.Errorf("%q is %v; %q", text, v, reason)
		}
	}
}

func TestTablesAreDescribedInText(t *testing.T) {
	for want, columns := range map[string][]Column{
		"1 number":              {{Type: Number}},
		"2 numbers and 1 time":  {{Type: Number}, {Type: Time}, {Type: Number}},
		"1 category of 1 level": {{Type: Category, Levels: []string{"a"}}},
		"1 number, 1 boolean and 2 categories of 2 levels and 8 hash buckets": {
			{Type: Boolean}, {Type: Category, Levels: []string{"a", "b"}}, {Type: Number}, {Type: Category, Buckets: 8},
		},
	} {
		if got := (&Table{Columns: columns}).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
