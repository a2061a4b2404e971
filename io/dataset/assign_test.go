package dataset_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
)

// files returns a Dataset of compressed files of the given sizes, one shard each.
func files(sizes ...int64) (*Dataset, []Shard) {
	d := new(Dataset)
	for i, n := range sizes {
		d.Files = append(d.Files, File{Object: storage.Object{Name: fmt.Sprint(i), Size: n}, Compression: "gzip"})
	}
	return d, d.Shards(1)
}

func TestEveryPartitionAndEveryShardIsAssignedOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		sizes := make([]int64, 1+r.IntN(30))
		for i := range sizes {
			switch r.IntN(3) {
			case 0:
			case 1:
				sizes[i] = r.Int64N(100)
			default:
				sizes[i] = r.Int64N(1 << 40)
			}
		}
		d, shards := files(sizes...)
		partitions := 1 + r.IntN(40)
		assignments := d.Assign(shards, partitions)
		seen := map[int]bool{}
		next := 0
		for _, h := range assignments {
			if h.First != next || h.Count < 1 {
				t.Fatalf("%v in %d: assignment of %d from %d, want from %d", sizes, partitions, h.Count, h.First, next)
			}
			next += h.Count
			for i, s := range h.Shards {
				if seen[s.File] || i > 0 && !h.Shards[i-1].Before(s) {
					t.Fatalf("%v in %d: shard of file %d twice or out of order", sizes, partitions, s.File)
				}
				seen[s.File] = true
			}
		}
		if next != partitions || len(seen) != len(sizes) {
			t.Fatalf("%v in %d: %d partitions and %d of %d shards were assigned", sizes, partitions, next, len(seen), len(sizes))
		}
	}
}

func TestPartitionsAreOfAboutEqualSize(t *testing.T) {
	tiny := make([]int64, 10_001)
	tiny[7000] = 1 << 30
	for i := range 100 {
		tiny[i*37] = 1000
	}
	even := make([]int64, 1000)
	for i := range even {
		even[i] = 32 << 20
	}
	for _, test := range []struct {
		name       string
		sizes      []int64
		partitions int
		worst      float64 // bytes of the largest partition, in partitions
	}{
		{"one file", []int64{5000}, 8, 1},
		{"two files, one three times as large", []int64{100, 300}, 8, 1},
		{"many equal files", even, 8, 1.01},
		{"one full file among empty ones", tiny, 8, 1.15},
	} {
		d, shards := files(test.sizes...)
		largest := 0.0
		for _, h := range d.Assign(shards, test.partitions) {
			var n int64
			for _, s := range h.Shards {
				n += d.Bytes(s)
			}
			largest = max(largest, float64(n)/float64(h.Count))
		}
		if got := largest * float64(test.partitions) / float64(d.Size()); got > test.worst {
			t.Errorf("%s: the largest partition is %.3f times its share, want at most %g", test.name, got, test.worst)
		}
	}
}
