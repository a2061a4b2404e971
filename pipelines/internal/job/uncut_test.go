package job

import (
	"testing"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
)

func TestLargeFileOfOneRowGroupIsNoted(t *testing.T) {
	file := func(name string, size int64, groups int) dataset.File {
		return dataset.File{Object: storage.Object{Name: name, Size: size}, Cuts: make([]dataset.Cut, groups+1)}
	}
	d := &dataset.Dataset{Files: []dataset.File{file("small", 1<<20, 1), file("groups", 1<<40, 7),
		{Object: storage.Object{Name: "text", Size: 1 << 40}}}}
	if name, _ := uncuttable(d); name != "" {
		t.Errorf("%s is noted", name)
	}
	d.Files = append(d.Files, file("one", 1<<30, 1), file("other", 1<<29, 1))
	if name, size := uncuttable(d); name != "one" || size != 1<<30 {
		t.Errorf("%s of %d bytes is noted", name, size)
	}
}
