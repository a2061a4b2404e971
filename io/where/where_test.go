package where

import (
	"strings"
	"testing"
)

func TestConditionsSelectByNameAndValue(t *testing.T) {
	values := map[string]string{"country": "DE", "dt": "2026-01-15", "n": "10", "app name": "old app", "hour": "2026-01-15T07",
		"none": ""}
	for text, want := range map[string]bool{
		"":                                     true,
		"country=DE":                           true,
		"country = 'DE' and dt>=2026-01":       true,
		"country=FR or dt=2026-01":             true,
		"dt<=2026-01":                          true,
		"dt<2026-01":                           false,
		"dt>2026-01":                           false,
		"dt>2025":                              true,
		"dt>=2026-01-15 AND dt<2026-01-16":     true,
		"hour=2026-01-15":                      true,
		"hour>2026-01-15T06":                   true,
		"n>9":                                  true, // a number, not text
		"n=10.0":                               true,
		"n='10.0'":                             false, // quotes make a text of a number
		"dt='2026-01'":                         true,  // but not of a date
		"n in (\"10\", 3)":                     true,
		"n>=1e1 and not n>10":                  true,
		"country in (FR, DE)":                  true,
		"country in (FR, 'D E')":               false,
		"not country in (FR, IT)":              true,
		"country!=DE or (n=10 and n!=11)":      true,
		"not (country=DE and n=10)":            false,
		"'app name'=\"old app\"":               true,
		"country=FR and n=10 or dt=2026-01-15": true, // and binds more tightly
		"country=FR and (n=10 or dt=2026)":     false,
		"none='' and none!=5":                  true,
		"none<5 or none<=2026 or none<=''":     false, // a missing value has no order
		"none>'' or none>=-1":                  false,
		"not none<5":                           true,
	} {
		c, err := Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, err := c.Holds(values); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestInvalidConditionsNameTheirPosition(t *testing.T) {
	for text, want := range map[string]string{
		"country":          `ends where "=", "!=", "<", "<=", ">", ">=" or "in" should follow`,
		"country=":         "ends where a value should follow",
		"country=DE x=2":   `character 12: want "and", "or" or the end, have "x"`,
		"(country=DE":      `ends where ")" should follow`,
		"country='DE":      "character 9: the quotation mark ' is not closed",
		"country in DE":    `character 12: want "(" and a list of values, have "DE"`,
		"country in (DE;)": `character 15: want "," or ")", have ";"`,
		"a=1 and":          "ends where a name should follow",
		"a=>1":             `character 2: want "=", "!=", "<", "<=", ">", ">=" or "in", have "=>"`,
		"=1":               `character 1: want a name, have "="`,
	} {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
	c, err := Parse("country=DE and dt>2026")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Holds(map[string]string{"dt": "2026-01-01"}); err == nil || err.Error() != "has no country" {
		t.Error(err)
	}
	if _, err := Parse(strings.Repeat("(", maxText+1)); err == nil {
		t.Error("a condition beyond the limit is read")
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"a=1", "not (a in (1,'2') or b>=2026-01)", "((((", "a='", "\x00=\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		values := map[string]string{}
		for _, name := range c.names {
			values[name] = text
		}
		if _, err := c.Holds(values); err != nil {
			t.Error(err)
		}
	})
}

// A text that looks like a date but is none is an error; as text it would compare, and hold for the wrong days.
func TestDateComparesWithDatesOnly(t *testing.T) {
	for text, want := range map[string]string{"dt<2026-12-3": "no date", "dt!=2026-13-01": "no date", "dt in (03/12/2026)": "no date",
		"dt='soon'": "no date", "dt>=2026-02": "", "dt='2026-12'": ""} {
		c, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Holds(map[string]string{"dt": "2026-12-01"}); (err == nil) != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
