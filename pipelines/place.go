package pipelines

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
)

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

// vacant returns an error if there is something already where the job is to make a
// directory.
func (o JobOptions) vacant(ctx context.Context, out string) error {
	return workOptions{o.Work, o.Resume}.vacant(ctx, out)
}

// A place is a directory of a job, by the flag that names it.
type place struct{ flag, name string }

// validate refuses an engine that cannot be, directories that lie one in another, and files on this machine where the
// workers are on others that have no disk in common with it. The job makes the
// directory makes, and works beside it; "" if it makes none.
func (o JobOptions) validate(data dataset.Options, makes string, dirs ...place) error {
	if err := o.apart(makes, dirs); err != nil {
		return err
	}
	if err := o.Engine.validate(); err != nil || o.Engine.Runner != dataflow {
		return err
	}
	if makes == "" && o.Work == "" {
		return usage("--runner dataflow: name a new directory to work in with --work gs://BUCKET/DIR")
	}
	for option, patterns := range data.Patterns() {
		for _, name := range patterns {
			dirs = append(dirs, place{option, name})
		}
	}
	for _, d := range append(dirs, place{"work", o.Work}) {
		if d.name != "" && !strings.HasPrefix(d.name, "gs://") {
			return usage("--%s %s: Dataflow's workers do not see the files of this machine; copy them to gs://BUCKET/DIR and name that", d.flag, d.name)
		}
	}
	return nil
}
