package days

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// retrainByRecipe keeps the champion's recipe: it sums days that have no sums, leaves out
// those that have drifted too far, and fits a model to the sums of the rest.
func (n *night) retrainByRecipe(ctx context.Context) error {
	if n.lineage.Day > n.options.Day {
		return n.endWithoutModel(fmt.Sprintf("the champion %s was made for a later day, %s", n.champion, n.lineage.Day))
	}
	recipe := n.registry.ModelDir(n.champion)
	id, err := n.jobs.Recipe(ctx, recipe)
	if err != nil {
		return err
	}
	if id == "" {
		return n.drawNew(ctx, "its learner is not trained by sums, or its recipe lacks the curves of --calibrate")
	}
	if err := n.openIndex(ctx, id); err != nil {
		return err
	}
	var accepted []Day
	if err := n.timed("sum", func() (err error) {
		accepted, err = n.sumAll(ctx, recipe, n.drawnFrom())
		return err
	}); err != nil {
		return err
	}
	if done, err := n.endIfRefused(ctx); done || err != nil {
		return err
	}
	if !slices.ContainsFunc(n.days, func(p Day) bool { return p.Date == n.options.Day }) {
		n.notef("there is no data of %s yet", n.options.Day)
	}
	judge, train := n.splitJudge(accepted)
	if judge != nil {
		if train, err = n.chooseWindow(ctx, train); err != nil {
			return err
		}
	}
	switch {
	case judge == nil:
		return n.endWithoutModel("no new rows can judge a model: the champion was trained on every partition")
	case n.trainedOn(train):
		return n.endWithoutModel(fmt.Sprintf("the champion %s was trained on exactly the partitions before %s",
			n.champion, judge.name))
	case len(train) == 0:
		return n.endWithoutModel("there are no rows to train on")
	}
	f := n.index.plan(train)
	if err := n.measureDrift(ctx, f.SumDirs); err != nil {
		return err
	}
	if d := n.report.Drift; d != nil && d.Value > n.options.Redraw {
		if judge.day != nil {
			train = append(slices.Clone(train), *judge.day)
		}
		return n.drawRecipe(ctx, train, fmt.Sprintf(
			"the rows have drifted from those of the recipe by %.3g, more than %.3g: %s", d.Value, n.options.Redraw, d.Text))
	}
	return n.fit(ctx, id, train, judge, f)
}

// measureDrift adds the drift of all rows from the rows of the recipe to the report, if it decides about a new recipe.
func (n *night) measureDrift(ctx context.Context, train options.SumDirs) error {
	if n.options.Redraw == 0 || !n.index.Drawn {
		return nil
	}
	return n.timed("drift", func() (err error) {
		n.report.Drift, err = n.jobs.Drift(ctx, n.index.sumsDir(drawnSums), train)
		return err
	})
}

// sumAll sums the days that have no sums yet, by a recipe that was drawn from the days
// from, and returns the days that are fit for training.
func (n *night) sumAll(ctx context.Context, recipe string, from []Day) (accepted []Day, err error) {
	var summed []Day // without copies
	contents := map[string]string{}
	n.copies = 0
	for _, day := range n.days {
		err := n.sumOne(ctx, recipe, day)
		if isUnfit(err) {
			n.leaveOut(day, fault.Text(err))
			continue
		}
		if err != nil {
			return nil, err
		}
		x := n.index.Days[day.name()]
		if other, twice := contents[x.Content]; twice {
			n.copies++
			n.leaveOut(day, fmt.Sprintf("has the same %d rows as %s", x.Rows, other))
			continue
		}
		contents[x.Content] = day.Date
		summed = append(summed, day)
	}
	if n.options.MaxDrift > 0 || n.options.Redraw > 0 {
		if err := n.sumDrawn(ctx, from); err != nil {
			return nil, err
		}
	}
	for _, day := range summed {
		d, err := n.driftOf(ctx, day)
		if err != nil {
			return nil, err
		}
		if limit := n.options.MaxDrift; d.Value > limit {
			n.leaveOut(day, fmt.Sprintf("drift %.3g, more than %.3g: %s", d.Value, limit, d.Text))
			continue
		}
		accepted = append(accepted, day)
	}
	return accepted, n.index.write(ctx)
}

// driftOf returns the drift of a day to compare with MaxDrift: of its columns if that exceeds MaxDrift, and
// otherwise of its features. It is 0 if the drift has no bound or is not measured.
func (n *night) driftOf(ctx context.Context, day Day) (d results.Drift, err error) {
	x, limit := n.index.Days[day.name()], n.options.MaxDrift
	switch {
	case limit == 0:
		return d, nil
	case len(x.Columns) > 0 && x.Columns[0].AtLeast > limit:
		return results.Drift{Value: x.Columns[0].AtLeast, Text: report.ColumnsText(x.Columns)}, nil
	case !n.index.Drawn:
		return d, nil
	case x.Drift == nil:
		if x.Drift, err = n.jobs.Drift(ctx, n.index.sumsDir(drawnSums),
			options.SumDirs{Sums: []string{n.index.sumsDir(day.name())}}); err != nil {
			return d, err
		}
	}
	return *x.Drift, nil
}

// sumOne sums a day, unless it has sums.
func (n *night) sumOne(ctx context.Context, recipe string, day Day) error {
	name := day.name()
	if n.index.Days[name] != nil {
		return nil
	}
	place := n.index.sumsDir(name)
	s, err := n.jobs.Sum(ctx, recipe, uris([]Day{day}), place)
	if err == nil {
		err = checkUnchanged(ctx, day)
	}
	switch {
	case err == nil && s.Found:
		err = removeWork(ctx, place)
	case err == nil && !slices.Contains(n.report.Summed, day.Date): // or another reference has read it
		n.report.Summed = append(n.report.Summed, day.Date)
	}
	if err != nil {
		return err
	}
	n.index.Days[name] = &indexEntry{DaySums: *s}
	return nil
}

// sumDrawn adds up the sums of the days from which the recipe was drawn, unless that was done. Drift is
// measured from these rows. Days without sums are left out; if none has sums, drift is not measured. Of
// copies, one is added.
func (n *night) sumDrawn(ctx context.Context, from []Day) error {
	if n.index.Drawn {
		return nil
	}
	f := options.Fit{SaveSums: n.index.sumsDir(drawnSums)}
	contents := map[string]bool{}
	for _, day := range from {
		if x := n.index.Days[day.name()]; x != nil && !contents[x.Content] {
			contents[x.Content] = true
			f.Sums = append(f.Sums, n.index.sumsDir(day.name()))
		}
	}
	if len(f.Sums) == 0 {
		n.notef("drift is not measured: no partition is left from which the recipe was drawn")
		return nil
	}
	if err := n.jobs.Fit(ctx, f); err != nil {
		return err
	}
	n.index.Drawn = true
	return nil
}

// drawnFrom returns the days of drawnDays.
func (n *night) drawnFrom() []Day {
	days := n.drawnDays()
	return slices.DeleteFunc(slices.Clone(n.days), func(p Day) bool { return !slices.Contains(days, p.Date) })
}

// drawnDays returns the days from which the recipe of the champion was drawn.
func (n *night) drawnDays() []string {
	if n.lineage.Drawn != nil {
		return n.lineage.Drawn
	}
	var days []string
	for _, p := range n.lineage.Sources { // it was drawn for the champion
		days = append(days, p.Name)
	}
	return days
}

// reportDrifts adds the drift of the days that the champion was not trained on to the report.
func (n *night) reportDrifts() {
	for _, p := range n.days {
		x := n.index.Days[p.name()]
		if x == nil || n.trusted(p) || n.beforeWindow(p.Date) {
			continue
		}
		d := results.Moved{Day: p.Date, Columns: x.Columns, Features: x.Drift}
		if len(x.Columns) > 0 || x.Drift != nil {
			n.report.Drifts = append(n.report.Drifts, d)
		}
	}
}

// reportChanges adds the days that are new, late, replaced or withdrawn since the champion was
// trained to the report.
func (n *night) reportChanges() {
	before := map[string]string{}
	newest := ""
	for _, p := range n.lineage.Sources {
		before[p.Name] = p.Digest
		newest = max(newest, p.Name)
	}
	if h := n.lineage.HeldOut; h != nil && len(h.Files) > 0 {
		newest = max(newest, h.Name)
	}
	first := n.firstDay
	if len(n.days) > 0 {
		first = n.days[0].Date
	}
	for _, p := range n.days {
		digest, known := before[p.Date]
		refused := slices.ContainsFunc(n.report.Refused, func(r results.RefusedDay) bool { return r.Day == p.Date })
		switch {
		case known && digest != p.Digest:
			n.report.Replaced = append(n.report.Replaced, p.Date)
		case !known && !refused && !n.beforeWindow(p.Date):
			n.report.New = append(n.report.New, p.Date)
			if p.Date < newest {
				n.report.Late = append(n.report.Late, p.Date)
			}
		}
		delete(before, p.Date)
	}
	for _, p := range n.lineage.Sources {
		if _, gone := before[p.Name]; gone && p.Name >= first {
			n.report.Withdrawn = append(n.report.Withdrawn, p.Name)
		}
	}
}

// trainedOn reports whether the champion was trained on exactly these days.
func (n *night) trainedOn(train []Day) bool {
	return n.lineage != nil && slices.EqualFunc(train, n.lineage.Sources, Day.matches)
}

// endIfRefused ends a run if the data of its day was refused, and returns whether it did. If there is a
// lineage, it first adds changes and drifts to the report.
func (n *night) endIfRefused(ctx context.Context) (bool, error) {
	if n.lineage != nil {
		n.reportChanges()
		n.reportDrifts()
	}
	i := slices.IndexFunc(n.report.Refused, func(r results.RefusedDay) bool { return r.Day == n.options.Day })
	if i < 0 {
		return false, nil
	}
	return true, n.refuse(ctx, fmt.Sprintf("the data of %s is refused: %s", n.options.Day, n.report.Refused[i].Why))
}

// refuse ends a run that has no data to train on, and records it in the history of the champion.
func (n *night) refuse(ctx context.Context, why string) error {
	n.report.Outcome, n.report.Why = results.Refused, why
	if n.champion == "" {
		return nil
	}
	e, err := n.lastEvent(ctx, n.champion)
	if err != nil || e != nil && e.Action == registry.Refused {
		return err
	}
	_, err = n.registry.Refuse(ctx, n.champion, registry.Note{By: n.options.By, Day: n.options.Day,
		Command: n.options.Command, Why: why})
	return err
}

// fit fits a model to the sums of days, and judges it.
func (n *night) fit(ctx context.Context, id string, train []Day, judge *judgeRows, f options.Fit) error {
	o := &n.options
	model := o.Day + "-" + hashOf(train, "fit", id, judge.name, o.Settings)
	places := map[string]string{}
	for _, day := range train {
		places[day.Date] = n.index.sumsDir(day.name())
	}
	l := &registry.Lineage{
		Program: o.Program, Day: o.Day, Origins: registry.Origins{Recipe: n.lineage.Recipe}, Drawn: n.drawnDays(),
		Command: o.Command,
		Sources: sourcesOf(train, places), HeldOut: judge.source(), Seen: hashOf(n.days, o.Settings),
	}
	n.fromLineage(l)
	err := n.timed("fit", func() error {
		return n.makeOnce(ctx, model, l, func(dir string) error {
			f.Model = dir
			return n.fitSums(ctx, train, f)
		})
	})
	if err != nil {
		return err
	}
	if err := n.index.setTotal(ctx, train); err != nil {
		return err
	}
	same, err := n.sameBytes(ctx, model)
	if err != nil {
		return err
	}
	if same {
		n.report.Model = model
		return n.endWithoutModel(fmt.Sprintf("the model %s is the champion %s, byte for byte", model, n.champion))
	}
	return n.judge(ctx, model, judge)
}

// fitSums fits a model to the sums of days as f says, or to the sum that a stopped run has created. If some
// sums cannot be subtracted, it adds up the sums of all days.
func (n *night) fitSums(ctx context.Context, train []Day, f options.Fit) error {
	if f.SaveSums != "" {
		// The manifest is written last.
		exists, err := storage.Exists(ctx, storage.Join(f.SaveSums, models.ManifestFile))
		if err != nil {
			return err
		}
		if exists {
			f.Sums, f.Without, f.SaveSums = []string{f.SaveSums}, nil, ""
		}
	}
	if err := n.index.recordTotal(ctx, f.SaveSums); err != nil {
		return err
	}
	err := n.jobs.Fit(ctx, f)
	if len(f.Without) > 0 && isUnfit(err) {
		// For instance, rows that were frequent would no longer be frequent.
		n.notef("the sums of all partitions are added: %s", fault.Text(err))
		all := n.index.planFromDays(train)
		all.Model = f.Model
		err = n.jobs.Fit(ctx, all)
	}
	return err
}

// sameBytes reports whether a model is the champion under another name.
func (n *night) sameBytes(ctx context.Context, model string) (bool, error) {
	a, err := models.ReadManifest(ctx, n.registry.ModelDir(n.champion))
	if err != nil {
		return false, err
	}
	b, err := models.ReadManifest(ctx, n.registry.ModelDir(model))
	return err == nil && a.SHA256 == b.SHA256, err
}

// failedGates names the gates that were not passed.
func failedGates(gates []registry.Gate) string {
	var words []string
	for _, g := range gates {
		if !g.Passed {
			words = append(words, strings.TrimSpace(g.Condition+" ("+g.Result+")"))
		}
	}
	return strings.Join(words, "; ")
}
