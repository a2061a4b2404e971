package option

import (
	"runtime"
	"strings"
	"testing"
)

func TestMemoryOfDeepOrLargeInputIsBounded(t *testing.T) {
	for _, deep := range []string{"[", "- ", "{a: ", "? ", "a: ", "[{a: ", "- a:\n  ", "? [] : ", "a: &a [", "*a,"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var v any
		_ = UnmarshalYAML([]byte(strings.Repeat(deep, MaxYAMLBytes/len(deep))), &v) // "- a:" is a list
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 {
			t.Errorf("%q again and again takes %d MB", deep, took>>20)
		}
	}
	if err := UnmarshalYAML([]byte(strings.Repeat("[", MaxYAMLBytes+1)), new(any)); err == nil ||
		err.Error() != "65537 bytes of YAML, more than 65536" {
		t.Error(err)
	}
	var stairs strings.Builder
	for i := range 300 {
		stairs.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	if err := UnmarshalYAML([]byte(stairs.String()), new(any)); err == nil || err.Error() != "line 64: nested too deep" {
		t.Error(err)
	}
}

func TestDocumentsAreReadStrictly(t *testing.T) {
	var v struct{ A []int }
	if err := UnmarshalYAML([]byte("\ufeffa: [1, 2]\r\n"), &v); err != nil || len(v.A) != 2 {
		t.Error("after a byte order mark, as Notepad and PowerShell write it:", v, err)
	}
	for _, text := range []string{"---\na: [1, 2]\n", "# text\n---\na: [1, 2]\n", "%YAML 1.2\n---\na: [1, 2]\n"} {
		v.A = nil
		if err := UnmarshalYAML([]byte(text), &v); err != nil || len(v.A) != 2 {
			t.Errorf("%q: %v, %v", text, v, err)
		}
	}
	for text, want := range map[string]string{
		"a: [1]\nb: 2":        `unknown field "b"`,
		"a: [1]\na: [2]":      "already defined",
		"a: &x [1]":           `line 1: "&": anchors, aliases and tags`,
		"a: [1]\n---\na: []":  "line 2: a second document",
		"---\n---\na: []":     "line 2: a second document",
		"a: [":                "",
		"a: [1]\nb: x\ty # z": "line 2: a tab in a text without quotes",
	} {
		if err := UnmarshalYAML([]byte(text), &v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

type panics struct{}

func (*panics) UnmarshalYAML([]byte) error { panic("out of range") }

func TestLibraryPanicsBecomeErrors(t *testing.T) {
	if err := UnmarshalYAML([]byte("a"), new(panics)); err == nil || !strings.Contains(err.Error(), "out of range") {
		t.Error(err)
	}
}
