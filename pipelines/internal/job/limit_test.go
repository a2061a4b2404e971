package job

import (
	"math"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/bochner-ml/bochner/pipelines/options"
)

// The memory limit is the plan of the job added to the memory that the process holds already; with a lower
// limit the collector would run all the time.
func TestMemoryLimitLeavesRoomForTheProcess(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64)) // for any environment
	before := debug.SetMemoryLimit(-1)
	runtime.GC()
	held := make([]byte, 256<<20)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	j, err := New(t.Context(), options.Job{LimitMemory: true}, filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	j.LimitMemory(100 << 20)
	if limit := debug.SetMemoryLimit(-1); limit < int64(len(held))+40<<20 || limit > int64(len(held))+150<<20 {
		t.Errorf("a limit of %d MiB for a job of 100 MiB in a process that holds %d", limit>>20, len(held)>>20)
	}
	planned := debug.SetMemoryLimit(-1)
	restore := j.WithUnknownMemory()
	if limit := debug.SetMemoryLimit(-1); limit != before {
		t.Errorf("a limit of %d bytes while the number is not known", limit)
	}
	restore()
	if limit := debug.SetMemoryLimit(-1); limit != planned {
		t.Errorf("a limit of %d bytes afterwards; want %d", limit, planned)
	}
	runtime.KeepAlive(held)
	if err := j.Close(t.Context(), nil); err != nil {
		t.Error(err)
	}
	percent := debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	if percent == 25 {
		t.Error("the job has left a collector of 25%")
	}
	if limit := debug.SetMemoryLimit(-1); limit != before {
		t.Errorf("the job has left a limit of %d bytes; want %d", limit, before)
	}
}
