package storage

import (
	"bytes"
	"path/filepath"
	"testing"
)

func TestHoldsRecognisesPublishedContent(t *testing.T) {
	root := t.TempDir()
	long := bytes.Repeat([]byte("0123456789abcdef"), 1<<13) // of two whole buffers
	from := write(t, filepath.Join(root, "from"), string(long))
	files := []File{{Name: "a", Data: []byte("bytes")}, {Name: "b", From: from}, {Name: "c"}}
	dir := filepath.Join(root, "dir")
	if err := Publish(ctx, dir, files); err != nil {
		t.Fatal(err)
	}
	holds := func(files ...File) bool {
		t.Helper()
		same, err := EqualFiles(ctx, dir, files)
		if err != nil {
			t.Fatal(err)
		}
		return same
	}
	if !holds(files...) || !holds(files[2], files[0], File{Name: "b", Data: long}) {
		t.Error("what was published is not found")
	}
	other := bytes.Clone(long)
	other[len(other)-1]++
	for what, list := range map[string][]File{
		"a file less": files[:2], "another name": {files[0], files[1], {Name: "d"}},
		"the last byte": {files[0], {Name: "b", Data: other}, files[2]},
		"a byte less":   {files[0], {Name: "b", Data: long[1:]}, files[2]},
		"a byte more":   {files[0], {Name: "b", Data: append(bytes.Clone(long), 'x')}, files[2]},
		"half":          {files[0], {Name: "b", Data: long[:len(long)/2]}, files[2]},
	} {
		if holds(list...) {
			t.Errorf("%s: taken for what was published", what)
		}
	}
}
