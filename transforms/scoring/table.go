package scoring

import (
	"context"

	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models"
)

// Table makes the tables that Predict writes, for rows in memory. It is not safe for concurrent use.
type Table struct{ *predictions }

// Table returns a Table of the predictions of a model, which the calling goroutine computes. It returns
// an error if the model cannot compute the columns.
func (p *Predict) Table(m *models.Model) (*Table, error) {
	t, err := p.predictions(&applier{Applier: models.Applier{Model: m, Threshold: p.Threshold}})
	return &Table{t}, err
}

// File returns the format of a file of the tables.
func (t *Table) File(format string) (export.File, error) {
	files, err := export.Files(format, exported(t.columns))
	if err != nil {
		return export.File{}, err
	}
	return files[0], nil
}

// Block returns the table of a block of rows, valid until the next call. Rows whose scores are not
// finite are among its Bad. Missing values of the block are filled in.
func (t *Table) Block(ctx context.Context, b *rowio.Block) (*export.Block, error) {
	return t.block(ctx, b)
}
