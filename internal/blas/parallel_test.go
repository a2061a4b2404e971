package blas

import (
	"sync/atomic"
	"testing"
)

func TestParallelDoesEveryItemOnce(t *testing.T) {
	for _, threads := range []int{-1, 0, 1, 2, 7, 100} {
		for _, items := range []int{0, 1, 2, 50} {
			done := make([]atomic.Int32, items)
			parallel(threads, items, func(i int, s *scratch) {
				if s == nil {
					t.Error("no scratch memory")
				}
				done[i].Add(1)
			})
			for i := range done {
				if n := done[i].Load(); n != 1 {
					t.Fatalf("%d threads, %d items: item %d done %d times", threads, items, i, n)
				}
			}
		}
	}
}

func TestWorkerPanicReachesTheCaller(t *testing.T) {
	for _, threads := range []int{1, 2, 8} {
		var calls atomic.Int32
		func() {
			defer func() {
				if v := recover(); v != "item 3" {
					t.Errorf("%d threads: recovered %v", threads, v)
				}
			}()
			parallel(threads, 1000, func(i int, _ *scratch) {
				calls.Add(1)
				if i == 3 {
					panic("item 3")
				}
			})
		}()
		if calls.Load() == 1000 && threads > 1 {
			t.Logf("%d threads: the others ran to the end", threads)
		}
	}
}
