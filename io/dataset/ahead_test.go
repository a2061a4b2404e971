package dataset_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	. "github.com/bochner-ml/bochner/io/dataset"
)

// allAhead reads shards like readAll, with their files opened ahead.
func allAhead(t *testing.T, d *Dataset, shards []Shard, label Label) (out []string, reports []Report) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	i := 0
	for s, source := range d.Ahead(ctx, shards) {
		if s != shards[i] {
			t.Fatalf("shard %d is %+v, want %+v", i, s, shards[i])
		}
		i++
		rows, report := drain(d.ReadFrom(ctx, source, s, Request{Label: label, Mode: KeepPlace}))
		out, reports = append(out, rows...), append(reports, report)
	}
	if i != len(shards) {
		t.Fatalf("%d of %d shards", i, len(shards))
	}
	return out, reports
}

func TestShardsThatAreOpenedAheadReadTheSame(t *testing.T) {
	dir := t.TempDir()
	big := csvText(15_000) // longer than the read-ahead of one file
	bad := csvQuotedText(300) + "\nbad row\nmore,bad\n"
	images := idx(8, []int{40, 4, 4}, make([]float32, 640))
	for name, o := range map[string]Options{
		"text": {Files: []string{
			write(t, dir, "a.csv", []byte(csvText(200))), write(t, dir, "big.csv", []byte(big)),
			write(t, dir, "bad.csv", []byte(bad)), write(t, dir, "empty.csv", nil),
			write(t, dir, "b.csv.gz", pack(t, "gzip", []byte(csvQuotedText(100)))),
			write(t, dir, "big.csv.zst", pack(t, "zstd", []byte(big))),
		}, Label: "name"},
		"libsvm": {Files: []string{write(t, dir, "a.svm", []byte(libsvmText(500))),
			write(t, dir, "b.svm", []byte(libsvmText(20)))}},
		"images": {Files: []string{write(t, dir, "i1", images), write(t, dir, "i2", pack(t, "gzip", images))},
			Formats: labelFiles([]string{write(t, dir, "l1", idx(8, []int{40}, make([]float32, 40))),
				write(t, dir, "l2", pack(t, "zstd", idx(8, []int{40}, make([]float32, 40))))}...)},
		"cifar": {Files: []string{write(t, dir, "c1", cifar(300, 1)), write(t, dir, "c2", cifar(3, 1))}},
	} {
		d := open(t, o)
		for _, size := range []int64{10_000, 100_000, 1 << 30} {
			if size == 100_000 && !campaign.Whole() {
				continue
			}
			shards := d.Shards(size)
			for _, label := range []Label{nil, token} {
				if label == nil && size != 10_000 {
					continue
				}
				want, wantReports := readAll(d, shards, label, KeepPlace)
				got, gotReports := allAhead(t, d, shards, label)
				if d := cmp.Diff(wantReports, gotReports); d != "" {
					t.Errorf("%s, shards of %d: %s", name, size, d)
				}
				if len(want) == 0 || strings.Join(want, "\n") != strings.Join(got, "\n") {
					t.Errorf("%s, shards of %d: %d rows, want %d equal rows", name, size, len(got), len(want))
				}
			}
		}
	}
}

// A file that cannot be opened is reported at its turn, and the others are read.
func TestFaultIsReportedAtTheShardsTurn(t *testing.T) {
	dir := t.TempDir()
	const files = 200
	for i := range files {
		write(t, dir, fmt.Sprintf("%03d.csv", i), []byte(csvText(20)))
	}
	d := open(t, Options{Files: []string{filepath.Join(dir, "*.csv")}, Label: "name"})
	for _, i := range []int{7, 8, 150} {
		if err := os.Remove(d.Files[i].Name); err != nil {
			t.Fatal(err)
		}
	}
	_, reports := allAhead(t, d, d.Shards(1<<20), token)
	for i, r := range reports {
		gone := i == 7 || i == 8 || i == 150
		if gone != (r.Fault != "") || gone != (r.Rows == 0) || gone && !strings.Contains(r.Fault, d.Files[i].Name) {
			t.Errorf("file %d: %d rows, fault %q", i, r.Rows, r.Fault)
		}
	}
}

// A reader that stops early, or is cancelled, leaves no open file and no waiting goroutine.
func TestAheadEndsWhenItsReaderDoes(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		write(t, dir, fmt.Sprintf("%03d.csv", i), []byte(csvText(20)))
	}
	d := open(t, Options{Files: []string{filepath.Join(dir, "*.csv")}, Label: "name"})
	shards := d.Shards(1 << 20)
	for range d.Ahead(context.Background(), shards) {
		break
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	for s, source := range d.Ahead(ctx, shards) {
		if n++; n == 3 {
			cancel()
		}
		if _, report := drain(d.ReadFrom(ctx, source, s, Request{Label: token, Mode: SkipRow})); n < 3 && report.Rows == 0 {
			t.Errorf("shard %d: fault %q", n, report.Fault)
		}
	}
	if n != len(shards) {
		t.Errorf("%d of %d shards", n, len(shards))
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	for _, fd := range open {
		if to, _ := os.Readlink(filepath.Join("/proc/self/fd", fd.Name())); strings.HasPrefix(to, dir) {
			t.Errorf("%s is still open", to)
		}
	}
}
