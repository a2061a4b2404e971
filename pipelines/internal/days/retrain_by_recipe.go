package days

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// retrainByRecipe keeps the champion's recipe: it sums days that have no sums, leaves out
// those that have drifted too far, and fits a model to the sums of the rest.
func (r *retrainRun) retrainByRecipe(ctx context.Context) error {
	if r.lineage.Day > r.options.Day {
		return r.endWithoutModel(fmt.Sprintf("the champion %s was made for a later day, %s", r.champion, r.lineage.Day))
	}
	recipe := r.registry.ModelDir(r.champion)
	id, err := r.jobs.Recipe(ctx, recipe)
	if err != nil {
		return err
	}
	if id == "" {
		return r.drawNew(ctx, "its learner is not trained by sums, or its recipe lacks the curves of --calibrate")
	}
	if err := r.openIndex(ctx, id); err != nil {
		return err
	}
	end := r.time("sum")
	accepted, err := r.sumAll(ctx, recipe, r.drawnFrom())
	end()
	if err != nil {
		return err
	}
	if err := r.endIfRefused(ctx); err != nil || r.ended() {
		return err
	}
	if !slices.ContainsFunc(r.days, func(p Day) bool { return p.Date == r.options.Day }) {
		r.notef("there is no data of %s yet", r.options.Day)
	}
	heldOut, train := r.splitHeldOut(accepted)
	if heldOut != nil {
		if train, err = r.chooseWindow(ctx, train); err != nil {
			return err
		}
	}
	switch {
	case heldOut == nil:
		return r.endWithoutModel("no new rows can judge a model: the champion was trained on every partition")
	case r.trainedOn(train):
		return r.endWithoutModel(fmt.Sprintf("the champion %s was trained on exactly the partitions before %s",
			r.champion, heldOut.name))
	case len(train) == 0:
		return r.endWithoutModel("there are no rows to train on")
	}
	f := r.index.plan(train)
	if err := r.measureDrift(ctx, f.SumDirs); err != nil {
		return err
	}
	days := train
	if heldOut.day != nil {
		days = append(slices.Clone(train), *heldOut.day)
	}
	if d := r.report.Drift; d != nil && d.Value > r.options.Redraw {
		return r.drawRecipe(ctx, days, fmt.Sprintf(
			"the rows have drifted from the rows of the recipe by %.3g, more than %.3g: %s",
			d.Value, r.options.Redraw, d.Text))
	}
	model, err := r.fit(ctx, id, train, heldOut, f)
	switch {
	case isUnfit(err): // for instance, all rows are later than the rows of a recipe that holds out the latest
		text := strings.ReplaceAll(fault.Text(err), "\n", "; ") // a line of the history
		if err := r.drawRecipe(ctx, days, "the recipe does not fit the rows: "+text); err != nil {
			return fmt.Errorf("%w\nthis happened while a new recipe was drawn, because the old one does not fit the rows: %s",
				err, text)
		}
		return nil
	case err != nil:
		return err
	}
	return r.judgeFitted(ctx, model, train, heldOut)
}

// measureDrift adds the drift of all rows from the rows of the recipe to the report, if it decides about a new recipe.
func (r *retrainRun) measureDrift(ctx context.Context, train options.SumDirs) (err error) {
	if r.options.Redraw == 0 || !r.index.Drawn {
		return nil
	}
	defer r.time("drift")()
	r.report.Drift, err = r.jobs.Drift(ctx, r.index.sumsDir(drawnSums), train)
	return err
}

// sumAll sums the days that have no sums yet, by a recipe that was drawn from the days
// from, and returns the days that are fit for training.
func (r *retrainRun) sumAll(ctx context.Context, recipe string, from []Day) (accepted []Day, err error) {
	var summed []Day // without copies
	contents := map[string]string{}
	r.copies = 0
	for _, day := range r.days {
		err := r.sumOne(ctx, recipe, day)
		if isUnfit(err) {
			r.leaveOut(day, fault.Text(err))
			continue
		}
		if err != nil {
			return nil, err
		}
		x := r.index.Days[day.name()]
		if other, twice := contents[x.Content]; twice {
			r.copies++
			r.leaveOut(day, fmt.Sprintf("has the same %d rows as %s", x.Rows, other))
			continue
		}
		contents[x.Content] = day.Date
		summed = append(summed, day)
	}
	if r.options.MaxDrift > 0 || r.options.Redraw > 0 {
		if err := r.sumDrawn(ctx, from); err != nil {
			return nil, err
		}
	}
	for _, day := range summed {
		d, err := r.driftOf(ctx, day)
		if err != nil {
			return nil, err
		}
		if limit := r.options.MaxDrift; d.Value > limit {
			r.leaveOut(day, fmt.Sprintf("drift %.3g, more than %.3g: %s", d.Value, limit, d.Text))
			continue
		}
		accepted = append(accepted, day)
	}
	return accepted, r.index.write(ctx)
}

// driftOf returns the drift of a day to compare with MaxDrift: of its columns if that exceeds MaxDrift, and
// otherwise of its features. It is 0 if the drift has no bound or is not measured.
func (r *retrainRun) driftOf(ctx context.Context, day Day) (d results.Drift, err error) {
	x, limit := r.index.Days[day.name()], r.options.MaxDrift
	switch {
	case limit == 0:
		return d, nil
	case len(x.Columns) > 0 && x.Columns[0].AtLeast > limit:
		return results.Drift{Value: x.Columns[0].AtLeast, Text: report.ColumnsText(x.Columns)}, nil
	case !r.index.Drawn:
		return d, nil
	case x.Drift == nil:
		if x.Drift, err = r.jobs.Drift(ctx, r.index.sumsDir(drawnSums),
			options.SumDirs{Sums: []string{r.index.sumsDir(day.name())}}); err != nil {
			return d, err
		}
	}
	return *x.Drift, nil
}

// sumOne sums a day, unless it has sums.
func (r *retrainRun) sumOne(ctx context.Context, recipe string, day Day) error {
	name := day.name()
	if r.index.Days[name] != nil {
		return nil
	}
	out := r.index.sumsDir(name)
	s, err := r.jobs.Sum(ctx, recipe, uris([]Day{day}), out)
	if err != nil {
		return err
	}
	if err := checkUnchanged(ctx, day); err != nil {
		return err
	}
	if s.Found {
		if err := removeWork(ctx, out); err != nil {
			return err
		}
	} else if !slices.Contains(r.report.Summed, day.Date) { // or another reference has read it
		r.report.Summed = append(r.report.Summed, day.Date)
	}
	r.index.Days[name] = &indexEntry{DaySums: *s}
	return nil
}

// sumDrawn adds up the sums of the days from which the recipe was drawn, unless that was done. Drift is
// measured from these rows. Days without sums are left out; if none has sums, drift is not measured. Of
// copies, one is added.
func (r *retrainRun) sumDrawn(ctx context.Context, from []Day) error {
	if r.index.Drawn {
		return nil
	}
	f := options.Fit{SaveSums: r.index.sumsDir(drawnSums)}
	contents := map[string]bool{}
	for _, day := range from {
		if x := r.index.Days[day.name()]; x != nil && !contents[x.Content] {
			contents[x.Content] = true
			f.Sums = append(f.Sums, r.index.sumsDir(day.name()))
		}
	}
	if len(f.Sums) == 0 {
		r.notef("drift is not measured: no partition is left from which the recipe was drawn")
		return nil
	}
	if err := r.jobs.Fit(ctx, f); err != nil {
		return err
	}
	r.index.Drawn = true
	return nil
}

// drawnFrom returns the days of drawnDays.
func (r *retrainRun) drawnFrom() []Day {
	days := r.drawnDays()
	return slices.DeleteFunc(slices.Clone(r.days), func(p Day) bool { return !slices.Contains(days, p.Date) })
}

// drawnDays returns the days from which the recipe of the champion was drawn.
func (r *retrainRun) drawnDays() []string {
	if r.lineage.Drawn != nil {
		return r.lineage.Drawn
	}
	var days []string
	for _, p := range r.lineage.Sources { // it was drawn for the champion
		days = append(days, p.Name)
	}
	return days
}

// reportDrifts adds the drift of the days that the champion was not trained on to the report.
func (r *retrainRun) reportDrifts() {
	for _, p := range r.days {
		x := r.index.Days[p.name()]
		if x == nil || r.trusted(p) || r.beforeWindow(p.Date) {
			continue
		}
		d := results.Moved{Day: p.Date, Columns: x.Columns, Features: x.Drift}
		if len(x.Columns) > 0 || x.Drift != nil {
			r.report.Drifts = append(r.report.Drifts, d)
		}
	}
}

// reportChanges adds the days that are new, late, replaced or withdrawn since the champion was
// trained to the report.
func (r *retrainRun) reportChanges() {
	before := map[string]string{}
	newest := ""
	for _, p := range r.lineage.Sources {
		before[p.Name] = p.Digest
		newest = max(newest, p.Name)
	}
	if h := r.lineage.HeldOut; h != nil && len(h.Files) > 0 {
		newest = max(newest, h.Name)
	}
	first := r.firstDay
	if len(r.days) > 0 {
		first = r.days[0].Date
	}
	for _, p := range r.days {
		digest, known := before[p.Date]
		refused := slices.ContainsFunc(r.report.Refused, func(d results.RefusedDay) bool { return d.Day == p.Date })
		switch {
		case known && digest != p.Digest:
			r.report.Replaced = append(r.report.Replaced, p.Date)
		case !known && !refused && !r.beforeWindow(p.Date):
			r.report.New = append(r.report.New, p.Date)
			if p.Date < newest {
				r.report.Late = append(r.report.Late, p.Date)
			}
		}
		delete(before, p.Date)
	}
	for _, p := range r.lineage.Sources {
		if _, gone := before[p.Name]; gone && p.Name >= first {
			r.report.Withdrawn = append(r.report.Withdrawn, p.Name)
		}
	}
}

// trainedOn reports whether the champion was trained on exactly these days.
func (r *retrainRun) trainedOn(train []Day) bool {
	return r.lineage != nil && slices.EqualFunc(train, r.lineage.Sources, Day.matches)
}

// ended reports whether a run has an outcome.
func (r *retrainRun) ended() bool { return r.report.Outcome != "" }

// endIfRefused ends a run if the data of its day was refused. If there is a lineage, it first adds changes and drifts
// to the report.
func (r *retrainRun) endIfRefused(ctx context.Context) error {
	if r.lineage != nil {
		r.reportChanges()
		r.reportDrifts()
	}
	i := slices.IndexFunc(r.report.Refused, func(d results.RefusedDay) bool { return d.Day == r.options.Day })
	if i < 0 {
		return nil
	}
	return r.refuse(ctx, fmt.Sprintf("the data of %s is refused: %s", r.options.Day, r.report.Refused[i].Why))
}

// refuse ends a run that has no data to train on, and records it in the history of the champion.
func (r *retrainRun) refuse(ctx context.Context, why string) error {
	r.report.Outcome, r.report.Why = results.Refused, why
	if r.champion == "" {
		return nil
	}
	e, err := r.lastEvent(ctx, r.champion)
	if err == nil && (e == nil || e.Action != registry.Refused) {
		_, err = r.registry.Refuse(ctx, r.champion, registry.Change{By: r.options.By, Day: r.options.Day,
			Command: r.options.Command, Why: why})
	}
	return err
}

// fit fits a model to the sums of days, and returns its name.
func (r *retrainRun) fit(ctx context.Context, id string, train []Day, heldOut *heldOutRows, f options.Fit) (
	model string, err error) {
	o := &r.options
	model = o.Day + "-" + hashOf(train, "fit", id, heldOut.name, o.Settings)
	sumsDirs := map[string]string{}
	for _, day := range train {
		sumsDirs[day.Date] = r.index.sumsDir(day.name())
	}
	l := &registry.Lineage{
		Program: o.Program, Day: o.Day, Origins: registry.Origins{Recipe: r.lineage.Recipe}, Drawn: r.drawnDays(),
		Command: o.Command,
		Sources: sourcesOf(train, sumsDirs), HeldOut: heldOut.source(), Seen: hashOf(r.days, o.Settings),
	}
	r.fromLineage(l)
	defer r.time("fit")()
	return model, r.makeOnce(ctx, model, l, func(dir string) error {
		f.Model = dir
		return r.fitSums(ctx, train, f)
	})
}

// judgeFitted judges a model that was fitted to the sums of days.
func (r *retrainRun) judgeFitted(ctx context.Context, model string, train []Day, heldOut *heldOutRows) error {
	if err := r.index.setTotal(ctx, train); err != nil {
		return err
	}
	same, err := r.sameBytes(ctx, model)
	if err != nil {
		return err
	}
	if same {
		r.report.Model = model
		return r.endWithoutModel(fmt.Sprintf("the model %s is the champion %s, byte for byte", model, r.champion))
	}
	return r.judge(ctx, model, heldOut)
}

// fitSums fits a model to the sums of days by the plan f, or to the total that a stopped run has created. If
// some sums cannot be subtracted, it adds up the sums of all days.
func (r *retrainRun) fitSums(ctx context.Context, train []Day, f options.Fit) error {
	if f.SaveSums != "" {
		// The manifest is written last.
		exists, err := storage.Exists(ctx, storage.Join(f.SaveSums, sums.ManifestFile))
		if err != nil {
			return err
		}
		if exists {
			f.Sums, f.Without, f.SaveSums = []string{f.SaveSums}, nil, ""
		}
	}
	if err := r.index.recordTotal(ctx, f.SaveSums); err != nil {
		return err
	}
	err := r.jobs.Fit(ctx, f)
	if len(f.Without) > 0 && isUnfit(err) {
		// For instance, rows that were frequent would no longer be frequent.
		r.notef("the sums of all partitions are added: %s", fault.Text(err))
		all := r.index.planFromDays(train)
		all.Model = f.Model
		err = r.jobs.Fit(ctx, all)
	}
	return err
}

// sameBytes reports whether a model is the champion under another name.
func (r *retrainRun) sameBytes(ctx context.Context, model string) (bool, error) {
	a, err := models.ReadManifest(ctx, r.registry.ModelDir(r.champion))
	if err != nil {
		return false, err
	}
	b, err := models.ReadManifest(ctx, r.registry.ModelDir(model))
	if err != nil {
		return false, err
	}
	return a.SHA256 == b.SHA256, nil
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
