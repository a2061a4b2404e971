package pipelines

import (
	"context"
	"errors"
	"io/fs"

	"github.com/bochner-ml/bochner/io/storage"
)

// vacant returns an error if there is something already where a job is to make
// a directory. A job that resumes may find there what it had just made itself
// when it was stopped, before it had cleared up.
func (o JobOptions) vacant(ctx context.Context, out string) error {
	if o.Resume {
		dir, err := workDir(out, o.Work)
		if err != nil {
			return err
		}
		if left, err := storage.Exists(ctx, dir); err != nil || left {
			return err
		}
	}
	return storage.Vacant(ctx, out)
}

// publish makes the directory that the job is there for.
func (j *job) publish(ctx context.Context, out string, files []storage.File) error {
	err := storage.Publish(ctx, out, files)
	if !j.opts.Resume || !errors.Is(err, fs.ErrExist) {
		return err
	}
	if made, holdsErr := storage.Holds(ctx, out, files); holdsErr != nil || !made {
		return err
	}
	j.progress.note("%s was made already", out)
	return nil
}
