package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// parsed returns the Go files of this module by their paths, with comments.
func parsed(t *testing.T) (*token.FileSet, map[string]*ast.File) {
	t.Helper()
	files, all := token.NewFileSet(), map[string]*ast.File{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		all[path], err = parser.ParseFile(files, path, nil, parser.ParseComments)
		return err
	})
	if err != nil || len(all) < 1000 {
		t.Fatalf("%d files: %v", len(all), err)
	}
	return files, all
}

// TestDocCommentsBeginWithTheName checks that the doc comment of a function or type begins with its
// name, after an article at most, so that a comment does not keep a name that was changed.
func TestDocCommentsBeginWithTheName(t *testing.T) {
	files, all := parsed(t)
	check := func(doc *ast.CommentGroup, name string) {
		words := strings.Fields(doc.Text())
		if len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
			words = words[1:]
		}
		if len(words) > 0 && strings.TrimRight(strings.TrimSuffix(words[0], "'s"), ",.:") != name {
			t.Errorf("%s: the comment of %s begins with %q", files.Position(doc.Pos()), name, words[0])
		}
	}
	for path, f := range all {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				check(d.Doc, d.Name.Name)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok && d.Lparen.IsValid() {
						check(spec.Doc, spec.Name.Name)
					} else if ok {
						check(d.Doc, spec.Name.Name)
					}
				}
			}
		}
	}
}
