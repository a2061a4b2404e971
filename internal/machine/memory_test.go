package machine

import (
	"fmt"
	"testing"
	"testing/fstest"
)

const (
	gb        = 1 << 30
	byAddress = "ulimit -v, less what a Go program reserves,"
)

func TestSmallestMemoryLimitCounts(t *testing.T) {
	files := func(more map[string]string) fstest.MapFS {
		fs := fstest.MapFS{}
		all := map[string]string{
			"proc/meminfo":     "MemTotal:       16777216 kB\nMemFree:  1 kB\nMemAvailable:    8388608 kB\nSwapTotal: 0 kB\nHugePages_Total: 0\n",
			"proc/self/status": "Name:\tbochner\nVmSize:\t 2097152 kB\nVmRSS:\t 1048576 kB\nVmData:\t 1572864 kB\n",
		}
		for name, data := range more {
			all[name] = data
		}
		for name, data := range all {
			fs[name] = &fstest.MapFile{Data: []byte(data)}
		}
		return fs
	}
	v2 := map[string]string{
		"proc/self/cgroup":                 "0::/a/b\n",
		"sys/fs/cgroup/a/memory.max":       "4294967296\n",
		"sys/fs/cgroup/a/memory.current":   "3221225472\n",
		"sys/fs/cgroup/a/memory.stat":      "anon 5\ninactive_file 1073741824\n",
		"sys/fs/cgroup/a/b/memory.max":     "max\n",
		"sys/fs/cgroup/a/b/memory.current": "7\n",
	}
	v1 := map[string]string{
		"proc/self/cgroup":                             "3:cpu,memory:/docker/x\n1:name=systemd:/\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes":   "2147483648\n",
		"sys/fs/cgroup/memory/memory.usage_in_bytes":   "1073741824\n",
		"sys/fs/cgroup/memory/memory.stat":             "total_inactive_file 0\n",
		"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "9223372036854771712\n",
	}
	for name, test := range map[string]struct {
		files map[string]string
		own   limits
		want  Memory
	}{
		"the machine":         {nil, limits{none, none}, Memory{16 * gb, "the machine", 9 * gb}},
		"version 2, a parent": {v2, limits{none, none}, Memory{4 * gb, "the control group", 3 * gb}},
		"version 1, the root": {v1, limits{none, none}, Memory{2 * gb, "the control group", 2 * gb}},
		"ulimit -v":           {v2, limits{4 * gb, none}, Memory{4*gb - reserved, byAddress, 4*gb - reserved}},
		"ulimit -d":           {nil, limits{none, 2 * gb}, Memory{3 * gb / 2, "ulimit -d", 3 * gb / 2}},
		"no address space":    {nil, limits{gb, none}, Memory{1, byAddress, 1}},
	} {
		if got := readMemory(files(test.files), test.own); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
	if got := readMemory(fstest.MapFS{}, limits{none, none}); got != (Memory{}) {
		t.Errorf("of nothing: %+v", got)
	}
	if m := ReadMemory(); m.Limit == 0 || m.Free == 0 || m.Free > m.Limit {
		t.Errorf("of this machine: %+v", m)
	}
}

// A larger limit never leaves less memory, for sizes that were measured on processes of Go 1.26 on amd64. Under
// the smaller limits the runtime does without an index of 537 MB.
func TestLargerLimitNeverLeavesLessMemory(t *testing.T) {
	before := int64(0)
	for _, p := range []struct{ limit, size int64 }{ // kB
		{900_000, 795_512}, {1_000_000, 795_504}, {1_200_000, 795_768}, {1_400_000, 1_320_052}, {1_600_000,
			1_320_044}, {2_000_000, 1_320_044},
	} {
		status := fmt.Sprintf("VmSize:\t%d kB\nVmRSS:\t48000 kB\n", p.size)
		m := readMemory(fstest.MapFS{"proc/self/status": &fstest.MapFile{Data: []byte(status)}}, limits{p.limit << 10, none})
		if m.Limit < before || m.Limit < 1 {
			t.Errorf("ulimit -v %d leaves %d MB, a smaller one %d MB", p.limit, m.Limit>>20, before>>20)
		}
		before = m.Limit
	}
	if before < 700<<20 {
		t.Errorf("ulimit -v 2000000 leaves %d MB", before>>20)
	}
}
