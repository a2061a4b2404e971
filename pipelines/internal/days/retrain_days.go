package days

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/ask"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/transforms"
)

// anew trains by a recipe of its own on the partitions of the window that are alike.
func (n *night) anew(ctx context.Context, why string) error {
	var fit []Partition
	err := n.timed("check", func() (err error) { fit, err = n.check(ctx); return err })
	if err != nil || n.report.Outcome != "" {
		return err
	}
	if done, err := n.refused(ctx); done || err != nil {
		return err
	}
	if n.Window.Auto {
		n.note("the window takes all days: it is chosen by sums of a recipe, and this recipe is new")
	}
	return n.draw(ctx, fit, why)
}

// check returns the partitions of the window that are fit for training without a recipe. It draws a
// probe, which is a small recipe, from one partition, and sums and refuses the others as it would
// by the recipe of a champion. It takes the first probe by which more partitions are fit than not.
// If there is none, it takes the one by which most are fit, provided that the champion was trained
// on its partition; otherwise the run ends.
func (n *night) check(ctx context.Context) (fit []Partition, err error) {
	references, trusted, err := n.references(ctx)
	if err != nil {
		return nil, err
	}
	var best []Partition
	var doubts []Refused
	var flags error // do not fit the rows of a partition
	most := 0
	for _, from := range references {
		why, err := n.drawProbe(ctx, n.probe(from), from)
		if err != nil {
			return nil, err
		}
		if why != nil {
			n.report.Refused = []Refused{{from[0].Day, transforms.FaultText(why)}}
			if exit.Code(why) == exit.CodeUsage {
				flags = cmp.Or(flags, why)
			}
		} else {
			var against int
			if fit, against, err = n.like(ctx, from); err != nil || len(fit) > against {
				return fit, err
			}
		}
		doubts = append(doubts, n.report.Refused...)
		if len(fit) > most {
			best, most = from, len(fit)
		}
	}
	n.report.Refused = doubts
	switch {
	case len(doubts) == 0 || n.index == nil && flags != nil:
		return nil, flags
	case trusted && best != nil:
		fit, _, err := n.like(ctx, best)
		return fit, err
	case n.index == nil:
		return nil, n.refuse(ctx, "no partition can be used: correct them, or wait for more days")
	}
	return nil, n.refuse(ctx,
		fmt.Sprintf("no more than half of the %d partitions are alike, so it is not known which ones are right: "+
			"correct or remove the wrong ones, or wait for more days", len(n.all)))
}

// drawProbe draws the probe of partitions, or returns why no recipe can be drawn from their rows.
// Flags that do not fit them may fit others.
func (n *night) drawProbe(ctx context.Context, place string, from []Partition) (why, err error) {
	err = n.Probe(ctx, place, uris(from))
	if _, other := unfit(err); other == nil || exit.Code(err) == exit.CodeUsage {
		return err, nil
	}
	return nil, err
}

// references returns what probes may be drawn from, the best first: single partitions, and all of
// them together. If the champion was trained on some of them as they are, only these are taken:
// they are trusted. Probes that exist come first, because they save reading, then newer partitions,
// which stay longer in the window; that of the day comes last.
func (n *night) references(ctx context.Context) (all [][]Partition, trusted bool, err error) {
	pool := slices.DeleteFunc(slices.Clone(n.all), func(p Partition) bool { return !n.trusted(p) })
	if trusted = len(pool) > 0; !trusted {
		pool = n.all
	}
	var order [3][][]Partition
	for i, p := range slices.Backward(pool) {
		from := pool[i : i+1]
		rank := 1
		switch there, err := storage.Exists(ctx, storage.Join(n.probe(from), models.ManifestFile)); {
		case err != nil:
			return nil, false, err
		case there:
			rank = 0
		case p.Day == n.Day:
			rank = 2
		}
		order[rank] = append(order[rank], from)
	}
	if all = slices.Concat(order[:]...); len(pool) > 1 {
		all = append(all, pool)
	}
	return all, trusted, nil
}

// probe is the directory of a probe.
func (n *night) probe(from []Partition) string {
	return storage.Join(n.Sums, "probe-"+key(from, n.Settings))
}

// like returns the partitions that are fit by the probe that was drawn from some of them, and how
// many speak against the probe: those that are not fit, without copies and without those from which
// no probe can be drawn.
func (n *night) like(ctx context.Context, from []Partition) (fit []Partition, against int, err error) {
	n.report.Refused = nil
	id, err := n.Recipe(ctx, n.probe(from))
	if err == nil {
		err = n.open(ctx, id)
	}
	if err != nil {
		return nil, 0, err
	}
	n.index.Probe = true
	fit, err = n.sumAll(ctx, n.probe(from), from)
	against = len(n.report.Refused) - n.copies
	for i, p := range n.all {
		if err == nil && len(fit) <= against && n.index.Parts[p.name()] == nil {
			var why error
			if why, err = n.drawProbe(ctx, n.probe(n.all[i:i+1])+"-alone", n.all[i:i+1]); why != nil {
				against--
			}
		}
	}
	with := map[string]int{} // columns that the probe lacks
	for _, p := range fit {
		for _, name := range n.index.Parts[p.name()].New {
			if with[name]++; 2*with[name] > len(fit) && n.lineage == nil {
				return nil, against, err // the training would lose a column that most have
			}
		}
	}
	return fit, against, err
}

// open reads the index of the sums of a recipe.
func (n *night) open(ctx context.Context, id string) (err error) {
	if n.index, err = readIndex(ctx, storage.Join(n.Sums, id)); err != nil {
		return err
	}
	if err := n.index.use(n.Models); err != nil {
		return err
	}
	return n.index.clear(ctx) // before their names are used again
}

// leave notes that a partition is not trained on.
func (n *night) leave(p Partition, why string) {
	n.report.Refused = append(n.report.Refused, Refused{p.Day, why})
}

// unfit says why data cannot be used; other errors are returned.
func unfit(err error) (why string, _ error) {
	if exit.Code(err) == exit.CodeData && !exit.WriteFailed(err) {
		return transforms.FaultText(err), nil
	}
	return "", err
}

// choose returns the partitions to train on, the last of those given if the window is to be chosen.
func (n *night) choose(ctx context.Context, train []Partition) ([]Partition, error) {
	if !n.Window.Auto || len(train) == 0 {
		return train, nil
	}
	var places []string
	for _, p := range train {
		places = append(places, n.index.place(p.name()))
	}
	var w *ask.ChosenWindow
	err := n.timed("window", func() (err error) {
		w, err = n.ChooseWindow(ctx, places, n.index.Errors)
		return err
	})
	if why, err := unfit(err); err != nil {
		return nil, err
	} else if why != "" {
		n.note("the window takes all days, because it cannot be chosen: %s", why)
		return train, nil
	}
	train = train[len(train)-w.Dates:]
	for w.Days = 1; n.since(w.Days) > train[0].Day; {
		w.Days++
	}
	if n.report.Window = w; n.Log != nil {
		fmt.Fprintf(n.Log, "window    %s\n", w)
	}
	return train, nil
}

// outside tells whether a day is before the window that was chosen for the champion.
func (n *night) outside(day string) bool {
	return n.Window.Auto && n.lineage != nil && len(n.lineage.Parts) > 0 && day < n.lineage.Parts[0].Name
}

// trusted tells whether the champion was trained on a partition as it is.
func (n *night) trusted(p Partition) bool {
	return n.lineage != nil && slices.ContainsFunc(n.lineage.Parts, p.is)
}

// is tells whether a model was trained on the partition as it is, given what it was trained on.
func (p Partition) is(q registry.Part) bool { return p.Day == q.Name && p.Digest == q.Digest }
