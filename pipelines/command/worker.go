package command

import (
	"os"
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
