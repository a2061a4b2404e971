package disk

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
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
// started, or "" if there is no such process. It returns an error if this cannot be known,
// because /proc may hide the processes of other users.
func processBegun(pid int) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return "", nil
		}
		return "", err
	}
	// The second field is the name in parentheses, which may hold anything.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return "", nil
	}
	return fields[19], nil
}
