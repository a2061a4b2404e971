package pipelines

import (
	"os"
	"sync"
)

// privateTemp is a temporary directory of the process's own, which stands in for
// the system's while jobs run whose workers are this process: each of their
// pipelines leaves an empty file there, where the binary for workers would be.
type privateTemp struct {
	mu     sync.Mutex
	users  int
	dir    string
	before string // TMPDIR as it was
	set    bool   // it was set
}

var tempDir privateTemp

// borrow makes the directory the temporary one until the returned function, and
// those of all others that borrowed it meanwhile, have been called. If there can
// be none, files are left.
func (t *privateTemp) borrow() (giveBack func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users++; t.users == 1 {
		t.before, t.set = os.LookupEnv("TMPDIR")
		dir, err := os.MkdirTemp("", "bochner-workers-")
		if t.dir = dir; err == nil {
			os.Setenv("TMPDIR", dir)
		}
	}
	return sync.OnceFunc(t.giveBack)
}

func (t *privateTemp) giveBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users--; t.users > 0 || t.dir == "" {
		return
	}
	if t.set {
		os.Setenv("TMPDIR", t.before)
	} else {
		os.Unsetenv("TMPDIR")
	}
	os.RemoveAll(t.dir)
}
