package disktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/bochner-ml/bochner/internal/disk"
)

// Turns simulates processes, called drivers, that share a file system. One call is made at a time. A seed
// decides which driver is next, and whether its call fails.
//
// Use it within synctest.Test. A call is chosen when all goroutines wait, so the choice does not
// depend on their speed, and time passes only when no call waits. The fate of a call is
// a function of the seed, the driver, the name of the file, and the number of earlier calls of this kind.
// Calls of other goroutines are made at once.
type Turns struct {
	Mem   *Mem
	Rates Rates
	Stick float64 // share of calls after which the same driver has the next turn
	Log   []Turn  // all so far

	seed    uint64
	order   *rand.Rand
	mu      sync.Mutex
	drivers map[unsafe.Pointer]*Driver // by the labels of their goroutines
	waiting []*waiting
}

// Rates are the shares of calls, from 0 to 1, that have one of these fates.
type Rates struct {
	Fail  float64 // the call fails once
	Full  float64 // the disk is full; for calls that write
	Break float64 // the call fails, and so do all later calls of the driver for this file
	Lose  float64 // the call is made and seems to fail; for calls that change names, or sync
	Kill  float64 // the driver is killed, before or after the call is made
	Cut   float64 // power is cut: all drivers end, and everything that was not synced is lost
	Delay float64 // other calls are made first
}

// Turn is a call that was made.
type Turn struct {
	Driver, Op, Name string
	N                int    // number of such calls of the driver, including this one
	What             string // what happened to it; "" for nothing
}

func (t Turn) String() string {
	return fmt.Sprintf("%s %s %s#%d %s", t.Driver, t.Op, t.Name, t.N, t.What)
}

// ErrGone is the error of all calls of a driver that was killed.
var ErrGone = errors.New("this process is gone")

// Driver simulates a process.
type Driver struct {
	Name string

	labels context.Context
	gone   bool
	ended  bool
	broken map[string]bool // files on which its calls fail
	calls  map[string]int
	held   map[*lock]bool
}

// waiting is a call that has not been made.
type waiting struct {
	Turn
	d      *Driver
	writes bool
	after  int // turns of others
	answer chan error
}

// NewTurns returns turns on an empty file system.
func NewTurns(seed uint64) *Turns {
	return &Turns{Mem: New(), seed: seed, order: rand.New(rand.NewPCG(seed, 1)), drivers: map[unsafe.Pointer]*Driver{}}
}

// FS is the file system of the drivers.
func (t *Turns) FS() disk.FS { return &Fault{FS: locks{t.Mem, t}, Each: t.turn} }

//go:linkname labels runtime/pprof.runtime_getProfLabel
func labels() unsafe.Pointer

// caller is the driver to which the goroutine belongs: goroutines inherit labels.
func (t *Turns) caller() *Driver {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.drivers[labels()]
}

// Start starts a driver.
func (t *Turns) Start(name string, run func(d *Driver)) *Driver {
	d := &Driver{Name: name, labels: pprof.WithLabels(context.Background(), pprof.Labels("driver", name)),
		broken: map[string]bool{}, calls: map[string]int{}, held: map[*lock]bool{}}
	go func() {
		pprof.SetGoroutineLabels(d.labels)
		t.mu.Lock()
		t.drivers[labels()] = d
		t.mu.Unlock()
		run(d)
		t.mu.Lock()
		d.ended = true
		t.mu.Unlock()
	}()
	return d
}

// Gone reports whether the driver was killed.
func (d *Driver) Gone() bool { return d.gone }

// Aside calls do, whose calls are made at once, in a goroutine of the driver.
func (d *Driver) Aside(do func()) {
	pprof.SetGoroutineLabels(context.Background())
	defer pprof.SetGoroutineLabels(d.labels)
	do()
}

// turn waits for the turn of a call.
func (t *Turns) turn(op, name string, writes bool) error {
	d := t.caller()
	if d == nil {
		return nil
	}
	t.mu.Lock()
	if d.gone {
		t.mu.Unlock()
		return ErrGone
	}
	w := &waiting{Turn{d.Name, op, Plain(name), 0, ""}, d, writes, 0, make(chan error, 1)}
	d.calls[op+w.Name]++
	w.N = d.calls[op+w.Name]
	if r := t.chance(w); r.Float64() < t.Rates.Delay {
		w.after = 1 + r.IntN(300)
	}
	t.waiting = append(t.waiting, w)
	t.mu.Unlock()
	return <-w.answer
}

var (
	scratch    = regexp.MustCompile(`^.*/bochner-(?:new|tmp)-[0-9]+`)
	randomHash = regexp.MustCompile(`-(?:[0-9a-f]{16}|[0-9A-Z]{26})\b`)
	randomPart = regexp.MustCompile(`-[0-9A-Z]{26}\b`)
	randomTmp  = regexp.MustCompile(`(\.tmp-.*)-[0-9a-f]{16}`)
)

// Plain returns a name without its random parts. Names in scratch directories depend on the name of the
// directory.
func Plain(name string) string {
	switch {
	case strings.Contains(name, "/bochner-"):
		return randomHash.ReplaceAllString(scratch.ReplaceAllString(name, "*"), "-*")
	case strings.Contains(name, "/.tmp-"), strings.Contains(name, "/part-"):
		return randomTmp.ReplaceAllString(randomPart.ReplaceAllString(name, "-*"), "$1-*")
	}
	return name
}

// chance returns the random numbers that decide about a call.
func (t *Turns) chance(w *waiting) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, w.Turn.Driver, " ", w.Op, " ", w.Name, " ", w.N)
	return rand.New(rand.NewPCG(t.seed, h.Sum64()))
}

// Step makes a call, or lets time pass if there is none. It returns false when all drivers have ended.
func (t *Turns) Step() (*Turn, bool) {
	synctest.Wait()
	t.mu.Lock()
	asleep := false
	for _, d := range t.drivers {
		asleep = asleep || !d.ended && !slices.ContainsFunc(t.waiting, func(w *waiting) bool { return w.d == d })
	}
	if len(t.waiting) == 0 || asleep && t.order.IntN(8) == 0 {
		t.mu.Unlock()
		time.Sleep(time.Millisecond)
		return nil, asleep || len(t.waiting) > 0
	}
	w := t.choose()
	err := t.decide(w)
	t.Log = append(t.Log, w.Turn)
	t.mu.Unlock()
	w.answer <- err
	synctest.Wait()
	return &t.Log[len(t.Log)-1], true
}

// choose takes the next call from those that wait.
func (t *Turns) choose() *waiting {
	slices.SortStableFunc(t.waiting, func(a, b *waiting) int {
		return cmp.Or(cmp.Compare(a.Turn.Driver, b.Turn.Driver), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.N, b.N))
	})
	var may []*waiting
	for _, w := range t.waiting {
		if w.after--; w.after < 0 {
			may = append(may, w)
		}
	}
	if len(may) == 0 {
		may = t.waiting
	}
	if len(t.Log) > 0 && t.order.Float64() < t.Stick {
		last := t.Log[len(t.Log)-1].Driver
		other := func(w *waiting) bool { return w.Turn.Driver != last }
		if same := slices.DeleteFunc(slices.Clone(may), other); len(same) > 0 {
			may = same
		}
	}
	w := may[t.order.IntN(len(may))]
	t.waiting = slices.DeleteFunc(t.waiting, func(x *waiting) bool { return x == w })
	return w
}

// decide decides what happens to a call, and returns its error.
func (t *Turns) decide(w *waiting) error {
	r := t.chance(w)
	r.Float64() // which was for its delay
	x := r.Float64()
	less := func(rate float64, may bool) bool {
		x -= rate
		return may && x < 0 && x >= -rate
	}
	names := slices.Contains([]string{"rename", "remove", "mkdir", "sync", "fsync"}, w.Op)
	switch {
	case w.d.broken[w.Name]:
		w.What = "fails again"
		return syscall.EIO
	case less(t.Rates.Fail, true):
		w.What = "FAILS"
		return syscall.EIO
	case less(t.Rates.Full, w.writes):
		w.What = "FAILS: disk full"
		return syscall.ENOSPC
	case less(t.Rates.Break, true):
		w.What, w.d.broken[w.Name] = "FAILS for good", true
		return syscall.EIO
	case less(t.Rates.Lose, names):
		w.What = "is done and FAILS"
		return &Done{syscall.EIO}
	case less(t.Rates.Kill, true):
		w.What = "is not done, KILLED"
		t.kill(w.d)
		if names && r.IntN(2) == 0 {
			w.What = "is done, then KILLED"
			return &Done{ErrGone}
		}
		return ErrGone
	case less(t.Rates.Cut, true):
		w.What = "POWER CUT"
		for _, d := range t.drivers {
			t.kill(d)
		}
		t.Mem.powerCut(r.IntN(2) == 0)
		return ErrGone
	}
	return nil
}

// kill makes all calls of a driver fail, and releases its locks.
func (t *Turns) kill(d *Driver) {
	d.gone = true
	for l := range d.held {
		l.FileLock.Close()
	}
	t.waiting = slices.DeleteFunc(t.waiting, func(w *waiting) bool {
		if w.d == d {
			w.answer <- ErrGone
		}
		return w.d == d
	})
}

// locks is a file system that records which driver holds a lock.
type locks struct {
	*Mem
	t *Turns
}

func (l locks) Lock(name string) (disk.FileLock, error) {
	h, err := l.Mem.Lock(name)
	d := l.t.caller()
	if err != nil || d == nil {
		return h, err
	}
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	k := &lock{h, l.t, d}
	d.held[k] = true
	return k, nil
}

// lock is a lock that a driver holds until it is killed.
type lock struct {
	disk.FileLock
	t *Turns
	d *Driver
}

func (l *lock) Close() error {
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	if !l.d.held[l] || l.d.gone {
		return nil
	}
	delete(l.d.held, l)
	return l.FileLock.Close()
}
