package gcstest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Faults makes a share of the requests fail, in one of the ways in which they do:
// with a status, with a connection that breaks before the request is served, in
// the midst of the answer, or after the request is served and before the answer,
// and with silence.
type Faults struct {
	mu     sync.Mutex
	rules  Rules
	random *rand.Rand
	seen   map[string]int      // faults by kind
	dealt  map[string][]string // by kind of request: the ways that are still to come before any comes again
	row    map[string]int      // by kind and object: the faults since a request was served
	before func(kind, name string)
	gate   chan struct{} // closed when the rules change
}

// Rules describes the requests that fail.
type Rules struct {
	// Share is the share of the requests that fail, 0 to 1. If it is less than 1, a request is
	// served after maxInARow faults, so that no job fails by chance.
	Share float64 `json:"share"`
	Seed  uint64  `json:"seed"`
	// Kinds are the kinds of requests that may fail, as in Server.Requests; none are
	// all.
	Kinds []string `json:"kinds,omitempty"`
	// Ways are the ways to fail; without any, the first four are used.
	Ways []string `json:"ways,omitempty"`
	// Silence is how long nothing is said.
	Silence time.Duration `json:"silence,omitempty"`
	// Delay is how long every request takes at least.
	Delay time.Duration `json:"delay,omitempty"`
	// Hold has requests wait until other rules are set: those whose kind and object
	// match the pattern, such as "read data-*.csv", where * stands for any text
	// without a slash. They are counted as soon as they wait: "read held". One whose client has
	// ended is not served: "read abandoned".
	Hold string `json:"hold,omitempty"`
}

// The ways to fail.
const (
	Busy     = "busy"     // 408, 429, 500, 502, 503, 504
	Reset    = "reset"    // before the request is served
	Cut      = "cut"      // in the midst of the answer
	Unheard  = "unheard"  // the request is served, the answer lost
	Silenced = "silenced" // an answer that begins, and stops

	Forbidden = "forbidden" // 403: a right is missing
	Limited   = "limited"   // 403: too many requests
)

// maxInARow is how often requests of a kind about an object fail one after the other, unless all
// are to fail. Clients make more attempts.
const maxInARow = 6

// held is counted where a request waits, and abandoned where its client has ended meanwhile.
const held, abandoned = "held", "abandoned"

var statuses = []int{408, 429, 500, 502, 503, 504}

// Set makes requests fail by the rules from now on, and forgets which did.
func (f *Faults) Set(rules Rules) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, f.random = rules, rand.New(rand.NewPCG(rules.Seed, 1))
	f.seen, f.dealt, f.row = map[string]int{}, map[string][]string{}, map[string]int{}
	if f.gate != nil {
		close(f.gate)
	}
	f.gate = make(chan struct{})
}

// hold waits while the rules hold a request back, and reports whether its client still waits, too.
func (f *Faults) hold(kind, name string, r *http.Request) bool {
	for {
		f.mu.Lock()
		gate := f.gate
		match, _ := path.Match(f.rules.Hold, kind+" "+name)
		if match {
			f.seen[kind+" "+held]++
		}
		f.mu.Unlock()
		if !match {
			return true
		}
		// Before it is read, a server does not hear of the end of its client.
		body, err := io.ReadAll(r.Body)
		if err == nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
			select {
			case <-gate: // other rules, which may hold it too
				continue
			case <-r.Context().Done():
			}
		}
		f.mu.Lock()
		f.seen[kind+" "+abandoned]++
		f.mu.Unlock()
		return false
	}
}

// Before sets a function that is called before a request of a kind about an object is
// served; nil is none.
func (f *Faults) Before(call func(kind, name string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = call
}

// Seen returns how many requests failed, by kind of request and way: "read cut".
func (f *Faults) Seen() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.seen)
}

// pick returns the way in which a request about an object is to fail, "" for none.
func (f *Faults) pick(kind, name string) (way string, code int, rules Rules) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rules = f.rules
	if rules.Share == 0 || len(rules.Kinds) > 0 && !slices.Contains(rules.Kinds, kind) ||
		f.random.Float64() >= rules.Share ||
		rules.Share < 1 && f.row[kind+" "+name] >= maxInARow {
		delete(f.row, kind+" "+name)
		return "", 0, rules
	}
	f.row[kind+" "+name]++
	way = f.deal(kind)
	f.seen[kind+" "+way]++
	return way, statuses[f.random.IntN(len(statuses))], rules
}

// deal returns the way in which the next fault of a kind shows. The ways come
// shuffled, each once before any comes again, so that four faults of a kind have
// shown all four.
func (f *Faults) deal(kind string) string {
	if len(f.dealt[kind]) == 0 {
		ways := slices.Clone(f.rules.Ways)
		if len(ways) == 0 {
			ways = []string{Busy, Reset, Cut, Unheard}
		}
		f.random.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
		f.dealt[kind] = ways
	}
	way := f.dealt[kind][0]
	f.dealt[kind] = f.dealt[kind][1:]
	return way
}

// serve answers a request, or has it fail.
func (f *Faults) serve(w http.ResponseWriter, r *http.Request, q request,
	answer func(*http.Request, request) *httptest.ResponseRecorder) {
	f.mu.Lock()
	before := f.before
	f.mu.Unlock()
	name := cmp.Or(q.to, q.name)
	if before != nil {
		before(q.kind, name)
	}
	if !f.hold(q.kind, name, r) {
		panic(http.ErrAbortHandler)
	}
	way, code, rules := f.pick(q.kind, name)
	time.Sleep(rules.Delay)
	switch way {
	case Busy:
		refuse(w, code, "try again")
		return
	case Forbidden:
		refuse(w, http.StatusForbidden, "tester@example.com does not have this right.")
		return
	case Limited:
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"error": {"code": 403, "message": "slow down", "errors": [{"reason": "rateLimitExceeded"}]}}`)
		return
	case Reset:
		panic(http.ErrAbortHandler)
	}
	a := answer(r, q)
	body := a.Body.Bytes()
	if way == Unheard {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), a.Header())
	if r.Method != http.MethodHead {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(a.Code)
	if way == "" {
		w.Write(body)
		return
	}
	w.Write(body[:len(body)/2])
	http.NewResponseController(w).Flush()
	if way == Silenced {
		select {
		case <-time.After(rules.Silence):
		case <-r.Context().Done():
		}
	}
	panic(http.ErrAbortHandler)
}

// Control is where serveControl answers.
const Control = "/faults"

// serveControl sets the rules that a POST brings as JSON, and answers what Seen
// returns.
func (f *Faults) serveControl(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		var rules Rules
		if err := json.NewDecoder(r.Body).Decode(&rules); err != nil {
			http.Error(w, fmt.Sprint("faults: ", err), http.StatusBadRequest)
			return
		}
		f.Set(rules)
	}
	json.NewEncoder(w).Encode(f.Seen())
}
