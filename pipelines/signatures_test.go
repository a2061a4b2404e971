package pipelines

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// otherResults holds the results of jobs whose result has another name.
var otherResults = map[string]string{
	"AddSums":       "(*results.Sum, error)",   // as from Sum
	"Fit":           "(*results.Train, error)", // as from Train
	"PredictStream": "(*results.StreamRound, error)",
	"Serve":         "error",
}

func TestJobsTakeTheirOptionsAndReturnTheirResults(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var jobs []*ast.FuncDecl
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for n := range ast.Preorder(file) {
			if f, ok := n.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() &&
				strings.HasPrefix(types.ExprString(f.Type), "func(ctx context.Context") {
				jobs = append(jobs, f)
			}
		}
	}
	for _, f := range jobs {
		result := otherResults[f.Name.Name]
		if result == "" {
			result = fmt.Sprintf("(*results.%s, error)", f.Name)
		}
		want := fmt.Sprintf("func(ctx context.Context, o options.%s) %s", f.Name, result)
		for _, r := range f.Type.Results.List {
			r.Names = nil
		}
		if got := types.ExprString(f.Type); got != want {
			t.Errorf("%s is %s, want %s", f.Name, got, want)
		}
	}
	if len(jobs) < 20 {
		t.Errorf("found %d jobs", len(jobs))
	}
}
