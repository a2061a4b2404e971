package disk

import (
	"os"
	"sync"
)

// Process is a process that holds a lock or lease.
type Process struct {
	Host string `json:"host"`
	ID   int    `json:"process"`
	// Boot identifies the running system and its namespace of process ids. Begun is the time
	// at which the process began. Both are empty if unknown.
	Boot  string `json:"boot,omitempty"`
	Begun string `json:"begun,omitempty"`
	Lease string `json:"lease,omitempty"` // distinguishes the leases of a process
}

// Me is this process.
var Me = sync.OnceValue(func() Process {
	host, _ := os.Hostname() // for messages
	pid := os.Getpid()
	return Process{Host: host, ID: pid, Boot: bootID(), Begun: processBegun(pid)}
})

// Gone reports whether the process is known to have ended, which is known only on the same system.
func (p Process) Gone() bool {
	return p.Boot != "" && p.Boot == Me().Boot && processBegun(p.ID) != p.Begun
}
