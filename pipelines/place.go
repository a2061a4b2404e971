package pipelines

import (
	"context"
	"errors"
	"io/fs"
	"slices"

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

// apart refuses directories of a job that lie one in another: what it makes and where
// it works, and these in a directory that it reads.
func (o JobOptions) apart(makes string, dirs []place) error {
	var own, read []place
	for _, d := range dirs {
		if d.name == makes && len(own) == 0 {
			own = append(own, d)
		} else {
			read = append(read, d)
		}
	}
	own = append(own, place{"work", o.Work})
	for _, a := range own {
		for _, b := range append(own, read...) {
			if a == b || a.name == "" || b.name == "" {
				continue
			}
			inside, err := storage.Within(a.name, b.name)
			if err != nil {
				return err
			}
			around, err := storage.Within(b.name, a.name)
			switch {
			case err != nil:
				return err
			case inside && !around:
				return usage("--%s %s lies in --%s %s: name a directory beside it", a.flag, a.name, b.flag, b.name)
			case inside && slices.Contains(own, b):
				return usage("--%s and --%s are the same directory, %s: name another", a.flag, b.flag, a.name)
			}
		}
	}
	return nil
}

// publish makes the directory that the job is there for.
func (j *job) publish(ctx context.Context, out string, files []storage.File) error {
	err := j.work.claim.Publish(ctx, files)
	if !j.opts.Resume || !errors.Is(err, fs.ErrExist) {
		return err
	}
	if made, holdsErr := storage.Holds(ctx, out, files); holdsErr != nil || !made {
		return err
	}
	j.progress.note("%s was made already", out)
	return nil
}
