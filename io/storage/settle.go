package storage

import (
	"path/filepath"
	"slices"
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
	pending []string
	running chan struct{} // closed when all is done; nil if nothing runs
}

func (s *settler) add(p string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, p)
	if s.running == nil {
		s.running = make(chan struct{})
		go s.run()
	}
}

func (s *settler) run() {
	for {
		s.mu.Lock()
		batch := s.pending
		s.pending = nil
		if len(batch) == 0 {
			close(s.running)
			s.running = nil
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		settle(batch)
	}
}

// now returns a channel that is closed when all files are synced, nil if they are.
func (s *settler) now() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// settle syncs files, and then the directories that name them. Errors are not reported:
// a lost file is detected by its checksum and made again.
func settle(files []string) {
	fsys := disk.Now()
	var tasks errgroup.Group
	tasks.SetLimit(parallelSyncs)
	var dirs []string // in the order of the files, so that a run can be repeated in a test
	for _, p := range files {
		if dir := filepath.Dir(p); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		tasks.Go(func() error {
			_ = fsys.Sync(p)
			return nil
		})
	}
	_ = tasks.Wait()
	for _, dir := range dirs {
		_ = fsys.Sync(dir)
	}
}

// Flushed reports whether all state that this process has written is on the disk.
func Flushed() bool { return settling.now() == nil }

// Flush waits until Flushed.
func Flush() {
	if running := settling.now(); running != nil {
		<-running
	}
}
