package imports

import (
	"encoding/json"
	"errors"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// public lists the folders whose packages other modules import.
var public = []string{"features", "models", "io", "transforms", "pipelines"}

// exported type-checks the public packages from the compiler's export data.
func exported(t *testing.T) []*types.Package {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export,Name"}
	for _, folder := range public {
		args = append(args, "./"+folder+"/...")
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = "../../.."
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	data := map[string]string{} // files of export data by import path
	var paths []string
	for dec := json.NewDecoder(out); ; {
		var p struct{ ImportPath, Export, Name string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		data[p.ImportPath] = p.Export
		rel, ours := strings.CutPrefix(p.ImportPath, module)
		if ours && p.Name != "main" && !strings.HasPrefix(rel, "internal/") && !strings.Contains(rel, "/internal/") {
			paths = append(paths, p.ImportPath)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(data[path]) })
	var all []*types.Package
	for _, path := range paths {
		p, err := from.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// signatures looks for internal types in what a package exports.
type signatures struct {
	pkg   *types.Package
	seen  map[types.Type]bool // types whose fields and methods were looked at
	found []string
}

// object looks at an exported name and, of a type, at its exported fields and methods.
func (s *signatures) object(o types.Object) {
	if name, ok := o.(*types.TypeName); ok && !name.IsAlias() {
		s.parts(name.Type(), name.Name())
		return
	}
	s.look(o.Type(), o.Name())
}

// parts looks at the fields and methods of a type of the package.
func (s *signatures) parts(t types.Type, at string) {
	if s.seen[t] {
		return
	}
	s.seen[t] = true
	s.look(t.Underlying(), at)
	methods := types.NewMethodSet(types.NewPointer(t))
	for i := range methods.Len() {
		if m := methods.At(i).Obj(); m.Exported() {
			s.look(m.Type(), at+"."+m.Name())
		}
	}
}

func (s *signatures) look(t types.Type, at string) {
	switch t := t.(type) {
	case *types.Alias:
		s.look(types.Unalias(t), at)
	case *types.Named:
		p := t.Obj().Pkg()
		if p != nil && strings.Contains(p.Path(), "/internal/") {
			s.found = append(s.found, at+": "+t.String())
		}
		for i := range t.TypeArgs().Len() {
			s.look(t.TypeArgs().At(i), at)
		}
		if p == s.pkg && !t.Obj().Exported() { // its methods can be called all the same
			s.parts(t, at)
		}
	case *types.Pointer:
		s.look(t.Elem(), at)
	case *types.Slice:
		s.look(t.Elem(), at)
	case *types.Array:
		s.look(t.Elem(), at)
	case *types.Chan:
		s.look(t.Elem(), at)
	case *types.Map:
		s.look(t.Key(), at)
		s.look(t.Elem(), at)
	case *types.TypeParam:
		s.look(t.Constraint(), at)
	case *types.Union:
		for i := range t.Len() {
			s.look(t.Term(i).Type(), at)
		}
	case *types.Struct:
		for i := range t.NumFields() {
			if f := t.Field(i); f.Exported() || f.Embedded() { // fields and methods of an embedded type are the struct's
				s.look(f.Type(), at+"."+f.Name())
			}
		}
	case *types.Signature:
		for i := range t.Results().Len() {
			s.look(t.Results().At(i).Type(), at)
		}
		for i := range t.Params().Len() {
			s.look(t.Params().At(i).Type(), at)
		}
		for i := range t.TypeParams().Len() {
			s.look(t.TypeParams().At(i), at)
		}
	case *types.Interface:
		for i := range t.NumMethods() {
			if m := t.Method(i); m.Exported() {
				s.look(m.Type(), at+"."+m.Name())
			}
		}
		for i := range t.NumEmbeddeds() {
			s.look(t.EmbeddedType(i), at)
		}
	}
}

// No exported name, field or signature has a type that only this module can name, so that other modules can
// read about what they import. An alias of such a type would not help, because the documentation shows neither
// its fields nor its methods.
func TestExportedSignaturesNameNoInternalTypes(t *testing.T) {
	all := exported(t)
	names := 0
	for _, p := range all {
		s := signatures{pkg: p, seen: map[types.Type]bool{}}
		for _, name := range p.Scope().Names() {
			if o := p.Scope().Lookup(name); o.Exported() {
				names++
				s.object(o)
			}
		}
		for _, found := range s.found {
			t.Errorf("%s: %s", strings.TrimPrefix(p.Path(), module), found)
		}
	}
	if len(all) < 40 || names < 500 {
		t.Errorf("%d packages with %d names were looked at", len(all), names)
	}
}
