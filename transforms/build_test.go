package transforms

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/transforms/fault"
)

func TestWorkerOfAnotherBuildRejectsThePass(t *testing.T) {
	defer func(was string) { build = was }(build)
	for _, c := range []struct {
		driver, worker string
		taken          bool
	}{{"a1", "a1", true}, {"a1", "b2", false}, {"a1", "a1-modified", false}, {"", "b2", true}, {"a1", "", true}} {
		build = c.driver
		uri, err := StorePass(t.Context(), t.TempDir(), new(Pass), nil)
		if err != nil {
			t.Fatal(err)
		}
		build = c.worker
		_, err = LoadPass[Pass](t.Context(), NewWorker(t.TempDir()), uri)
		f, failed := fault.Find(err)
		if failed == c.taken || failed &&
			(!strings.Contains(f.Message, c.driver) || !strings.Contains(f.Message, "--worker_binary")) {
			t.Errorf("driver %q, worker %q: %v", c.driver, c.worker, err)
		}
	}
}

// A pass file has the recipe and the name of its file, which is all that a worker in another process gets.
func TestRecipesOfAPassGetTheirFiles(t *testing.T) {
	data, err := learned.Encode(&learned.Frequencies{Count: 2, In: 1, W: []float32{0.25, 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	recipe, err := learned.RecipeOf(data, fourier.Paired, 1)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := features.Seal(recipe)
	if err != nil {
		t.Fatal(err)
	}
	file := File{Name: learned.FileName, URI: filepath.Join(t.TempDir(), "file"), SHA256: recipe.SHA256}
	uri, err := StorePass(t.Context(), t.TempDir(), &Featurize{Recipe: sealed}, []File{file})
	if err != nil {
		t.Fatal(err)
	}
	for want, content := range map[string][]byte{
		"no such file": nil, "is damaged: ": data[1:], "": data,
	} {
		if os.Remove(file.URI); content != nil {
			if err := os.WriteFile(file.URI, content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		w := NewWorker(t.TempDir())
		p, err := LoadPass[Featurize](t.Context(), w, uri)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Map(p.Recipe); err != nil {
			t.Error(err)
		}
	}
}
