package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"github.com/bochner-ml/bochner/io/storage"
)

// A pattern is listed, and each file read as it was when it was listed.
func ExampleList() {
	ctx := context.Background()
	files, err := storage.List(ctx, "archive://rows/*.csv")
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range files {
		text, err := storage.ReadFile(ctx, f.URI, 1<<20)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s", f.Name, text)
	}
	// Output:
	// archive://rows/a.csv: 1,yes
	// archive://rows/b.csv: 2,no
}

// A directory appears whole under its name, or not at all.
func ExamplePublish() {
	ctx := context.Background()
	root, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	dir := filepath.Join(root, "model")
	files := []storage.File{{Name: "manifest.json", Data: []byte("{}")}}
	fmt.Println(storage.Publish(ctx, dir, files))
	err = storage.Publish(ctx, dir, files)
	fmt.Println(errors.Is(err, fs.ErrExist))
	// Output:
	// <nil>
	// true
}

// The operation, the name and the cause of a failure are fields.
func ExampleError() {
	_, err := storage.Stat(context.Background(), "archive://none")
	var failed *storage.Error
	if errors.As(err, &failed) {
		fmt.Println(failed.Op, failed.Name, errors.Is(err, fs.ErrNotExist), failed.Refused())
	}
	// Output: stat archive://none true true
}
