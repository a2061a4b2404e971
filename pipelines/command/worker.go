package command

import (
	"os"
	"path/filepath"
	"time"
)

// exitWithParent ends this process, a worker, when the one that has started it
// has ended. Runners end a worker through Beam's boot program, which they kill and
// which does not pass that on; and Beam's harness waits for ever when its work is
// done. Without this, every job on a cluster would leave its workers behind.
func exitWithParent() {
	parent := os.Getppid()
	for range time.Tick(time.Second) {
		if os.Getppid() != parent {
			os.Exit(0)
		}
	}
}

// removeCopy removes this program, if it is a worker's copy: Beam's boot program
// makes one in a directory of /tmp for every worker that it starts, and leaves it
// there, so that the disk of a worker that lives long would fill up. What runs goes
// on without the name of its file.
func removeCopy() {
	program, err := os.Executable()
	if err != nil {
		return
	}
	if ours, _ := filepath.Match("/tmp/bin*/worker", program); ours && os.Remove(program) == nil {
		os.Remove(filepath.Dir(program)) // unless somebody has put more there
	}
}
