package models

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/linear"
)

// A directory of a few kilobytes cannot make a reader allocate much, although it may state any number of
// frequencies, which are in no file.
func TestSmallModelDirectoryCannotRequestMuchMemory(t *testing.T) {
	m := classifier(t)
	recipe, err := features.Seal(fourier.Gaussian{In: 1 << 20, Out: 1 << 10, Width: 1, Form: fourier.Offset,
		Draw: fourier.Structured})
	if err != nil {
		t.Fatal(err)
	}
	m.Manifest.Recipe, m.Manifest.Input.Dim, m.Manifest.Input.Columns = recipe, 1<<20, nil
	m.Linear = &linear.Model{K: m.Linear.K, D: 1 << 10, W: make([]float32, m.Linear.K<<10), B: make([]float32, m.Linear.K)}
	files, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	manifest := &files[len(files)-1]
	iid := bytes.Replace(manifest.Data, []byte(`"structured"`), []byte(`"iid"`), 1)
	manifest.Data = seal(iid)
	dir := t.TempDir() + "/model"
	if err := storage.Publish(t.Context(), dir, files); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = LoadURI(t.Context(), dir)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrBadModel) || took > 16<<20 {
		t.Errorf("%v, with %d MB", err, took>>20)
	}
}
