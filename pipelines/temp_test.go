package pipelines

import (
	"os"
	"sync"
	"testing"
)

func TestJobsShareATemporaryDirectoryAndLeaveNone(t *testing.T) {
	outer := t.TempDir()
	t.Setenv("TMPDIR", outer)
	var temp privateTemp
	first := temp.borrow()
	inner := os.Getenv("TMPDIR")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			giveBack := temp.borrow()
			if got := os.Getenv("TMPDIR"); got != inner || got == outer {
				t.Errorf("TMPDIR is %s, want %s", got, inner)
			}
			if f, err := os.CreateTemp("", "left"); err != nil {
				t.Error(err)
			} else {
				f.Close()
			}
			giveBack()
			giveBack()
		})
	}
	wg.Wait()
	first()
	if got := os.Getenv("TMPDIR"); got != outer {
		t.Errorf("TMPDIR is %s, want %s", got, outer)
	}
	if list, err := os.ReadDir(outer); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}
