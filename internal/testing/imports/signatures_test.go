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

// jobs is the beginning of the names of the packages that jobs are made of.
const jobs = module + "pipelines/internal/"

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
	pkg     *types.Package
	aliased map[*types.TypeName]bool // types that an exported alias names
	given   bool                     // in what callers pass
	seen    map[visit]bool
	found   []string
}

// visit is a type whose fields and methods were looked at, and whether callers pass it.
type visit struct {
	types.Type
	given bool
}

// object looks at an exported name and, of a type, at its exported fields and methods.
func (s *signatures) object(o types.Object) {
	if name, ok := o.(*types.TypeName); ok {
		if !name.IsAlias() {
			s.parts(name.Type(), name.Name())
		}
		return
	}
	s.look(o.Type(), o.Name())
}

// parts looks at the fields and methods of a type of the package.
func (s *signatures) parts(t types.Type, at string) {
	if s.seen[visit{t, s.given}] {
		return
	}
	s.seen[visit{t, s.given}] = true
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
		aliased := s.aliased[t.Origin().Obj()] && !(s.given && strings.HasPrefix(p.Path(), jobs))
		if p != nil && strings.Contains(p.Path(), "/internal/") && !aliased {
			s.found = append(s.found, at+": "+t.String())
		} else if p != nil && s.given && strings.HasPrefix(p.Path(), module) {
			s.parts(t, at)
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
			if f := t.Field(i); f.Exported() {
				s.look(f.Type(), at+"."+f.Name())
			}
		}
	case *types.Signature:
		for i := range t.Results().Len() {
			s.look(t.Results().At(i).Type(), at)
		}
		given := s.given
		s.given = true
		for i := range t.Params().Len() {
			s.look(t.Params().At(i).Type(), at)
		}
		s.given = given
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

// What other modules import they can also call: no signature takes or returns what only
// this module can name. An alias names a type, but the documentation does not show its fields,
// so that what callers pass to a job is of no internal type even with an alias.
func TestExportedSignaturesNameNoInternalTypes(t *testing.T) {
	all := exported(t)
	names, aliased := 0, map[*types.TypeName]bool{}
	for _, p := range all {
		for _, name := range p.Scope().Names() {
			if o, ok := p.Scope().Lookup(name).(*types.TypeName); ok && o.Exported() && o.IsAlias() {
				if t, ok := types.Unalias(o.Type()).(*types.Named); ok {
					aliased[t.Origin().Obj()] = true
				}
			}
		}
	}
	for _, p := range all {
		s := signatures{pkg: p, aliased: aliased, seen: map[visit]bool{}}
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
