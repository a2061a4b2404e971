package transforms

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"reflect"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
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
	file := WrittenFile{Name: shardName(shard) + "." + p.Predict.Format, Suffix: "." + p.Predict.Format}
	file.Sum, err = files.create(file.Name, func(dst io.Writer) (err error) {
		out := newLines(dst, a.model, p.Predict)
		w.Report, err = f.Scan.read(files.ctx, p, shard, source, nil, func(_ dataset.Shard, b *rows.Block) error {
			return out.write(b, a)
		})
		if err != nil {
			return err
		}
		return out.flush()
	})
	if n := w.Report.Rows + w.Report.Bad; n > 0 {
		w.Parts = []WrittenPart{{Rows: n, Files: []WrittenFile{file}}}
	}
	return w, err
}

// lines writes predictions as CSV or as JSON lines.
type lines struct {
	model   *models.Model
	lines   bool // of the rows
	scores  bool
	chances bool     // probabilities
	names   []string // of the outputs
	text    *bufio.Writer
	csv     *csv.Writer // nil where JSON is written
	record  []string
	said    []string // scores or targets of a row
}

func newLines(w io.Writer, m *models.Model, p *Predict) *lines {
	l := &lines{model: m, lines: p.Lines, scores: p.Scores || m.Embeds(), chances: p.Probabilities, names: m.Outputs(), text: bufio.NewWriter(w)}
	if p.Format == "jsonl" {
		return l
	}
	l.csv = csv.NewWriter(l.text) // with no buffer of its own, as it finds one
	header := []string{"prediction"}
	if m.Embeds() {
		header = l.names
	} else if l.scores {
		header = appendNames(header, "score_", l.names)
	}
	if l.chances {
		header = appendNames(header, "probability_", l.names)
	}
	if l.lines {
		header = append([]string{"line"}, header...)
	}
	l.csv.Write(header) // an error of the writer shows at flush
	return l
}

func appendNames(header []string, prefix string, names []string) []string {
	for _, name := range names {
		header = append(header, prefix+name)
	}
	return header
}

func (l *lines) write(b *rows.Block, a *applier) error {
	said := a.apply(b)
	scores, class := said.scores, said.class
	k := len(l.names)
	bad := b.Bad
	var chances []float32
	for i := range b.N {
		known := len(bad) == 0 || bad[0] != i
		if !known {
			bad = bad[1:]
		}
		row := scores[i*k : (i+1)*k]
		known = known && finite(row)
		l.said = l.said[:0]
		for j, s := range row {
			if said.targets != nil {
				l.said = append(l.said, l.formatTarget(said.targets[i*k+j]))
			} else {
				l.said = append(l.said, formatScore(s))
			}
		}
		if l.chances {
			chances = said.chances[i*k : (i+1)*k]
		}
		var name string
		if class != nil {
			name = l.names[class[i]]
		} else {
			name = l.said[0]
		}
		line := ""
		if l.lines {
			line = strconv.FormatInt(b.Lines[i], 10)
		}
		var err error
		if l.csv == nil {
			err = l.writeJSON(line, known, class != nil, name, l.said, chances)
		} else {
			err = l.writeCSV(line, known, name, l.said, chances)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *lines) writeCSV(line string, known bool, name string, scores []string, chances []float32) error {
	l.record = l.record[:0]
	if !known {
		name = ""
	}
	if l.lines {
		l.record = append(l.record, line)
	} else if !known && !l.scores && !l.chances {
		// A line of nothing is no row to most readers of CSV, and those behind it
		// would move up.
		_, err := l.text.WriteString("\"\"\n")
		return err
	}
	if !l.model.Embeds() {
		l.record = append(l.record, name)
	}
	if !l.scores {
		scores = nil
	}
	for _, values := range [...][]string{scores, formatScores(chances)} {
		for _, text := range values {
			if !known {
				text = ""
			}
			l.record = append(l.record, text)
		}
	}
	return l.csv.Write(l.record)
}

func (l *lines) writeJSON(at string, known, isClass bool, name string, scores []string, chances []float32) error {
	line := []byte{'{'}
	if l.lines {
		line = append(append(append(line, `"line":`...), at...), ',')
	}
	if l.model.Embeds() {
		line = append(line, `"components":`...)
	} else {
		line = append(line, `"prediction":`...)
	}
	switch {
	case !known:
		line = append(line, "null"...)
	case l.model.Embeds():
		for c, s := range scores {
			line = append(line, "[,"[min(c, 1)])
			line = append(line, s...)
		}
		line = append(line, ']')
	case isClass && !l.model.NumericClasses():
		text, err := json.Marshal(name)
		if err != nil {
			return err
		}
		line = append(line, text...)
	default:
		line = append(line, name...)
	}
	var err error
	if l.scores && known && !l.model.Embeds() {
		if line, err = l.appendObject(line, "scores", scores); err != nil {
			return err
		}
	}
	if l.chances && known {
		if line, err = l.appendObject(line, "probabilities", formatScores(chances)); err != nil {
			return err
		}
	}
	_, err = l.text.Write(append(line, "}\n"...))
	return err
}

// appendObject appends a field with a number for each output.
func (l *lines) appendObject(line []byte, field string, values []string) ([]byte, error) {
	line = append(append(append(line, `,"`...), field...), `":`...)
	for c, v := range values {
		key, err := json.Marshal(l.names[c])
		if err != nil {
			return nil, err
		}
		line = append(line, "{,"[min(c, 1)])
		line = append(append(line, key...), ':')
		line = append(line, v...)
	}
	return append(line, '}'), nil
}

func (l *lines) flush() error {
	return l.text.Flush()
}

// formatTarget returns a target with the digits that scores tell apart, and one more.
func (l *lines) formatTarget(v float64) string {
	digits := 17
	if unit := l.model.Resolution(); unit > 0 && v != 0 {
		digits = max(1, min(digits, 2+int(math.Ceil(math.Log10(math.Abs(v)/unit)))))
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}

func formatScores(v []float32) (text []string) {
	for _, s := range v {
		text = append(text, formatScore(s))
	}
	return text
}

func formatScore(s float32) string { return strconv.FormatFloat(float64(s), 'g', -1, 32) }
