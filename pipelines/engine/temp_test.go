package engine

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

func TestJobsShareATemporaryDirectoryAndLeaveNone(t *testing.T) {
	outer := t.TempDir()
	t.Setenv("TMPDIR", outer)
	var temp privateTemp
	first, err := temp.borrow(jobtest.Ctx)
	if err != nil {
		t.Fatal(err)
	}
	inner := os.Getenv("TMPDIR")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			giveBack, err := temp.borrow(jobtest.Ctx)
			if err != nil {
				t.Error(err)
				return
			}
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

func TestNewTempRemovesStaleFilesOnly(t *testing.T) {
	outer := t.TempDir()
	t.Setenv("TMPDIR", outer)
	dead := filepath.Join(outer, tempPrefix+"dead")
	if err := os.Mkdir(dead, 0o777); err != nil {
		t.Fatal(err)
	}
	jobtest.Write(t, dead, "lock", "")
	jobtest.Write(t, dead, "beamloopbackworker-1", "")
	living, remove, err := NewTemp(jobtest.Ctx)
	if err != nil {
		t.Fatal(err)
	}
	jobtest.Write(t, outer, "of another program", "")
	_, removeOther, err := NewTemp(jobtest.Ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("the dead one's: %v", err)
	}
	if _, err := os.Stat(living); err != nil {
		t.Errorf("the living one's: %v", err)
	}
	if err := errors.Join(remove(), removeOther()); err != nil {
		t.Error(err)
	}
	if list, err := os.ReadDir(outer); err != nil || len(list) != 1 {
		t.Errorf("left: %v, %v", list, err)
	}
}

// A job that removes the directories of dead jobs before it makes its own does not remove one that is just
// being made or removed.
func TestConcurrentJobsKeepTheirTemporaryDirectories(t *testing.T) {
	outer := t.TempDir()
	t.Setenv("TMPDIR", outer)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range campaign.Pick(40, 400) {
				dir, remove, err := NewTemp(jobtest.Ctx)
				if err != nil {
					t.Error(err)
					return
				}
				removeDead(jobtest.Ctx)
				if err := os.WriteFile(filepath.Join(dir, "rows"), nil, 0o666); err != nil {
					t.Error(err)
				}
				if err := remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if list, err := os.ReadDir(outer); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}

func TestMissingTemporaryDirectoryIsNamed(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	_, _, err := NewTemp(jobtest.Ctx)
	jobtest.WantError(t, "no TMPDIR", err, exit.CodeData, os.Getenv("TMPDIR"), "the directory does not exist", "TMPDIR")
}
