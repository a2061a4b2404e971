package days

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/sumdirs"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// prune removes the sums that are not needed if the options ask for it, and otherwise counts them.
// It runs after the promotion.
//
// Champion, challenger and previous champion need the sums of the days that they were trained
// on and the total of their recipe. The sums of present days, also by reference recipes, are needed as
// well. Only sums whose index names no other directory of models are removed.
func (r *retrainRun) prune(ctx context.Context) error {
	defer r.time("prune")()
	needed, err := r.needs(ctx)
	if err != nil || needed == nil {
		return err
	}
	mine, err := storage.Abs(r.options.Models)
	if err != nil {
		return err
	}
	indexes, err := sumdirs.Directories(ctx, storage.Join(r.options.Sums, "*"), indexFile)
	if err != nil {
		return err
	}
	for _, dir := range indexes {
		x, err := readIndex(ctx, dir)
		if err != nil {
			return err
		}
		if !slices.Equal(x.Models, []string{mine}) {
			continue
		}
		gone, err := r.unneeded(ctx, x, needed)
		if err != nil {
			return err
		}
		if !r.options.KeepSums.Prune {
			r.report.Unneeded += len(gone)
			continue
		}
		r.report.Removed += len(gone)
		// The directory stays, with its index: others may begin to use it at any time.
		if err := x.discard(ctx, gone); err != nil {
			return err
		}
	}
	return nil
}

// unneeded returns the names of the sums in a directory of sums that are not needed. Totals are needed as long as
// the recipe or the sums of a day are.
func (r *retrainRun) unneeded(ctx context.Context, x *index, needed *needs) (names []string, err error) {
	dirs, err := sumdirs.Directories(ctx, storage.Join(x.dir, "*"), sums.ManifestFile)
	if err != nil {
		return nil, err
	}
	recipe, present, oldest := path.Base(x.dir), sumNames(r.days), r.since(r.options.KeepSums.Days)
	used := x.Reference || needed.recipes[recipe]
	keepTotals := used
	var totals []string
	for _, dir := range dirs {
		name := path.Base(dir)
		switch day, ok := dayOf(name); {
		case !ok:
			totals = append(totals, name)
		case day >= oldest, needed.sums[sumsKey{recipe, name}], used && slices.Contains(x.TotalOf, name),
			x.Reference && slices.Contains(present, name):
			keepTotals = true
		default:
			names = append(names, name)
		}
	}
	if !keepTotals {
		names = append(names, totals...)
	}
	return names, nil
}

// sweep removes work directories, claims and unfinished files of stopped runs. Their names are
// hashes of their inputs, so runs of other days would not continue them.
func (r *retrainRun) sweep(ctx context.Context) {
	var err error
	for _, pattern := range []string{storage.Join(r.options.Models, ".bochner-????-??-??-????????"),
		storage.Join(r.options.Sums, ".bochner-*"), storage.Join(r.options.Sums, "*", ".bochner-*")} {
		err = errors.Join(err, job.SweepWorkDirs(ctx, pattern))
	}
	for _, dir := range []string{r.options.Models, storage.Join(r.options.Models, models.HistoryDir), r.options.Sums,
		storage.Join(r.options.Sums, "*")} {
		err = errors.Join(err, storage.ClearClaims(ctx, dir))
	}
	// Only runs write to the reports, one at a time.
	if err = errors.Join(err, storage.ClearUnfinished(ctx, r.registry.ReportsDir())); err != nil {
		r.notef("the unfinished work of earlier runs cannot be removed: %s", fault.Text(err))
	}
}

// since returns the first day of the period of the given number of days that ends with the day of the run.
func (r *retrainRun) since(days int) string {
	day, _ := parseDay(r.options.Day)
	return day.AddDate(0, 0, 1-days).Format(dayForm)
}

// dayOf returns the day in the name of the sums of a day.
func dayOf(name string) (day string, ok bool) {
	if len(name) <= len(dayForm) || name[len(dayForm)] != '-' {
		return "", false
	}
	_, err := parseDay(name[:len(dayForm)])
	return name[:len(dayForm)], err == nil
}

// needs holds the recipes and sums that the models with an alias need.
type needs struct {
	recipes map[string]bool // by identifier
	sums    map[sumsKey]bool
}

// sumsKey names the sums of a day by a recipe: its identifier, and Day.name.
type sumsKey struct{ recipe, name string }

// needs returns what the models with an alias need. It returns nil if there is no champion, if the champion is
// of a later day, or if a lineage is unknown.
func (r *retrainRun) needs(ctx context.Context) (*needs, error) {
	s, err := r.registry.State(ctx)
	if err != nil || s.Champion == "" {
		return nil, err
	}
	needed := &needs{recipes: map[string]bool{}, sums: map[sumsKey]bool{}}
	for _, alias := range models.AliasNames() {
		model := s.Model(alias)
		if model == "" {
			continue
		}
		dir := r.registry.ModelDir(model)
		if exists, err := storage.Exists(ctx, storage.Join(dir, sums.ManifestFile)); err != nil {
			return nil, err
		} else if !exists { // it was removed
			continue
		}
		l, err := registry.ReadLineage(ctx, dir)
		if err != nil {
			return nil, err
		}
		if l == nil || len(l.Sources) == 0 || alias == models.Champion && l.Day > r.options.Day {
			return nil, nil // its needs, or the needs of later days, are unknown
		}
		id, err := r.jobs.Recipe(ctx, dir)
		if err != nil {
			return nil, err
		}
		if id == "" {
			continue
		}
		needed.recipes[id] = true
		for _, p := range l.Sources {
			if p.Sums == "" { // it was trained on rows, which may have sums
				needed.sums[sumsKey{id, Day{Date: p.Name, Digest: p.Digest}.name()}] = true
			} else {
				needed.sums[sumsKey{path.Base(path.Dir(p.Sums)), path.Base(p.Sums)}] = true
			}
		}
		for _, p := range r.days {
			needed.sums[sumsKey{id, p.name()}] = true
		}
	}
	return needed, nil
}
