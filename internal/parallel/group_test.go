package parallel

import (
	"strings"
	"testing"
)

func TestPanicReachesTheWaiter(t *testing.T) {
	done := 0
	defer func() {
		p, ok := recover().(*Panic)
		if !ok || p.Value != "boom" || !strings.Contains(string(p.Stack), "group_test.go") || done != 1 {
			t.Errorf("recovered %v after %d others", p, done)
		}
	}()
	var g Group
	g.Go(func() { panic("boom") })
	g.Go(func() { done++ })
	g.Wait()
	t.Error("Wait returned")
}

func TestPanicInARangeReachesTheCaller(t *testing.T) {
	defer func() {
		if p, ok := recover().(*Panic); !ok || p.Value != 7 {
			t.Errorf("recovered %v", p)
		}
	}()
	Ranges(10, 1, 3, func(lo, _ int) {
		if lo == 7 {
			panic(lo)
		}
	})
}
