package gram

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/imageio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms"
)

// One file of 100 GB, with holes except for a few rows, is cut into readers of about the same size that read
// all of its rows once. The heap does not grow with the bytes that they read.
func TestReadersCutALargeFile(t *testing.T) {
	const (
		n       = 12_207_031 // rows of 8 KiB
		side    = 32
		readers = 2048
	)
	dir := t.TempDir()
	file := func(name string, kind byte, dims []uint32, size int64, at int64, data []byte) string {
		t.Helper()
		header := []byte{0, 0, kind, byte(len(dims))}
		for _, d := range dims {
			header = binary.BigEndian.AppendUint32(header, d)
		}
		name = filepath.Join(dir, name)
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, write := range []func() (int, error){
			func() (int, error) { return f.Write(header) },
			func() (int, error) { return f.WriteAt(data, int64(len(header))+at) },
			func() (int, error) { return 0, f.Truncate(int64(len(header)) + size) },
		} {
			if _, err := write(); err != nil {
				t.Fatal(err)
			}
		}
		return name
	}
	const row = 8 * side * side
	images := file("images", 0x0e, []uint32{n, side, side}, n*row, n/2*row,
		bytes.Repeat([]byte{0x3f, 0xf0, 0, 0, 0, 0, 0, 0}, 3*side*side))
	classes := file("labels", 0x08, []uint32{n}, n, n/2, []byte{1, 2, 1})
	d, err := dataset.Open(t.Context(), dataset.Options{Files: []string{images},
		Formats: []dataset.FormatOptions{imageio.Options{LabelFiles: []string{classes}}}})
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := features.Seal(fourier.Gaussian{In: side * side, Out: 64, Width: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := &Pass{
		Pass: transforms.Pass{Data: *d, Shards: d.Shards(32 << 20), Seed: 11,
			Target: &transforms.Labeling{Classes: schema.NewVocabulary([]string{"0", "1", "2"})}},
		Spec: Spec{Recipe: sealed, Outputs: 3, FoldPlan: ridge.FoldPlan{Folds: 2}, Steps: 127},
	}
	if want := n * row / (32 << 20); len(p.Shards) < want || len(p.Shards) > want+1+want/100 {
		t.Errorf("%d shards of 32 MiB", len(p.Shards))
	}
	uri := storePass(t, p)
	sc := transforms.Scan{Pass: uri, Readers: readers, Threads: 1}
	f := &sumsFn{Splittable: transforms.Splittable{Fn: transforms.Fn{Scan: sc}}, Dir: filepath.Dir(uri)}
	f.Setup()
	defer f.Teardown()

	ctx := context.Background()
	runs := map[int]int{} // readers that were run, by the number of their shards
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var all, done int64
	seen := 0.0
	for reader, mine := range dataset.Balance(len(p.Shards), readers, func(i int) int64 { return d.Bytes(p.Shards[i]) }) {
		if len(mine) < 1 || len(mine) > 2 {
			t.Fatalf("%d shards in reader %d", len(mine), reader)
		}
		var rows int64
		run := runs[len(mine)] < 2
		for _, i := range mine {
			s := p.Shards[i]
			rows += d.Bytes(s) / row
			run = run || s.Start < n/2+3 && n/2 < s.End
		}
		if all += rows; !run {
			continue
		}
		runs[len(mine)]++
		r, err := f.CreateInitialRestriction(ctx, reader)
		if err != nil || int(r.End) != len(mine) {
			t.Fatalf("reader %d has %v shards, want %d: %v", reader, r, len(mine), err)
		}
		var read int64
		err = f.ProcessElement(ctx, sdf.NewLockRTracker(f.CreateTracker(r).Rt), reader, func(key int, line []byte) {
			if key%p.Shape(64).NumParts() != 0 {
				return
			}
			var st storedRun
			if err := json.Unmarshal(line, &st); err != nil {
				t.Error(err)
			}
			head, err := loadPart(ctx, f.Dir, []storedRun{st}, key)
			if err != nil {
				t.Fatal(err)
			}
			seen += head[2] + head[3]
		}, func(line []byte) {
			var r ShardReport
			if err := json.Unmarshal(line, &r); err != nil || r.Fault != "" {
				t.Errorf("%s: %v", line, err)
			}
			read += r.Rows
		})
		if err != nil || read != rows {
			t.Errorf("reader %d has read %d rows of %d: %v", reader, read, rows, err)
		}
		done += read
	}
	runtime.ReadMemStats(&after)
	if all != n || seen != 3 {
		t.Errorf("readers have %d of %d rows; %g of 3 rows are not holes", all, n, seen)
	}
	if held := int64(after.HeapSys) - int64(before.HeapSys); done*row < 5<<25 ||
		held > 3<<25 { // less where stacks took some
		t.Errorf("the heap has grown by %d bytes while %d were read", held, done*row)
	}
}
