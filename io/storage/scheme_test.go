package storage_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bochner-ml/bochner/io/storage"
)

func TestRegisteredSchemeIsRead(t *testing.T) {
	ctx := t.Context()
	found, err := storage.List(ctx, "archive://rows/*.csv")
	if err != nil || len(found) != 2 || found[1].Name != "archive://rows/b.csv" || found[1].Size != 5 {
		t.Fatalf("List = %v, %v", found, err)
	}
	if r, err := found[0].Open(ctx, 2, 3); err != nil {
		t.Error(err)
	} else if text, err := io.ReadAll(r); string(text) != "yes" || err != nil {
		t.Errorf("a range holds %q, %v", text, err)
	}
	if text, err := storage.ReadFile(ctx, found[1].URI, 5); string(text) != "2,no\n" || err != nil {
		t.Errorf("ReadFile = %q, %v", text, err)
	}
	if names, err := storage.Names(ctx, "archive://rows"); !slices.Equal(names, []string{"a.csv", "b.csv"}) || err != nil {
		t.Errorf("Names = %v, %v", names, err)
	}
	for name, want := range map[string]bool{"rows": true, "rows/a.csv": true, "none": false, "rows/none": false} {
		if there, err := storage.Exists(ctx, "archive://"+name); there != want || err != nil {
			t.Errorf("Exists(%s) = %t, %v", name, there, err)
		}
	}
	sum, err := storage.CreateState(ctx, t.TempDir()+"/copy", func(w io.Writer) error {
		_, err := io.WriteString(w, "1,yes\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := sum.Verify(ctx, found[0].URI); err != nil {
		t.Error(err)
	}
	if err := sum.Verify(ctx, found[1].URI); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("another file: %v", err)
	}
}

// The operation, the name, the cause and whether to retry are fields of an error, besides its text.
func TestErrorsHaveFields(t *testing.T) {
	ctx := t.Context()
	_, stat := storage.Stat(ctx, "archive://none")
	_, dir := storage.Stat(ctx, "archive://rows")
	_, list := storage.List(ctx, "archive://*.tsv")
	_, scheme := storage.Open(ctx, "s3://bucket/x", 0, -1)
	_, taken := storage.AcquireClaim(ctx, "archive://new")
	for _, c := range []struct {
		err      error
		op, name string
		kind     error
		writing  bool
	}{
		{stat, "stat", "archive://none", fs.ErrNotExist, false},
		{dir, "stat", "archive://rows", syscall.EISDIR, false},
		{list, "list", "archive://*.tsv", storage.ErrNoMatch, false},
		{scheme, "open", "s3://bucket/x", storage.ErrUnknownScheme, false},
		{taken, "claim", "archive://new", storage.ErrReadOnly, true},
		{storage.CheckAbsent(ctx, "archive://new"), "publish", "archive://new", storage.ErrReadOnly, true},
		{storage.WriteFile(ctx, "archive://new", nil), "create", "archive://new", storage.ErrReadOnly, true},
		{storage.Remove(ctx, "archive://new"), "remove", "archive://new", storage.ErrReadOnly, true},
	} {
		var e *storage.Error
		if !errors.As(c.err, &e) || e.Op != c.op || e.Name != c.name || !errors.Is(e, c.kind) || !e.Refused() ||
			e.Writing() != c.writing {
			t.Errorf("%#v: want op %q, name %q, kind %q, writing %t", c.err, c.op, c.name, c.kind, c.writing)
		}
	}
}

func TestUnknownSchemeErrorListsTheSchemes(t *testing.T) {
	for name, want := range map[string]string{
		"gs://b/f":  "storage: stat gs://b/f: unknown scheme gs://; have paths of the local disk, archive://; a program that imports github.com/bochner-ml/bochner/io/storage/gcs knows it",
		"ftp://h/f": "storage: stat ftp://h/f: unknown scheme ftp://; have paths of the local disk, archive://; a program knows a scheme if it imports the package that registers it",
	} {
		if _, err := storage.Stat(context.Background(), name); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A scheme that was replaced by nothing is unknown until it is registered again.
func TestReplacedSchemeIsUnknown(t *testing.T) {
	before := storage.Replace("archive", nil)
	_, err := storage.Stat(t.Context(), "archive://rows/a.csv")
	if again := storage.Replace("archive", before); again != nil || !errors.Is(err, storage.ErrUnknownScheme) ||
		!strings.Contains(err.Error(), "archive://") {
		t.Errorf("%v, with %v registered", err, again)
	}
	if _, err := storage.Stat(t.Context(), "archive://rows/a.csv"); err != nil {
		t.Error(err)
	}
	if !slices.Equal(storage.Schemes(), []string{"archive"}) {
		t.Errorf("schemes %v", storage.Schemes())
	}
}

func TestRegisterPanicsIfTheNameIsTaken(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	storage.Register("archive", archive{})
}
