//go:build unix

package gram

import (
	"bytes"
	"io/fs"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/transforms"
)

// holding is a file system on which the piece of a reader that has its first shard cannot store a
// checkpoint before another piece has, so that a runner that watches its progress splits the reader.
type holding struct {
	disk.FS
	split chan struct{} // closed when another piece has
	once  sync.Once
	most  time.Duration // that the first waits
}

func (h *holding) Create(name string, perm fs.FileMode) (disk.File, error) {
	if _, from, ok := strings.Cut(path.Base(name), "-from-"); ok && strings.Contains(name, "checkpoint-") {
		if from[0] != '0' {
			h.once.Do(func() { close(h.split) })
		} else {
			select {
			case <-h.split:
			case <-time.After(h.most):
			}
		}
	}
	return h.FS.Create(name, perm)
}

// A reader that a runner splits while it is read has the sums of an undisturbed one. Prism splits a bundle that
// makes no progress between two checks; a reader that has not begun a shard by then refuses, which prism
// respects to the end of the bundle, so a slow machine may need many attempts.
func TestPrismSplitsAReader(t *testing.T) {
	lines := table(2000)
	for _, stripes := range []int{1, 2} {
		want, undisturbed := sumParts(t, passOf(t, lines, 1), 9_000, "direct", transforms.Scan{Readers: 1, Threads: 1})
		split := false
		for attempt := 0; attempt < 200 && !split; attempt++ {
			h := &holding{FS: disk.Current(), split: make(chan struct{}), most: 3 * time.Second}
			restore := disk.Swap(h)
			got, st := sumParts(t, passOf(t, lines, 1), 9_000, "prism",
				transforms.Scan{Readers: 1, Threads: 1, Stripes: stripes, Split: true, Checkpoint: -1})
			restore()
			if !bytes.Equal(got, want) {
				t.Errorf("%d stripes: other sums", stripes)
			}
			if !bytes.Equal(readFile(t, st.Weights), readFile(t, undisturbed.Weights)) {
				t.Errorf("%d stripes: other weights", stripes)
			}
			select {
			case <-h.split:
				split = true
			default:
			}
		}
		if !split {
			t.Errorf("%d stripes: no reader was split", stripes)
		}
	}
}
