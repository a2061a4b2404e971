package apply

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/scores"
)

// checkJoin refuses options with which predictions cannot be written as one file.
func (o PredictOptions) checkJoin() error {
	switch {
	case o.Out != "":
		return exit.Usage("pipelines: predictions go to a directory or to a writer, not both")
	case !slices.Contains(lineFormats(), o.Format) && slices.Contains(PredictFormats(), o.Format):
		return exit.Usage("--out - writes %s, not %s; give a directory with --out", anyOf(lineFormats()), o.Format)
	}
	if err := o.Job.Engine.Validate(); err != nil {
		return err
	}
	if !o.Job.Engine.About().InProcess {
		return exit.Usage("--out - writes to the standard output of this process, which the workers of --runner %s do not "+
			"share; use --runner direct, or give a directory with --out", o.Job.Engine.Runner)
	}
	return nil
}

// join makes all predictions and then writes them as one file: to o.Join, with one header, or to the file
// o.Out.
func (o PredictOptions) join(ctx context.Context, j *job.Job, pass *scores.Predict, columns []export.Column,
	threshold *Threshold, moved *driftCheck) (*PredictResult, error) {
	var parts []export.Part
	result := &PredictResult{Out: o.Out, Threshold: threshold}
	err := j.PublishShards(ctx, pass, "predictions", &pass.Out, func(written []transforms.Written, dir string) (err error) {
		if result.Rows, err = job.Count(&pass.Data, job.ReportsOf(written), o.MaxBadFraction); err != nil {
			return err
		}
		if result.Drift, err = moved.counted(written); err != nil {
			return err
		}
		if err := moved.check(result.Drift); err != nil {
			return err
		}
		_, files := job.PublishedParts(&pass.Data, written, dir)
		parts = nil
		for _, f := range files {
			if err := f.Sum.Verify(ctx, f.From); err != nil {
				return err // PublishShards makes the part again
			}
			parts = append(parts, export.Part{Size: f.Sum.Bytes, Open: func(off, n int64) (io.ReadCloser, error) {
				return storage.Open(ctx, f.From, off, n)
			}})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	j.Progress.Done()
	result.SetAside = result.Rows.Listed
	o.noteBlank(j, result.Rows)
	if o.Join != nil {
		return result, export.Join(contextWriter{ctx, o.Join}, o.Format, columns, parts)
	}
	if !o.Job.Resume { // another program may have created the file
		if err := storage.MustNotExist(ctx, o.Out); err != nil {
			return nil, err
		}
	}
	return result, storage.Create(ctx, o.Out, func(w io.Writer) error {
		return o.file.write(w, func(w io.Writer) error { return export.Join(w, o.Format, columns, parts) })
	})
}

// contextWriter is a writer that fails once its context has ended.
type contextWriter struct {
	ctx context.Context
	io.Writer
}

func (j contextWriter) Write(b []byte) (int, error) {
	if err := j.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := j.Writer.Write(b)
	if err != nil {
		err = exit.Refuse("the predictions are not complete: %w", fmt.Errorf("write to the output: %w", err))
	}
	return n, err
}
