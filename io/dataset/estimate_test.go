package dataset_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	. "github.com/bochner-ml/bochner/io/dataset"
)

func TestEstimateRowsIsExactWhereHeadersCountRows(t *testing.T) {
	line := "0.25,0.5,1\n"
	for _, c := range []struct {
		name  string
		files []string
		how   string
		o     Options
		rows  int64
		exact bool
	}{
		{"images", []string{string(idx(8, []int{5, 2}, make([]float32, 10))),
			string(idx(8, []int{3, 2}, make([]float32, 6)))}, "plain", Options{}, 8, true},
		{"compressed images state it in their header", []string{string(idx(8, []int{5, 2}, make([]float32, 10)))}, "gzip",
			Options{}, 5, true},
		{"cifar", []string{string(cifar(3, 1)), "", string(cifar(2, 1))}, "plain", Options{Format: "cifar10"}, 5, true},
		{"compressed cifar", []string{string(cifar(3, 1))}, "gzip", Options{}, 0, false},
		{"short text", []string{strings.Repeat(line, 70)}, "plain", Options{}, 70, false},
		{"text longer than a head", []string{strings.Repeat(line, 300_000), strings.Repeat(line, 1000)}, "plain", Options{},
			301_000, false},
		{"compressed text", []string{strings.Repeat(line, 70)}, "zstd", Options{}, 0, false},
		{"one line", []string{"1,2,3"}, "plain", Options{}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for i, content := range c.files {
				write(t, dir, fmt.Sprint(i), pack(t, c.how, []byte(content)))
			}
			c.o.Files = []string{dir + "/*"}
			rows, exact, err := open(t, c.o).EstimateRows(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if exact != c.exact || math.Abs(float64(rows-c.rows)) > 0.001*float64(c.rows) {
				t.Errorf("%d rows, exact %v; want %d, %v", rows, exact, c.rows, c.exact)
			}
		})
	}
}

func TestBytesOfShardsAddUpToTheFiles(t *testing.T) {
	for _, src := range sources {
		d := open(t, src.make(t, t.TempDir(), "plain"))
		for _, size := range []int64{1, 100, 1 << 30} {
			var n int64
			for _, s := range d.Shards(size) {
				n += d.Bytes(s)
			}
			if header := d.Size() - n; header < 0 || header > 16 {
				t.Errorf("%s: shards of %d: %d bytes of %d", src.name, size, n, d.Size())
			}
		}
	}
}
