// Package workdir keeps the directory in which a job works, and the claim on what the job
// makes.
package workdir

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
	"strings"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// Dir is the directory in which a job keeps what it has finished, so that it
// can go on where it was stopped. Files in it are named by a hash of all that
// they follow from: what belongs to other data or other flags is never taken up.
// With it the job has the claim on what it makes, from its beginning on: of two
// runs over one name the second one ends before it has worked.
type Dir struct {
	root   string // the directory
	Dir    string // of the state files, in it
	unlock func()
	Claim  *storage.Claim // on what the job makes
	Notes  []string       // of what could not be cleared up
}

// Options say where a job works.
type Options struct {
	Dir    string // "" is a hidden directory beside what the job makes
	Resume bool   // go on with what an earlier run has left in it
}

// Files of a work directory beside the state.
const (
	workMarker = "bochner-work" // tells that bochner has made the directory
	workLock   = "lock"
)

const workText = "bochner keeps in this directory what a job has finished. The job removes it at its end.\n"

// Open takes the claim on what a job makes, out, and its work directory:
// o.Dir, or a hidden directory beside out. Unless the job resumes, it begins empty.
// Two jobs cannot work in one directory at a time. A directory that bochner has not
// made is refused unless it is empty: it is to be emptied at the end.
func Open(ctx context.Context, o Options, out string) (_ *Dir, err error) {
	w, fresh := new(Dir), false
	if w.root, err = workDir(out, o.Dir); err != nil {
		return nil, err
	}
	w.Dir = storage.Join(w.root, "state")
	if w.Claim, err = storage.Take(ctx, out); err != nil {
		return nil, err
	}
	defer func() {
		if err == nil {
			return
		}
		if fresh && !errors.Is(err, storage.ErrBusy) {
			_ = w.remove(ctx) // nothing is in it; what err says matters
		}
		w.giveBack(ctx)
	}()
	// Now nobody else can make it any more.
	if err := o.Vacant(ctx, out); err != nil {
		return nil, err
	}
	if fresh, err = storage.Empty(ctx, w.root, workMarker); err != nil {
		return nil, err
	}
	if err := ownWork(ctx, cmp.Or(o.Dir, w.root), w.root, fresh); err != nil {
		return nil, err
	}
	if w.unlock, err = storage.Lock(ctx, storage.Join(w.root, workLock)); err != nil {
		return nil, w.leftover(err)
	}
	if err := markWork(ctx, w.root); err != nil { // a job that ended meanwhile may have removed the mark
		return nil, w.leftover(err)
	}
	if !o.Resume {
		if err := storage.Remove(ctx, w.Dir); err != nil {
			return nil, w.leftover(err)
		}
	}
	err = w.Claim.Clear(ctx)
	if errors.Is(err, fs.ErrPermission) {
		w.Notes = append(w.Notes, fmt.Sprintf("what a killed run has left beside %s stays: %v", out, err))
		err = nil
	}
	return w, err
}

// leftover explains that what another user has left is in the way.
func (w *Dir) leftover(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return exit.Refuse("%w\nif an earlier run of another user has left %s, remove it as that user (rm -r %[2]s), or name another directory with --work", err, w.root)
}

// workDir returns the directory in which a job works that makes out: dir, or the
// one beside out.
func workDir(out, dir string) (string, error) {
	if dir != "" {
		return storage.Abs(dir)
	}
	out, err := storage.Abs(out)
	if err != nil {
		return "", err
	}
	beside, name := storage.Split(out)
	return storage.Join(beside, ".bochner-"+name), nil
}

// ownWork marks a directory that is empty or not there as one for work, and refuses
// any other that has no mark. The name is that which the user knows it by.
func ownWork(ctx context.Context, name, dir string, empty bool) error {
	if empty {
		return markWork(ctx, dir)
	}
	ours, err := storage.Exists(ctx, storage.Join(dir, workMarker))
	switch {
	case err != nil || ours:
		return err
	case strings.HasPrefix(path.Base(name), ".bochner-"):
		return exit.Refuse("pipelines: %s holds files that no job of this version has left there; if an older version has, remove it (rm -r %[1]s), or name another directory with --work", name)
	}
	return exit.Refuse("pipelines: --work %s: the directory holds other files; name a new or an empty one", name)
}

func markWork(ctx context.Context, dir string) error {
	mark := storage.Join(dir, workMarker)
	there, err := storage.Exists(ctx, mark)
	if err != nil || there {
		return err
	}
	_, err = storage.CreateState(ctx, mark, func(w io.Writer) error {
		_, err := io.WriteString(w, workText)
		return err
	})
	return err
}

// File returns the name of a state file that follows from the given values.
func (w *Dir) File(name string, from ...any) string {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(from); err != nil {
		panic("pipelines: state that cannot be named: " + err.Error())
	}
	ext := path.Ext(name)
	return storage.Join(w.Dir, name[:len(name)-len(ext)]+"-"+hex.EncodeToString(h.Sum(nil)[:8])+ext)
}

// remove deletes what the job has kept, as the job is done or nothing of it is of
// use; and the directory, unless somebody has put other things there since.
func (w *Dir) remove(ctx context.Context) error {
	for _, name := range []string{w.Dir, storage.Join(w.root, workLock), storage.Join(w.root, workMarker)} {
		if err := storage.Remove(ctx, name); err != nil {
			return err
		}
	}
	return storage.RemoveEmpty(ctx, w.root, workMarker)
}

// Close gives the directory back. What it holds stays for a run that resumes,
// unless err says that the same run would fail again: then nothing is left. It
// returns err, with where that is where its reader cannot know. A place that cannot
// be written to is something that a person mends, and the work is not lost by it.
func (w *Dir) Close(ctx context.Context, err error) error {
	ctx = context.WithoutCancel(ctx)
	defer w.giveBack(ctx)
	switch exit.Code(err) {
	case exit.CodeOK, exit.CodeModel, exit.CodeUsage:
	case exit.CodeData:
		empty, emptyErr := storage.Empty(ctx, w.Dir, "")
		if exit.Writing(err) && (emptyErr != nil || !empty) {
			return &exit.ResumableError{Err: err, Work: w.root}
		}
	default:
		return err
	}
	if removeErr := w.remove(ctx); removeErr != nil {
		w.Notes = append(w.Notes, fmt.Sprintf("the work directory %s could not be removed: %v; remove it by hand (rm -r %[1]s)", w.root, removeErr))
	}
	return err
}

// giveBack gives back what the job holds.
func (w *Dir) giveBack(ctx context.Context) {
	if w.unlock != nil {
		w.unlock()
	}
	// A claim that cannot be given back ends with the process.
	_ = w.Claim.Drop(ctx)
}

// Vacant returns an error if there is something already where a job is to make
// a directory. A job that resumes may find there what it had just made itself
// when it was stopped, before it had cleared up.
func (o Options) Vacant(ctx context.Context, out string) error {
	if o.Resume {
		dir, err := workDir(out, o.Dir)
		if err != nil {
			return err
		}
		if left, err := storage.Exists(ctx, dir); err != nil || left {
			return err
		}
	}
	return storage.Vacant(ctx, out)
}
