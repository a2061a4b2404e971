package apply

import (
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// writeLineage prints from what a model was made; nothing for nil.
func writeLineage(b *strings.Builder, l *registry.Lineage) {
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
		fmt.Fprintf(b, "made of   %s\n", prepare.SomeOf(files))
	} else if len(parts) > 1 {
		fmt.Fprintf(b, "made of   %s of the data with %s: %s\n", report.Counted(len(parts), "part"),
			report.Counted(len(files), "file"), prepare.SomeOf(parts))
	}
	if n := len(l.Forgotten); n > 0 {
		fmt.Fprintf(b, "forgotten %s of rows, whose sums were subtracted\n", report.Counted(n, "set"))
	}
	switch {
	case l.Redrawn != "":
		fmt.Fprintf(b, "recipe    drawn for this model: %s\n", l.Redrawn)
	case l.Recipe != "":
		fmt.Fprintf(b, "recipe    that of %s\n", l.Recipe)
	case l.RecipeSHA256 != "":
		fmt.Fprintf(b, "recipe    that of the sums, %.16s\n", l.RecipeSHA256)
	}
	for _, x := range []struct {
		what string
		of   *registry.Parent
	}{{"initial weights", l.Init}, {"learned features", l.Features}} {
		if x.of != nil {
			fmt.Fprintf(b, "follows   %s, its %s (%.16s)\n", x.of.Name, x.what, x.of.SHA256)
		}
	}
}
