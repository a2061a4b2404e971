package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/disk"
)

// clearUp clears away what killed writers of the name have left.
func clearUp(name string) error {
	c, err := AcquireClaim(ctx, name)
	if err != nil {
		return err
	}
	err = c.Clear(ctx)
	if dropErr := c.Drop(ctx); err == nil {
		err = dropErr
	}
	return err
}

func TestClearRemovesOnlyItsOwnFiles(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "model")
	os.Mkdir(tmpName(dir), 0o777)
	other := tmpName(filepath.Join(root, "model-2"))
	os.Mkdir(other, 0o777)
	if err := clearUp(dir); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{filepath.Base(other)}, entries(t, root)); d != "" {
		t.Error(d)
	}
}

// Publish removes the unfinished files of a run that was killed while it published under the same name; they
// can be as large as the sums.
func TestPublishRemovesLeftoversOfAKilledRun(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "sums")
	os.Mkdir(tmpName(dir), 0o777)
	if err := Publish(ctx, dir, []File{{Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"sums"}, entries(t, root)); d != "" {
		t.Error(d)
	}
}

// The unfinished files of a publisher are not removed while it holds the claim.
func TestClearRequiresTheClaim(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "model")
	first, err := AcquireClaim(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	unfinished := tmpName(dir)
	os.Mkdir(unfinished, 0o777)
	for range 3 {
		err = clearUp(dir)
		want := fmt.Sprintf("storage: claim %s: in use by another run, process %d on ", dir, os.Getpid())
		var e *Error
		if !errors.As(err, &e) || !e.Refused() || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("a second claim: %v, want %s", err, want)
		}
	}
	if _, err := os.Stat(unfinished); err != nil {
		t.Error(err)
	}
	if err := first.Publish(ctx, []File{{Name: "a", Data: []byte("a")}}); err != nil {
		t.Error(err)
	}
	if err := first.Drop(ctx); err != nil {
		t.Error(err)
	}
	if err := clearUp(dir); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"model"}, entries(t, root)); d != "" {
		t.Error(d)
	}
}

// noting is a file system in which holders of locks take their time to say who they
// are.
type noting struct {
	disk.OS
	open chan struct{}
}

func (n noting) Lock(name string) (disk.FileLock, error) {
	h, err := n.OS.Lock(name)
	if err != nil {
		return nil, err
	}
	return late{h, n.open}, nil
}

type late struct {
	disk.FileLock
	open chan struct{}
}

func (l late) Note(data []byte) error {
	<-l.open
	return l.FileLock.Note(data)
}

func TestBusyErrorNamesTheCurrentOwner(t *testing.T) {
	open := make(chan struct{})
	defer disk.Swap(noting{open: open})()
	dir := filepath.Join(t.TempDir(), "model")
	// A process that was killed has left its name.
	write(t, ClaimName(dir), fmt.Sprintf(`{"host":"here","process":1,"boot":%q,"begun":"never"}`, disk.Me().Boot))
	first := make(chan *Claim)
	go func() {
		c, err := AcquireClaim(ctx, dir)
		if err != nil {
			t.Error(err)
		}
		first <- c
	}()
	for {
		h, err := disk.OS{}.Lock(ClaimName(dir))
		if errors.Is(err, disk.ErrLocked) {
			break // it has the lock, and has not said so
		}
		if err != nil {
			t.Fatal(err)
		}
		h.Close()
	}
	second := make(chan error)
	go func() { second <- clearUp(dir) }()
	close(open)
	c := <-first
	if err := <-second; err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d on ", os.Getpid())) {
		t.Errorf("a second claim: %v", err)
	}
	c.Drop(ctx)
}

// full is a disk on which a lock's file can be made, but not written.
type full struct{ disk.OS }

type unwritten struct{ disk.FileLock }

func (full) Lock(name string) (disk.FileLock, error) {
	h, err := disk.OS{}.Lock(name)
	return unwritten{h}, err
}

func (unwritten) Note([]byte) error { return syscall.ENOSPC }

func TestClaimOnAFullDiskLeavesNoFiles(t *testing.T) {
	dir := t.TempDir()
	defer disk.Swap(full{})()
	if c, err := AcquireClaim(ctx, filepath.Join(dir, "model")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, %v", c, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// lockless is a file system without locks.
type lockless struct{ disk.OS }

func (lockless) Lock(string) (disk.FileLock, error) { return nil, errors.ErrUnsupported }

func TestClaimWithoutLocksIsTheFileItself(t *testing.T) {
	defer disk.Swap(lockless{})()
	dir := filepath.Join(t.TempDir(), "model")
	var wg sync.WaitGroup
	claims := make(chan *Claim, 8)
	for range 8 {
		wg.Go(func() {
			c, err := AcquireClaim(ctx, dir)
			if err == nil {
				claims <- c
			} else if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "-claim") {
				t.Errorf("who lost got %v", err)
			}
		})
	}
	wg.Wait()
	if len(claims) != 1 {
		t.Fatalf("%d have the claim", len(claims))
	}
	(<-claims).Drop(ctx)
	if err := clearUp(dir); err != nil {
		t.Error(err)
	}
	// A process that is gone has left its file.
	write(t, ClaimName(dir), fmt.Sprintf(`{"host":"here","process":1,"boot":%q,"begun":"never"}`, disk.Me().Boot))
	if err := clearUp(dir); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "remove that file") &&
		disk.Me().Boot != "" {
		t.Errorf("behind a process that is gone: %v", err)
	}
}
