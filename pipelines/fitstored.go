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
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/rows"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*fitStoredFn]())
	beam.RegisterType(reflect.TypeFor[Fitted]())
}

// Fitted is a model that FitStored has fitted.
type Fitted struct {
	Model string // its directory
	Sums  string // the last directory of sums that it was fitted to
	Rows  int64  // of the window so far
}

// FitStored fits a model to each directory of sums, of a PCollection<rows.Stored> as rows.Store
// returns it, so that every window has a model of its rows; Fit makes the models of several
// windows, or of the last so many. The model of the sums in a directory is created in dir, by the
// same name, and is the same as from bochner fit --sums, byte for byte. Where rows came after
// others of their window were stored, the model of the further directory is fitted to all sums of
// the window so far. FitStored returns a PCollection<Fitted>, and a PCollection<rows.Rejected> with
// the directories of sums that no model can be fitted to, because there are no rows, for instance.
//
// Each model is solved by one worker, which needs the memory that bochner fit needs. A model that
// exists, of the same sums, is left as it is, so that a step may be repeated.
func FitStored(s beam.Scope, dir string, stored beam.PCollection) (fitted, rejected beam.PCollection) {
	s = s.Scope("pipelines.FitStored")
	return beam.ParDo2(s, &fitStoredFn{Models: dir}, stored)
}

type fitStoredFn struct{ Models string }

func (f *fitStoredFn) ProcessElement(ctx context.Context, of rows.Stored, emit func(Fitted),
	reject func(rows.Rejected)) error {
	_, name := storage.Split(strings.TrimRight(of.Place, "/"))
	fitted := Fitted{Model: storage.Join(f.Models, name), Sums: of.Place, Rows: of.Rows}
	r, err := Fit(ctx, FitOptions{Parts: Parts{Sums: of.Window}, Model: fitted.Model})
	if err == nil {
		fitted.Rows = r.Rows.Used
	}
	if errors.Is(err, fs.ErrExist) {
		if m := remade(ctx, fitted.Model, func(dir string) error {
			_, err := Fit(ctx, FitOptions{Parts: Parts{Sums: of.Window}, Model: dir})
			return err
		}); m != nil {
			err, fitted.Rows = nil, m.Rows.Used
		}
	}
	var data *transforms.Fault
	switch {
	case err == nil:
		emit(fitted)
	case errors.As(err, &data) && data.Kind == transforms.DataFault:
		reject(rows.Rejected{Key: of.Place, Reason: data.Message})
	default:
		return transforms.NewFault(transforms.InternalFault, fmt.Errorf("pipelines: the model of %s: %w", of.Place, err))
	}
	return nil
}

// remade returns the manifest of a model that exists if train makes the same model in another
// directory: an attempt before this one may have made it. It returns nil if it is another model.
func remade(ctx context.Context, model string, train func(dir string) error) *models.Manifest {
	there, err := models.ReadManifest(ctx, model)
	if err != nil {
		return nil
	}
	temp, err := os.MkdirTemp("", "bochner-rows-")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(temp)
	dir := filepath.Join(temp, "model")
	if train(dir) != nil {
		return nil
	}
	if made, err := models.ReadManifest(ctx, dir); err != nil || made.SHA256 != there.SHA256 {
		return nil
	}
	return there
}
