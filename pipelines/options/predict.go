package options

import (
	"io"
	"time"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Predict holds the options of pipelines.Predict: the model and the data.
type Predict struct {
	// Directory of the model, or an alias such as DIR@champion (see bochner models --help).
	Model string          `flag:"model,common" group:"Model and output" placeholder:"DIR"`
	Data  dataset.Options `group:"Data" omit:"Columns,Drop,Weight,Time"`

	// Directory to create for the predictions, which must not exist; a file, if the name ends in .csv,
	// .jsonl (also with .gz) or .parquet; or - for standard output.
	Out string `flag:"out,common" group:"Model and output" placeholder:"PATH"`

	// Join gets the predictions as one file, once all of them are made, if Out is "". Workers must be in this
	// process, and the format must have lines.
	Join    io.Writer
	Content `group:"Model and output"`

	// Largest share (0 to 1) of rows set aside as unusable.
	MaxBadFraction float64 `flag:"max_bad_fraction,common" group:"Data"`

	// Largest distance, 0 to 1, that a column may have moved since training; 0 means no bound. If the
	// lower 95% bound of a distance is larger, nothing is written and the exit code is 4.
	//
	// The bound is drift.Column.AtLeast.
	MaxDrift float64 `flag:"max_drift,common" group:"Model and output"`

	Job Job `group:"Job"`
}

// Content holds the options of what is written for each row, and in which format.
type Content struct {
	// Format of the predictions: {values}.
	Format string `flag:"out_format,common" default:"csv" placeholder:"NAME"`

	// Also write the score of every output.
	Scores bool `flag:"scores,common"`

	// Also write the line on which each row starts, to join predictions to files with blank lines,
	// comments or multi-line records. Each file is then read by a single reader.
	Lines bool `flag:"lines,common"`

	// For two classes: predict the positive one if its probability (for a model without probabilities:
	// its score minus the other, halved) is at least this number. By default the class with the larger
	// probability or score is predicted.
	Threshold *float64 `flag:"threshold,common"`

	// Also write the probability of every class. The prediction is the most probable class; the larger
	// score breaks ties. A model that was trained with one --lambda, with --calibrate none or on sums
	// has no probabilities, unless --calibrate asked for them.
	Probabilities bool `flag:"probabilities,common"`

	// Also write the mean prediction (base) and the effect of every column. They sum to the
	// prediction; for a classifier to the score of the predicted class, and for two classes to half
	// the difference between the scores of the positive class and the other.
	Explain bool `flag:"explain,common"`

	// Also write an interval with this coverage, such as 0.9, for numbers (prediction_low,
	// prediction_high; for each of several targets by itself), or a prediction set of classes (set).
	// Both come from errors on rows that training held out, so the coverage holds for rows like the
	// training rows.
	Interval float64 `flag:"interval,common" placeholder:"LEVEL"` // above 0 and below 1; 0 for none

	// Also write how far each row is from the training rows (novelty): its leverage, divided by the
	// mean leverage of the training rows, so 1 is typical. For models of learner ridge.
	Novelty bool `flag:"novelty,common"`

	// Also write the digest of the model, the sha256 of its manifest, in each row.
	Digest bool `flag:"model_digest"`
}

// Explain holds the options of pipelines.Explain: the model and the row.
type Explain struct {
	// Directory of the model, or an alias such as DIR@champion.
	Model string          `flag:"model,common" group:"Model and output" placeholder:"DIR"`
	Data  dataset.Options `group:"Data" omit:"Columns,Drop,Weight,Time"`
	// Number of the row to explain: 1 is the first, without the header.
	Row int64 `flag:"row,common" group:"Data" default:"1" placeholder:"N"`
	Log io.Writer
}

// NewExplain returns the defaults of the command.
func NewExplain() Explain { return defaults[Explain]() }

// Featurize holds the options of pipelines.Featurize: the recipe and the data.
type Featurize struct {
	Prepare `omit:"Split,Room"`

	// Directory of a model, or an alias such as DIR@champion; its features are written instead of
	// features by the flags.
	Model string `flag:"model,common" group:"Model and output" placeholder:"DIR"`

	// Directory to create for the features; it must not exist.
	Out string `flag:"out,common" group:"Model and output" placeholder:"PATH"`

	// Format of the features: {values}.
	Format string `flag:"out_format,common" group:"Model and output" default:"npy" placeholder:"NAME"`
}

// NewFeaturize returns the defaults of the command.
func NewFeaturize() Featurize { return defaults[Featurize]() }

// InspectData holds the options of pipelines.InspectData.
type InspectData struct {
	Data  dataset.Options `group:"Data"`
	Types Types           `group:"Columns of tables"`
	// Largest share (0 to 1) of rows set aside as unusable.
	MaxBadFraction float64 `flag:"max_bad_fraction,common" group:"Data"`
	// File to create with the role, type and levels of each column, for --schema.
	WriteSchema string `flag:"write_schema,common" group:"Columns of tables" placeholder:"FILE"`
	Job         Job    `group:"Job"`
}

// InspectModel holds the options of pipelines.InspectModel. If Data names files, the effects of columns on
// predictions are measured on their rows.
type InspectModel struct {
	Model          string // directory of the model, or an alias
	Data           dataset.Options
	EffectsPlot    string  // file for a plot of the effects, .png or .svg
	MaxBadFraction float64 // largest share (0 to 1) of rows set aside as unusable
	Job            Job
}

// Messages holds the options for streams of messages.
type Messages struct {
	// With --stream of messages: largest number of messages that are received and not yet
	// acknowledged, within 64 MiB in all; the service holds the others back.
	Outstanding int `flag:"outstanding" default:"1000"`

	// With --stream of messages: attribute that identifies a message and names its outputs; the
	// default, also for messages without the attribute, is the identifier that the service gives.
	IDAttribute string `flag:"id_attribute"`

	// With --stream of messages: attribute with the time of a message, from which latencies count, in
	// RFC 3339 or as milliseconds since 1970; the default is the time of publication.
	TimeAttribute string `flag:"time_attribute"`

	// With --stream of messages: names of the columns of messages in CSV without a header, separated
	// by commas.
	Columns []string `flag:"message_columns" placeholder:"COLUMNS" list:"commas"`

	// With --stream of messages: attributes to copy to each row of predictions, separated by commas,
	// each to a column with its name; message_id is the identifier of the message.
	Copy []string `flag:"copy_attributes" list:"commas"`
}

// PredictStream holds the options of pipelines.PredictStream: the model, and the files or messages. For messages,
// Data is one subscription or topic, and Out and Dead are directories or topics; the options for files then apply
// to messages.
type PredictStream struct {
	// Predict holds the options of a batch, except that Model is looked up again while the stream runs, Out
	// may have predictions of an earlier run, and Join and MaxDrift are not supported.
	Predict

	// With --stream: directory for the files that say what has no predictions and why; for messages it
	// can be a topic. The default is --out with -dead added.
	Dead string `flag:"dead_letters" group:"Streams" placeholder:"PATH"`

	// With --stream: how often --model is looked up; a new model replaces the old one between two
	// files or messages. 0 is never.
	Reload time.Duration `flag:"reload" group:"Streams" default:"1m"`

	// With --stream: how often the files are listed.
	Poll time.Duration `flag:"poll" group:"Streams" default:"5s"`

	// With --stream: how long nothing must have been written to a file on disk before it is read; 0 if
	// files are renamed into place. Objects of gs:// and s3:// are whole when they appear.
	Settle time.Duration `flag:"settle" group:"Streams" default:"10s"`

	// With --stream: files that were written longer ago are not read; 0 for all.
	MaxAge time.Duration `flag:"max_age" group:"Streams"`

	// With --stream: largest number of files or messages that are taken at a time; others wait.
	//
	// At least 1. Between rounds the stream looks up the model and lists files.
	PerRound int `flag:"files_per_round" group:"Streams" default:"64"`

	// With --stream: stop when no file is left, or no message has come for --settle.
	UntilIdle bool     `flag:"until_idle" group:"Streams"`
	Messages  Messages `group:"Streams"`

	// Each, unless nil, is called after every round that had files.
	Each func(results.StreamRound) error
}

// NewPredictStream returns the defaults of the command.
func NewPredictStream() PredictStream {
	o := defaults[PredictStream]()
	o.MaxBadFraction = 1 // bad rows go to the dead letters and do not stop the stream
	return o
}
