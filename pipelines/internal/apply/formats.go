package apply

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms"
)

// PredictFormats returns the names of the formats that predictions can be written in.
func PredictFormats() []string {
	return formatsThat(func(f export.Format) bool { return !f.Arrays })
}

// FeaturizeFormats returns the names of the formats that features can be written in.
func FeaturizeFormats() []string {
	names := append(formatsThat(func(export.Format) bool { return true }), transforms.Codes)
	slices.Sort(names)
	return names
}

// lineFormats returns the names of the formats whose files can be concatenated.
func lineFormats() []string { return formatsThat(func(f export.Format) bool { return f.Lines }) }

func formatsThat(fit func(export.Format) bool) (names []string) {
	for _, f := range export.Formats() {
		if fit(f) {
			names = append(names, f.Name)
		}
	}
	return names
}

// checkFormat returns an error for a format that is not among the names.
func checkFormat(format string, names []string) error {
	if slices.Contains(names, format) {
		return nil
	}
	return exit.Usagef("--out_format must be %s (have %q)", joinWithOr(names), format)
}

// joinWithOr lists alternatives, such as csv, json or parquet.
func joinWithOr(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// fileNames has file extensions that users may give by mistake, as if predictions could be written in these
// formats.
var fileNames = strings.Fields(".txt .tsv .json .ndjson .xlsx .xls .ods .npy .npz .arrow .feather .avro .orc .pkl " +
	".h5 .db .sqlite .gz .zst .zip .bz2 .xz .tar .pq .dat .libsvm .svm")

// oneFile is the format of predictions that are written to a file instead of a directory.
type oneFile struct {
	format string
	gzip   bool
}

// fileOf returns the format by the extension of a file, such as x.csv or x.csv.gz, and nil for a directory.
func fileOf(out string) (*oneFile, error) {
	name := path.Base(strings.ReplaceAll(out, "\\", "/"))
	if strings.HasSuffix(out, "/") {
		return nil, nil
	}
	plain, zipped := strings.CutSuffix(strings.ToLower(name), ".gz")
	for _, format := range PredictFormats() {
		if !strings.HasSuffix(plain, "."+format) || plain == "."+format {
			continue
		}
		if zipped && !slices.Contains(lineFormats(), format) {
			return nil, exit.Usagef("--out %s: %s is already compressed; leave out .gz", out, format)
		}
		return &oneFile{format, zipped}, nil
	}
	if ext := path.Ext(strings.ToLower(name)); ext != strings.ToLower(name) && slices.Contains(fileNames, ext) {
		return nil, exit.Usagef("--out %s: %s is not a format of predictions; name a file .%s, or a directory (with / at "+
			"its end)", out, ext, strings.Join(PredictFormats(), ", ."))
	}
	return nil, nil
}

// isFile reports whether the name is a file's, even if predictions cannot be written in its format.
func isFile(out string) bool {
	f, err := fileOf(out)
	return f != nil || err != nil
}

// write calls join with a writer that compresses if the file is compressed.
func (f *oneFile) write(w io.Writer, join func(io.Writer) error) error {
	if !f.gzip {
		return join(w)
	}
	z := gzip.NewWriter(w)
	if err := join(z); err != nil {
		return err
	}
	return z.Close()
}

// checkJoin refuses options with which predictions cannot be written as one file.
func checkJoin(o options.Predict) error {
	switch {
	case o.Out != "":
		return exit.Usagef("predictions go to a directory or to a writer, not both")
	case !slices.Contains(lineFormats(), o.Format) && slices.Contains(PredictFormats(), o.Format):
		return exit.Usagef("--out - writes %s, not %s; give a directory with --out", joinWithOr(lineFormats()), o.Format)
	}
	if err := o.Job.Engine.Validate(); err != nil {
		return err
	}
	if !o.Job.Engine.About().InProcess {
		return exit.Usagef("--out - writes to the standard output of this process, which the workers of --runner %s do not "+
			"share; use --runner direct, or give a directory with --out", o.Job.Engine.Runner)
	}
	return nil
}

// join makes all predictions and then writes them as one file: to Join, with one header, or to the file Out.
func (p *prediction) join(ctx context.Context, file *oneFile) (result *results.Predict, err error) {
	var parts []export.Part
	o, d := p.options, p.data
	err = p.job.PublishShards(ctx, p.pass, "predictions", func(written []transforms.Written, dir string) (err error) {
		if result, err = p.count(written); err != nil {
			return err
		}
		_, files := job.PublishedFiles(d, written, dir)
		parts = nil
		for _, f := range files {
			if err := f.Checksum.Verify(ctx, f.From); err != nil {
				return err // PublishShards makes the part again
			}
			parts = append(parts, export.Part{Size: f.Checksum.Bytes, Open: func(off, n int64) (io.ReadCloser, error) {
				return storage.Open(ctx, f.From, off, n)
			}})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.job.Progress.Done()
	result.SetAside = result.Rows.Listed
	noteBlank(o, p.job, result.Rows)
	if o.Join != nil {
		return result, export.Join(contextWriter{ctx, o.Join}, o.Format, p.columns, parts)
	}
	if !o.Job.Resume { // another program may have created the file
		if err := storage.CheckAbsent(ctx, o.Out); err != nil {
			return nil, err
		}
	}
	return result, storage.Create(ctx, o.Out, func(w io.Writer) error {
		return file.write(w, func(w io.Writer) error { return export.Join(w, o.Format, p.columns, parts) })
	})
}

// contextWriter is a writer that fails once its context has ended.
type contextWriter struct {
	ctx context.Context
	io.Writer
}

func (w contextWriter) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.Writer.Write(b)
	if err != nil {
		err = exit.Dataf("the predictions are not complete: %w", fmt.Errorf("write to the output: %w", err))
	}
	return n, err
}
