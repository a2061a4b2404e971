package parallel

import (
	"fmt"
	"runtime/debug"
	"sync"
)

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
