package models

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var ctx = context.Background()

func TestNamesSplitAtTheirAlias(t *testing.T) {
	for name, want := range map[string][2]string{
		"models@champion":           {"models", "champion"},
		"gs://b/models@challenger":  {"gs://b/models", "challenger"},
		"gs://b/models/@previous":   {"gs://b/models", "previous"},
		"a@b/models@champion":       {"a@b/models", "champion"},
		"models@champion/":          {},
		"models@champ":              {},
		"@champion":                 {},
		"models/2026-11-20":         {},
		"champion":                  {},
		"":                          {},
		"models@champion/weights":   {},
		"models@previous@champion":  {"models@previous", "champion"},
		"models@champion@2026-11-2": {},
	} {
		dir, alias, ok := SplitAlias(name)
		if ok != (want[1] != "") || ok && (dir != want[0] || alias != want[1]) || !ok && dir != name {
			t.Errorf("%q: %q, %q, %t", name, dir, alias, ok)
		}
	}
}

func TestAliasResolvesToItsModel(t *testing.T) {
	dir := t.TempDir()
	want := func(name, place, text string) {
		t.Helper()
		got, err := ResolveAlias(ctx, name)
		if text == "" && (err != nil || got != place) {
			t.Errorf("%s is %q, %v; want %q", name, got, err, place)
		}
		if text != "" && (err == nil || !strings.Contains(err.Error(), text) || !errors.Is(err, fs.ErrNotExist)) {
			t.Errorf("%s: %v, want %q", name, err, text)
		}
	}
	want(dir, dir, "")
	want(dir+"@champion", "", "has no aliases yet")
	s := &Aliases{Format: 1, Champion: "b", Previous: "a", Events: 2, Last: []byte("{}")}
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, AliasFile), data, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "b"), 0o777); err != nil {
		t.Fatal(err)
	}
	want(dir+"@champion", filepath.Join(dir, "b"), "")
	want(dir+"@challenger", "", "is challenger; bochner models list shows the aliases")
	want(dir+"@previous", "", "previous is the model a, which no longer exists in "+dir)
	if got := s.Of("b"); !reflect.DeepEqual(got, []string{Champion}) {
		t.Errorf("%v", got)
	}
}

func TestDamagedAliasesAreRejected(t *testing.T) {
	for text, want := range map[string]string{
		``:             "unexpected end",
		`{}`:           "not a file of aliases",
		`{"format":2}`: "newer version",
		`{"format":1,"events":1,"last":{},"champion":"../x"}`:    "cannot be the name",
		`{"format":1,"events":1,"last":{},"champion":"history"}`: "cannot be the name",
		`{"format":1,"events":0,"last":{}}`:                      "not a file of aliases",
	} {
		if _, err := decodeAliases([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Aliases that are read are written as they were.
func FuzzDecode(f *testing.F) {
	s := &Aliases{Format: 1, Champion: "b", Previous: "a", Earlier: []string{"0"}, Events: 3, Last: []byte(`{"number":3}`)}
	data, _ := s.Encode()
	f.Add(data)
	f.Add([]byte(`{"format":1,"events":1,"last":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeAliases(data)
		if err != nil {
			return
		}
		text, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeAliases(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if len(s.Earlier) == 0 {
			s.Earlier = nil
		}
		if s.Last, again.Last = nil, nil; !reflect.DeepEqual(s, again) {
			t.Errorf("%+v, then %+v", s, again)
		}
	})
}
