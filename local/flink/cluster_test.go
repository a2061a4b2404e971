package main

import (
	"strings"
	"testing"
)

func TestDirectoryHasOneCluster(t *testing.T) {
	first := &cluster{options: options{dir: t.TempDir()}}
	if err := first.lock(); err != nil {
		t.Fatal(err)
	}
	second := &cluster{options: first.options}
	if err := second.lock(); err == nil || !strings.Contains(err.Error(), "-dir") {
		t.Errorf("error %v", err)
	}
	first.held.Close()
	if err := second.lock(); err != nil {
		t.Errorf("the directory stays locked: %v", err)
	}
	second.held.Close()
}

func TestQuotedWordsRoundTrip(t *testing.T) {
	if got, want := quoted([]string{"--a", `{"b":"c d"}`, "it's {}"}), `--a '{"b":"c d"}' 'it'\''s {}'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
