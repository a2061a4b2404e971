package registry

import (
	"context"
	"encoding/json"

	"github.com/bochner-ml/bochner/io/storage"
)

// reportsDir is the name of the directory of reports in a directory of models.
const reportsDir = "reports"

// Reports returns the directory of reports.
func (r Registry) Reports() string { return storage.Join(r.Dir, reportsDir) }

// WriteReport stores the report of a day as JSON, as text and as an HTML page. It replaces an earlier report of
// the day.
func (r Registry) WriteReport(ctx context.Context, day string, report any, text string, page []byte) error {
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	if err := storage.WriteFile(ctx, storage.Join(r.Reports(), day+".json"), append(data, '\n')); err != nil {
		return err
	}
	if err := storage.WriteFile(ctx, storage.Join(r.Reports(), day+".html"), page); err != nil {
		return err
	}
	return storage.WriteFile(ctx, storage.Join(r.Reports(), day+".txt"), []byte(text))
}
