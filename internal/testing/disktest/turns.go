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

// Turns lets drivers, each of which stands for a process, share a file system on which one call is
// made at a time. A seed decides which, and what happens to it.
//
// It works within synctest.Test: a call is chosen when all goroutines wait, so its choice does not
// depend on how fast they are, and time passes only when nothing else happens. What happens to a call is
// a function of the seed, the driver, the name of the file, and how many such calls there were.
// Goroutines of no driver have no turns.
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

// Rates are shares of calls, from 0 to 1, to which something happens.
type Rates struct {
	Fail  float64 // it fails once
	Full  float64 // it fails, because the disk is full; for calls that write
	Break float64 // it fails, and so do all later ones of the driver to this file
	Lose  float64 // it is done and seems to have failed; for calls that change names, or sync
	Kill  float64 // it is the last of its driver, done or not
	Cut   float64 // it is the last of all drivers, and what was not synced is lost
	Delay float64 // others are made first
}

// Turn is a call that was made.
type Turn struct {
	Driver, Op, Name string
	N                int    // how many such calls the driver has made, with this one
	What             string // happened to it; "" for nothing
}

func (t Turn) String() string {
	return fmt.Sprintf("%s %s %s#%d %s", t.Driver, t.Op, t.Name, t.N, t.What)
}

// ErrGone is the error of all calls of a driver that was killed.
var ErrGone = errors.New("this process is gone")

// Driver stands for a process.
type Driver struct {
	Name string

	labels context.Context
	gone   bool
	ended  bool
	broken map[string]bool // files on which its calls fail
	calls  map[string]int
	held   map[*lock]bool
}

// waiting is a call that waits for its turn.
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

// Aside calls do, which has no turns, in a goroutine of the driver.
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

// chance returns the random numbers of a call.
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

// decide says what happens to a call, and returns its error.
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
		t.Mem.PowerCut(r.IntN(2) == 0)
		return ErrGone
	}
	return nil
}

// kill makes the calls of a driver fail, and gives back its locks.
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

// locks is a file system that knows who holds locks.
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
