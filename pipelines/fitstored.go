package pipelines

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms/fault"
	"github.com/bochner-ml/bochner/transforms/rows"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*fitStoredFn]())
	beam.RegisterType(reflect.TypeFor[WindowModel]())
}

// WindowModel is a model that FitStored has fitted.
type WindowModel struct {
	Dir     string // of the model
	SumsDir string // the last directory of sums that it was fitted to
	Rows    int64  // rows of the window so far
}

// FitStored fits a model to each window of a PCollection<rows.Stored>, the directories of sums that
// rows.Store returns. The model is created in dir under the name of its directory of sums, and has
// the same bytes as from bochner fit --sums. If late rows of a window are stored in a further
// directory, its model is fitted to all sums of the window so far. To fit a model to several
// windows, call Fit. FitStored returns a PCollection<WindowModel>, and a PCollection<rows.Rejected> with
// the directories of sums that no model can be fitted to, for instance because they have no rows.
//
// One worker solves each model, and needs as much memory as bochner fit. A runner may repeat the
// step: an existing model is left as it is if fitting it again gives the same model.
func FitStored(s beam.Scope, dir string, stored beam.PCollection) (fitted, rejected beam.PCollection) {
	s = s.Scope("pipelines.FitStored")
	return beam.ParDo2(s, &fitStoredFn{Models: dir}, stored)
}

type fitStoredFn struct{ Models string }

func (f *fitStoredFn) ProcessElement(ctx context.Context, stored rows.Stored, emit func(WindowModel),
	reject func(rows.Rejected)) error {
	_, name := storage.Split(strings.TrimRight(stored.Dir, "/"))
	fitted := WindowModel{Dir: storage.Join(f.Models, name), SumsDir: stored.Dir, Rows: stored.Rows}
	r, err := Fit(ctx, options.Fit{SumDirs: options.SumDirs{Sums: stored.Window}, Model: fitted.Dir})
	if err == nil {
		fitted.Rows = r.Rows.Used
	}
	if errors.Is(err, fs.ErrExist) {
		m, failed := existingModel(ctx, fitted.Dir, func(dir string) error {
			_, err := Fit(ctx, options.Fit{SumDirs: options.SumDirs{Sums: stored.Window}, Model: dir})
			return err
		})
		switch {
		case failed != nil:
			err = failed
		case m != nil:
			err, fitted.Rows = nil, m.Rows.Used
		}
	}
	unusable, ok := errors.AsType[*fault.Fault](err)
	switch {
	case err == nil:
		emit(fitted)
	case ok && unusable.Kind == fault.Data:
		reject(rows.Rejected{Key: stored.Dir, Reason: unusable.Message})
	default:
		return fault.Wrap(fault.Internal, fmt.Errorf("pipelines: the model of %s: %w", stored.Dir, err))
	}
	return nil
}

// existingModel returns the manifest of an existing model if train makes the same model in another
// directory: an earlier attempt of a runner may have made it. It returns nil if the models differ, or if something
// else than a model exists.
func existingModel(ctx context.Context, model string, train func(dir string) error) (*models.Manifest, error) {
	existing, err := models.ReadManifest(ctx, model)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "bochner-rows-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	dir := filepath.Join(temp, "model")
	if err := train(dir); err != nil {
		return nil, err
	}
	made, err := models.ReadManifest(ctx, dir)
	if err != nil || made.SHA256 != existing.SHA256 {
		return nil, err
	}
	return existing, nil
}
