// Package parallel distributes work over goroutines: Each and Ranges run loops, a Group runs
// functions and passes a panic on to the goroutine that waits.
package parallel

import "sync/atomic"

// Ranges cuts 0 … n−1 into ranges of step and calls f with them on workers goroutines. If there is one
// worker or one range, it calls f once, with all of it. The result of f must not depend on the cuts.
func Ranges(n, step, workers int, f func(lo, hi int)) {
	workers = min(workers, (n+step-1)/step)
	if workers <= 1 {
		f(0, n)
		return
	}
	var next atomic.Int64
	var wg Group
	for range workers {
		wg.Go(func() {
			for {
				lo := int(next.Add(int64(step))) - step
				if lo >= n {
					return
				}
				f(lo, min(lo+step, n))
			}
		})
	}
	wg.Wait()
}
