package ask

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/io/where"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/sumdirs"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// selectParts sets d.parts, sorted by time.
func (d *data) selectParts(ctx context.Context, terms []sumdirs.Term) error {
	judge, err := where.Parse(d.options.Judge)
	if err != nil {
		return exit.Usagef("--judge %q: %w", d.options.Judge, err)
	}
	drawn, err := d.recipeSource(ctx)
	if err != nil {
		return err
	}
	empty := 0
	for _, t := range terms {
		switch {
		case t.Sign < 0:
			return exit.Dataf("--without %s: not among --sums; ask can leave out sums, but not subtract them", t.Place)
		case t.Rows.Used == 0:
			empty++
			continue
		}
		p := part{term: t}
		if p.date, err = d.dateOf(t); err != nil {
			return err
		}
		if p.judged, err = t.Holds(judge); err != nil {
			return exit.Dataf("--judge %q: %w", d.options.Judge, err)
		}
		for _, l := range t.Leaves {
			for _, f := range l.Files {
				p.seen = p.seen || drawn.files[f.Version]
			}
		}
		if _, digest, ok := parseSumsName(t.Place); ok {
			p.seen = p.seen || drawn.days[digest]
		}
		d.parts = append(d.parts, p)
	}
	if empty > 0 {
		d.notes = append(d.notes, report.Counted(empty, "directory")+" of sums without rows took no part")
	}
	if len(d.parts) < 2 {
		return exit.Dataf("pipelines: have %s of sums with rows; ask needs two or more, to train on some and predict others",
			report.Counted(len(d.parts), "directory"))
	}
	slices.SortStableFunc(d.parts, func(a, b part) int {
		return cmp.Or(a.date.Compare(b.date), cmp.Compare(a.term.Place, b.term.Place))
	})
	return nil
}

// pooledGroup is the name of the group of parts that pool several values of a label.
const pooledGroup = "pooled"

// label returns the values of labels of a part, joined to a name, or the label that the part lacks.
// All parts that pool several values have the name pooledGroup.
func (p *part) label(names []string) (value, lacks string) {
	for member := range max(1, len(p.term.Members)) {
		var values []string
		for _, name := range names {
			v, ok := p.term.LabelsOf(member)[name]
			if !ok {
				return "", name
			}
			values = append(values, v)
		}
		label := strings.Join(values, ", ")
		if member > 0 && label != value {
			return pooledGroup, ""
		}
		value = label
	}
	return value, ""
}

// sumsName matches the sums of a retraining, whose names have a day and the digest of the list of its files.
var sumsName = regexp.MustCompile(`(?:^|/)(\d{4}-\d\d-\d\d)-([0-9a-f]{16})/?$`)

// parseSumsName returns the day and the digest in the name of a directory of sums, if a retraining has made it.
func parseSumsName(dir string) (day, digest string, ok bool) {
	match := sumsName.FindStringSubmatch(dir)
	if match == nil {
		return "", "", false
	}
	return match[1], match[2], true
}

// dateOf returns the date of a part from its labels, zero if it has none.
func (d *data) dateOf(t sumdirs.Term) (time.Time, error) {
	labels := t.LabelsOf(0)
	if name := d.options.DateLabel; name != "" {
		date, ok := sumdirs.Date(labels[name])
		if !ok {
			have := "has no such label"
			if value, ok := labels[name]; ok {
				have = fmt.Sprintf("has %s=%s", name, report.Word(value, 40))
			}
			return date, exit.Usagef("--date_label %s: %s %s; dates are like 2026-11-20", name, t.Place, have)
		}
		return date, nil
	}
	if date, err := sumdirs.DateOf(t.Place); err == nil {
		return date, nil
	}
	if day, _, ok := parseSumsName(t.Place); ok {
		if date, ok := sumdirs.Date(day); ok {
			return date, nil
		}
	}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		if date, ok := sumdirs.Date(labels[label]); ok {
			return date, nil
		}
	}
	return time.Time{}, nil
}

// recipeSource identifies the files from which a recipe was drawn.
type recipeSource struct {
	files map[string]bool // by version
	days  map[string]bool // by the digest of a list of files; only of a retraining
}

// recipeSource returns the files from which the recipe was drawn, as far as a lineage lists them.
func (d *data) recipeSource(ctx context.Context) (from recipeSource, err error) {
	dir, err := models.ResolveAlias(ctx, d.options.Recipe)
	if err != nil {
		return from, err
	}
	var l *registry.Lineage
	if d.options.Recipe != "" {
		if l, err = registry.ReadLineage(ctx, dir); err != nil {
			return from, err
		}
	}
	why := ""
	switch {
	case d.options.Recipe == "":
		why = "name its model with --recipe"
	case l == nil:
		why = d.options.Recipe + " does not say what it was made from"
	case listsDrawn(l): // it is known
	case l.Recipe != "" && l.Recipe != path.Base(dir):
		why = fmt.Sprintf("%s has the recipe of %s; name that model with --recipe", d.options.Recipe, l.Recipe)
	case l.RecipeSHA256 != "":
		why = d.options.Recipe + " has the recipe of another model; name that model with --recipe"
	}
	if why != "" {
		d.notes = append(d.notes, "the recipe may have been drawn from some of these sums: "+why)
		return from, nil
	}
	from = recipeSource{files: map[string]bool{}, days: map[string]bool{}}
	for _, p := range l.Sources {
		if len(l.Drawn) == 0 || slices.Contains(l.Drawn, p.Name) {
			from.days[p.Digest] = true
			for _, f := range p.Files {
				from.files[f.Version] = true
			}
		}
	}
	return from, nil
}

// listsDrawn reports whether the sources of a model include the ones that its recipe was drawn from.
func listsDrawn(l *registry.Lineage) bool {
	missing := slices.Clone(l.Drawn)
	for _, p := range l.Sources {
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == p.Name })
	}
	return len(l.Drawn) > 0 && len(missing) == 0
}

// checkDated returns an error if a part has no date.
func (d *data) checkDated() error {
	for _, p := range d.parts {
		if p.date.IsZero() {
			return exit.Usagef("%s needs dates, but %s has none; name directories as sums/dt=2026-11-20, or name the label "+
				"with --date_label",
				d.options.Question, p.term.Place)
		}
	}
	return nil
}

// grouped returns parts, given their positions, as units by the values of the labels by, sorted by value. Without
// labels a unit is a date, or a single part if some parts have no date.
func (d *data) grouped(by []string, positions []int) (all []unit, _ error) {
	dated := d.checkDated() == nil
	for _, i := range positions {
		p := &d.parts[i]
		name, lacks := p.label(by)
		switch {
		case len(by) == 0 && dated:
			name = nameOf(p.date)
		case len(by) == 0:
			name = p.term.Place
		case lacks != "":
			return nil, exit.Dataf("--by %s: %s has no such label; use directories as sums/%[1]s=VALUE, or sum --by %[1]s",
				lacks, p.term.Place)
		}
		k := slices.IndexFunc(all, func(u unit) bool { return u.name == name })
		if k < 0 {
			k, all = len(all), append(all, unit{name: name})
		}
		all[k].parts = append(all[k].parts, i)
	}
	const note = "rows of pooled values train models that leave out one of these values; sum with a lower --min_rows"
	if slices.ContainsFunc(all, func(u unit) bool { return u.name == pooledGroup }) && !slices.Contains(d.notes, note) {
		d.notes = append(d.notes, note)
	}
	if len(by) > 0 {
		slices.SortFunc(all, func(a, b unit) int { return cmp.Compare(a.name, b.name) })
	}
	return all, nil
}

// nameOf formats a date, with the hour unless it is 0.
func nameOf(t time.Time) string {
	return strings.TrimSuffix(t.Format("2006-01-02T15:04"), "T00:00")
}

// dates returns a unit for each date, sorted by time.
func (d *data) dates() ([]unit, error) {
	if err := d.checkDated(); err != nil {
		return nil, err
	}
	return d.grouped(nil, d.everything())
}

// onlyJudged returns the unit with only the parts on which models are scored.
func (d *data) onlyJudged(u unit) unit {
	return unit{u.name, slices.DeleteFunc(slices.Clone(u.parts), func(i int) bool { return !d.parts[i].judged })}
}

// splitJudged returns the units to train on, grouped by labels if there are any, and the units on
// which models are scored: by --judge, or the newest fifth of the dates.
func (d *data) splitJudged(by []string) (train, judged []unit, err error) {
	if d.options.Judge == "" {
		dates, err := d.dates()
		if err != nil {
			return nil, nil, err
		}
		for k, s := range dates {
			for _, i := range s.parts {
				d.parts[i].judged = k >= len(dates)-max(1, len(dates)/5)
			}
		}
	}
	trains := slices.DeleteFunc(d.everything(), func(i int) bool { return d.parts[i].judged })
	judges := d.onlyJudged(unit{parts: d.everything()}).parts
	if len(trains) == 0 || len(judges) == 0 {
		return nil, nil, exit.Dataf("pipelines: %d directories of sums to train on and %d to predict (--judge %q); both "+
			"must be at least 1", len(trains), len(judges), d.options.Judge)
	}
	if train, err = d.grouped(by, trains); err != nil {
		return nil, nil, err
	}
	if judged, err = d.grouped(nil, judges); err != nil {
		return nil, nil, err
	}
	if head := d.head(unit{parts: judges}); d.spread(head) == 0 {
		why := "all rows have the same class or target"
		if !(head.Weight() > 0) {
			why = "there are no rows"
		}
		return nil, nil, exit.Dataf("pipelines: R² is not defined on %s: %s; change --judge", d.judgedOn(judged), why)
	}
	return train, judged, nil
}

// judgedOn describes judged units. It names the condition if models are trained on other parts of the same dates or
// directories.
func (d *data) judgedOn(judged []unit) string {
	trains := slices.DeleteFunc(d.everything(), func(i int) bool { return d.parts[i].judged })
	trained, _ := d.grouped(nil, trains) // no error without labels
	for _, u := range trained {
		if slices.ContainsFunc(judged, func(j unit) bool { return j.name == u.name }) {
			return spanOf(judged) + " where " + d.options.Judge
		}
	}
	return spanOf(judged)
}
