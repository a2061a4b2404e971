package scores

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/transforms"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*predictFn)(nil)))
}

// Predict is a pass that applies a model to rows.
type Predict struct {
	transforms.Pass
	Model
	Out    string `json:"out,omitempty"`
	Format string `json:"format,omitempty"` // a format of package export that has columns of text
	Scores bool   `json:"scores,omitempty"` // add a column with the score of each output
	// Probabilities adds a column with the probability of each class.
	Probabilities bool `json:"probabilities,omitempty"`
	Lines         bool `json:"lines,omitempty"` // add the line of each row; shards must then be whole files
	// Statistics, unless nil, are the statistics of the training rows of the model. Rows are
	// counted in their cells, but only rows whose content hash has no bit in common with Skip.
	Statistics *profile.Statistics `json:"statistics,omitempty"`
	Skip       uint64              `json:"skip,string,omitempty"`
	// Explain adds columns that explain each prediction.
	Explain bool `json:"explain,omitempty"`
	// ID is the name of a first column with the identifiers of the rows; "" if they have none.
	ID string `json:"id,omitempty"`
	// Digest adds a last column with the digest of the model.
	Digest bool `json:"digest,omitempty"`
	// Given lists the first columns, which have the same value in all rows.
	Given []Given `json:"given,omitempty"`
	Certainty
}

// SetOut sets the directory of the files.
func (p *Predict) SetOut(dir string) { p.Out = dir }

// Given is a column with the same value in all rows.
type Given struct{ Name, Value string }

// Write reads all rows and writes one file for each shard. The file has a line for every row, in the order of the
// rows, with the predicted class or numbers. Write returns the transforms.Written of each shard, in JSON.
func (*Predict) Write(s beam.Scope, sc transforms.Scan) (written beam.PCollection) {
	s = s.Scope("scores.Predict")
	return sc.Apply(s, &predictFn{transforms.Splittable{Fn: transforms.Fn{Scan: sc}}})
}

type predictFn struct{ transforms.Splittable }

func (f *predictFn) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, reader int, emit func([]byte)) error {
	return transforms.RunSplitReader(ctx, f.Fn, reader, rt, func(r *transforms.Reader, p *Predict) error {
		r.Request.Lines, r.Request.IDs = p.Lines, p.ID != ""
		a, err := p.Model.applier(ctx, r)
		if err != nil {
			return err
		}
		return transforms.WriteShards(ctx, r, &p.Pass, p.Out,
			func(s dataset.Shard, source *dataset.Source, files *transforms.ShardFiles) (transforms.Written, error) {
				return p.write(a, s, source, files)
			}, emit)
	})
}

func (p *Predict) write(a *applier, shard dataset.Shard, source *dataset.Source,
	files *transforms.ShardFiles) (w transforms.Written, err error) {
	table, format, err := p.table(a)
	if err != nil {
		return w, err
	}
	var counts *sums.DriftCounts
	if p.Statistics != nil {
		counts = sums.NewDriftCounts(p.Statistics)
	}
	file := transforms.WrittenFile{Name: transforms.ShardName(shard) + format.Suffix, Suffix: format.Suffix}
	file.Checksum, err = files.Create(file.Name, func(dst io.Writer) (err error) {
		w.Report, err = p.rows(files.Context(), a, table, shard, source, format.New(dst), func(b *rows.Block) {
			if counts != nil { // count before the model fills in missing values
				counts.Add(b, p.Skip)
			}
		})
		return err
	})
	if n := w.Report.Rows + w.Report.Bad + w.Report.Unlabeled; n > 0 {
		w.Parts = []transforms.WrittenPart{{Rows: n, Files: []transforms.WrittenFile{file}}}
		if counts != nil {
			w.Drift, _ = counts.AppendBinary(nil)
		}
	}
	return w, err
}

// table returns the predictions of an applier, and the format of their file.
func (p *Predict) table(a *applier) (*predictions, export.File, error) {
	table, err := p.predictions(a)
	if err != nil {
		return nil, export.File{}, err
	}
	formats, err := export.Files(p.Format, table.columns)
	if err != nil {
		return nil, export.File{}, err
	}
	if len(formats) != 1 {
		return nil, export.File{}, fmt.Errorf("scores: %s cannot hold all columns in one file", p.Format)
	}
	return table, formats[0], nil
}

// predictions prepares the applier for the columns of p, and returns its predictions.
func (p *Predict) predictions(a *applier) (t *predictions, err error) {
	t = &predictions{Predict: p, columns: p.Columns(a.Model), model: a.Model}
	if t.certain.level, err = p.open(a); err == nil && p.Explain {
		t.explained, err = newExplained(a.Model)
	}
	return t, err
}

// rows writes the predictions for the rows of a shard. It calls see with each block before applying the model.
func (p *Predict) rows(ctx context.Context, a *applier, table *predictions, shard dataset.Shard,
	source *dataset.Source, out export.Writer, see func(*rows.Block)) (dataset.Report, error) {
	report, err := a.reader.Read(ctx, &p.Pass, shard, source, nil, func(_ profile.FoldPlace, b *rows.Block) error {
		see(b)
		block, err := table.block(ctx, b, a)
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

// predictions turns the output of a model for rows into tables.
type predictions struct {
	*Predict
	columns   []export.Column
	model     *models.Model
	explained *explained // nil without Explain
	out       export.Block
	targets   [][]float64 // of each output
	certain   certain
	zeros     []int32 // for each row: the only level
}

// Columns returns the columns of the predictions of a model. It needs only the manifest.
func (p *Predict) Columns(m *models.Model) (columns []export.Column) {
	names := m.Outputs()
	for _, g := range p.Given {
		columns = append(columns, export.Column{Name: g.Name, Header: []string{g.Name}, Levels: []string{g.Value},
			Always: true})
	}
	if p.ID != "" {
		columns = append(columns, export.Column{Name: p.ID, Header: []string{p.ID}, Always: true})
	}
	if p.Lines {
		columns = append(columns, export.Column{Name: "line", Header: []string{"line"}, Always: true})
	}
	said := export.Column{Name: "prediction", Header: []string{"prediction"}}
	unit := 0.0 // smallest unit of all targets
	switch {
	case m.Embeds():
		columns = append(columns, export.Column{Name: "components", Header: names, List: true, Unit: m.Resolution(0)})
	case m.Classifies():
		said.Levels, said.Numeric = names, m.NumericClasses()
		columns = append(columns, said)
		if p.Interval > 0 {
			said.Name, said.Header = "set", []string{"set"}
			columns = append(columns, said)
		}
	default:
		unit = m.Resolution(0)
		for c, name := range names {
			if len(names) > 1 {
				said.Name = "prediction_" + name
				said.Header = []string{said.Name}
			}
			said.Unit = m.Resolution(c)
			unit = min(unit, said.Unit)
			columns = append(columns, said)
		}
		columns = append(columns, p.ends(columns[len(columns)-len(names):])...)
	}
	if p.Scores && !m.Embeds() {
		columns = append(columns, export.Column{Name: "scores", Header: prefixed("score_", names), Keys: names, Unit: unit})
	}
	if p.Probabilities {
		columns = append(columns, export.Column{Name: "probabilities", Header: prefixed("probability_", names), Keys: names})
	}
	if p.Novelty {
		columns = append(columns, export.Column{Name: "novelty", Header: []string{"novelty"}})
	}
	if p.Explain {
		columns = append(columns, explainColumns(m)...)
	}
	if p.Digest {
		columns = append(columns, export.Column{Name: "model", Header: []string{"model"},
			Levels: []string{m.Manifest.SHA256}, Always: true})
	}
	return columns
}

// Distinct returns an error if two columns have the same name, because most readers of tables would
// lose one of them. This can happen because the identifiers and the Given columns have names that the
// user chooses, and other names contain names of columns and targets.
func (p *Predict) Distinct(columns []export.Column) error {
	copied := len(p.Given)
	if p.ID != "" {
		copied++
	}
	for i, own := range columns[:copied] {
		for _, c := range columns[i+1:] {
			if c.Name == own.Name || slices.Contains(c.Header, own.Name) {
				return fmt.Errorf("scores: the copied column %q has the name of another column of the predictions; "+
					"rename it in the data, or name another with --id_column", own.Name)
			}
		}
	}
	seen := map[string]bool{}
	for _, c := range columns {
		for _, name := range c.Header {
			if seen[name] && p.Format != "jsonl" { // objects may nest such columns
				return fmt.Errorf("scores: two columns of the predictions would have the name %q, because of the names of the "+
					"columns or targets of the model; write jsonl, which keeps them apart, or train with other names", name)
			}
			seen[name] = true
		}
	}
	return nil
}

func prefixed(prefix string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = prefix + name
	}
	return out
}

// block returns the table of a block of rows, valid until the next call. Rows that could
// not be read, and those whose scores are not finite, have no values.
func (t *predictions) block(ctx context.Context, b *rows.Block, a *applier) (*export.Block, error) {
	said := a.apply(b)
	k := t.model.Linear.K
	t.out.N, t.out.Values, t.out.Bad = b.N, t.out.Values[:0], t.out.Bad[:0]
	bad := b.Bad
	for i := range b.N {
		unread := len(bad) > 0 && bad[0] == i
		if unread {
			bad = bad[1:]
		}
		if unread || !exact.AllFinite(said.Scores[i*k:(i+1)*k]) {
			t.out.Bad = append(t.out.Bad, i)
		}
	}
	var scores any = said.Scores
	if said.Targets != nil {
		scores = said.Targets
	}
	for (t.Digest || len(t.Given) > 0) && len(t.zeros) < b.N {
		t.zeros = append(t.zeros, 0)
	}
	for range t.Given {
		t.out.Values = append(t.out.Values, t.zeros[:b.N])
	}
	if t.ID != "" {
		t.out.Values = append(t.out.Values, b.IDs)
	}
	if t.Lines {
		t.out.Values = append(t.out.Values, b.Lines)
	}
	switch {
	case t.model.Embeds():
		t.out.Values = append(t.out.Values, scores)
	case said.Classes != nil:
		t.out.Values = append(t.out.Values, said.Classes)
		if t.Interval > 0 {
			t.out.Values = append(t.out.Values, t.certain.sets(said))
		}
	default:
		if t.targets == nil {
			t.targets = make([][]float64, k)
		}
		for c := range t.targets {
			t.targets[c] = t.targets[c][:0]
			for i := range b.N {
				t.targets[c] = append(t.targets[c], said.Targets[i*k+c])
			}
			t.out.Values = append(t.out.Values, t.targets[c])
		}
		if t.Interval > 0 {
			t.out.Values = append(t.out.Values, t.certain.ends(said)...)
		}
	}
	if t.Scores && !t.model.Embeds() {
		t.out.Values = append(t.out.Values, scores)
	}
	if t.Probabilities {
		t.out.Values = append(t.out.Values, said.Probabilities)
	}
	if t.Novelty {
		t.out.Values = append(t.out.Values, said.Novelty)
	}
	if t.explained != nil {
		shown := 0
		columns, err := t.explained.rows(ctx, said, b.X[:b.N*b.D], b.N, a.threads(), func(rows int) {
			shown += rows
			a.ahead(rows)
		})
		a.ahead(-shown) // the end of the block counts them
		if err != nil {
			return nil, err
		}
		t.out.Values = append(t.out.Values, columns...)
	}
	if t.Digest {
		t.out.Values = append(t.out.Values, t.zeros[:b.N])
	}
	return &t.out, nil
}
