package disk

import (
	"fmt"
	"os"
	"strings"
)

// bootID identifies this run of the system and the namespace of process ids: in another
// container, the same ids may belong to other processes.
func bootID() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + space
}

// processBegun returns the time at which a process began, in ticks since the system
// started, or "" if there is no such process.
func processBegun(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The second field is the name in parentheses, which may hold anything.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}
