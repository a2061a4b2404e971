package scores

import (
	"context"

	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// explained computes the columns that explain predictions.
type explained struct {
	*models.Explainer
	out     models.Explained
	columns []any // of the last block
}

// explainedAt is the number of rows per thread between checks of the context; a row of 784 numbers takes seconds.
const explainedAt = 2

// explainColumns returns the columns base, effects and effect_error of each output, given at least the manifest.
func explainColumns(m *models.Model) (columns []export.Column) {
	names := []string{""}
	if !m.Classifies() && m.Manifest.Outputs > 1 {
		names = prefixed("_", m.Outputs())
	}
	var effects []string
	for _, c := range m.Columns() {
		effects = append(effects, c.Name)
	}
	for o, of := range names {
		unit := m.Resolution(o) / 16 // effects of many columns are added up
		columns = append(columns,
			export.Column{Name: "base" + of, Header: []string{"base" + of}, Unit: unit},
			export.Column{Name: "effects" + of, Header: prefixed("effect"+of+"_", effects), Keys: effects, Unit: unit},
			export.Column{Name: "effect_error" + of, Header: []string{"effect_error" + of}, Unit: unit})
	}
	return columns
}

func newExplained(m *models.Model) (*explained, error) {
	e, err := m.Explainer()
	if err != nil {
		return nil, fault.New(fault.Model, err)
	}
	return &explained{Explainer: e, columns: make([]any, 3*e.Outputs())}, nil
}

// rows explains n rows of x and returns the values of the columns, until its next call. It calls done with the
// number of rows explained, each time that some are.
func (e *explained) rows(ctx context.Context, said models.Applied, x []float32, n, threads int,
	done func(rows int)) ([]any, error) {
	d, k, outputs, effects := len(x)/max(n, 1), len(said.Scores)/max(n, 1), e.Outputs(), len(e.Names())
	clear(e.columns)
	column := func(i int) []float64 { v, _ := e.columns[i].([]float64); return v }
	step := explainedAt * max(1, threads)
	for at := 0; at < n; at += step {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows := min(step, n-at)
		part := models.Applied{Scores: said.Scores[at*k : (at+rows)*k]}
		if said.Targets != nil {
			part.Targets = said.Targets[at*k : (at+rows)*k]
		} else {
			part.Classes = said.Classes[at : at+rows]
		}
		e.out = e.Rows(e.out, part, x[at*d:(at+rows)*d], rows, threads)
		for i := range rows * outputs {
			o := i % outputs
			e.columns[3*o] = append(column(3*o), e.out.Base[i])
			e.columns[3*o+1] = append(column(3*o+1), e.out.Effects[i*effects:(i+1)*effects]...)
			e.columns[3*o+2] = append(column(3*o+2), e.out.StdErr[i])
		}
		done(rows)
	}
	return e.columns, nil
}
