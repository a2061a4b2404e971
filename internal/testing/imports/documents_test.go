package imports

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../../"

var (
	declared = regexp.MustCompile(`(?m)^(?:func|type|var|const) (?:\(\w* ?\*?(\w+)(?:\[.*?\])?\) )?(\w+)`)
	clause   = regexp.MustCompile(`(?m)^package (\w+)`)

	symbol = regexp.MustCompile(`\b[a-z][a-z0-9]*\.[A-Z]\w*(?:\.[A-Z]\w*)?`)
	test   = regexp.MustCompile("`((?:Test|Benchmark)[A-Z]\\w*)`(?:[^`\n]*`([^`\n]+_test\\.go)`)?")
	place  = regexp.MustCompile("`([\\w.-]+(?:/[\\w.-]+)+/?|[\\w-]+\\.(?:go|md))`")
)

// declarations returns the names that the Go files of the module declare, as package.Name and
// package.Type.Method, and of tests also as Name and file:Name.
func declarations(t *testing.T) map[string]bool {
	names := map[string]bool{}
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") {
			return err
		}
		text, err := os.ReadFile(root + file)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			of, name := string(m[1])+".", string(m[2])
			names[string(clause.FindSubmatch(text)[1])+"."+strings.TrimPrefix(of+name, ".")] = true
			if strings.HasSuffix(file, "_test.go") {
				names[name], names[file+":"+name] = true, true
			}
		}
		return err
	})
	if err != nil || len(names) < 5000 {
		t.Fatalf("%d names: %v", len(names), err)
	}
	return names
}

func TestNamesInDocumentsExist(t *testing.T) {
	pages, err := filepath.Glob(root + "docs/decisions/*.md")
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d decisions: %v", len(pages), err)
	}
	names, architecture := declarations(t), root+"ARCHITECTURE.md"
	for _, page := range append(pages, architecture) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		symbols, tests := symbol.FindAllString(string(text), -1), test.FindAllStringSubmatch(string(text), -1)
		for _, name := range symbols {
			if !names[name] {
				t.Errorf("%s: there is no %s", page, name)
			}
		}
		for _, m := range tests {
			if !names[m[1]] || m[2] != "" && !names[m[2]+":"+m[1]] {
				t.Errorf("%s: there is no test %s %s", page, m[1], m[2])
			}
		}
		for _, m := range place.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(root + m[1]); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
		if page == architecture && (len(text) > 12_000 || len(symbols) < 30 || len(tests) < 7) {
			t.Errorf("%s has %d bytes (at most 12,000), %d symbols, %d tests", page, len(text), len(symbols), len(tests))
		}
	}
}
