// Package realdata finds the data sets that tests use where they are at hand.
package realdata

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Variable is the environment variable that names the folder of the data sets.
const Variable = "BOCHNER_DATA"

// Path returns the path of a file or folder of the data sets, and skips the test
// where there are none.
func Path(t testing.TB, name ...string) string {
	t.Helper()
	dir := os.Getenv(Variable)
	if dir == "" {
		t.Skip(Variable + " does not name a folder of data sets")
	}
	abs, err := filepath.Abs(filepath.Join(append([]string{dir}, name...)...))
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// Read returns what a gzip file of the data sets holds, and skips the test
// where there are none.
func Read(t testing.TB, name ...string) []byte {
	t.Helper()
	data, err := Unzip(Path(t, name...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Unzip returns the content of a gzip file.
func Unzip(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return io.ReadAll(r)
}
