package transforms

import (
	"sync/atomic"
	"time"
)

// work is a kind of work that workers do.
type work int

const (
	reading work = iota
	mapping
	adding
	learning
	storing
	solving
	kinds
)

var workNames = [kinds]string{"read", "map", "gram", "learn", "store", "solve"}

var spent [kinds]atomic.Int64

// clock notes the time from now until the returned function is called.
func clock(w work) (stop func()) {
	begun := time.Now()
	return func() { spent[w].Add(int64(time.Since(begun))) }
}

// Spent returns where the time of the workers in this process went, in seconds:
// reading and parsing rows (beside the other work), taking them to features,
// adding up their products, learning in rounds, storing merged sums, loading them and solving. Lanes
// that run at the same time add up.
func Spent() map[string]float64 {
	out := make(map[string]float64, kinds)
	for w := range spent {
		out[workNames[w]] = time.Duration(spent[w].Load()).Seconds()
	}
	return out
}
