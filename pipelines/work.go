package pipelines

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"

	"github.com/bochner-ml/bochner/io/storage"
)

// work is the directory in which a job keeps what it has finished, so that it
// can go on where it was stopped. Files in it are named by a hash of all that
// they follow from: what belongs to other data or other flags is never taken up.
type work struct {
	dir    string
	lock   string
	unlock func()
}

// openWork takes the work directory of a job that makes out: dir, or a hidden
// directory beside out if dir is empty. Unless the job resumes, it begins empty.
// Two jobs cannot work in one directory at a time. A directory that holds other
// things is refused: what a job leaves behind must be told from what it found.
func openWork(ctx context.Context, out, dir string, resume bool) (*work, error) {
	out, err := storage.Abs(out)
	if err != nil {
		return nil, err
	}
	name := dir // as it was given
	if dir, err = workDir(out, dir); err != nil {
		return nil, err
	}
	lock := storage.Join(dir, "lock")
	if err := ownWork(ctx, cmp.Or(name, dir), lock); err != nil {
		return nil, err
	}
	unlock, err := storage.Lock(ctx, lock)
	if err != nil {
		return nil, err
	}
	w := &work{dir: storage.Join(dir, "state"), lock: lock, unlock: unlock}
	if !resume {
		err = storage.Remove(ctx, w.dir)
	}
	if err == nil {
		err = storage.RemoveUnfinished(ctx, out)
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return w, nil
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

// ownWork refuses a directory with content that is not a job's, which has a lock.
func ownWork(ctx context.Context, dir, lock string) error {
	empty, err := storage.Empty(ctx, dir)
	if err != nil || empty {
		return err
	}
	ours, err := storage.Exists(ctx, lock)
	if err == nil && !ours {
		err = refuse("pipelines: --work %s: the directory holds other files; name a new or an empty one", dir)
	}
	return err
}

// file returns the name of a state file that follows from the given values.
func (w *work) file(name string, from ...any) string {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(from); err != nil {
		panic("pipelines: state that cannot be named: " + err.Error())
	}
	ext := path.Ext(name)
	return storage.Join(w.dir, name[:len(name)-len(ext)]+"-"+hex.EncodeToString(h.Sum(nil)[:8])+ext)
}

// remove deletes what the job has kept, as the job is done or nothing of it is of
// use; and the directory, unless somebody has put other things there since.
func (w *work) remove(ctx context.Context) error {
	if err := storage.Remove(ctx, w.dir); err != nil {
		return err
	}
	if err := storage.Remove(ctx, w.lock); err != nil {
		return err
	}
	dir, _ := storage.Split(w.dir)
	return storage.RemoveEmpty(ctx, dir)
}

// close gives the directory back. What it holds stays for a run that resumes,
// unless err says that the same run would fail again: then nothing is left.
func (w *work) close(ctx context.Context, err error) {
	if code := ExitCode(err); code == ExitOK || code == ExitData || code == ExitModel || code == ExitUsage {
		// Nothing more can be done about a directory that cannot be removed: the
		// error of the job itself is what matters.
		_ = w.remove(context.WithoutCancel(ctx))
	}
	w.unlock()
}
