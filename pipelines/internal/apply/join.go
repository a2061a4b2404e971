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

// canJoin refuses options with which predictions cannot be written as one file.
func (o PredictOptions) canJoin() error {
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

// join makes all predictions and then writes them to o.Join, with one header.
func (o PredictOptions) join(ctx context.Context, j *job.Job, pass *scores.Predict, columns []export.Column,
	threshold *Threshold, moved *drifting) (*PredictResult, error) {
	formats, err := export.Files(o.Format, columns)
	if err != nil {
		return nil, err
	}
	head, err := formats[0].Head()
	if err != nil {
		return nil, err
	}
	var files []storage.File
	result := &PredictResult{Threshold: threshold}
	err = j.PublishShards(ctx, pass, "predictions", &pass.Out, func(written []transforms.Written, dir string) (err error) {
		if result.Rows, err = job.Count(&pass.Data, job.ReportsOf(written), o.MaxBadFraction); err != nil {
			return err
		}
		if result.Drift, err = moved.counted(written); err != nil {
			return err
		}
		if err := moved.check(result.Drift); err != nil {
			return err
		}
		_, files = job.PublishedParts(&pass.Data, written, dir)
		for _, f := range files {
			if err := f.Sum.Verify(ctx, f.From); err != nil {
				return err // the part is made again
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	j.Progress.Done()
	result.SetAside = result.Rows.Listed
	o.noteBlank(j, result.Rows)
	out := joined{ctx, o.Join}
	if _, err := out.Write(head); err != nil {
		return nil, err
	}
	for _, f := range files {
		r, err := storage.Open(ctx, f.From, int64(len(head)), -1)
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(out, r)
		if r.Close(); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// joined is the output, until the context ends.
type joined struct {
	ctx context.Context
	io.Writer
}

func (j joined) Write(b []byte) (int, error) {
	if err := j.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := j.Writer.Write(b)
	if err != nil {
		err = exit.Refuse("the predictions are not complete: %w", fmt.Errorf("write to the output: %w", err))
	}
	return n, err
}
