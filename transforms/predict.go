package transforms

import (
	"context"
	"fmt"
	"io"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*predictFn)(nil)))
}

// Predictions reads all rows and writes, for each shard, one file with a line
// for every row of it, in the order of the rows: the class or number that the
// model predicts. It returns what was Written for each shard, in JSON.
func Predictions(s beam.Scope, sc Scan) (written beam.PCollection) {
	s = s.Scope("transforms.Predictions")
	return sc.apply(s, &predictFn{Scan: sc})
}

type predictFn struct{ Scan Scan }

func (f *predictFn) ProcessElement(ctx context.Context, lane int, emit func([]byte)) error {
	p, err := loadPass(ctx, f.Scan.Pass)
	if err != nil {
		return asFault(Internal, err)
	}
	a, err := newApplier(ctx, p, f.Scan.Threads)
	if err != nil {
		return err
	}
	return asFault(Internal, f.Scan.writeShards(ctx, p, lane, p.Predict.Out, func(s dataset.Shard, source *dataset.Source, files *outputs) (Written, error) {
		return f.write(p, a, s, source, files)
	}, emit))
}

func (f *predictFn) write(p *Pass, a *applier, shard dataset.Shard, source *dataset.Source, files *outputs) (w Written, err error) {
	table := newPredictions(a.model, p.Predict)
	formats, err := export.Files(p.Predict.Format, table.columns)
	if err != nil {
		return w, err
	}
	if len(formats) != 1 {
		return w, fmt.Errorf("transforms: %s has no file of all columns", p.Predict.Format)
	}
	file := WrittenFile{Name: shardName(shard) + formats[0].Suffix, Suffix: formats[0].Suffix}
	file.Sum, err = files.create(file.Name, func(dst io.Writer) (err error) {
		out := formats[0].New(dst)
		w.Report, err = f.Scan.read(files.ctx, p, shard, source, nil, func(_ dataset.Shard, b *rows.Block) error {
			return out.Write(table.block(b, a))
		})
		if err != nil {
			return err
		}
		return out.Close()
	})
	if n := w.Report.Rows + w.Report.Bad; n > 0 {
		w.Parts = []WrittenPart{{Rows: n, Files: []WrittenFile{file}}}
	}
	return w, err
}

// predictions makes tables of what a model says of rows.
type predictions struct {
	columns []export.Column
	lines   bool // the first column is the line of the row
	scores  bool // after the prediction
	chances bool // probabilities
	model   *models.Model
	out     export.Block
	first   []float64
}

func newPredictions(m *models.Model, p *Predict) *predictions {
	t := &predictions{lines: p.Lines, scores: p.Scores && !m.Embeds(), chances: p.Probabilities, model: m}
	names := m.Outputs()
	if t.lines {
		t.columns = append(t.columns, export.Column{Name: "line", Header: []string{"line"}, Always: true})
	}
	said := export.Column{Name: "prediction", Header: []string{"prediction"}}
	switch {
	case m.Embeds():
		said = export.Column{Name: "components", Header: names, List: true, Unit: m.Resolution()}
	case m.Classifies():
		said.Levels, said.Numeric = names, m.NumericClasses()
	default:
		said.Unit = m.Resolution()
	}
	t.columns = append(t.columns, said)
	if t.scores {
		t.columns = append(t.columns, export.Column{Name: "scores", Header: prefixed("score_", names), Keys: names, Unit: said.Unit})
	}
	if t.chances {
		t.columns = append(t.columns, export.Column{Name: "probabilities", Header: prefixed("probability_", names), Keys: names})
	}
	return t
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
func (t *predictions) block(b *rows.Block, a *applier) *export.Block {
	said := a.apply(b)
	k := t.model.Linear.K
	t.out.N, t.out.Values, t.out.Bad = b.N, t.out.Values[:0], t.out.Bad[:0]
	bad := b.Bad
	for i := range b.N {
		unread := len(bad) > 0 && bad[0] == i
		if unread {
			bad = bad[1:]
		}
		if unread || !finite(said.scores[i*k:(i+1)*k]) {
			t.out.Bad = append(t.out.Bad, i)
		}
	}
	var scores any = said.scores
	if said.targets != nil {
		scores = said.targets
	}
	if t.lines {
		t.out.Values = append(t.out.Values, b.Lines)
	}
	switch {
	case t.model.Embeds():
		t.out.Values = append(t.out.Values, scores)
	case said.class != nil:
		t.out.Values = append(t.out.Values, said.class)
	default:
		t.first = t.first[:0]
		for i := range b.N {
			t.first = append(t.first, said.targets[i*k])
		}
		t.out.Values = append(t.out.Values, t.first)
	}
	if t.scores {
		t.out.Values = append(t.out.Values, scores)
	}
	if t.chances {
		t.out.Values = append(t.out.Values, said.chances)
	}
	return &t.out
}
