// Package contributing tests that the examples of CONTRIBUTING.md are files of this
// module: those compile and run with the tests of their packages.
package contributing

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// example is a block of code below a comment that names its file.
var example = regexp.MustCompile("(?s)<!-- (\\S+) -->\n```go\n(.*?)```")

// lines is what an example may have.
const lines = 71

func TestExamplesMatchTheirFiles(t *testing.T) {
	root := "../../.."
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := example.FindAllStringSubmatch(string(page), -1)
	for _, e := range examples {
		file, err := os.ReadFile(filepath.Join(root, e[1]))
		if err != nil {
			t.Error(err)
			continue
		}
		if e[2] != string(file) {
			t.Errorf("the example of %s is not that file", e[1])
		}
		if n := strings.Count(e[2], "\n"); n > lines {
			t.Errorf("the example of %s has %d lines, want at most %d", e[1], n, lines)
		}
	}
	if sections := strings.Count(string(page), "\n## Adding "); sections == 0 || sections > len(examples) {
		t.Errorf("%d sections with %d examples", sections, len(examples))
	}
}
