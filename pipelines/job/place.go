package job

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/workdir"
)

// apart refuses directories of a job that lie one in another: what it makes and where
// it works, and these in a directory that it reads.
func (o Options) apart(makes string, dirs []Place) error {
	var own, read []Place
	for _, d := range dirs {
		if d.Name == makes && len(own) == 0 {
			own = append(own, d)
		} else {
			read = append(read, d)
		}
	}
	own = append(own, Place{"work", o.Work})
	for _, a := range own {
		for _, b := range append(own, read...) {
			if a == b || a.Name == "" || b.Name == "" {
				continue
			}
			inside, err := storage.Within(a.Name, b.Name)
			if err != nil {
				return err
			}
			around, err := storage.Within(b.Name, a.Name)
			switch {
			case err != nil:
				return err
			case inside && !around:
				return exit.Usage("--%s %s lies in --%s %s: name a directory beside it", a.Flag, a.Name, b.Flag, b.Name)
			case inside && slices.Contains(own, b):
				return exit.Usage("--%s and --%s are the same directory, %s: name another", a.Flag, b.Flag, a.Name)
			}
		}
	}
	return nil
}

// Publish makes the directory that the job is there for.
func (j *Job) Publish(ctx context.Context, out string, files []storage.File) error {
	err := j.Work.Claim.Publish(ctx, files)
	if !j.Opts.Resume || !errors.Is(err, fs.ErrExist) {
		return err
	}
	if made, holdsErr := storage.Holds(ctx, out, files); holdsErr != nil || !made {
		return err
	}
	j.Progress.Note("%s was made already", out)
	return nil
}

// Vacant returns an error if there is something already where the job is to make a
// directory.
func (o Options) Vacant(ctx context.Context, out string) error {
	return workdir.Options{Dir: o.Work, Resume: o.Resume}.Vacant(ctx, out)
}

// A place is a directory of a job, by the flag that names it.
type Place struct{ Flag, Name string }

// Validate refuses an engine that cannot be, directories that lie one in another, and files on this machine where the
// workers are on others that have no disk in common with it. The job makes the
// directory makes, and works beside it; "" if it makes none.
func (o Options) Validate(data dataset.Options, makes string, dirs ...Place) error {
	if err := o.apart(makes, dirs); err != nil {
		return err
	}
	if err := o.Engine.Validate(); err != nil || !o.Engine.About().Machines {
		return err
	}
	if makes == "" && o.Work == "" {
		return exit.Usage("--runner %s: name a new directory to work in with --work gs://BUCKET/DIR", o.Engine.Runner)
	}
	for option, patterns := range data.Patterns() {
		for _, name := range patterns {
			dirs = append(dirs, Place{option, name})
		}
	}
	for _, d := range append(dirs, Place{"work", o.Work}) {
		if d.Name != "" && !strings.HasPrefix(d.Name, "gs://") {
			return exit.Usage("--%s %s: the workers of the %s runner do not see the files of this machine; copy them to gs://BUCKET/DIR and name that", d.Flag, d.Name, o.Engine.Runner)
		}
	}
	return nil
}
