package scores

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
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms"
)

// Files applies the model in use to files, one by one: each is read from its beginning to its end and
// gets one file of predictions, named by it, so that doing it again changes nothing.
type Files struct {
	Model  string        `json:"model"`  // directory or alias, as of package live
	Reload time.Duration `json:"reload"` // how often it is looked up; 0 is never
	Out    string        `json:"out"`    // absolute directory of the predictions
	Dead   string        `json:"dead"`   // and of what says which files and rows have none
	Data   Opening       `json:"data"`
	// MaxBad is the share of a file's rows that may be set aside, 0 to 1. A file with more is bad.
	MaxBad float64 `json:"max_bad"`
	Content
	Messages Messages `json:"messages,omitzero"` // how they become rows
}

// Content says what the predictions of Files say of each row; see Predict.
type Content struct {
	Format        string   `json:"format"`
	Scores        bool     `json:"scores,omitempty"`
	Probabilities bool     `json:"probabilities,omitempty"`
	Lines         bool     `json:"lines,omitempty"`
	Explain       bool     `json:"explain,omitempty"`
	Digest        bool     `json:"digest,omitempty"`
	Threshold     *float32 `json:"threshold,omitempty"`
	Certainty
}

// Opening says how files are opened, in a form that travels to workers.
type Opening struct {
	Options dataset.Options   `json:"options"` // without Formats
	Formats map[string]string `json:"formats,omitempty"`
}

// NewOpening returns options of a dataset, except which files it has.
func NewOpening(o dataset.Options) Opening {
	defaults := map[string]string{}
	for _, of := range dataset.NewOptions() {
		for _, opt := range option.List(of) {
			defaults[opt.Name] = opt.String()
		}
	}
	p := Opening{Formats: map[string]string{}}
	for _, of := range o.Formats {
		for _, opt := range option.List(of) {
			if text := opt.String(); text != defaults[opt.Name] {
				p.Formats[opt.Name] = text
			}
		}
	}
	o.Data, o.Formats, o.Like = nil, nil, nil
	p.Options = o
	return p
}

// of returns the options for one file that has to fit the schema.
func (p Opening) of(uri string, like *dataset.Schema) (dataset.Options, error) {
	o := p.Options
	o.Data, o.Like = []string{uri}, like
	o.Formats = dataset.NewOptions()
	for _, of := range o.Formats {
		for _, opt := range option.List(of) {
			if text, ok := p.Formats[opt.Name]; ok {
				if err := opt.Set(text); err != nil {
					return o, err
				}
			}
		}
	}
	return o, nil
}

// Arrival is a file to be done.
type Arrival struct {
	Path     string `json:"path"` // by which its outputs are named
	URI      string `json:"uri"`
	Version  string `json:"version"`
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"` // nanoseconds since 1970; 0 if unknown
	// Message, unless nil, is a message, whose content is the file.
	Message *messages.Message `json:"message,omitempty"`
}

// ArrivalOf returns a file that has appeared.
func ArrivalOf(f storage.ArrivedFile) Arrival {
	return Arrival{Path: f.Path, URI: f.URI, Version: f.Version, Size: f.Size, Modified: f.Modified}
}

// FileResult says what became of a file. It is done unless Retry says why not.
type FileResult struct {
	Path     string `json:"path"`
	Rows     int64  `json:"rows"`                // with a prediction
	SetAside int64  `json:"set_aside,omitempty"` // with a line without one
	Model    string `json:"model,omitempty"`     // digest of the model that made all predictions
	Bad      string `json:"bad,omitempty"`       // why the file has no predictions
	Retry    string `json:"retry,omitempty"`     // why it may have them later
	Known    bool   `json:"known,omitempty"`     // whether it was done before
	Changed  bool   `json:"changed,omitempty"`   // and was written to since
	// Latency is the time from when the file was written until its predictions were whole.
	Latency time.Duration `json:"latency,omitempty"`
	// Output and Letter are to be published, where predictions or dead letters go to a topic. The
	// message is done afterwards.
	Output *messages.Message `json:"output,omitempty"`
	Letter *messages.Message `json:"letter,omitempty"`
}

// DeadLetter is the content of a file that names what has no predictions.
type DeadLetter struct {
	File  string `json:"file"`
	Error string `json:"error,omitempty"` // why the file as a whole has none
	// SetAside are the rows that could not be read, the first 10,000 of Rows.
	SetAside []dataset.SetAside `json:"set_aside,omitempty"`
	Rows     int64              `json:"rows,omitempty"`
	Model    string             `json:"model,omitempty"`
	// Message is the message that this is about, which its service does not have any more.
	Message *messages.Message `json:"message,omitempty"`
}

// Names of the files about one file.
const (
	predicted = ".predictions" // and the suffix of the format
	badFile   = ".file.json"
	badRows   = ".rows.json"
)

// suffix returns what is added to the path of a file to name the file of its predictions.
func (f *Files) suffix() (string, error) {
	formats, err := export.Files(f.Format, nil)
	if err != nil {
		return "", err
	}
	return predicted + formats[0].Suffix, nil
}

// Done returns the paths of the files that have predictions or are bad, by what earlier runs have
// left, with the time of that.
func (f *Files) Done(ctx context.Context) (map[string]int64, error) {
	suffix, err := f.suffix()
	if err != nil {
		return nil, err
	}
	done := map[string]int64{}
	for dir, end := range map[string]string{f.Out: suffix, f.Dead: badFile} {
		// Of entries that cannot be read, known tells whether they say that a file is done.
		objects, err := storage.ListReadable(ctx, storage.Join(dir, "**"), func(string, string) {})
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if path, is := strings.CutSuffix(strings.TrimPrefix(o.URI, storage.Join(dir)+"/"), end); is && path != "" {
				done[path] = o.Modified
			}
		}
	}
	return done, nil
}

// known returns the result of a file that has predictions or is bad: another worker has found it
// too, or its name was gone for a while. That of a message is replaced.
func (f *Files) known(ctx context.Context, file Arrival) (r FileResult, err error) {
	if file.Message != nil {
		return r, nil
	}
	suffix, err := f.suffix()
	if err != nil {
		return r, err
	}
	for _, name := range []string{storage.Join(f.Out, file.Path+suffix), storage.Join(f.Dead, file.Path+badFile)} {
		is, err := storage.Exists(ctx, name)
		if err != nil {
			return r, err
		}
		if is {
			o, err := storage.Stat(ctx, name)
			changed := err == nil && file.Modified > o.Modified && file.Modified <= time.Now().UnixNano()
			return FileResult{Path: file.Path, Known: true, Changed: changed}, nil
		}
	}
	return r, nil
}

// listed returns an error unless a file is the one that was listed.
func listed(ctx context.Context, file Arrival) error {
	if file.Message != nil {
		return nil
	}
	o, err := storage.Stat(ctx, file.URI)
	if err == nil && o.Version != file.Version {
		err = storage.ErrChanged
	}
	return err
}

// do does one file with the model. The error is for what no other file would do better: a place that
// cannot be written to.
func (f *Files) do(ctx context.Context, lane *transforms.Lane, m *models.Model,
	file Arrival) (r FileResult, err error) {
	r = FileResult{Path: file.Path, Model: m.Manifest.SHA256}
	err = transforms.Guard(func() error { return f.predict(ctx, lane, m, file, &r) })
	if err != nil {
		why := faultOf(err)
		r = FileResult{Path: file.Path}
		gone := listed(ctx, file) // a process writes to the file or has moved it away, so what was read says nothing
		switch {
		case why.Kind == transforms.PlaceFault:
			return r, err
		case gone != nil:
			r.Retry = transforms.FaultText(gone)
			return r, nil
		case why.Kind == transforms.DataFault, why.Kind == transforms.CrashFault:
			r.Bad = transforms.FaultText(why)
			err = f.letter(ctx, file, badFile, DeadLetter{Error: r.Bad, Model: m.Manifest.SHA256}, &r)
			if err != nil {
				return r, err
			}
		default:
			r.Retry = transforms.FaultText(why)
			return r, nil
		}
	}
	if file.Message != nil {
		if err := f.replace(ctx, file, r); err != nil {
			return FileResult{Path: file.Path, Retry: transforms.FaultText(err)}, nil
		}
	}
	if file.Modified > 0 {
		r.Latency = max(0, time.Duration(time.Now().UnixNano()-file.Modified))
	}
	return r, nil
}

// faultOf returns the kind of an error with its text.
func faultOf(err error) *transforms.Fault {
	kind := transforms.InternalFault
	var data *dataset.Error
	if errors.As(err, &data) {
		kind = transforms.DataFault
	}
	var f *transforms.Fault
	if !errors.As(transforms.FindFault(transforms.NewFault(kind, err)), &f) {
		f = &transforms.Fault{Kind: kind, Message: err.Error()}
	}
	return f
}

// letter writes a dead letter of a file, or has it published.
func (f *Files) letter(ctx context.Context, file Arrival, suffix string, l DeadLetter, r *FileResult) error {
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

// create writes the predictions for a file, or has them published.
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
func (f *Files) predict(ctx context.Context, lane *transforms.Lane, m *models.Model, file Arrival,
	r *FileResult) error {
	if k := m.Linear.K; f.Threshold != nil && (!m.Classifies() || k != 2) {
		return transforms.NewFault(transforms.ModelFault,
			fmt.Errorf("scores: the model %s has %d outputs; the threshold needs one of two classes", m.Manifest.SHA256, k))
	}
	if err := f.Check(m); err != nil {
		return transforms.NewFault(transforms.ModelFault, fmt.Errorf("scores: the model %s: %w", m.Manifest.SHA256, err))
	}
	like := new(dataset.Schema)
	if err := json.Unmarshal(m.Manifest.Input.Options, like); err != nil {
		return transforms.NewFault(transforms.ModelFault,
			fmt.Errorf("scores: %s: input options: %w", models.ManifestFile, err))
	}
	o, err := f.Data.of(file.URI, like)
	if err != nil {
		return err
	}
	if file.Message != nil {
		o.Objects = []storage.Object{f.Messages.object(file.Message)}
	} else {
		o.Objects = []storage.Object{{Name: file.URI, URI: file.URI, Size: file.Size, Version: file.Version}}
	}
	d, err := dataset.Open(ctx, o)
	if err != nil {
		return err
	}
	d.Weighted = false // every row has a prediction, whatever its weight
	WithMissing(m.Manifest, d)
	p := &Predict{
		Pass: transforms.Pass{Data: *d, Mode: dataset.KeepPlace}, Model: Model{Threshold: f.Threshold}, Format: f.Format,
		Scores: f.Scores, Probabilities: f.Probabilities, Lines: f.Lines, Explain: f.Explain, Digest: f.Digest, ID: IDColumn(d),
		Given: f.Messages.given(file.Message), Certainty: f.Certainty,
	}
	if err := p.Distinct(p.Columns(m)); err != nil {
		return transforms.NewFault(transforms.DataFault, err)
	}
	lane.Request.Lines, lane.Request.IDs = p.Lines, p.ID != ""
	a := newApplier(lane, m)
	a.Threshold = f.Threshold
	table, format, err := p.table(a)
	if err != nil {
		return err
	}
	return f.create(ctx, file, format.Suffix, r, func(dst io.Writer) error {
		w := format.New(dst)
		report := dataset.Report{}
		for shard, source := range d.Ahead(ctx, d.Shards(math.MaxInt64/2)) { // one
			if report, err = p.rows(ctx, a, table, shard, source, w, func(*rows.Block) {}); err != nil {
				return err
			}
		}
		if err := transforms.FaultOfReports([]dataset.Report{report}); err != nil {
			return err
		}
		r.Rows, r.SetAside = report.Rows, report.Bad
		if report.Bad == 0 {
			return nil
		}
		first := "" // of its rows
		if len(report.SetAside) > 0 {
			first = ": " + report.SetAside[0].Place() + ": " + report.SetAside[0].Reason
		}
		if all := report.Rows + report.Bad; float64(report.Bad) > f.MaxBad*float64(all) {
			return transforms.NewFault(transforms.DataFault,
				fmt.Errorf("scores: %s: %d of %d rows cannot be used%s", file.URI, report.Bad, all, first))
		}
		// Before the predictions are whole, after which the file is not done again.
		return f.letter(ctx, file, badRows, DeadLetter{SetAside: report.SetAside, Rows: report.Bad,
			Model: m.Manifest.SHA256}, r)
	})
}

// WithMissing makes data of plain numbers for a model have missing values, if the model says what
// to take in their place.
func WithMissing(m *models.Manifest, d *dataset.Dataset) {
	if d.Schema.Table != nil || !d.Schema.Traits().Columns || m.Fill() == nil {
		return
	}
	t := &schema.Table{Rules: schema.Rules{Missing: schema.DefaultMissing}}
	for _, c := range dataset.DescribedBy(d) {
		if c.Feature >= 0 {
			t.Columns = append(t.Columns, schema.Column{Name: c.Name, Type: schema.Number})
		}
	}
	d.Schema.Table = t
}

// IDColumn returns the name of the column that identifies the rows, or "".
func IDColumn(d *dataset.Dataset) string {
	for _, c := range dataset.DescribedBy(d) {
		if c.Role == dataset.IDRole {
			return c.Name
		}
	}
	return ""
}
