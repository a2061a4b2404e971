package parallel

import "sync/atomic"

// Each calls f(worker, i) for 0 ≤ i < n from workers goroutines, at least one; 0 ≤ worker <
// workers identifies the goroutine.
func Each(n, workers int, f func(worker, i int)) {
	var (
		next atomic.Int64
		wg   Group
	)
	for worker := range max(1, min(workers, n)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(worker, i)
			}
		})
	}
	wg.Wait()
}
