// Package parallel distributes work over goroutines: Each and Ranges run loops, a Group runs
// functions and passes a panic on to the goroutine that waits.
package parallel

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

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

// Group runs functions on goroutines of their own. If one panics, Wait panics in the waiting
// goroutine, where the caller can recover.
type Group struct {
	wg       sync.WaitGroup
	mu       sync.Mutex
	panicked *Panic // the first
}

// Panic is the panic of a function of a Group.
type Panic struct {
	Value any
	Stack []byte // of its goroutine
}

func (p *Panic) Error() string { return fmt.Sprintf("%v\n%s", p.Value, p.Stack) }

// Go runs f.
func (g *Group) Go(f func()) {
	g.wg.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				g.mu.Lock()
				defer g.mu.Unlock()
				if g.panicked == nil {
					g.panicked = &Panic{r, debug.Stack()}
				}
			}
		}()
		f()
	})
}

// Wait waits until all functions have returned. It panics with a *Panic if one has.
func (g *Group) Wait() {
	g.wg.Wait()
	if g.panicked != nil {
		panic(g.panicked)
	}
}
