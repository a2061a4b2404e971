package transforms

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

func TestConcurrentGetLoadsOnce(t *testing.T) {
	var loads atomic.Int32
	begun := make(chan struct{})
	c := cache[*string]{size: 2}
	load := func() (*string, error) {
		loads.Add(1)
		<-begun
		name := "a"
		return &name, nil
	}
	got := make([]*string, 50)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i], _ = c.get("a", load) })
	}
	close(begun)
	wg.Wait()
	for _, p := range got {
		if p != got[0] || *p != "a" {
			t.Fatal("not all have the same")
		}
	}
	if n := loads.Load(); n != 1 {
		t.Errorf("loaded %d times", n)
	}
}

func TestFailuresAndPanicsAreNotCached(t *testing.T) {
	failed := errors.New("failed")
	loads := 0
	c := cache[int]{size: 1}
	load := func() (int, error) {
		switch loads++; loads {
		case 1:
			return 0, failed
		case 2:
			panic("broken")
		}
		return 7, nil
	}
	if _, err := c.get("a", load); err != failed {
		t.Errorf("got %v, want the error of load", err)
	}
	func() {
		defer func() {
			if r := recover(); r != "broken" {
				t.Errorf("recovered %v, want the panic of load", r)
			}
		}()
		c.get("a", load)
	}()
	if v, err := c.get("a", load); v != 7 || err != nil {
		t.Errorf("third: %d, %v", v, err)
	}
}

func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	loads := map[string]int{}
	c := cache[string]{size: 2}
	for _, name := range []string{"a", "b", "a", "c", "a", "b"} { // c drives b out, b drives c out
		if v, err := c.get(name, func() (string, error) {
			loads[name]++
			return name, nil
		}); v != name || err != nil {
			t.Fatal(v, err)
		}
	}
	if loads["a"] != 1 || loads["b"] != 2 || loads["c"] != 1 || len(c.entries) != 2 {
		t.Errorf("loads %v, %d cached", loads, len(c.entries))
	}
}
