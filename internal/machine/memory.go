// Package machine tells how much memory this process may use (ReadMemory), and panics in
// time where Go's allocator would end the process for lack of it (Room).
package machine

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Memory is the memory that a process can use.
type Memory struct {
	// Limit is the most that this process can ever hold, in bytes: beyond it
	// allocations fail, or the system ends the process. 0 is unknown.
	Limit int64
	// By names what sets the limit, for messages.
	By string
	// Free is what the process can hold now, including what it already holds, in bytes; at
	// most Limit. 0 is unknown.
	Free int64
}

// ReadMemory looks at the machine's memory, the limits of the control groups, of
// version 1 or 2, that the process is in, and its own (ulimit -v and -d). What cannot
// be read sets no limit.
func ReadMemory() Memory { return readMemory(os.DirFS("/"), addressLimit()) }

// reserved is the address space that Go's runtime reserves at its start on 64-bit Linux:
// summaries of pages (614 MB), an index of what can be returned to the system (537 MB),
// one of the heap (34 MB). Where a limit leaves no room for the second, the runtime does
// not notice and maps it wherever that is (Go 1.26), so that a process under a smaller
// limit has more room than one under a larger; nothing should rely on that.
const reserved = 1_184_000_000

// limits is how much address space and data a process may have; math.MaxInt64 for none.
type limits struct{ address, data int64 }

const none = math.MaxInt64

// readMemory takes the least limit, and the least free memory, of the machine, its control groups and the limits of
// the process. Free memory includes what the process already holds.
func readMemory(root fs.FS, process limits) Memory {
	meminfo := fields(root, "proc/meminfo", 1024)
	status := fields(root, "proc/self/status", 1024)
	held := status["VmRSS"]
	m := Memory{Limit: none, Free: none}
	least := func(limit, free int64, by string) {
		if limit > 0 && limit < m.Limit {
			m.Limit, m.By = limit, by
		}
		if free > 0 {
			m.Free = min(m.Free, free)
		}
	}
	if free, ok := meminfo["MemAvailable"]; ok {
		least(meminfo["MemTotal"]+meminfo["SwapTotal"], free+held, "the machine")
	}
	for _, g := range groups(root) {
		limit, used, cache := g.read(root)
		if limit > 0 {
			// The kernel can drop cached files of the group; the rest belongs to this process
			// and to others.
			least(limit, max(1, limit-max(0, used-cache-held)), "the control group")
		}
	}
	// Address space that is reserved and never touched counts, too, and a Go program
	// reserves some at its start.
	if process.address != none && status["VmSize"] > 0 {
		left := max(1, min(process.address-status["VmSize"]+held, process.address-reserved))
		least(left, left, "ulimit -v, less what a Go program reserves,")
	}
	if process.data != none && status["VmData"] > 0 {
		left := max(1, process.data-status["VmData"]+held)
		least(left, left, "ulimit -d")
	}
	m.Free = min(m.Free, m.Limit)
	if m.Limit == none {
		m.Limit = 0
	}
	if m.Free == none {
		m.Free = 0
	}
	return m
}

// fields reads lines such as "Name: number", in units of kb bytes if they end in kB.
func fields(root fs.FS, name string, kb int64) map[string]int64 {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return nil
	}
	out := map[string]int64{}
	for line := range strings.Lines(string(data)) {
		key, rest, found := strings.Cut(line, ":")
		words := strings.Fields(rest)
		if !found || len(words) != 2 || words[1] != "kB" {
			continue
		}
		if v, err := strconv.ParseInt(words[0], 10, 64); err == nil {
			out[key] = v * kb
		}
	}
	return out
}

// group is the files of a control group.
type group struct{ dir, limit, used, stat, cache string }

// groups returns the groups of this process and those that they are in.
func groups(root fs.FS) []group {
	data, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	var out []group
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		g := group{"sys/fs/cgroup", "memory.max", "memory.current", "memory.stat", "inactive_file"}
		switch {
		case parts[1] == "": // version 2
		case slices.Contains(strings.Split(parts[1], ","), "memory"):
			g = group{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat",
				"total_inactive_file"}
		default:
			continue
		}
		top := g.dir
		// In a container the path may be the host's, and its last group the root
		// of what is mounted.
		for at := path.Join("/", parts[2]); ; at = path.Dir(at) {
			g.dir = path.Join(top, at)
			out = append(out, g)
			if at == "/" {
				break
			}
		}
	}
	return out
}

// read returns the limit of the group, 0 for none, the memory that it holds, and the part
// of this memory that caches unused files.
func (g group) read(root fs.FS) (limit, used, cache int64) {
	number := func(name string) int64 {
		data, _ := fs.ReadFile(root, path.Join(g.dir, name))
		v, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
		if err != nil || v >= 1<<60 { // "max", or the largest number there is
			return 0
		}
		return v
	}
	limit = number(g.limit)
	if limit == 0 {
		return 0, 0, 0
	}
	stat, _ := fs.ReadFile(root, path.Join(g.dir, g.stat))
	for line := range strings.Lines(string(stat)) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == g.cache {
			cache, _ = strconv.ParseInt(words[1], 10, 64)
		}
	}
	return limit, number(g.used), cache
}

// OutOfMemory begins the text of the panics of Room.
const OutOfMemory = "out of memory: "

// arena is the step by which Go's heap takes address space.
const arena = 64 << 20

var addressLimited = sync.OnceValue(func() bool {
	l := addressLimit()
	return l.address != none || l.data != none
})

// Room panics if a limit of this process (ulimit -v or -d) leaves no room for the given number
// of further bytes. Call it before large allocations: if Go's allocator fails, it ends the
// process, and nothing can recover. Without such limits Room does nothing.
func Room(bytes int) {
	// What the heap has free may lie in pieces, so it must be plenty.
	if !addressLimited() || mappable(bytes+arena) || 2*bytes+arena <= reusable() {
		return
	}
	panic(fmt.Sprintf("%s%d MB more are needed than ulimit allows (see ulimit -v and -d)", OutOfMemory, (bytes+1e6-1)/1e6))
}

// reusable returns the number of free bytes in the heap.
func reusable() int {
	s := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64() + s[1].Value.Uint64())
}
