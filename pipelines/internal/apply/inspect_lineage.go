package apply

import (
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// writeLineage prints from what a model was made; nothing for nil.
func writeLineage(w io.Writer, l *registry.Lineage) {
	if l == nil {
		return
	}
	var files, parts []string
	for _, p := range l.Parts {
		parts = append(parts, p.Name)
		for _, f := range p.Files {
			files = append(files, f.Name)
		}
	}
	if len(parts) == 1 {
		fmt.Fprintf(w, "made of   %s\n", prepare.SomeOf(files))
	} else if len(parts) > 1 {
		fmt.Fprintf(w, "made of   %s of the data with %s: %s\n", report.Counted(len(parts), "part"),
			report.Counted(len(files), "file"), prepare.SomeOf(parts))
	}
	if n := len(l.Forgotten); n > 0 {
		fmt.Fprintf(w, "forgotten %s of rows, whose sums were subtracted\n", report.Counted(n, "set"))
	}
	switch {
	case l.Redrawn != "":
		fmt.Fprintf(w, "recipe    drawn for this model: %s\n", l.Redrawn)
	case l.Recipe != "":
		fmt.Fprintf(w, "recipe    that of %s\n", l.Recipe)
	case l.RecipeSHA256 != "":
		fmt.Fprintf(w, "recipe    that of the sums, %.16s\n", l.RecipeSHA256)
	}
	for _, x := range []struct {
		what string
		of   *registry.Parent
	}{{"initial weights", l.Init}, {"learned features", l.Features}} {
		if x.of != nil {
			fmt.Fprintf(w, "follows   %s, its %s (%.16s)\n", x.of.Name, x.what, x.of.SHA256)
		}
	}
}
