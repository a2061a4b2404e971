package scoring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/io/messages"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// Files applies the model in use to files, one by one. Each file gets one file of predictions, which
// is named after it, so processing a file again changes nothing.
type Files struct {
	Model  string        `json:"model"`  // directory or alias, as models.OpenHandle takes it
	Reload time.Duration `json:"reload"` // how often the alias is looked up again; 0 means never
	Out    string        `json:"out"`    // absolute directory of the predictions
	Dead   string        `json:"dead"`   // absolute directory of dead letters, for files and rows without predictions
	Data   OpenOptions   `json:"data"`
	// MaxBad is the share of a file's rows that may be set aside, from 0 to 1. A file with more is bad as a whole.
	MaxBad float64 `json:"max_bad"`
	// Threshold, unless nil, replaces the threshold of each model; see models.Applier.
	Threshold *models.Threshold `json:"threshold,omitempty"`
	Content
	Messages Messages `json:"messages,omitzero"` // how they become rows
}

// OpenOptions has the options for opening files, in a form that travels to workers.
type OpenOptions struct {
	Options dataset.Options   `json:"options"` // without Formats
	Formats map[string]string `json:"formats,omitempty"`
}

// NewOpenOptions returns options of a dataset, except which files it has.
func NewOpenOptions(o dataset.Options) OpenOptions {
	defaults := map[string]string{}
	for _, format := range dataset.NewOptions() {
		for _, opt := range option.List(format) {
			defaults[opt.Name] = opt.String()
		}
	}
	p := OpenOptions{Formats: map[string]string{}}
	for _, format := range o.Formats {
		for _, opt := range option.List(format) {
			if text := opt.String(); text != defaults[opt.Name] {
				p.Formats[opt.Name] = text
			}
		}
	}
	o.Files, o.Formats, o.Like = nil, nil, nil
	p.Options = o
	return p
}

// optionsFor returns the options to open one file, which must fit the schema.
func (p OpenOptions) optionsFor(uri string, like *dataset.Schema) (dataset.Options, error) {
	o := p.Options
	o.Files, o.Like = []string{uri}, like
	o.Formats = dataset.NewOptions()
	for _, format := range o.Formats {
		for _, opt := range option.List(format) {
			if text, ok := p.Formats[opt.Name]; ok {
				if err := opt.Set(text); err != nil {
					return o, err
				}
			}
		}
	}
	return o, nil
}

// Arrival is a file, or a message, to predict.
type Arrival struct {
	Path     string `json:"path"` // by which its outputs are named
	URI      string `json:"uri"`
	Version  string `json:"version"`
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"` // nanoseconds since 1970; 0 if unknown
	// Message, unless nil, is the message whose content is the file.
	Message *messages.Message `json:"message,omitempty"`
}

// ArrivalOf returns a file that has appeared.
func ArrivalOf(f storage.ArrivedFile) Arrival {
	return Arrival{Path: f.Path, URI: f.URI, Version: f.Version, Size: f.Size, Modified: nanoseconds(f.Modified)}
}

// nanoseconds returns a time in nanoseconds since 1970; 0 if it is zero.
func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// FileResult is the outcome of a file. The file is done if Retry is empty.
type FileResult struct {
	Path     string `json:"path"`
	Rows     int64  `json:"rows"`                // rows with a prediction
	SetAside int64  `json:"set_aside,omitempty"` // rows whose line of the output has no prediction
	Model    string `json:"model,omitempty"`     // digest of the model that made all predictions
	Bad      string `json:"bad,omitempty"`       // why the file has no predictions
	Retry    string `json:"retry,omitempty"`     // why the file failed, if another attempt may succeed
	Known    bool   `json:"known,omitempty"`     // the file was already done
	Changed  bool   `json:"changed,omitempty"`   // the file was already done, and has changed since
	// Latency is the time from the writing of the file until its predictions were complete.
	Latency time.Duration `json:"latency,omitempty"`
	// Output and Letter are messages to publish, if predictions or dead letters go to a topic.
	// The file is done once they are published.
	Output *messages.Message `json:"output,omitempty"`
	Letter *messages.Message `json:"letter,omitempty"`
}

// DeadLetter is the content of a file that lists what has no predictions.
type DeadLetter struct {
	File  string `json:"file"`
	Error string `json:"error,omitempty"` // why the file as a whole has none
	// SetAside are the rows that could not be read, the first 10,000 of Rows.
	SetAside []dataset.SetAside `json:"set_aside,omitempty"`
	Rows     int64              `json:"rows,omitempty"`
	Model    string             `json:"model,omitempty"`
	// Message is the message without predictions, which its service no longer has.
	Message *messages.Message `json:"message,omitempty"`
}

// Suffixes of the names of the outputs for one file.
const (
	predicted = ".predictions" // and the suffix of the format
	badFile   = ".file.json"
	badRows   = ".rows.json"
)

// suffix returns the suffix that turns the path of a file into the name of its predictions.
func (f *Files) suffix() (string, error) {
	formats, err := export.Files(f.Format, nil)
	if err != nil {
		return "", err
	}
	return predicted + formats[0].Suffix, nil
}

// Done returns the paths of the files that have predictions or are bad, according to the outputs of
// earlier runs, with the times of these outputs.
func (f *Files) Done(ctx context.Context) (map[string]time.Time, error) {
	suffix, err := f.suffix()
	if err != nil {
		return nil, err
	}
	done := map[string]time.Time{}
	for dir, end := range map[string]string{f.Out: suffix, f.Dead: badFile} {
		// Ignore entries that cannot be read; known looks at them again.
		objects, err := storage.ListReadable(ctx, storage.Join(dir, "**"), func(string, string) {})
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if path, ok := strings.CutSuffix(strings.TrimPrefix(o.URI, storage.Join(dir)+"/"), end); ok && path != "" {
				done[path] = o.Modified
			}
		}
	}
	return done, nil
}

// known returns the result of a file that is already done. That happens if another worker found the
// file, too, or if its name was gone for a while. The result of a message is replaced instead.
func (f *Files) known(ctx context.Context, file Arrival) (r FileResult, err error) {
	if file.Message != nil {
		return r, nil
	}
	suffix, err := f.suffix()
	if err != nil {
		return r, err
	}
	for _, name := range []string{storage.Join(f.Out, file.Path+suffix), storage.Join(f.Dead, file.Path+badFile)} {
		exists, err := storage.Exists(ctx, name)
		if err != nil {
			return r, err
		}
		if exists {
			o, err := storage.Stat(ctx, name)
			changed := err == nil && file.Modified > nanoseconds(o.Modified) && file.Modified <= time.Now().UnixNano()
			return FileResult{Path: file.Path, Known: true, Changed: changed}, nil
		}
	}
	return r, nil
}

// checkUnchanged returns an error unless a file is the one that was listed.
func checkUnchanged(ctx context.Context, file Arrival) error {
	if file.Message != nil {
		return nil
	}
	o, err := storage.Stat(ctx, file.URI)
	if err == nil && o.Version != file.Version {
		err = storage.ErrChanged
	}
	return err
}

// predictFile predicts one file with the model. The error is not about the file: every other file would fail,
// too, such as when a directory cannot be written to.
func (f *Files) predictFile(ctx context.Context, reader *transforms.Reader, m *models.Model,
	file Arrival) (r FileResult, err error) {
	r = FileResult{Path: file.Path, Model: m.Manifest.SHA256}
	err = fault.Guard(func() error { return f.predict(ctx, reader, m, file, &r) })
	if err != nil {
		why := faultOf(err)
		r = FileResult{Path: file.Path}
		// If the file changed or was moved meanwhile, an error in its content means nothing.
		gone := checkUnchanged(ctx, file)
		switch {
		case why.Kind == fault.Place:
			return r, err
		case gone != nil:
			r.Retry = fault.Text(gone)
			return r, nil
		case why.Kind == fault.Data, why.Kind == fault.Crash:
			r.Bad = fault.Text(why)
			err = f.writeDeadLetter(ctx, file, badFile, DeadLetter{Error: r.Bad, Model: m.Manifest.SHA256}, &r)
			if err != nil {
				return r, err
			}
		default:
			r.Retry = fault.Text(why)
			return r, nil
		}
	}
	if file.Message != nil {
		if err := f.replace(ctx, file, r); err != nil {
			return FileResult{Path: file.Path, Retry: fault.Text(err)}, nil
		}
	}
	if file.Modified > 0 {
		r.Latency = max(0, time.Duration(time.Now().UnixNano()-file.Modified))
	}
	return r, nil
}

// faultOf returns the fault that an error contains, with the text of the error.
func faultOf(err error) *fault.Fault {
	kind := fault.Internal
	if _, ok := errors.AsType[*dataset.Error](err); ok {
		kind = fault.Data
	}
	if f, ok := fault.Find(fault.Wrap(kind, err)); ok {
		return f
	}
	return &fault.Fault{Kind: kind, Message: err.Error()}
}

// writeDeadLetter writes a dead letter for a file, or adds it to the result to be published.
func (f *Files) writeDeadLetter(ctx context.Context, file Arrival, suffix string, l DeadLetter, r *FileResult) error {
	l.File, l.Message = file.URI, file.Message
	if messages.Is(f.Dead) {
		r.Letter = letterOf(file, l)
		return nil
	}
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return storage.WriteFile(ctx, storage.Join(f.Dead, file.Path+suffix), append(data, '\n'))
}

// create writes the predictions for a file, or adds them to the result to be published.
func (f *Files) create(ctx context.Context, file Arrival, suffix string, r *FileResult,
	write func(io.Writer) error) error {
	if !messages.Is(f.Out) {
		return storage.Create(ctx, storage.Join(f.Out, file.Path+predicted+suffix), write)
	}
	var b content
	if err := write(&b); err != nil {
		return err
	}
	r.Output = file.Message.From(file.URI, b.data.Bytes(), messages.ModelAttribute, r.Model)
	return nil
}

// predict writes the predictions for a file.
func (f *Files) predict(ctx context.Context, reader *transforms.Reader, m *models.Model, file Arrival,
	r *FileResult) error {
	d, err := f.open(ctx, m, file)
	if err != nil {
		return err
	}
	p := &Predict{
		Pass: transforms.Pass{Data: *d, Mode: dataset.KeepPlace}, Content: f.Content, ID: IDColumn(d),
		Constants: f.Messages.given(file.Message),
	}
	if err := p.Distinct(p.Columns(m)); err != nil {
		return fault.Wrap(fault.Data, err)
	}
	reader.Request.Lines, reader.Request.IDs = p.Lines, p.ID != ""
	a := newApplier(reader, m)
	a.Threshold = f.Threshold
	table, format, err := p.file(a)
	if err != nil {
		return err
	}
	return f.create(ctx, file, format.Suffix, r, func(dst io.Writer) error {
		w := format.New(dst)
		report := dataset.Report{}
		for shard, source := range d.Ahead(ctx, d.Shards(math.MaxInt64/2)) { // the file is one shard
			if report, err = table.write(ctx, shard, source, w, func(*rowio.Block) {}); err != nil {
				return err
			}
		}
		return f.reported(ctx, file, report, table.notFinite, r)
	})
}

// open checks that the model can make the predictions, and opens a file as data for it.
func (f *Files) open(ctx context.Context, m *models.Model, file Arrival) (*dataset.Dataset, error) {
	if k := m.Linear.K; f.Threshold != nil && (!m.Classifies() || k != 2) {
		return nil, fault.Wrap(fault.Model,
			fmt.Errorf("scoring: the model %s has %d outputs; the threshold needs one of two classes", m.Manifest.SHA256, k))
	}
	if err := f.Check(m); err != nil {
		return nil, fault.Wrap(fault.Model, fmt.Errorf("scoring: the model %s: %w", m.Manifest.SHA256, err))
	}
	like, err := dataset.SchemaOf(m.Manifest.Input.Options)
	if err != nil {
		return nil, fault.Wrap(fault.Model, fmt.Errorf("scoring: %s: %w", models.ManifestFile, err))
	}
	o, err := f.Data.optionsFor(file.URI, like)
	if err != nil {
		return nil, err
	}
	if file.Message != nil {
		o.Objects = []storage.Object{f.Messages.object(file.Message)}
	} else {
		o.Objects = []storage.Object{{Name: file.URI, URI: file.URI, Size: file.Size, Version: file.Version}}
	}
	d, err := dataset.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	d.Weighted = false // every row has a prediction, whatever its weight
	WithMissing(m.Manifest, d)
	return d, nil
}

// reported counts the rows of a file whose predictions are written, and returns an error if too many are set aside.
func (f *Files) reported(ctx context.Context, file Arrival, report dataset.Report, notFinite int64,
	r *FileResult) error {
	if err := fault.OfReports([]dataset.Report{report}); err != nil {
		return err
	}
	r.Rows, r.SetAside = report.Rows-notFinite, report.Bad+notFinite
	if report.Bad == 0 {
		return nil
	}
	example := ""
	if len(report.SetAside) > 0 {
		example = ": " + report.SetAside[0].Position() + ": " + report.SetAside[0].Reason
	}
	if all := report.Rows + report.Bad; float64(report.Bad) > f.MaxBad*float64(all) {
		return fault.Wrap(fault.Data,
			fmt.Errorf("scoring: %s: %d of %d rows cannot be used%s", file.URI, report.Bad, all, example))
	}
	// Write the letter before the predictions are complete: then the file counts as done.
	l := DeadLetter{SetAside: report.SetAside, Rows: report.Bad, Model: r.Model}
	return f.writeDeadLetter(ctx, file, badRows, l, r)
}

// WithMissing allows missing values in data of plain numbers, if the model has a replacement for them.
func WithMissing(m *models.Manifest, d *dataset.Dataset) {
	if d.Schema.Table != nil || !d.Schema.Traits().Columns || m.Fill() == nil {
		return
	}
	var names []string
	for _, c := range dataset.DescribedBy(d) {
		if c.Feature >= 0 {
			names = append(names, c.Name)
		}
	}
	d.Schema.Table = schema.Numbers(names)
}

// IDColumn returns the name of the column that identifies the rows, or "".
func IDColumn(d *dataset.Dataset) string {
	for _, c := range dataset.DescribedBy(d) {
		if c.Role == schema.ID {
			return c.Name
		}
	}
	return ""
}
