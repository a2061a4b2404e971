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
	"github.com/bochner-ml/bochner/pipelines/internal/parts"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// prune removes the sums that are not needed if the options ask for it, and otherwise counts them.
// It runs after the promotion.
//
// Champion, challenger and previous champion need the sums of the days that they were trained
// on and the total of their recipe. The sums of present days, also by reference recipes, are needed as
// well. Only sums whose index names no other directory of models are removed.
func (n *night) prune(ctx context.Context) error {
	needed, err := n.needs(ctx)
	if err != nil || needed == nil {
		return err
	}
	mine, err := storage.Abs(n.options.Models)
	if err != nil {
		return err
	}
	indexes, err := parts.Directories(ctx, storage.Join(n.options.Sums, "*"), indexFile)
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
		gone, err := n.unneeded(ctx, x, needed)
		if err != nil {
			return err
		}
		if !n.options.KeepSums.Prune {
			n.report.Unneeded += len(gone)
			continue
		}
		n.report.Removed += len(gone)
		// The directory stays, with its index: others may begin to use it at any time.
		if err := x.discard(ctx, gone); err != nil {
			return err
		}
	}
	return nil
}

// unneeded returns the names of the sums in a directory of sums that are not needed. Totals are needed as long as
// the recipe or the sums of a day are.
func (n *night) unneeded(ctx context.Context, x *index, needed *needs) (names []string, err error) {
	places, err := parts.Directories(ctx, storage.Join(x.dir, "*"), sums.ManifestFile)
	if err != nil {
		return nil, err
	}
	recipe, present, oldest := path.Base(x.dir), sumNames(n.days), n.since(n.options.KeepSums.Days)
	used := x.Reference || needed.recipes[recipe]
	keepTotals := used
	var totals []string
	for _, place := range places {
		name := path.Base(place)
		switch day, ok := dayOf(name); {
		case !ok:
			totals = append(totals, name)
		case day >= oldest, needed.sums[daySums{recipe, name}], used && slices.Contains(x.TotalOf, name),
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
func (n *night) sweep(ctx context.Context) {
	var err error
	for _, pattern := range []string{storage.Join(n.options.Models, ".bochner-????-??-??-????????"),
		storage.Join(n.options.Sums, ".bochner-*"), storage.Join(n.options.Sums, "*", ".bochner-*")} {
		err = errors.Join(err, job.SweepWorkDirs(ctx, pattern))
	}
	for _, dir := range []string{n.options.Models, storage.Join(n.options.Models, models.HistoryDir), n.options.Sums,
		storage.Join(n.options.Sums, "*")} {
		err = errors.Join(err, storage.ClearClaims(ctx, dir))
	}
	// Only runs write to the reports, one at a time.
	if err = errors.Join(err, storage.ClearUnfinished(ctx, n.registry.ReportsDir())); err != nil {
		n.notef("the unfinished work of earlier runs cannot be removed: %s", fault.Text(err))
	}
}

// since returns the first day of the period of the given number of days that ends with the day of the run.
func (n *night) since(days int) string {
	day, _ := parseDay(n.options.Day)
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

// needs has what the models with an alias need.
type needs struct {
	recipes map[string]bool // by identifier
	sums    map[daySums]bool
}

// daySums are the sums of a day by a recipe: its identifier, and Day.name.
type daySums struct{ recipe, name string }

// needs returns what the models with an alias need. It returns nil if there is no champion, if the champion is
// of a later day, or if a lineage is unknown.
func (n *night) needs(ctx context.Context) (*needs, error) {
	s, err := n.registry.State(ctx)
	if err != nil || s.Champion == "" {
		return nil, err
	}
	needed := &needs{recipes: map[string]bool{}, sums: map[daySums]bool{}}
	for _, alias := range models.AliasNames {
		model := s.Model(alias)
		if model == "" {
			continue
		}
		place := n.registry.ModelDir(model)
		if exists, err := storage.Exists(ctx, storage.Join(place, sums.ManifestFile)); err != nil {
			return nil, err
		} else if !exists { // it was removed
			continue
		}
		l, err := registry.ReadLineage(ctx, place)
		if err != nil {
			return nil, err
		}
		if l == nil || alias == models.Champion && l.Day > n.options.Day {
			return nil, nil // its needs, or the needs of later days, are unknown
		}
		id, err := n.jobs.Recipe(ctx, place)
		if err != nil {
			return nil, err
		}
		if id == "" {
			continue
		}
		needed.recipes[id] = true
		for _, p := range l.Sources {
			if p.Sums == "" { // it was trained on rows, which may have sums
				needed.sums[daySums{id, Day{Date: p.Name, Digest: p.Digest}.name()}] = true
			} else {
				needed.sums[daySums{path.Base(path.Dir(p.Sums)), path.Base(p.Sums)}] = true
			}
		}
		for _, p := range n.days {
			needed.sums[daySums{id, p.name()}] = true
		}
	}
	return needed, nil
}
