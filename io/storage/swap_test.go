package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/internal/testing/disktest"
	"github.com/bochner-ml/bochner/io/storage"
)

var ctx = context.Background()

// count adds 1 to the number in a file until it has succeeded n times.
func count(name string, n int) error {
	for done := 0; done < n; {
		old, err := storage.ReadFile(ctx, name, storage.MaxSwap)
		if err != nil {
			return err
		}
		v, err := strconv.Atoi(string(old))
		if err != nil {
			return err
		}
		switch err := storage.CompareAndSwap(ctx, name, old, fmt.Append(nil, v+1)); {
		case err == nil:
			done++
		case !errors.Is(err, storage.ErrSwapped):
			return err
		}
	}
	return nil
}

func TestConcurrentSwapsAreNotLost(t *testing.T) {
	name := t.TempDir() + "/dir/n"
	if err := storage.CompareAndSwap(ctx, name, nil, []byte("0")); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := count(name, 8); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, err := storage.ReadFile(ctx, name, 10); err != nil || string(got) != "32" {
		t.Errorf("%s, %v; want 32", got, err)
	}
	if names, _ := storage.Names(ctx, strings.TrimSuffix(name, "/n")); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

func TestSwapRejectsChangedObjects(t *testing.T) {
	name := t.TempDir() + "/f"
	for i, c := range []struct {
		old, new string
		none     bool // old is nil
		want     error
	}{
		{old: "", new: "x", want: storage.ErrSwapped}, // no such file
		{none: true, new: "a"},
		{none: true, new: "b", want: storage.ErrSwapped},
		{old: "aa", new: "b", want: storage.ErrSwapped},
		{old: "", new: "b", want: storage.ErrSwapped},
		{old: "a", new: ""},
		{old: "", new: "c"},
		{old: "c", new: strings.Repeat("x", storage.MaxSwap+1), want: fs.ErrInvalid},
	} {
		old := []byte(c.old)
		if c.none {
			old = nil
		}
		err := storage.CompareAndSwap(ctx, name, old, []byte(c.new))
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%d: %v, want %v", i, err, c.want)
		}
		var e *storage.Error
		if errors.As(err, &e) && (!e.Refused() || !e.Writing()) {
			t.Errorf("%d: %v must be refused", i, err)
		}
	}
	if got, _ := storage.ReadFile(ctx, name, 10); string(got) != "c" {
		t.Errorf("%q", got)
	}
}

var errDead = errors.New("the process is gone")

// For any failure at any call, the file has the old content or the new one, the new one if CompareAndSwap
// succeeded, and can be swapped again.
func TestSwapIsWholeOrAbsent(t *testing.T) {
	restore := disk.Swap(disk.OS{})
	t.Cleanup(restore)
	for _, way := range []struct {
		name  string
		err   error
		on    bool
		after func(*disktest.Mem)
	}{
		{"an error", syscall.EIO, false, func(*disktest.Mem) {}},
		{"a full disk", syscall.ENOSPC, false, func(*disktest.Mem) {}},
		{"killed", errDead, true, (*disktest.Mem).Kill},
		{"a power cut", errDead, true, (*disktest.Mem).PowerCut},
		{"a power cut, zeros", errDead, true, (*disktest.Mem).PowerCutZeros},
		{"a power cut afterwards", nil, false, (*disktest.Mem).PowerCutZeros},
	} {
		for _, fresh := range []bool{true, false} {
			kept, replaced := 0, 0
			for at := 1; ; at++ {
				m := disktest.New()
				var old []byte
				if !fresh {
					old = []byte("old")
					m.Put("/models/f", old)
				}
				f := &disktest.Fault{FS: m, At: at, Do: func() error { return way.err }, On: way.on}
				disk.Swap(f)
				err := storage.CompareAndSwap(ctx, "/models/f", old, []byte("new"))
				if f.Hit() == "" {
					break
				}
				way.after(m)
				disk.Swap(m)
				got, have := m.Files("/models")["f"]
				when := fmt.Sprintf("%s at call %d (%s), fresh %t: %v", way.name, at, f.Hit(), fresh, err)
				switch {
				case have && got == "new":
					replaced++
				case err == nil || fresh && have || !fresh && got != "old":
					t.Errorf("%s: %t %q", when, have, got)
				default:
					kept++
				}
				there := []byte(got)
				if !have {
					there = nil
				}
				if err := storage.CompareAndSwap(ctx, "/models/f", there, []byte("next")); err != nil {
					t.Errorf("%s; and again: %v", when, err)
				}
				if all := m.Files("/models"); len(all) != 1 || all["f"] != "next" {
					t.Errorf("%s; and again: %v", when, all)
				}
			}
			if replaced == 0 || way.err != nil && kept == 0 {
				t.Errorf("%s, fresh %t: %d times kept, %d times replaced", way.name, fresh, kept, replaced)
			}
		}
	}
}
