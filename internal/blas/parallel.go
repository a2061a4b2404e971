package blas

import (
	"sync"
	"sync/atomic"
)

// scratch is the working memory of one worker; its slices keep their capacity
// from one use to the next, and hold garbage at first.
type scratch struct {
	f32 []float32
	f64 []float64
	i32 []int32
	a64 []float64 // packed left operand of a product
	a32 []float32 // likewise
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Grow makes n the length of *s, in new memory if its capacity is smaller, and returns *s. The contents are
// unspecified.
func Grow[T any](s *[]T, n int) []T {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	*s = (*s)[:n]
	return *s
}

// Buffers lends scratch memory to goroutines and keeps it for the next. Its zero value is ready to use.
type Buffers[T any] struct{ pool sync.Pool }

// Take returns n numbers with any content. The caller gives the memory back by Put.
func (b *Buffers[T]) Take(n int) *[]T {
	s, ok := b.pool.Get().(*[]T)
	if !ok {
		s = new([]T)
	}
	Grow(s, n)
	return s
}

// Put takes back memory that Take lent.
func (b *Buffers[T]) Put(s *[]T) { b.pool.Put(s) }

// parallel calls f for every item in [0, items), on at most threads goroutines.
// Items are handed out in order. If a call panics, parallel panics with the
// same value in the caller's goroutine, after the other workers have stopped.
func parallel(threads, items int, f func(item int, s *scratch)) {
	if items <= 0 {
		return
	}
	threads = min(threads, items)
	if threads < 2 {
		s := scratches.Get().(*scratch)
		for i := range items {
			f(i, s)
		}
		scratches.Put(s)
		return
	}
	var (
		next   atomic.Int64
		wg     sync.WaitGroup
		once   sync.Once
		failed any
	)
	worker := func() {
		defer wg.Done()
		done := false
		defer func() {
			if !done {
				v := recover()
				once.Do(func() { failed = v })
				next.Store(int64(items))
			}
		}()
		s := scratches.Get().(*scratch)
		for i := int(next.Add(1)) - 1; i < items; i = int(next.Add(1)) - 1 {
			f(i, s)
		}
		scratches.Put(s)
		done = true
	}
	wg.Add(threads)
	for range threads - 1 {
		go worker()
	}
	worker()
	wg.Wait()
	if failed != nil {
		panic(failed)
	}
}
