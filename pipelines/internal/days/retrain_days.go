package days

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// drawNew trains with a new recipe on the days of the window that have similar rows.
func (r *retrainRun) drawNew(ctx context.Context, why string) error {
	similar, err := r.similarDays(ctx)
	if err != nil || r.ended() {
		return err
	}
	if err := r.endIfRefused(ctx); err != nil || r.ended() {
		return err
	}
	if r.options.Window.Auto {
		r.notef("the window takes all days: it is chosen by sums of a recipe, and this recipe is new")
	}
	return r.drawRecipe(ctx, similar, why)
}

// similarDays returns the days of the window to train on, when there is no recipe yet. It draws a reference recipe,
// which is small, from one day, and checks the others by their drift from it. It takes the first reference to
// which more days are similar than not. If there is none, it takes the reference with the most similar
// days, provided that the champion was trained on its day. Otherwise the run ends.
func (r *retrainRun) similarDays(ctx context.Context) (similar []Day, err error) {
	defer r.time("check")()
	references, trusted, err := r.references(ctx)
	if err != nil {
		return nil, err
	}
	var best []Day
	var doubts []results.RefusedDay
	var usageErr error // of flags that do not fit the rows of a day
	count, drawn := 0, false
	for _, from := range references {
		err := r.jobs.Reference(ctx, r.referenceDir(from), uris(from))
		if noRecipe(err) {
			doubts = append(doubts, results.RefusedDay{Day: from[0].Date, Why: fault.Text(err)})
			if exit.CodeOf(err) == exit.CodeUsage {
				usageErr = cmp.Or(usageErr, err)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		drawn = true
		similar, against, err := r.similarTo(ctx, from)
		if err != nil || len(similar) > against {
			return similar, err
		}
		doubts = append(doubts, r.report.Refused...)
		if len(similar) > count {
			best, count = from, len(similar)
		}
	}
	r.report.Refused = doubts
	switch {
	case len(doubts) == 0:
		return nil, nil
	case !drawn && usageErr != nil:
		return nil, usageErr
	case trusted && best != nil:
		similar, _, err := r.similarTo(ctx, best)
		return similar, err
	case !drawn:
		return nil, r.refuse(ctx, "no partition can be used: correct them, or wait for more days")
	}
	return nil, r.refuse(ctx,
		fmt.Sprintf("no more than half of the %d partitions are alike, so it is not known which ones are right: "+
			"correct or remove the wrong ones, or wait for more days", len(r.days)))
}

// noRecipe reports whether an error means that no recipe can be drawn from some rows, or that flags do not fit them.
func noRecipe(err error) bool { return isUnfit(err) || exit.CodeOf(err) == exit.CodeUsage }

// references returns the days from which references may be drawn, the best first. If the champion
// was trained on some of them, trusted is true and only these are returned. Single days come
// first: those that have a reference, which saves reading, then the others except the day's, and
// then the day's. Newer ones come before older ones, because they stay longer in the window.
// If there are several days, all of them together come last.
func (r *retrainRun) references(ctx context.Context) (all [][]Day, trusted bool, err error) {
	pool := slices.DeleteFunc(slices.Clone(r.days), func(day Day) bool { return !r.trusted(day) })
	trusted = len(pool) > 0
	if !trusted {
		pool = r.days
	}
	var order [3][][]Day
	for i, day := range slices.Backward(pool) {
		from := pool[i : i+1]
		rank := 1
		switch exists, err := storage.Exists(ctx, storage.Join(r.referenceDir(from), models.ManifestFile)); {
		case err != nil:
			return nil, false, err
		case exists:
			rank = 0
		case day.Date == r.options.Day:
			rank = 2
		}
		order[rank] = append(order[rank], from)
	}
	all = slices.Concat(order[:]...)
	if len(pool) > 1 {
		all = append(all, pool)
	}
	return all, trusted, nil
}

// referenceDir returns the directory of the reference recipe that is drawn from days.
func (r *retrainRun) referenceDir(from []Day) string {
	return storage.Join(r.options.Sums, "probe-"+hashOf(from, r.options.Settings))
}

// similarTo returns the days whose drift from the reference of the days from is small, and how many
// drift further, not counting copies and days from which no recipe can be drawn.
func (r *retrainRun) similarTo(ctx context.Context, from []Day) (similar []Day, against int, err error) {
	r.report.Refused = nil
	id, err := r.jobs.Recipe(ctx, r.referenceDir(from))
	if err != nil {
		return nil, 0, err
	}
	if err := r.openIndex(ctx, id); err != nil {
		return nil, 0, err
	}
	r.index.Reference = true
	if similar, err = r.sumAll(ctx, r.referenceDir(from), from); err != nil {
		return nil, 0, err
	}
	against = len(r.report.Refused) - r.copies
	for i := 0; i < len(r.days) && len(similar) <= against; i++ {
		day := r.days[i : i+1]
		if r.index.Days[day[0].name()] != nil {
			continue
		}
		if err := r.jobs.Reference(ctx, r.referenceDir(day)+"-alone", uris(day)); noRecipe(err) {
			against--
		} else if err != nil {
			return nil, 0, err
		}
	}
	with := map[string]int{} // columns that the reference lacks
	for _, day := range similar {
		for _, name := range r.index.Days[day.name()].New {
			with[name]++
			if 2*with[name] > len(similar) && r.lineage == nil {
				return nil, against, nil // training would lose a column that most days have
			}
		}
	}
	return similar, against, nil
}

// openIndex reads the index of the sums of a recipe, and finishes removals that were interrupted.
func (r *retrainRun) openIndex(ctx context.Context, id string) (err error) {
	if r.index, err = readIndex(ctx, storage.Join(r.options.Sums, id)); err != nil {
		return err
	}
	if err := r.index.addModels(r.options.Models); err != nil {
		return err
	}
	return r.index.clear(ctx) // before their names are used again
}

// leaveOut adds a day that is not trained on to the report.
func (r *retrainRun) leaveOut(day Day, why string) {
	r.report.Refused = append(r.report.Refused, results.RefusedDay{Day: day.Date, Why: why})
}

// isUnfit reports whether an error means that data cannot be used.
func isUnfit(err error) bool { return exit.CodeOf(err) == exit.CodeData && !exit.WriteFailed(err) }

// chooseWindow returns the days to train on: all of train, or the last ones if the window is automatic.
func (r *retrainRun) chooseWindow(ctx context.Context, train []Day) ([]Day, error) {
	if !r.options.Window.Auto || len(train) == 0 {
		return train, nil
	}
	var dirs []string
	for _, day := range train {
		dirs = append(dirs, r.index.sumsDir(day.name()))
	}
	end := r.time("window")
	w, err := r.jobs.ChooseWindow(ctx, dirs, r.index.Errors)
	end()
	if isUnfit(err) {
		r.notef("the window takes all days, because it cannot be chosen: %s", fault.Text(err))
		return train, nil
	}
	if err != nil {
		return nil, err
	}
	train = train[len(train)-w.Dates:]
	for w.Days = 1; r.since(w.Days) > train[0].Date; {
		w.Days++
	}
	r.report.Window = w
	if r.options.Log != nil {
		fmt.Fprintf(r.options.Log, "window    %s\n", w)
	}
	return train, nil
}

// beforeWindow reports whether a day is before the window that was chosen for the champion.
func (r *retrainRun) beforeWindow(day string) bool {
	return r.options.Window.Auto && r.lineage != nil && len(r.lineage.Sources) > 0 && day < r.lineage.Sources[0].Name
}

// trusted reports whether the champion was trained on this version of a day.
func (r *retrainRun) trusted(day Day) bool {
	return r.lineage != nil && slices.ContainsFunc(r.lineage.Sources, day.matches)
}

// matches reports whether q, a source that a model was trained on, is this version of the day.
func (d Day) matches(q registry.Source) bool { return d.Date == q.Name && d.Digest == q.Digest }
