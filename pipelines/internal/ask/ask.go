package ask

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/sumdirs"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// question is a question and the function that answers it.
type question struct {
	name   options.Question
	answer func(*data, context.Context) (*results.Ask, error)
}

var questions = []question{{options.QuestionBacktest, (*data).backtest}, {options.QuestionGroups, (*data).groups},
	{options.QuestionMatrix, (*data).matrix}, {options.QuestionCurve, (*data).curve}, {options.QuestionWindow, (*data).window},
	{options.QuestionWorth, (*data).worth}, {options.QuestionBisect, (*data).bisect}}

// Questions returns the values of options.Ask.Question.
func Questions() (names []options.Question) {
	for _, q := range questions {
		names = append(names, q.name)
	}
	return names
}

// Ask answers a question.
func Ask(ctx context.Context, o options.Ask) (*results.Ask, error) {
	asked := slices.IndexFunc(questions, func(q question) bool { return q.name == o.Question })
	switch {
	case asked < 0:
		return nil, exit.Usagef("unknown question %q; have %v", o.Question, Questions())
	case slices.ContainsFunc(o.Windows, func(n int) bool { return n < 1 }):
		return nil, exit.Usagef("--windows must be numbers of dates, at least 1 (have %v)", o.Windows)
	case !(o.MinR2 < 1):
		return nil, exit.Usagef("--min_r2 must be below 1 (have %g)", o.MinR2)
	case len(o.By) == 0 && o.Question == options.QuestionMatrix:
		return nil, exit.Usagef("matrix needs the labels whose values it compares: name them with --by")
	}
	if err := cmp.Or(prepare.CheckAtLeast("train_dates", o.Dates, 0), prepare.CheckAtLeast("gap_dates", o.Gap, 0),
		prepare.CheckAtLeast("permutations", o.Permutations, 0), prepare.CheckAtLeast("threads", o.Threads, 0),
		prepare.CheckAtLeast("memory", o.Memory, 0)); err != nil {
		return nil, err
	}
	if err := cmp.Or(spec.ValidateLambda(o.Lambda), report.CheckPicture(o.Plot), report.CheckPage(o.Report)); err != nil {
		return nil, err
	}
	terms, err := sumdirs.Open(ctx, o.Selection.SumDirs)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	d, err := open(ctx, o, terms)
	if err != nil {
		return nil, err
	}
	d.progress.Phase("answering", 0)
	a, err := questions[asked].answer(d, ctx)
	d.progress.Done()
	if err != nil {
		return nil, err
	}
	describe(a, d, time.Since(begun).Seconds())
	var failed error // to write what was asked for in addition
	if o.Report != "" {
		data, err := answerPage(a).HTML()
		if err == nil {
			err = storage.WriteFile(ctx, o.Report, data)
		}
		failed = err
	}
	if o.Plot != "" {
		failed = errors.Join(failed, report.WritePicture(ctx, o.Plot, figure(a), 18, 11))
	}
	return a, exit.AfterPublish("", failed)
}

// ChooseWindow chooses a window by sums of one recipe that have dates. known has squared errors for each λ from the
// previous choice, which ChooseWindow replaces by its own; it must not be nil. The caller sets Days of the result.
func ChooseWindow(ctx context.Context, o options.Ask, terms []sumdirs.Term,
	known map[string][]float64) (*results.ChosenWindow, error) {
	o.Question = options.QuestionWindow
	d, err := open(ctx, o, terms)
	if err != nil {
		return nil, err
	}
	d.known = map[string][]float64{}
	maps.Copy(d.known, known)
	dates, err := d.dates()
	if err != nil {
		return nil, err
	}
	w := &results.ChosenWindow{Of: len(dates)}
	if w.All, w.Chosen, _, err = d.forgetting(ctx); err != nil {
		return nil, err
	}
	w.Dates = cmp.Or(w.Chosen.Window, w.Of)
	clear(known)
	maps.Copy(known, d.known)
	return w, nil
}
