package scoring

import (
	"context"
	"fmt"
	"io"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { beam.RegisterDoFn(reflect.TypeFor[*predictFn]()) }

// Predict is a pass that applies a model to rows.
type Predict struct {
	transforms.Pass
	Model
	Out string `json:"out,omitempty"`
	Content
	// Statistics, unless nil, are the statistics of the training rows of the model. Rows are
	// counted in their cells, but only rows whose content hash has no bit in common with Skip.
	Statistics *profile.Statistics `json:"statistics,omitempty"`
	Skip       uint64              `json:"skip,string,omitempty"`
	// ID is the name of a first column with the identifiers of the rows; "" if they have none.
	ID string `json:"id,omitempty"`
	// Constants lists the first columns, which have the same value in all rows.
	Constants []ConstantColumn `json:"given,omitempty"`
}

// Content says what is written for each row.
type Content struct {
	Format        string `json:"format,omitempty"`        // a format of package export that has columns of text
	Scores        bool   `json:"scores,omitempty"`        // add a column with the score of each output
	Probabilities bool   `json:"probabilities,omitempty"` // add a column with the probability of each class
	Lines         bool   `json:"lines,omitempty"`         // add the line of each row; shards must then be whole files
	Explain       bool   `json:"explain,omitempty"`       // add columns that explain each prediction
	Digest        bool   `json:"digest,omitempty"`        // add a last column with the digest of the model
	Certainty
}

// SetOut sets the directory of the files.
func (p *Predict) SetOut(dir string) { p.Out = dir }

// ConstantColumn is a column with the same value in all rows.
type ConstantColumn struct{ Name, Value string }

// Write reads all rows of the pass that sc.Pass stores, and writes one file for each shard. The file
// has a line for every row, in the order of the rows, with the predicted class or numbers. Write returns the
// transforms.Written of each shard, in JSON.
func (*Predict) Write(s beam.Scope, sc transforms.Scan) (written beam.PCollection) {
	s = s.Scope("scoring.Predict")
	return sc.Apply(s, &predictFn{transforms.Splittable{Fn: transforms.Fn{Scan: sc}}})
}

type predictFn struct{ transforms.Splittable }

func (f *predictFn) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, reader int, emit func([]byte)) error {
	return transforms.RunReader(ctx, f.Fn, reader, rt, func(r *transforms.Reader, p *Predict) error {
		r.Request.Lines, r.Request.IDs = p.Lines, p.ID != ""
		a, err := p.Model.applier(ctx, r, 1)
		if err != nil {
			return err
		}
		return transforms.WriteShards(ctx, r, &p.Pass, p.Out,
			func(s dataset.Shard, source *dataset.Source, files *transforms.ShardFiles) (transforms.Written, error) {
				return p.write(a, s, source, files)
			}, emit)
	})
}

// write writes the predictions of a shard, and counts its columns if drift is measured.
func (p *Predict) write(a *applier, shard dataset.Shard, source *dataset.Source,
	files *transforms.ShardFiles) (w transforms.Written, err error) {
	table, format, err := p.file(a)
	if err != nil {
		return w, err
	}
	var counts *drift.Counts
	if p.Statistics != nil {
		counts = drift.NewCounts(p.Statistics)
	}
	file := transforms.WrittenFile{Name: transforms.ShardName(shard) + format.Suffix, Suffix: format.Suffix}
	file.Checksum, err = files.Create(file.Name, func(dst io.Writer) (err error) {
		w.Report, err = table.write(files.Context(), shard, source, format.New(dst), func(b *rowio.Block) {
			if counts != nil { // count before the model fills in missing values
				counts.Add(b, p.Skip)
			}
		})
		return err
	})
	w.NotFinite = table.notFinite
	if n := w.Report.Rows + w.Report.Bad + w.Report.Unlabeled; n > 0 {
		w.Outputs = []transforms.WrittenOutput{{Rows: n, Files: []transforms.WrittenFile{file}}}
		if counts != nil {
			w.Drift = wire.Marshal(counts)
		}
	}
	return w, err
}

// file returns the table of an applier, and the format of its file.
func (p *Predict) file(a *applier) (*Table, export.File, error) {
	t, err := p.table(a)
	if err != nil {
		return nil, export.File{}, err
	}
	formats, err := export.Files(p.Format, exported(t.columns))
	if err != nil {
		return nil, export.File{}, err
	}
	if len(formats) != 1 {
		return nil, export.File{}, fmt.Errorf("scoring: %s cannot hold all columns in one file", p.Format)
	}
	return t, formats[0], nil
}

// Table makes the tables that Predict writes of the output of a model for rows. It is not safe for concurrent use.
type Table struct {
	predict   *Predict
	applier   *applier
	columns   []column
	output    output
	explained *explained // nil without Explain
	out       export.Block
	notFinite int64 // rows so far that were read, and have no values
}

// Table returns a Table for rows in memory, whose predictions the calling goroutine computes. It returns an error
// if the model cannot compute the columns.
func (p *Predict) Table(m *models.Model) (*Table, error) {
	return p.table(&applier{Applier: models.Applier{Model: m, Threshold: p.Threshold}})
}

// table prepares the applier for the columns of p.
func (p *Predict) table(a *applier) (t *Table, err error) {
	t = &Table{predict: p, applier: a, columns: p.columns(a.Model)}
	if t.output.level, err = p.open(a); err == nil && p.Explain {
		t.explained, err = newExplained(a.Model)
	}
	return t, err
}

// File returns the format of a file of the tables.
func (t *Table) File(format string) (export.File, error) {
	files, err := export.Files(format, exported(t.columns))
	if err != nil {
		return export.File{}, err
	}
	return files[0], nil
}

// write writes the predictions for the rows of a shard. It calls see with each block before applying the model.
func (t *Table) write(ctx context.Context, shard dataset.Shard, source *dataset.Source, out export.Writer,
	see func(*rowio.Block)) (dataset.Report, error) {
	report, err := t.applier.reader.Read(ctx, &t.predict.Pass, shard, source, nil,
		func(_ profile.ShardStart, b *rowio.Block) error {
			see(b)
			block, err := t.Block(ctx, b)
			if err != nil {
				return err
			}
			return out.Write(block)
		})
	if err != nil {
		return report, err
	}
	return report, out.Close()
}

// Block returns the table of a block of rows, valid until the next call. Rows that could not be read, and those whose
// scores are not finite, have no values and are among its Bad. Missing values of the block are filled in.
func (t *Table) Block(ctx context.Context, b *rowio.Block) (*export.Block, error) {
	t.output.Applied, t.output.block = t.applier.apply(b), b
	if t.predict.Interval > 0 && t.output.Targets != nil {
		t.output.ends = appendEnds(t.output.ends[:0], t.output.level, t.output.Applied)
	}
	if t.explained != nil {
		var err error
		if t.output.explained, err = t.explained.rows(ctx, &t.output, t.applier); err != nil {
			return nil, err
		}
	}
	t.out.N, t.out.Bad, t.out.Values = b.N, t.output.bad(t.out.Bad[:0]), t.out.Values[:0]
	t.notFinite += int64(len(t.out.Bad) - len(b.Bad))
	for _, c := range t.columns {
		t.out.Values = append(t.out.Values, c.values(&t.output))
	}
	return &t.out, nil
}
