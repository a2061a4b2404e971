package command

import (
	"os"
	"path/filepath"
	"time"
)

// exitWithParent ends this process, a worker, when its parent ends. Runners stop a worker by
// killing its parent, Beam's boot program, which does not forward the signal, and Beam's harness
// never exits by itself. Without this, every job on a cluster would leave its workers running.
func exitWithParent() {
	parent := os.Getppid()
	for range time.Tick(time.Second) {
		if os.Getppid() != parent {
			os.Exit(0)
		}
	}
}

// removeCopy removes the file of this program if it is a worker's copy. Beam's boot program makes
// one in a directory of /tmp for every worker that it starts and never removes it, which would fill
// the disk of a long-lived machine. The running program does not need its file.
func removeCopy() {
	program, err := os.Executable()
	if err != nil {
		return
	}
	if ours, _ := filepath.Match("/tmp/bin*/worker", program); ours && os.Remove(program) == nil {
		os.Remove(filepath.Dir(program)) // unless there are other files
	}
}
