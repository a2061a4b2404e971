package days

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/sumdirs"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Prune removes old directories of sums, except for those that a model was fitted to according to
// its lineage. They are needed to forget rows, and to compute the sums of the next model.
func Prune(ctx context.Context, o options.PruneSums) (*results.PruneSums, error) {
	switch {
	case len(o.Sums) == 0:
		return nil, exit.Usagef("--sums is missing: name directories that bochner sum created")
	case o.Keep == "":
		return nil, exit.Usagef("--keep is missing: name the days to keep, such as 90d")
	case o.Models == "" && o.Model == "":
		return nil, exit.Usagef(
			"--models is missing: name the directory of models whose champion keeps its sums, or a model with --model")
	}
	span, err := sumdirs.Duration("--keep", o.Keep)
	if err != nil {
		return nil, err
	}
	need, err := neededBy(ctx, o)
	if err != nil {
		return nil, err
	}
	dirs, err := sumdirs.List(ctx, o.Sums)
	if err != nil {
		return nil, err
	}
	dates, newest := make([]time.Time, len(dirs)), time.Time{}
	for i, p := range dirs {
		if dates[i], err = sumdirs.DateOf(p); err == nil && dates[i].After(newest) { // directories without a date are kept
			newest = dates[i]
		}
	}
	r := &results.PruneSums{Plan: o.Plan, Removed: []results.Pruned{}, Kept: []results.Pruned{}}
	for i, dir := range dirs {
		if dates[i].IsZero() || dates[i].After(newest.Add(-span)) {
			r.Left++
			continue
		}
		p, err := sums.ReadManifest(ctx, dir)
		if err != nil {
			return nil, err
		}
		x := results.Pruned{Place: dir, Bytes: p.Bytes(), Why: need.reason(dir, p)}
		if x.Why != "" {
			r.Kept = append(r.Kept, x)
			r.Left++
			continue
		}
		r.Removed = append(r.Removed, x)
		r.Bytes += x.Bytes
	}
	if o.Plan {
		return r, nil
	}
	for _, x := range r.Removed {
		if err := removeSum(ctx, x.Place); err != nil {
			return nil, err
		}
	}
	return r, clearRemains(ctx, o, span, newest)
}

// removeSum removes a directory of sums. It removes the manifest first: without it, no job takes
// the rest for sums.
func removeSum(ctx context.Context, dir string) error {
	for _, name := range []string{storage.Join(dir, sums.ManifestFile), dir} {
		if err := storage.Remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// clearRemains removes the rest of old directories on disk that a stopped run has begun to remove. It
// skips other storage, where a directory without a manifest may be one that is being written.
func clearRemains(ctx context.Context, o options.PruneSums, span time.Duration, newest time.Time) error {
	for _, p := range o.Sums {
		dirs, err := sumdirs.Directories(ctx, p, sums.RecipeFile)
		if err != nil {
			return err
		}
		for _, dir := range dirs {
			date, err := sumdirs.DateOf(dir)
			if err != nil || date.After(newest.Add(-span)) || strings.Contains(dir, "://") {
				continue
			}
			whole, err := storage.Exists(ctx, storage.Join(dir, sums.ManifestFile))
			if err != nil {
				return err
			}
			if whole {
				continue
			}
			if err := storage.Remove(ctx, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// neededSums holds the model that needs sums, by the digest of a part of the data and by the
// directory of its sums.
type neededSums struct{ byDigest, byDir map[string]string }

// neededBy returns the sums that the lineages of the models name.
func neededBy(ctx context.Context, o options.PruneSums) (*neededSums, error) {
	n := &neededSums{map[string]string{}, map[string]string{}}
	if o.Models != "" {
		r := registry.Registry{Dir: o.Models}
		s, err := r.State(ctx)
		if err != nil {
			return nil, err
		}
		if s.Champion == "" {
			return nil, exit.Dataf(
				"pipelines: %s has no champion, whose sums would be kept; promote a model first, or name models with --model", o.Models)
		}
		for _, alias := range models.AliasNames() {
			if model := s.Model(alias); model != "" {
				if err := n.add(ctx, r.ModelDir(model)); err != nil {
					return nil, err
				}
			}
		}
	}
	if o.Model != "" {
		dir, err := job.FindModel(ctx, o.Model, o.Log)
		if err != nil {
			return nil, err
		}
		if err := n.add(ctx, dir); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// add adds the sums in the lineage of the model in dir.
func (n *neededSums) add(ctx context.Context, dir string) error {
	if _, err := models.ReadManifest(ctx, dir); err != nil {
		return err
	}
	l, err := registry.ReadLineage(ctx, dir)
	if err != nil {
		return err
	}
	if l == nil || len(l.Sources) == 0 {
		return exit.Dataf("pipelines: %s has no %s that says which sums it needs; "+
			"fit it again, and promote that", dir, registry.LineageFile)
	}
	for _, p := range l.Sources {
		if p.Digest != "" {
			n.byDigest[p.Digest] = dir
		}
		if p.Sums != "" {
			abs, err := storage.Abs(p.Sums)
			if err != nil {
				return err
			}
			n.byDir[abs] = dir
		}
	}
	return nil
}

// reason returns why sums are needed, "" if they are not.
func (n *neededSums) reason(sumsDir string, p *sums.Manifest) string {
	model := ""
	if abs, err := storage.Abs(sumsDir); err == nil {
		model = n.byDir[abs]
	}
	for _, l := range append(p.LevelLeaves(), p.Leaves...) {
		model = cmp.Or(model, n.byDigest[l.Digest])
	}
	if model == "" {
		return ""
	}
	return fmt.Sprintf("%s was fitted to it", model)
}
