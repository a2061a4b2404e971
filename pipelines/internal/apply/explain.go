package apply

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/fault"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// Explain explains the prediction for a row of the data.
func Explain(ctx context.Context, o options.Explain) (*results.Explain, error) {
	if o.Row < 1 {
		return nil, exit.Usagef("--row is %d; rows count from 1", o.Row)
	}
	model, err := job.FindModel(ctx, o.Model, o.Log)
	if err != nil {
		return nil, err
	}
	manifest, d, err := OpenForModel(ctx, model, o.Data, o.Log)
	if err != nil {
		return nil, err
	}
	d.Weighted = false
	scoring.WithMissing(manifest, d)
	m, err := models.LoadURI(ctx, model)
	if err != nil {
		return nil, err
	}
	e, err := m.Explainer()
	if err != nil {
		return nil, err
	}
	x, err := readRow(ctx, d, o.Row)
	if err != nil {
		return nil, err
	}
	explanation, err := e.Row(x)
	if err != nil {
		return nil, &exit.DataError{Err: fmt.Errorf("row %d: %s", o.Row, models.TooLarge)}
	}
	result := &results.Explain{Row: o.Row, Explanation: explanation}
	for _, c := range explanation.Outputs {
		result.Titles = append(result.Titles, title(result, c, m))
	}
	return result, nil
}

// readRow returns a row of the data by its number. Rows that cannot be used have numbers, too.
func readRow(ctx context.Context, d *dataset.Dataset, row int64) ([]float32, error) {
	left := row
	for _, s := range d.Shards(math.MaxInt64 / 2) {
		reasons := map[int64]string{} // why lines of the last block cannot be used
		reader := d.ReadFrom(ctx, nil, s, dataset.Request{Mode: dataset.KeepPlace, Lines: true,
			Reject: func(line int64, reason string) { reasons[line] = reason }})
		var b rowio.Block
		for reader.Next(&b) && left > int64(b.N) {
			left -= int64(b.N)
			clear(reasons)
		}
		counts := reader.Report()
		reader.Close()
		if i := int(left - 1); i < b.N {
			if slices.Contains(b.Bad, i) {
				return nil, &exit.DataError{Err: fmt.Errorf("%s:%d: %s", d.Files[s.File].Name, b.Lines[i], reasons[b.Lines[i]])}
			}
			return slices.Clone(b.Row(i)), nil
		}
		if err := fault.OfReports([]dataset.Report{counts}); err != nil {
			return nil, err
		}
	}
	return nil, &exit.DataError{Err: fmt.Errorf("--row %d: the data has %d rows", row, row-left)}
}

// title describes what is explained.
func title(r *results.Explain, c models.Contributions, m *models.Model) string {
	classes := m.Outputs()
	if !m.Classifies() {
		return fmt.Sprintf("row %d: %s", r.Row, report.Word(c.Output, 40))
	}
	what := fmt.Sprintf("row %d: predicted %s, explained by its score", r.Row, report.Word(r.Class, 40))
	if len(classes) == 2 {
		other := classes[1-m.Manifest.PositiveClass()]
		what = fmt.Sprintf("row %d: predicted %s, explained by half the difference between the scores of %s and %s", r.Row,
			report.Word(r.Class, 40), report.Word(c.Output, 40), report.Word(other, 40))
	}
	if m.Manifest.Probabilities != nil {
		what += ", before they become probabilities"
	}
	return what
}
