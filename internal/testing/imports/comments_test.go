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

// TestDocCommentsBeginWithTheName checks that the doc comment of a function or type begins with its
// name, after an article at most, so that a comment does not keep a name that was changed.
func TestDocCommentsBeginWithTheName(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	files := token.NewFileSet()
	check := func(doc *ast.CommentGroup, name string) {
		words := strings.Fields(doc.Text())
		if len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
			words = words[1:]
		}
		if len(words) > 0 && strings.TrimRight(strings.TrimSuffix(words[0], "'s"), ",.:") != name {
			t.Errorf("%s: the comment of %s begins with %q", files.Position(doc.Pos()), name, words[0])
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			return err
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
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
