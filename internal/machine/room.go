package machine

import (
	"fmt"
	"runtime/metrics"
	"sync"
)

// OutOfMemory begins the text of the panics of Room.
const OutOfMemory = "out of memory: "

// arena is the step by which Go's heap takes address space.
const arena = 64 << 20

var addressLimited = sync.OnceValue(func() bool {
	l := addressLimit()
	return l.address != none || l.data != none
})

// Room panics if a limit of this process (ulimit -v or -d) leaves no room for that many
// more bytes. Call it before large allocations: if Go's allocator fails, it ends the
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
