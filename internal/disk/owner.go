package disk

import (
	"os"
	"sync"
)

// Process is a process that holds a lock or lease.
type Process struct {
	Host string `json:"host"`
	ID   int    `json:"process"`
	// Boot names the system and what numbers of processes count in it, and Begun
	// when the process began there; empty where that cannot be told.
	Boot  string `json:"boot,omitempty"`
	Begun string `json:"begun,omitempty"`
	Lease string `json:"lease,omitempty"` // tells the leases of a process apart
}

// Me is this process.
var Me = sync.OnceValue(func() Process {
	host, _ := os.Hostname() // for messages
	pid := os.Getpid()
	return Process{Host: host, ID: pid, Boot: bootID(), Begun: processBegun(pid)}
})

// Gone tells that the process has ended, which only one of the same system can tell.
func (p Process) Gone() bool {
	return p.Boot != "" && p.Boot == Me().Boot && processBegun(p.ID) != p.Begun
}
