package imports

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var reference = regexp.MustCompile(`(?:^|[^\w./-])(([A-Za-z]\w*)\.([A-Za-z]\w*)(?:\.([A-Z]\w*))?)`)

// members holds what packages declare: their names and, after the name of a type and a dot, its fields and
// methods. After the dot is also "" for each type, and "*" if it is an alias or embeds others.
type members map[string]bool

func (d members) add(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.FuncDecl:
		name := n.Name.Name
		if n.Recv != nil {
			of, _, _ := strings.Cut(strings.TrimLeft(types.ExprString(n.Recv.List[0].Type), "*"), "[")
			name = of + "." + name
		}
		d[name] = true
		return false
	case *ast.ValueSpec:
		for _, name := range n.Names {
			d[name.Name] = true
		}
	case *ast.TypeSpec:
		own := n.Name.Name + "."
		d[n.Name.Name], d[own], d[own+"*"] = true, true, n.Assign.IsValid()
		ast.Inspect(n.Type, func(node ast.Node) bool {
			if field, ok := node.(*ast.Field); ok {
				d[own+"*"] = d[own+"*"] || len(field.Names) == 0
				for _, name := range field.Names {
					d[own+name.Name] = true
				}
			}
			return true
		})
	}
	return true
}

// TestNamesInCommentsExist checks names in comments with their package, or with a type of their own package.
func TestNamesInCommentsExist(t *testing.T) {
	files, all := parsed(t)
	found, scopes := 0, map[string]members{} // of packages by name, and of folders
	for path, f := range all {
		for _, of := range []string{strings.TrimSuffix(f.Name.Name, "_test"), filepath.Dir(path)} {
			if scopes[of] == nil {
				scopes[of] = members{}
			}
			ast.Inspect(f, scopes[of].add)
		}
	}
	for path, f := range all {
		for _, comment := range f.Comments {
			for _, m := range reference.FindAllStringSubmatch(comment.Text(), -1) {
				own, in := scopes[filepath.Dir(path)], scopes[m[2]]
				exists := in[m[3]] && (m[4] == "" || in[m[3]+"."+m[4]] || in[m[3]+".*"])
				if own[m[2]+"."] {
					exists = own[m[2]+"."+m[3]] || own[m[2]+".*"] || m[3] == "txt"
				} else if !token.IsExported(m[3]) || !token.IsExported(m[2]) && in == nil {
					continue // a variable, or the name of a file
				}
				if found++; !exists {
					t.Errorf("%s: there is no %s", files.Position(comment.Pos()), m[1])
				}
			}
		}
	}
	if found < 500 {
		t.Errorf("only %d references", found)
	}
}
