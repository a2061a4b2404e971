package pipelines

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/jobtest"
	"github.com/bochner-ml/bochner/pipelines/prepare"
	"github.com/bochner-ml/bochner/pipelines/tuning"
)

// A list of ids is as large as its file, and nothing needs it when the job has ended.
func TestAListOfIDsIsNotKeptAfterTheJob(t *testing.T) {
	dir := t.TempDir()
	rows := "user,a,y\n"
	for i := range 60 {
		rows += fmt.Sprintf("u%d,%d,%s\n", i, i*i%17, []string{"in", "out"}[i%2])
	}
	data := dataset.Options{Data: []string{jobtest.Write(t, dir, "data.csv", rows)}, Label: "y", ID: "user"}
	_, err := Train(jobtest.Ctx, TrainOptions{Search: tuning.None, Model: dir + "/recipe", Lambda: lambdaOf(1e-3),
		Spec: prepare.Spec{Data: data, Kernel: &fourier.GaussianOptions{Features: 16}, Seed: 1}})
	if err == nil {
		_, err = Sum(jobtest.Ctx, SumOptions{Recipe: dir + "/recipe", Data: data, Out: dir + "/sums"})
	}
	if err == nil {
		_, err = Fit(jobtest.Ctx, FitOptions{Parts: Parts{Sums: []string{dir + "/sums"}}, Model: dir + "/model"})
	}
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for i := range 100_000 { // most of nobody, which the job finds out when it has read the rows
		fmt.Fprintf(&list, "u%d%s\n", i, strings.Repeat("x", i%2*80))
	}
	o := ForgetOptions{Model: dir + "/model", Parts: Parts{Sums: []string{dir + "/sums"}}, Data: data, IDs: jobtest.Write(t, dir, "ids", list.String()), Out: dir + "/without"}
	size := list.Len()
	list.Reset()
	held := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // empties pools, too
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := held()
	if _, err := Forget(jobtest.Ctx, o); err == nil || !strings.Contains(err.Error(), "ids") {
		t.Fatalf("ids of no row: %v", err)
	}
	if more := held() - before; more > size/2 {
		t.Errorf("%d bytes more are held than before a list of %d bytes", more, size)
	}
}
