package apply

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms/fault"
	"github.com/bochner-ml/bochner/transforms/scores"
)

// ExplainResult explains the prediction for a row.
type ExplainResult struct {
	Row int64 `json:"row"`
	*models.Explanation

	model *models.Model
}

// Explain explains the prediction for a row of the data.
func Explain(ctx context.Context, o options.Explain) (*ExplainResult, error) {
	if o.Row < 1 {
		return nil, exit.Usage("--row is %d; rows count from 1", o.Row)
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
	scores.WithMissing(manifest, d)
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
	found, err := e.Row(x)
	if err != nil {
		return nil, &exit.DataError{Err: fmt.Errorf("row %d: the numbers are too large for the model", o.Row)}
	}
	return &ExplainResult{o.Row, found, m}, nil
}

// readRow returns a row of the data by its number. Rows that cannot be used have numbers, too.
func readRow(ctx context.Context, d *dataset.Dataset, row int64) ([]float32, error) {
	left := row
	for _, s := range d.Shards(math.MaxInt64 / 2) {
		reasons := map[int64]string{} // why lines of the last block cannot be used
		reader := d.ReadFrom(ctx, nil, s, dataset.Request{Mode: dataset.KeepPlace, Lines: true,
			Reject: func(line int64, reason string) { reasons[line] = reason }})
		var b rows.Block
		for reader.Next(&b) && left > int64(b.N) {
			left -= int64(b.N)
			clear(reasons)
		}
		found := reader.Report()
		reader.Close()
		if i := int(left - 1); i < b.N {
			if slices.Contains(b.Bad, i) {
				return nil, &exit.DataError{Err: fmt.Errorf("%s:%d: %s", d.Files[s.File].Name, b.Lines[i], reasons[b.Lines[i]])}
			}
			return slices.Clone(b.Row(i)), nil
		}
		if err := fault.OfReports([]dataset.Report{found}); err != nil {
			return nil, err
		}
	}
	return nil, &exit.DataError{Err: fmt.Errorf("--row %d: the data has %d rows", row, row-left)}
}

// WriteTo prints the explanation for people, the columns with the largest effects first.
func (r *ExplainResult) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	for _, c := range r.Outputs {
		fmt.Fprintf(&b, "%s\n", r.title(c))
		width := len("column")
		for _, name := range r.Columns {
			width = max(width, len([]rune(report.Word(name, 40))))
		}
		fmt.Fprintf(&b, "  %12.5g  base: the mean with values of training rows, drawn for each column\n", c.Base)
		order := make([]int, len(r.Columns))
		for g := range order {
			order[g] = g
		}
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(math.Abs(c.Effects[j]), math.Abs(c.Effects[i])) })
		for _, g := range order {
			value := report.Word(r.Values[g], 40)
			if r.Values[g] == "" {
				value = "(missing)"
			}
			fmt.Fprintf(&b, "  %+12.5g  %-*s  %s\n", c.Effects[g], width, report.Word(r.Columns[g], 40), value)
		}
		fmt.Fprintf(&b, "  %12.5g  in all\n", c.Score)
		if c.StdErr > 0 {
			fmt.Fprintf(&b, "  effects are sampled, with standard errors of up to %.2g\n", c.StdErr)
		}
	}
	return b.WriteTo(w)
}

// title describes what is explained.
func (r *ExplainResult) title(c models.Contributions) string {
	classes := r.model.Outputs()
	if !r.model.Classifies() {
		return fmt.Sprintf("row %d: %s", r.Row, report.Word(c.Output, 40))
	}
	what := fmt.Sprintf("row %d: predicted %s, explained by its score", r.Row, report.Word(r.Class, 40))
	if len(classes) == 2 {
		other := classes[1-r.model.Manifest.PositiveClass()]
		what = fmt.Sprintf("row %d: predicted %s, explained by half the difference between the scores of %s and %s", r.Row,
			report.Word(r.Class, 40), report.Word(c.Output, 40), report.Word(other, 40))
	}
	if r.model.Manifest.Probabilities != nil {
		what += ", before they become probabilities"
	}
	return what
}
