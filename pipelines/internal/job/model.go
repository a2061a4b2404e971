package job

import (
	"context"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/models"
)

// FindModel returns the directory of the model with this name, which may be an alias such as models@champion,
// and notes it in the log. A job resolves an alias once, so that all of its workers read the same model.
func FindModel(ctx context.Context, name string, log io.Writer) (string, error) {
	dir, err := models.Resolve(ctx, name)
	if err == nil && dir != name && log != nil {
		of, _, _ := models.SplitAlias(name)
		if s, _, err := models.ReadAliases(ctx, of); err == nil && s != nil && s.Rebuilt != "" {
			fmt.Fprintf(log, "note: %s\n", s.Rebuilt)
		}
		fmt.Fprintf(log, "note: %s is %s\n", name, dir)
	}
	return dir, err
}
