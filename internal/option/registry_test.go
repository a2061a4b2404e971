package option

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

type small struct{}
type large struct{}

func TestRegistryFindsByNameAliasAndOptionType(t *testing.T) {
	r := NewRegistry[int]("number")
	r.Add(2, &large{}, "two", "deux")
	r.Add(1, &small{}, "one")
	if got := r.Names(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("names %v", got)
	}
	if got := r.All(); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("all %v", got)
	}
	for name, want := range map[string]int{"one": 1, "two": 2, "deux": 2} {
		if got, err := r.Lookup(name, r.Names()); err != nil || got != want {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
	if got := r.Of(&large{}); got != 2 {
		t.Errorf("by options: %d", got)
	}
	if _, err := r.Lookup("tow", r.Names()); err == nil ||
		err.Error() != `unknown number "tow" (did you mean "two"?); have one, two` {
		t.Error(err)
	}
}

func TestTakenAndUnknownNamesPanic(t *testing.T) {
	r := NewRegistry[int]("number")
	r.Add(1, &small{}, "one", "un")
	for want, f := range map[string]func(){
		`the name "one" is empty or already registered`: func() { r.Add(2, nil, "one") },
		`the name "un" is empty or already registered`:  func() { r.Add(2, nil, "two", "un") },
		`the name "" is empty`:                          func() { r.Add(2, nil, "") },
		`are the options of "one"`:                      func() { r.Add(3, &small{}, "three") },
		`no number has options of type`:                 func() { r.Of(&large{}) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
			}()
			f()
		}()
	}
}
