package storage

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRemoveEmptyKeepsDirectoriesWithFiles(t *testing.T) {
	root := t.TempDir()
	full, empty := filepath.Join(root, "full"), filepath.Join(root, "empty")
	for _, dir := range []string{full, empty} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	kept := write(t, filepath.Join(full, "kept"), "content")
	for dir, want := range map[string]bool{full: false, empty: true, filepath.Join(root, "none"): true} {
		if got, err := IsEmpty(ctx, dir, ""); got != want || err != nil {
			t.Errorf("Empty(%s) = %t, %v", dir, got, err)
		}
		if err := RemoveEmpty(ctx, dir, ""); err != nil {
			t.Errorf("RemoveEmpty(%s) = %v", dir, err)
		}
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if got := entries(t, root); len(got) != 1 || got[0] != "full" {
		t.Errorf("left %v, want the directory with a file", got)
	}
	if _, err := IsEmpty(ctx, kept, ""); err == nil {
		t.Error("a file was taken for an empty directory")
	}
}
