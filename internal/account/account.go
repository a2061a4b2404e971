// Package account sets USER and HOME for a process whose user has no entry in /etc/passwd,
// such as a container that runs under an arbitrary user id. Import it for this effect.
//
// Beam asks for the current user when it is initialised, before main, and panics if there
// is none. Without cgo, os/user falls back to USER and HOME if /etc/passwd has no entry.
//
// Go initialises packages that are ready in the order of their import paths. This one
// imports nothing that net/http does not, and comes before it; Beam's, which imports
// net/http, comes after. Hence no other imports here.
package account

import (
	"os"
	"strconv"
	"strings"
)

func init() {
	uid := os.Getuid()
	if uid < 0 { // not a Unix system
		return
	}
	users, _ := os.ReadFile("/etc/passwd")
	complete(strconv.Itoa(uid), string(users))
}

// complete sets USER and HOME where they are missing and the user is not listed.
func complete(uid, users string) {
	for line := range strings.Lines(users) {
		if f := strings.Split(line, ":"); len(f) > 6 && f[2] == uid {
			return
		}
	}
	for name, value := range map[string]string{"USER": uid, "HOME": "/"} {
		if os.Getenv(name) == "" {
			os.Setenv(name, value)
		}
	}
}
