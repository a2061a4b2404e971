package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// checkDisjoint refuses an output or work directory that is inside another directory of the job, and an output
// that is the work directory.
func checkDisjoint(o options.Job, out string, dirs []Place) error {
	var outputs, read []Place
	for _, d := range dirs {
		if d.Name == out && len(outputs) == 0 {
			outputs = append(outputs, d)
		} else {
			read = append(read, d)
		}
	}
	return disjoint(append(outputs, Place{"work", o.Work}), read)
}

// CheckOutputs refuses an output that is inside another one, or the same. Outputs without a name do not count.
func CheckOutputs(outputs ...Place) error { return disjoint(outputs, nil) }

func disjoint(outputs, read []Place) error {
	for _, a := range outputs {
		for _, b := range append(outputs, read...) {
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
				return exit.Usagef("--%s %s is inside --%s %s: give a directory next to it", a.Flag, a.Name, b.Flag, b.Name)
			case inside && slices.Contains(outputs, b):
				return exit.Usagef("--%s and --%s are the same directory, %s: give another", a.Flag, b.Flag, a.Name)
			}
		}
	}
	return nil
}

// Publish creates the output directory of the job.
func (j *Job) Publish(ctx context.Context, out string, files []storage.File) error {
	err := j.Work.Claim.Publish(ctx, files)
	if !j.Options.Resume || !errors.Is(err, fs.ErrExist) {
		return err
	}
	if made, holdsErr := storage.EqualFiles(ctx, out, files); holdsErr != nil || !made {
		return err
	}
	j.Progress.Notef("%s is already complete", out)
	return nil
}

// Place is a directory of a job and the flag that names it.
type Place struct{ Flag, Name string }

// Validate refuses an invalid engine, directories inside each other, and local files if workers are on machines
// that cannot read them. out is the directory that the job creates, "" for none.
func Validate(o options.Job, data dataset.Options, out string, dirs ...Place) error {
	if err := checkDisjoint(o, out, dirs); err != nil {
		return err
	}
	if err := o.Engine.Validate(); err != nil || !o.Engine.About().Machines {
		return err
	}
	if out == "" && o.Work == "" {
		return exit.Usagef("--runner %s: give a new work directory with --work gs://BUCKET/DIR", o.Engine.Runner)
	}
	for option, patterns := range data.Patterns() {
		for _, name := range patterns {
			dirs = append(dirs, Place{option, name})
		}
	}
	for _, d := range append(dirs, Place{"work", o.Work}) {
		if strings.HasPrefix(d.Name, "s3://") {
			return exit.Usagef("--%s %s: the workers of the %s runner cannot sign in to s3://: its keys are settings of this "+
				"machine, and are not sent to them; copy the files to gs://BUCKET/DIR and give that", d.Flag, d.Name, o.Engine.Runner)
		}
		if d.Name != "" && !strings.HasPrefix(d.Name, "gs://") {
			return exit.Usagef("--%s %s: the workers of the %s runner cannot see the files of this machine; copy them to "+
				"gs://BUCKET/DIR and give that", d.Flag, d.Name, o.Engine.Runner)
		}
	}
	return nil
}

// FindModel returns the directory of the model with this name, which may be an alias such as models@champion,
// and notes it in the log. A job resolves an alias once, so that all of its workers read the same model.
func FindModel(ctx context.Context, name string, log io.Writer) (string, error) {
	dir, err := models.Resolve(ctx, name)
	if err == nil && dir != name && log != nil {
		model, _, _ := models.SplitAlias(name)
		if s, _, err := models.ReadAliases(ctx, model); err == nil && s != nil && s.Rebuilt != "" {
			fmt.Fprintf(log, "note: %s\n", s.Rebuilt)
		}
		fmt.Fprintf(log, "note: %s is %s\n", name, dir)
	}
	return dir, err
}
