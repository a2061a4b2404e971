package evaluate

import (
	"context"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/apply"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/transforms"
)

// trainingRows returns the number of used rows that the model is known to have been trained on: all of them if
// they have the fingerprint of its data, in any order and any files, and otherwise the rows in complete
// files of its data.
func (m *openedModel) trainingRows(ctx context.Context, j *job.Job, used int64,
	reports []dataset.Report) (int64, error) {
	if m.manifest.Rows.Used == used {
		same, err := m.sameFingerprint(ctx, j)
		if same || err != nil {
			return used, err
		}
	}
	return rowsOfTrainingFiles(ctx, m.name, m.data, reports)
}

// sameFingerprint reports whether the rows of the data are the training rows.
func (m *openedModel) sameFingerprint(ctx context.Context, j *job.Job) (bool, error) {
	schema, err := apply.SchemaOf(m.name, m.manifest)
	if err != nil {
		return false, err
	}
	// Read the rows as training does. Prediction accepts more missing values.
	as := *m.data
	as.Schema.Table = schema.Table
	j.Progress.Phase("looking for rows of the training", 0)
	defer j.Progress.Done()
	profiled, _, err := prepare.ProfileRows(ctx, j, &as, 1, m.manifest.Seed,
		&transforms.Labeling{Open: m.manifest.Task == models.Classification})
	if exit.CodeOf(err) == exit.CodeData { // training could not have used these rows
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return profiled.Digest == m.manifest.Fingerprint, nil
}

// rowsOfTrainingFiles counts the rows of files that the lineage of the model names.
func rowsOfTrainingFiles(ctx context.Context, dir string, d *dataset.Dataset,
	reports []dataset.Report) (rows int64, err error) {
	l, err := registry.ReadLineage(ctx, dir)
	if err != nil || l == nil || len(l.Forgotten) > 0 {
		return 0, nil // a damaged lineage is no error, because it is not part of the model
	}
	var trained []registry.File
	for _, p := range l.Sources {
		trained = append(trained, p.Files...)
	}
	for i := range d.Files {
		f := d.Files[i]
		if !slices.ContainsFunc(trained, func(t registry.File) bool { return t.Bytes == f.Size }) {
			continue // a different size shows that it is another file
		}
		seen := slices.ContainsFunc(trained, func(t registry.File) bool { // by retrain, or a large file
			return t.Bytes == f.Size && t.Version == f.Version && (f.URI == t.Name || strings.HasSuffix(f.URI, "/"+t.Name))
		})
		if !seen {
			f.Labels = nil
			one, err := registry.FilesOf(ctx, &dataset.Dataset{Schema: d.Schema, Files: []dataset.File{f}})
			if err != nil {
				return 0, err
			}
			seen = slices.ContainsFunc(trained, func(t registry.File) bool {
				return t.Bytes == one[0].Bytes && t.Version == one[0].Version
			})
		}
		if !seen {
			continue
		}
		for _, r := range reports {
			if r.Shard.File == i {
				rows += r.Rows
			}
		}
	}
	return rows, nil
}
