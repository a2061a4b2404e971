package storage

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/internal/disk"
)

// settling is the settler of this process.
var settling settler

// settler syncs files and their directories, batch by batch. Files that are added during a
// batch form the next one, so many small files take few commits of the file system.
type settler struct {
	mu      sync.Mutex
	idle    sync.Cond // on mu
	pending []string
	running bool
}

func (s *settler) add(p string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, p)
	if !s.running {
		s.running = true
		go s.run()
	}
}

func (s *settler) run() {
	for {
		s.mu.Lock()
		batch := s.pending
		s.pending = nil
		if len(batch) == 0 {
			s.running = false
			if s.idle.L != nil {
				s.idle.Broadcast()
			}
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		settle(batch)
	}
}

// settle syncs files, and then the directories that name them. Errors are not reported:
// a lost file is detected by its checksum and made again. A missing file was removed
// meanwhile.
func settle(files []string) {
	fsys := disk.Now()
	var tasks errgroup.Group
	tasks.SetLimit(parallelSyncs)
	dirs := map[string]bool{}
	for _, p := range files {
		dirs[filepath.Dir(p)] = true
		tasks.Go(func() error {
			if err := fsys.Sync(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		})
	}
	_ = tasks.Wait()
	for dir := range dirs {
		_ = fsys.Sync(dir)
	}
}

// Flushed reports whether all state that this process has written is on the disk.
func Flushed() bool {
	settling.mu.Lock()
	defer settling.mu.Unlock()
	return !settling.running
}

// Flush waits until Settled.
func Flush() {
	settling.mu.Lock()
	defer settling.mu.Unlock()
	settling.idle.L = &settling.mu
	for settling.running {
		settling.idle.Wait()
	}
}
