package gcs

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/io/storage"
)

// Lost responses may report a lost swap to a writer that was followed by another; no swap is lost, and none is
// written twice.
func TestSwapsUnderFaultsAreNotLost(t *testing.T) {
	s := server(t)
	if err := storage.CompareAndSwap(ctx, bucket+"dir/n", nil, []byte("0")); err != nil {
		t.Fatal(err)
	}
	s.Faults.Set(gcstest.Rules{Share: 0.2, Seed: 8})
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		won  = map[int]string{} // by number written
		lost int
	)
	for w := range 3 {
		all.Go(func() {
			for done := 0; done < 6; {
				old, err := storage.ReadFile(ctx, bucket+"dir/n", storage.MaxSwap)
				if errors.Is(err, storage.ErrChanged) {
					continue // while it was read
				}
				if err != nil {
					t.Error(err)
					return
				}
				v, _ := strconv.Atoi(string(old))
				err = storage.CompareAndSwap(ctx, bucket+"dir/n", old, fmt.Append(nil, v+1))
				mu.Lock()
				switch {
				case err == nil:
					done++
					if by, twice := won[v+1]; twice {
						t.Errorf("%d was written by %s and by %d", v+1, by, w)
					}
					won[v+1] = fmt.Sprint(w)
				case errors.Is(err, storage.ErrSwapped):
					lost++
				default:
					t.Error(err)
					done++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	s.Faults.Set(gcstest.Rules{})
	got, err := storage.ReadFile(ctx, bucket+"dir/n", 10)
	if n, _ := strconv.Atoi(string(got)); err != nil || n < 18 || n > 18+lost {
		t.Errorf("%s, %v; want 18, or a few more: %d were told that they lost", got, err, lost)
	}
}

// A swap fails if another process writes between its read and its write.
func TestSwapLosesToAnInterveningWrite(t *testing.T) {
	s := server(t)
	for _, c := range []struct {
		name, kind string
		old        []byte
		before     func()
	}{
		{"made", "write", nil, func() { s.Fill("f", []byte("other")) }},
		{"replaced by the same", "write", []byte("old"), func() { s.Fill("f", []byte("old")) }},
		{"replaced while it is read", "read", []byte("old"), func() { s.Fill("f", []byte("other")) }},
	} {
		if err := storage.Remove(ctx, bucket+"f"); err != nil {
			t.Fatal(err)
		}
		if c.old != nil {
			s.Fill("f", c.old)
		}
		did := false
		s.Faults.Before(func(kind, name string) {
			if kind == c.kind && !did {
				did = true
				c.before()
			}
		})
		err := storage.CompareAndSwap(ctx, bucket+"f", c.old, []byte("new"))
		s.Faults.Before(nil)
		if !did || !errors.Is(err, storage.ErrSwapped) {
			t.Errorf("%s: %t, %v", c.name, did, err)
		}
		if got := s.Content("f"); string(got) == "new" {
			t.Errorf("%s: replaced all the same", c.name)
		}
	}
	if err := storage.CompareAndSwap(ctx, bucket+"f", []byte("other"), []byte("new")); err != nil {
		t.Error(err)
	}
	if err := storage.CompareAndSwap(ctx, bucket+"none", []byte("x"), []byte("new")); !errors.Is(err, storage.ErrSwapped) {
		t.Error(err)
	}
}
