package job

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// WorkDir is the directory in which a job stores its finished work, so that it can continue after it was
// stopped. Names of files have a hash of everything that the content depends on, so files of other data or
// flags are never used. A WorkDir also holds a claim on the output of the job: of two runs with the same
// output, the second fails at once.
type WorkDir struct {
	root   string // the directory
	Dir    string // directory of the state files, inside root
	unlock func()
	Claim  *storage.Claim // on the output
	Notes  []string       // on files that could not be removed

	// Temporary is true if nobody can resume the job, because its caller removes the directory.
	Temporary bool
}

// Files of a work directory besides the state.
const (
	workMarker = "bochner-work" // marks a directory that bochner created
	workLock   = "lock"
)

const workText = "bochner keeps in this directory what a job has finished. The job removes it at its end.\n"

// openWorkDir claims the output of a job, out, and opens its work directory: o.Work, or a hidden directory next
// to out. It locks the directory and, unless the job resumes, empties it. It refuses a directory that bochner
// did not create, unless it is empty, because the job removes its content at the end.
func openWorkDir(ctx context.Context, o options.Job, out string) (_ *WorkDir, err error) {
	w, fresh := new(WorkDir), false
	if w.root, err = workDir(out, o.Work); err != nil {
		return nil, err
	}
	w.Dir = storage.Join(w.root, "state")
	if w.Claim, err = storage.AcquireClaim(ctx, out); err != nil {
		return nil, err
	}
	defer func() {
		if err == nil {
			return
		}
		if fresh && !errors.Is(err, storage.ErrBusy) {
			_ = w.remove(ctx) // it is empty, and err is more important
		}
		w.release(ctx)
	}()
	// The claim keeps other runs from creating it.
	if err := CheckOutput(ctx, o, out); err != nil {
		return nil, err
	}
	if fresh, err = storage.IsEmpty(ctx, w.root, workMarker); err != nil {
		return nil, err
	}
	if err := storage.MkdirPrivate(ctx, w.root); err != nil { // state may contain rows of the data
		return nil, err
	}
	if err := ownWork(ctx, cmp.Or(o.Work, w.root), w.root, fresh); err != nil {
		return nil, err
	}
	if w.unlock, err = storage.Lock(ctx, storage.Join(w.root, workLock)); err != nil {
		return nil, w.leftover(err)
	}
	if err := markWork(ctx, w.root); err != nil { // a job that has just ended may have removed the mark
		return nil, w.leftover(err)
	}
	if !o.Resume {
		if err := storage.Remove(ctx, w.Dir); err != nil {
			return nil, w.leftover(err)
		}
	}
	err = w.Claim.Clear(ctx)
	if errors.Is(err, fs.ErrPermission) {
		w.Notes = append(w.Notes, fmt.Sprintf("cannot remove the files of a killed run next to %s: %s", out,
			fault.Text(err)))
		err = nil
	}
	return w, err
}

// leftover explains errors that files of another user have caused.
func (w *WorkDir) leftover(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return exit.Dataf("%w\nif an earlier run of another user left %s, remove it as that user (rm -r %[2]s), or give "+
		"another directory with --work", err, w.root)
}

// workDir returns the work directory of a job that creates out: dir, or if that is "" the hidden one next to
// out.
func workDir(out, dir string) (string, error) {
	if dir != "" {
		return storage.Abs(dir)
	}
	out, err := storage.Abs(out)
	if err != nil {
		return "", err
	}
	parent, name := storage.Split(out)
	return storage.Join(parent, ".bochner-"+name), nil
}

// ownWork marks an empty or missing directory as a work directory, and refuses other directories without the
// mark. name is the name of the directory in messages.
func ownWork(ctx context.Context, name, dir string, empty bool) error {
	if empty {
		return markWork(ctx, dir)
	}
	ours, err := storage.Exists(ctx, storage.Join(dir, workMarker))
	switch {
	case err != nil || ours:
		return err
	case strings.HasPrefix(path.Base(name), ".bochner-"):
		return exit.Dataf("pipelines: %s has files that no job of this version wrote; remove it (rm -r %[1]s), "+
			"or give another directory with --work", name)
	}
	return exit.Dataf("pipelines: --work %s: the directory has other files; give a new or an empty one", name)
}

func markWork(ctx context.Context, dir string) error {
	mark := storage.Join(dir, workMarker)
	exists, err := storage.Exists(ctx, mark)
	if err != nil || exists {
		return err
	}
	_, err = storage.CreateState(ctx, mark, func(w io.Writer) error {
		_, err := io.WriteString(w, workText)
		return err
	})
	return err
}

// File returns the name of a state file that depends on the given values.
func (w *WorkDir) File(name string, from ...any) string {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(from); err != nil {
		panic("pipelines: state that cannot be named: " + err.Error())
	}
	ext := path.Ext(name)
	return storage.Join(w.Dir, name[:len(name)-len(ext)]+"-"+hex.EncodeToString(h.Sum(nil)[:8])+ext)
}

// remove deletes the state of the job, and then the directory unless it has other files.
func (w *WorkDir) remove(ctx context.Context) error {
	for _, name := range []string{w.Dir, storage.Join(w.root, workLock), storage.Join(w.root, workMarker)} {
		if err := storage.Remove(ctx, name); err != nil {
			return err
		}
	}
	return storage.RemoveEmpty(ctx, w.root, workMarker)
}

// SweepWorkDirs removes the work directories with files that match a pattern, except for those that a job has
// locked.
func SweepWorkDirs(ctx context.Context, pattern string) error {
	files, err := storage.List(ctx, storage.Join(pattern, workMarker))
	if errors.Is(err, storage.ErrNoMatch) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range files {
		w := new(WorkDir)
		w.root, _ = storage.Split(f.Name)
		w.Dir = storage.Join(w.root, "state")
		unlock, lockErr := storage.Lock(ctx, storage.Join(w.root, workLock))
		if errors.Is(lockErr, storage.ErrBusy) {
			continue
		}
		if err = errors.Join(err, lockErr); lockErr == nil {
			err = errors.Join(err, w.remove(ctx))
			unlock()
		}
	}
	return err
}

// Close releases the directory. It keeps the content for a run that resumes, unless the job succeeded or would
// fail in the same way again. It keeps it if a place could not be written to, because the user can fix that;
// then it returns an *exit.ResumableError with the directory. Otherwise it returns err.
func (w *WorkDir) Close(ctx context.Context, err error) error {
	ctx = context.WithoutCancel(ctx)
	defer w.release(ctx)
	code := exit.CodeOf(err)
	if _, done := errors.AsType[*exit.DoneError](err); done {
		code = exit.CodeOK
	}
	switch code {
	case exit.CodeOK, exit.CodeModel, exit.CodeUsage, exit.CodeGate: // remove it
	case exit.CodeData:
		empty, emptyErr := storage.IsEmpty(ctx, w.Dir, "")
		if !w.Temporary && exit.WriteFailed(err) && (emptyErr != nil || !empty) {
			return &exit.ResumableError{Err: err, Work: w.root}
		}
	default:
		return err
	}
	if removeErr := w.remove(ctx); removeErr != nil {
		w.Notes = append(w.Notes, fmt.Sprintf("cannot remove the work directory %s: %s; remove it by hand (rm -r %[1]s)",
			w.root, fault.Text(removeErr)))
	}
	return err
}

// release releases the locks of the job.
func (w *WorkDir) release(ctx context.Context) {
	if w.unlock != nil {
		w.unlock()
	}
	// Ignore errors: a claim ends with the process.
	_ = w.Claim.Drop(ctx)
}

// CheckOutput returns an error if the output of a job already exists. It allows an existing output if the job
// resumes from a work directory: the job may have been stopped just after it had published.
func CheckOutput(ctx context.Context, o options.Job, out string) error {
	if o.Resume {
		dir, err := workDir(out, o.Work)
		if err != nil {
			return err
		}
		if left, err := storage.Exists(ctx, dir); err != nil || left {
			return err
		}
	}
	return storage.CheckAbsent(ctx, out)
}

// checkDisjoint refuses an output or work directory that is inside another directory of the job, and an output
// that is the work directory.
func checkDisjoint(o options.Job, out string, dirs []Dir) error {
	var outputs, read []Dir
	for _, d := range dirs {
		if d.Name == out && len(outputs) == 0 {
			outputs = append(outputs, d)
		} else {
			read = append(read, d)
		}
	}
	return disjoint(append(outputs, Dir{"work", o.Work}), read)
}

// CheckOutputs refuses an output that is inside another one, or the same. Outputs without a name do not count.
func CheckOutputs(outputs ...Dir) error { return disjoint(outputs, nil) }

// disjoint returns an error if an output is inside another output or one of the read directories, or the same as
// another output.
func disjoint(outputs, read []Dir) error {
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

// Dir is a directory of a job and the flag that names it.
type Dir struct{ Flag, Name string }

// Validate refuses an invalid engine, directories inside each other, and local files if workers are on machines
// that cannot read them. out is the directory that the job creates, "" if it creates none.
func Validate(o options.Job, data dataset.Options, out string, dirs ...Dir) error {
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
			dirs = append(dirs, Dir{option, name})
		}
	}
	for _, d := range append(dirs, Dir{"work", o.Work}) {
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
	if err != nil {
		return dir, err
	}
	if dir != name && log != nil {
		model, _, _ := models.SplitAlias(name)
		if s, _, err := models.ReadAliases(ctx, model); err == nil && s != nil && s.Rebuilt != "" {
			fmt.Fprintf(log, "note: %s\n", s.Rebuilt)
		}
		fmt.Fprintf(log, "note: %s is %s\n", name, dir)
	}
	return dir, nil
}
