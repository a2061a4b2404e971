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
func (n *night) drawNew(ctx context.Context, why string) error {
	var similar []Day
	err := n.timed("check", func() (err error) { similar, err = n.similarDays(ctx); return err })
	if err != nil || n.report.Outcome != "" {
		return err
	}
	if done, err := n.endIfRefused(ctx); done || err != nil {
		return err
	}
	if n.options.Window.Auto {
		n.notef("the window takes all days: it is chosen by sums of a recipe, and this recipe is new")
	}
	return n.drawRecipe(ctx, similar, why)
}

// similarDays returns the days of the window to train on, when there is no recipe yet. It draws a reference recipe,
// which is small, from one day, and checks the others by their drift from it. It takes the first reference to
// which more days are similar than not. If there is none, it takes the reference with the most similar
// days, provided that the champion was trained on its day. Otherwise the run ends.
func (n *night) similarDays(ctx context.Context) (similar []Day, err error) {
	references, trusted, err := n.references(ctx)
	if err != nil {
		return nil, err
	}
	var best []Day
	var doubts []results.RefusedDay
	var flags error // flags that do not fit the rows of a day
	count := 0
	for _, from := range references {
		err := n.jobs.Reference(ctx, n.referenceDir(from), uris(from))
		if noRecipe(err) {
			doubts = append(doubts, results.RefusedDay{Day: from[0].Date, Why: fault.Text(err)})
			if exit.Code(err) == exit.CodeUsage {
				flags = cmp.Or(flags, err)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		similar, against, err := n.similarTo(ctx, from)
		if err != nil || len(similar) > against {
			return similar, err
		}
		doubts = append(doubts, n.report.Refused...)
		if len(similar) > count {
			best, count = from, len(similar)
		}
	}
	n.report.Refused = doubts
	switch {
	case len(doubts) == 0:
		return nil, nil
	case n.index == nil && flags != nil:
		return nil, flags
	case trusted && best != nil:
		similar, _, err := n.similarTo(ctx, best)
		return similar, err
	case n.index == nil:
		return nil, n.refuse(ctx, "no partition can be used: correct them, or wait for more days")
	}
	return nil, n.refuse(ctx,
		fmt.Sprintf("no more than half of the %d partitions are alike, so it is not known which ones are right: "+
			"correct or remove the wrong ones, or wait for more days", len(n.days)))
}

// noRecipe reports whether an error means that no recipe can be drawn from some rows, or that flags do not fit them.
func noRecipe(err error) bool { return isUnfit(err) || exit.Code(err) == exit.CodeUsage }

// references returns the days from which references may be drawn, the best first. If the champion
// was trained on some of them, trusted is true and only these are returned. Single days come
// first: those that have a reference, which saves reading, then the others except the day's, and
// then the day's. Newer ones come before older ones, because they stay longer in the window.
// If there are several days, all of them together come last.
func (n *night) references(ctx context.Context) (all [][]Day, trusted bool, err error) {
	pool := slices.DeleteFunc(slices.Clone(n.days), func(day Day) bool { return !n.trusted(day) })
	trusted = len(pool) > 0
	if !trusted {
		pool = n.days
	}
	var order [3][][]Day
	for i, day := range slices.Backward(pool) {
		from := pool[i : i+1]
		rank := 1
		switch exists, err := storage.Exists(ctx, storage.Join(n.referenceDir(from), models.ManifestFile)); {
		case err != nil:
			return nil, false, err
		case exists:
			rank = 0
		case day.Date == n.options.Day:
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
func (n *night) referenceDir(from []Day) string {
	return storage.Join(n.options.Sums, "probe-"+hashOf(from, n.options.Settings))
}

// similarTo returns the days whose drift from the reference of the days from is small, and how many
// drift further, not counting copies and days from which no recipe can be drawn.
func (n *night) similarTo(ctx context.Context, from []Day) (similar []Day, against int, err error) {
	n.report.Refused = nil
	id, err := n.jobs.Recipe(ctx, n.referenceDir(from))
	if err == nil {
		err = n.openIndex(ctx, id)
	}
	if err != nil {
		return nil, 0, err
	}
	n.index.Reference = true
	if similar, err = n.sumAll(ctx, n.referenceDir(from), from); err != nil {
		return nil, 0, err
	}
	against = len(n.report.Refused) - n.copies
	for i := 0; i < len(n.days) && len(similar) <= against; i++ {
		day := n.days[i : i+1]
		if n.index.Days[day[0].name()] != nil {
			continue
		}
		if err := n.jobs.Reference(ctx, n.referenceDir(day)+"-alone", uris(day)); noRecipe(err) {
			against--
		} else if err != nil {
			return nil, 0, err
		}
	}
	with := map[string]int{} // columns that the reference lacks
	for _, day := range similar {
		for _, name := range n.index.Days[day.name()].New {
			with[name]++
			if 2*with[name] > len(similar) && n.lineage == nil {
				return nil, against, nil // training would lose a column that most days have
			}
		}
	}
	return similar, against, nil
}

// openIndex reads the index of the sums of a recipe, and finishes removals that were interrupted.
func (n *night) openIndex(ctx context.Context, id string) (err error) {
	if n.index, err = readIndex(ctx, storage.Join(n.options.Sums, id)); err != nil {
		return err
	}
	if err := n.index.addModels(n.options.Models); err != nil {
		return err
	}
	return n.index.clear(ctx) // before their names are used again
}

// leaveOut adds a day that is not trained on to the report.
func (n *night) leaveOut(day Day, why string) {
	n.report.Refused = append(n.report.Refused, results.RefusedDay{Day: day.Date, Why: why})
}

// isUnfit reports whether an error means that data cannot be used.
func isUnfit(err error) bool { return exit.Code(err) == exit.CodeData && !exit.WriteFailed(err) }

// chooseWindow returns the days to train on: all of train, or the last ones if the window is automatic.
func (n *night) chooseWindow(ctx context.Context, train []Day) ([]Day, error) {
	if !n.options.Window.Auto || len(train) == 0 {
		return train, nil
	}
	var places []string
	for _, day := range train {
		places = append(places, n.index.sumsDir(day.name()))
	}
	var w *results.ChosenWindow
	err := n.timed("window", func() (err error) {
		w, err = n.jobs.ChooseWindow(ctx, places, n.index.Errors)
		return err
	})
	if isUnfit(err) {
		n.notef("the window takes all days, because it cannot be chosen: %s", fault.Text(err))
		return train, nil
	}
	if err != nil {
		return nil, err
	}
	train = train[len(train)-w.Dates:]
	for w.Days = 1; n.since(w.Days) > train[0].Date; {
		w.Days++
	}
	n.report.Window = w
	if n.options.Log != nil {
		fmt.Fprintf(n.options.Log, "window    %s\n", w)
	}
	return train, nil
}

// beforeWindow reports whether a day is before the window that was chosen for the champion.
func (n *night) beforeWindow(day string) bool {
	return n.options.Window.Auto && n.lineage != nil && len(n.lineage.Sources) > 0 && day < n.lineage.Sources[0].Name
}

// trusted reports whether the champion was trained on this version of a day.
func (n *night) trusted(day Day) bool {
	return n.lineage != nil && slices.ContainsFunc(n.lineage.Sources, day.matches)
}

// matches reports whether q, a source that a model was trained on, is this version of the day.
func (d Day) matches(q registry.Source) bool { return d.Date == q.Name && d.Digest == q.Digest }
