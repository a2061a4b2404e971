package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/internal/apply"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// servedModel is a model in use, with everything that requests need. It is immutable.
type servedModel struct {
	model   *models.Model
	like    *dataset.Schema  // schema of files for the model
	objects *dataset.Dataset // for JSON objects with all columns of the model
	names   []string         // names of the columns, in the order of the model
	types   []schema.Column  // type of each column
	missing bool             // columns may have missing values

	unexplained error // why the model cannot explain; nil if it can

	statistics *profile.Statistics // of the training rows; nil if the model has none
	drift      drift.Names
	cluster    float64
}

// newServedModel prepares the model with this name, which has been loaded.
func newServedModel(ctx context.Context, name string, m *models.Model) (*servedModel, error) {
	like, err := apply.SchemaOf(name, m.Manifest)
	if err != nil {
		return nil, err
	}
	s := &servedModel{model: m, like: like, names: columnNames(like), cluster: m.Manifest.Learner.Split.GroupSize()}
	nulls := make([]json.RawMessage, len(s.names))
	for i := range nulls {
		nulls[i] = json.RawMessage("null")
	}
	if s.objects, err = s.open(ctx, "jsonl", object(nil, s.names, nulls)); err != nil {
		return nil, fmt.Errorf("serve: the column names of %s cannot be JSON keys: %w", name, err)
	}
	t := s.objects.Schema.Table
	s.missing = t != nil
	for i, name := range s.names {
		c := schema.Column{Name: name, Type: schema.Number}
		if t != nil {
			c = t.Columns[i]
			c.Name = name
		}
		s.types = append(s.types, c)
	}
	s.drift = drift.NamesOf(s.objects)
	if _, has := m.Manifest.File(models.ProfileFile); !has || len(s.names) <= maxFields {
		_, s.unexplained = m.Explainer() // slow with more columns: the first request for an explanation does it
	}
	return s, s.readProfile(ctx, name)
}

// certainty returns the measures of certainty that the model has, with the default level.
func (s *servedModel) certainty() (c scoring.Certainty) {
	usual := scoring.Certainty{Interval: models.DefaultLevel}
	if apply.NeedCertainty(usual, s.model.Manifest, "", "") == nil {
		c = usual
	}
	c.Novelty = s.model.Manifest.Sketch != nil
	return c
}

// readProfile reads the statistics of the training rows, if the model has them by column.
func (s *servedModel) readProfile(ctx context.Context, name string) error {
	if _, has := s.model.Manifest.File(sums.ProfileFile); !has {
		return nil
	}
	dir, err := models.Resolve(ctx, name)
	if err != nil {
		return err
	}
	p, err := sums.ReadProfile(ctx, dir, s.model.Manifest)
	if err != nil {
		return err
	}
	if len(p.Rows.Columns) == s.model.Manifest.Input.Dim {
		s.statistics = p.Rows
	}
	return nil
}

// columnNames returns the names of the columns of a model: the names in the training data, or c1, c2 and so on.
func columnNames(s *dataset.Schema) (names []string) {
	if tabular, ok := s.Layout.(dataset.Tabular); ok {
		return tabular.Table().Names()
	}
	for i := range s.Dim {
		names = append(names, fmt.Sprintf("c%d", i+1))
	}
	return names
}

// open opens the text of a request as Predict opens a file for the model.
func (s *servedModel) open(ctx context.Context, format string, text []byte) (*dataset.Dataset, error) {
	d, err := dataset.Open(ctx, dataset.Options{Objects: []storage.Object{storage.InMemory(requestName, text)},
		Format: format, Like: s.like, Formats: dataset.NewOptions()})
	if err != nil {
		return nil, err
	}
	d.Weighted = false // rows of weight 0 have predictions, too
	scoring.WithMissing(s.model.Manifest, d)
	return d, nil
}

// requestName is the name of the text of a request in errors.
const requestName = "request"

// plainReason returns the text of an error about a request, without requestName and what precedes it.
func plainReason(text string) string {
	if _, reason, ok := strings.Cut(text, ": "+requestName+": "); ok {
		return reason
	}
	return text
}

// object appends a JSON object with these members.
func object(dst []byte, names []string, values []json.RawMessage) []byte {
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		key, _ := json.Marshal(name) // cannot fail
		dst = append(append(append(dst, key...), ':'), values[i]...)
	}
	return append(dst, '}')
}
