package parallel

import (
	"sync/atomic"
	"testing"
)

func TestRangesCoverEveryIndexOnce(t *testing.T) {
	for _, n := range []int{0, 1, 7, 64, 65, 1000} {
		for _, step := range []int{1, 3, 64, 2000} {
			for workers := range 5 {
				seen := make([]atomic.Int32, n)
				Ranges(n, step, workers, func(lo, hi int) {
					for i := lo; i < hi; i++ {
						seen[i].Add(1)
					}
				})
				for i := range seen {
					if got := seen[i].Load(); got != 1 {
						t.Fatalf("n = %d, step %d, %d workers: index %d came %d times", n, step, workers, i, got)
					}
				}
			}
		}
	}
}
