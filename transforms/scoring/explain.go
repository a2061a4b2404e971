package scoring

import (
	"context"

	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// explained computes the columns that explain predictions.
type explained struct {
	*models.Explainer
	out     models.Explanations
	columns [][]float64 // of the last block
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
	for o, suffix := range names {
		unit := m.Resolution(o) / 16 // effects of many columns are added up
		columns = append(columns,
			export.Column{Name: "base" + suffix, Header: []string{"base" + suffix}, Unit: unit},
			export.Column{Name: "effects" + suffix, Header: prefixed("effect"+suffix+"_", effects), Keys: effects,
				Unit: unit},
			export.Column{Name: "effect_error" + suffix, Header: []string{"effect_error" + suffix}, Unit: unit})
	}
	return columns
}

func newExplained(m *models.Model) (*explained, error) {
	e, err := m.Explainer()
	if err != nil {
		return nil, fault.Wrap(fault.Model, err)
	}
	return &explained{Explainer: e, columns: make([][]float64, 3*e.Outputs())}, nil
}

// rows explains the rows of a block and returns the values of the columns, until its next call. While it runs, the
// applier shows the rows that are explained as processed; the end of the block counts them.
func (e *explained) rows(ctx context.Context, o *output, a *applier) ([][]float64, error) {
	n := o.block.N
	k, outputs, effects := len(o.Scores)/max(n, 1), e.Outputs(), len(e.Names())
	for i := range e.columns {
		e.columns[i] = e.columns[i][:0]
	}
	shown := 0
	defer func() { a.ahead(-shown) }()
	step := explainedAt * max(1, a.threads())
	for at := 0; at < n; at += step {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows := min(step, n-at)
		some := models.Applied{Scores: o.Scores[at*k : (at+rows)*k]}
		if o.Targets != nil {
			some.Targets = o.Targets[at*k : (at+rows)*k]
		} else {
			some.Classes = o.Classes[at : at+rows]
		}
		e.out = e.Rows(e.out, some, o.block.X[at*o.block.D:(at+rows)*o.block.D], rows, a.threads())
		for i := range rows * outputs {
			c := i % outputs
			base, effect, stdErr := &e.columns[3*c], &e.columns[3*c+1], &e.columns[3*c+2]
			*base, *stdErr = append(*base, e.out.Base[i]), append(*stdErr, e.out.StdErr[i])
			*effect = append(*effect, e.out.Effects[i*effects:(i+1)*effects]...)
		}
		a.ahead(rows)
		shown += rows
	}
	return e.columns, nil
}
