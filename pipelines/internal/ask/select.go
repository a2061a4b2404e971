package ask

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/where"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/parts"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// choose sets the parts that take part, in the order of time.
func (d *data) choose(ctx context.Context, terms []parts.Term) error {
	takes, err := condition("--where", d.Where)
	if err != nil {
		return err
	}
	judges, err := condition("--judge", d.Judge)
	if err != nil {
		return err
	}
	drawn, err := d.drawn(ctx)
	if err != nil {
		return err
	}
	empty := 0
	for _, t := range terms {
		in, err := takes(t)
		if err != nil {
			return err
		}
		if t.Rows.Used == 0 {
			empty++
			continue
		}
		if !in {
			continue
		}
		p := part{Term: t}
		if p.judges, err = judges(t); err != nil {
			return err
		}
		for _, l := range t.Leaves {
			for _, f := range l.Files {
				p.seen = p.seen || drawn[f.Version]
			}
		}
		d.parts = append(d.parts, p)
	}
	if empty > 0 {
		d.notes = append(d.notes, report.Counted(empty, "directory")+" of sums without rows took no part")
	}
	if len(d.parts) < 2 {
		return exit.Refuse("ask: %s with rows: questions need two or more, of which some train and others judge",
			report.Counted(len(d.parts), "directory"))
	}
	if err := d.date(); err != nil {
		return err
	}
	slices.SortStableFunc(d.parts, func(a, b part) int {
		return cmp.Or(a.date.Compare(b.date), cmp.Compare(a.Place, b.Place))
	})
	return nil
}

// condition reads a condition on labels.
func condition(flag, text string) (func(parts.Term) (bool, error), error) {
	c, err := where.Parse(text)
	if err != nil {
		return nil, exit.Usage("%s %q: %w", flag, text, err)
	}
	return func(t parts.Term) (bool, error) {
		holds, err := c.Holds(t.Labels)
		if err != nil {
			err = exit.Refuse("%s %q: %s %w; the names of its directories give labels, as sums/country=DE/dt=2026-11-20",
				flag, text, t.Place, err)
		}
		return holds, err
	}, nil
}

// date reads the dates of the parts, if all have one.
func (d *data) date() error {
	text := func(p *part, label string) string { return p.Labels[label] }
	labels := []string{d.Time}
	if d.Time == "" {
		labels = slices.Sorted(maps.Keys(d.parts[0].Labels))
		labels = slices.DeleteFunc(labels, func(l string) bool {
			return slices.ContainsFunc(d.parts, func(p part) bool {
				_, ok := parts.Date(text(&p, l))
				return !ok
			})
		})
	}
	if len(labels) > 1 {
		return exit.Usage("the labels %s are dates: name the one that orders the sums with --time", strings.Join(labels, ", "))
	}
	if len(labels) == 0 { // a name may be a date, such as sums/2026-11-20
		labels, text = []string{""}, func(p *part, _ string) string { return p.Place[strings.LastIndex(p.Place, "/")+1:] }
	}
	d.dated = true
	for i := range d.parts {
		p, ok := &d.parts[i], false
		if p.date, ok = parts.Date(text(p, labels[0])); ok {
			continue
		}
		if d.Time != "" {
			return exit.Usage("--time %s: %s has no such label, or it is no date such as 2026-11-20", d.Time, p.Place)
		}
		d.dated = false
	}
	return nil
}

// drawn returns the versions of the files from which the recipe was drawn, as far as a lineage tells.
func (d *data) drawn(ctx context.Context) (map[string]bool, error) {
	versions := map[string]bool{}
	const unknown = "which of the sums the recipe was drawn from is not known"
	if d.Recipe == "" {
		d.notes = append(d.notes, unknown+": name its model with --recipe")
		return nil, nil
	}
	dir, err := models.ResolveAlias(ctx, d.Recipe)
	if err != nil {
		return nil, err
	}
	l, err := registry.ReadLineage(ctx, dir)
	if err != nil {
		return nil, err
	}
	if l == nil || l.Recipe != "" && l.Recipe != dir[strings.LastIndex(dir, "/")+1:] {
		d.notes = append(d.notes, unknown+": the lineage of "+d.Recipe+" does not tell; name the model that was trained without --recipe")
		return nil, nil
	}
	for _, p := range l.Parts {
		if len(l.Drawn) == 0 || slices.Contains(l.Drawn, p.Name) {
			for _, f := range p.Files {
				versions[f.Version] = true
			}
		}
	}
	return versions, nil
}
