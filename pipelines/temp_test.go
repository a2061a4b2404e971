package pipelines

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestJobsShareATemporaryDirectoryAndLeaveNone(t *testing.T) {
	outer := t.TempDir()
	t.Setenv("TMPDIR", outer)
	var temp privateTemp
	first, err := temp.borrow(ctx)
	if err != nil {
		t.Fatal(err)
	}
	inner := os.Getenv("TMPDIR")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			giveBack, err := temp.borrow(ctx)
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

func TestWhatAKilledProcessHasLeftIsRemovedAndWhatALivingOneHasIsNot(t *testing.T) {
	outer := t.TempDir()
	t.Setenv("TMPDIR", outer)
	dead := filepath.Join(outer, tempPrefix+"dead")
	if err := os.Mkdir(dead, 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, dead, "lock", "")
	write(t, dead, "beamloopbackworker-1", "")
	living, remove, err := newTemp(ctx)
	if err != nil {
		t.Fatal(err)
	}
	write(t, outer, "of another program", "")
	_, removeOther, err := newTemp(ctx)
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

func TestAPlaceForTemporaryFilesThatIsMissingIsNamed(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	_, _, err := newTemp(ctx)
	wantError(t, "no TMPDIR", err, ExitData, os.Getenv("TMPDIR"), "there is no such directory", "TMPDIR")
}
