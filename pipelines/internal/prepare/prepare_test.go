package prepare

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms"
)

// The memory of the sum of the profile, the largest result of the pass, is freed once it is dropped: the other
// results do not keep it.
func TestDroppedProfileIsFreed(t *testing.T) {
	const rows, columns = 1000, 300
	r := rand.New(rand.NewPCG(1, 1))
	var text strings.Builder
	text.WriteString("y" + strings.Repeat(",x", columns) + "\n")
	for range rows {
		text.WriteString("1")
		for range columns {
			text.WriteString([]string{",0.25", ",0.5", ",0.75", ",1.5"}[r.IntN(4)])
		}
		text.WriteString("\n")
	}
	d := jobtest.Opened(t, text.String(), dataset.Options{Label: "y"})
	j, err := job.NewScratch(t.Context(), options.Job{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close(t.Context(), nil) }()
	p, _, err := ProfileRows(t.Context(), j, d, 0, 1, &transforms.Labeling{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	heap := func() int {
		runtime.GC()
		runtime.GC() // empties pools, too
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	p.Sum = nil
	const sample = rows * columns // bytes, at least
	if freed := before - heap(); freed < sample {
		t.Errorf("%d bytes were freed, want at least %d", freed, sample)
	}
	if p.Profile.Rows != rows || len(p.Distinct.Few(rows)) > 0 || p.Keys == nil {
		t.Errorf("the other results: %d rows", p.Profile.Rows)
	}
	runtime.KeepAlive(p)
}
