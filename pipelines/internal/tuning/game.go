package tuning

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/learn"
)

// Game learns features from the rows of a session.
type Game struct {
	Session *prepare.Session
	Kernel  kernel.Learned // learned or harmonic
	Reports []align.Report // one per round, after Learn; nil without rounds
}

// Learn learns the features of Kernel and makes the session use them, instead of the features of
// the Gaussian kernel that followed from the profile. It returns their description, with the files
// in s.Recipe.Files. The error is an exit.UsageError if the task, the weights or the options do not
// allow it.
func (g *Game) Learn(ctx context.Context, a options.Game) (*results.Learned, error) {
	s := g.Session
	p := s.Prepared
	if p.Target == nil || p.Target.Classes == nil {
		return nil, exit.Usagef("--kernel %s needs classes, but the labels are numbers (see --task)",
			kernel.FamilyOf(g.Kernel).Name)
	}
	if !p.Profile.Weights.Equal() {
		return nil, exit.Usagef("features cannot be learned from rows with weights: learn them without (bochner align) and " +
			"give their directory as --frequencies, or use another kernel")
	}
	rows, n, err := g.alignRows(ctx, a)
	if err != nil {
		return nil, err
	}
	result := &results.Learned{
		LearnedMap: results.LearnedMap{Seed: s.Options.Seed, Width: p.Recipe.Width},
		LearnedRows: results.LearnedRows{Rows: n, HeldOut: a.HeldOut, Classes: p.Target.Classes.Classes,
			Fingerprint: p.Digest, Data: p.RowsDigest()}, Sample: len(rows.Class),
		Lambda: cmp.Or(a.Lambda, 1/(a.C*float64(n))),
	}
	var last features.Recipe
	switch k := g.Kernel.(type) {
	case *learned.HarmonicOptions:
		last, err = g.chooseHarmonics(result, a, k.Count(), rows)
	case *learned.Options:
		find := g.playGame
		if a.By == "lkrf" {
			find = g.weighFrequencies
		}
		last, err = find(ctx, result, a, k, rows)
	default:
		err = exit.Usagef("features of --kernel %s cannot be learned", kernel.FamilyOf(k).Name)
	}
	if err != nil {
		return nil, err
	}
	chain := p.Recipe.Scaled(last)
	if result.Recipe, err = features.Seal(chain); err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	if _, result.Features, err = features.Dims(chain); err != nil {
		return nil, err
	}
	if err := g.adopt(result); err != nil {
		return nil, err
	}
	s.Job.Progress.Notef("%d features of the %s", p.Recipe.Dim, p.Recipe.Name)
	return result, nil
}

// alignRows returns a sample of scaled rows, and the number of rows that features are learned from. Both leave out
// the first fold of a.HeldOut.
func (g *Game) alignRows(ctx context.Context, a options.Game) (rows align.Rows, used int64, err error) {
	s := g.Session
	p := s.Prepared
	rows.D, rows.Classes = p.Recipe.Scaling.Dim, p.Outputs()
	long, n := max(rows.D, p.Profile.Dim), a.Sample
	switch {
	case a.Exact:
		if p.Counts.Used > maxSample {
			return rows, 0, exit.Usagef("--exact_chains: chains can search on up to %s rows, the data have %s; use --sample",
				report.Groups(maxSample), report.Groups(p.Counts.Used))
		}
		n = int(p.Counts.Used)
	case n == 0:
		n = chosenSample(long)
	}
	if limit := maxSampled / long; n > limit {
		return rows, 0, exit.Usagef("--sample must be 1 to %d with rows of %d numbers (have %d)", limit, long, n)
	}
	sum, err := s.SurveyRows(ctx, a.HeldOut, n)
	if err != nil {
		return rows, 0, err
	}
	if used, err = s.LearnedFrom(sum, a.HeldOut); err != nil {
		return rows, 0, err
	}
	raw, n, d := sum.Sample()
	x := make([]float32, 0, n*(d-1))
	for i := range n {
		row := raw[i*d : (i+1)*d]
		x, rows.Class = append(x, row[:d-1]...), append(rows.Class, int32(row[d-1]))
	}
	rows.X, err = p.Recipe.Scaling.Apply(x, n)
	return rows, used, err
}

// playGame learns frequencies by rounds of the game over all rows, with a sample of rows for the search. It returns
// their recipe.
func (g *Game) playGame(ctx context.Context, result *results.Learned, a options.Game, k *learned.Options,
	rows align.Rows) (features.Recipe, error) {
	s := g.Session
	p := s.Prepared
	frequencies := k.Count()
	o := GameOf(a, result.Lambda, p.Recipe.Width, frequencies, s.Options.Seed)
	o.Search.FindStarts(rows, s.Job.Engine.Threads)
	learner := &align.Learner{Options: o, Dim: rows.D, Classes: rows.Classes, Partitions: a.Partitions, X: rows.X,
		Class: rows.Class}
	if err := learner.Validate(); err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	result.Bound = sampleBound(rows, o)
	pass, err := g.alignPass(ctx, learner, a.HeldOut)
	if err != nil {
		return nil, err
	}
	first, err := learner.Start(nil)
	if err != nil {
		return nil, err
	}
	s.Job.Progress.Notef("learning %s of rows of %d numbers from %s rows: %s of %d steps on a sample of %s, %d per "+
		"round; lambda %.4g, width %.4g",
		fmt.Sprint(frequencies, " frequencies"), rows.D, report.Groups(result.Rows), report.Counted(o.Search.Chains, "chain"),
		o.Search.Steps, report.Groups(int64(result.Sample)), o.Take, result.Lambda, p.Recipe.Width)
	s.Job.Progress.Phase("learning features", 0)
	defer s.Job.Progress.Done()
	c, err := s.Job.Rounds(ctx, pass, first, job.RoundOptions{
		Stop: iterative.Stop{Rounds: 3 + RoundsOfAGame*frequencies}, Running: a.Running,
	})
	if err != nil {
		return nil, err
	}
	opened, err := learner.Open(c.State)
	if err != nil {
		return nil, err
	}
	for _, r := range c.History {
		if r.Detail == nil {
			continue
		}
		var detail align.Report
		if err := json.Unmarshal(r.Detail, &detail); err != nil {
			return nil, fmt.Errorf("pipelines: report of round %d: %w; run again without --resume", r.Round, err)
		}
		g.Reports = append(g.Reports, detail)
	}
	round := opened.(*align.Round)
	last, _ := round.Last()
	result.Game = &last
	if result.Options, err = json.Marshal(learner); err != nil {
		return nil, err
	}
	return g.provide(ctx, round.Frequencies(), k.Form)
}

// alignPass returns the pass over the rows that rounds of the learner repeat. It stores the
// learner's sample in the work directory. If folds is not 0, the pass leaves out the first fold.
func (g *Game) alignPass(ctx context.Context, l *align.Learner, folds int) (*learn.Pass, error) {
	s := g.Session
	uri, err := s.KeepSample(ctx, l.EncodeSample())
	if err != nil {
		return nil, err
	}
	sealed, err := json.Marshal(align.Sealed{Learner: *l, SampleFile: uri})
	if err != nil {
		return nil, err
	}
	pass := s.LearnPass(learn.Learner{Kind: align.Kind, Options: sealed}, folds, l.Partitions)
	pass.Recipe, err = features.Seal(s.Prepared.Recipe.Scaled(identity.Identity{In: l.Dim, Bound: 1}))
	return pass, err
}

// sampleBound returns the sample size that guarantees, with probability 95%, that every potential
// is within 0.1 of its value for the distribution of the rows (align.SampleSize). It applies to
// frequencies up to the typical length of those that chains start from. It is 0 if all rows are
// zero.
func sampleBound(rows align.Rows, o align.Options) float64 {
	dim, norm := rows.D, 0.0
	for row := range slices.Chunk(rows.X, dim) {
		var square float64
		for _, v := range row {
			square += float64(v) * float64(v)
		}
		norm = max(norm, square)
	}
	n, err := align.SampleSize(dim, math.Sqrt(norm), o.Search.StartDeviation/o.Search.Width*math.Sqrt(float64(dim)), 0.1, 0.05)
	if err != nil {
		return 0 // rows of zeros
	}
	return n
}

// weighFrequencies draws frequencies of the Gaussian kernel, keeps those with the largest weights
// or draws by weight (method lkrf), and returns their recipe.
func (g *Game) weighFrequencies(ctx context.Context, result *results.Learned, a options.Game, k *learned.Options,
	rows align.Rows) (features.Recipe, error) {
	s := g.Session
	p := s.Prepared
	frequencies := k.Count()
	m := cmp.Or(a.Proposals, 20*frequencies)
	if m < frequencies {
		return nil, exit.Usagef("--proposals %d: fewer than the %d frequencies to choose", m, frequencies)
	}
	s.Job.Progress.Notef("weighting %d frequencies of the %s on %s rows", m, p.Recipe.Name,
		report.Groups(int64(result.Sample)))
	w := align.Propose(m, rows.D, p.Recipe.Width, s.Options.Seed)
	field := align.NewField(rows.X, result.Sample, rows.D)
	v := align.Alignment(field, w, m, rows, s.Job.Engine.Threads)
	w, v = align.AddNeedles(field, w, v, rows, s.Job.Engine.Threads)
	q, err := align.Weigh(v, a.Rho)
	if err != nil {
		return nil, &exit.DataError{Err: err}
	}
	index, weight := align.Top(q, frequencies)
	if a.Pick == "draw" {
		index, weight = align.Draw(q, frequencies, s.Options.Seed)
	}
	f := align.Select(w, rows.D, index, weight)
	if f.Count < frequencies {
		s.AddNotef("%d distinct frequencies instead of the %d requested; a smaller --rho or more --proposals give more",
			f.Count, frequencies)
	}
	result.Options, err = json.Marshal(map[string]any{"proposals": m, "rho": a.Rho, "pick": a.Pick})
	if err != nil {
		return nil, err
	}
	result.Lambda = 0 // lkrf has no λ
	return g.provide(ctx, f, k.Form)
}

// chooseHarmonics plays the game on the sample, to choose count times among the first a.Harmonics
// spherical harmonics. It returns their recipe.
func (g *Game) chooseHarmonics(result *results.Learned, a options.Game, count int,
	rows align.Rows) (features.Recipe, error) {
	if rows.D < 2 {
		return nil, exit.Dataf("pipelines: harmonics need rows of 2 numbers or more")
	}
	if limit := maxSampled / result.Sample; a.Harmonics > limit {
		return nil, exit.Usagef("--harmonics must be 1 to %d with a sample of %s rows (have %d); use a smaller "+
			"--sample",
			limit, report.Groups(int64(result.Sample)), a.Harmonics)
	}
	o := align.HarmonicOptions(result.Lambda, count)
	o.Take, o.Rate = cmp.Or(a.Take, o.Take), cmp.Or(a.Rate, o.Rate)
	recipe, chosen, err := align.Harmonics(rows, a.Harmonics, o, func(r align.Report) {
		g.Reports = append(g.Reports, r)
	})
	if err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	result.Game = &chosen.Reports[len(chosen.Reports)-1]
	if result.Options, err = json.Marshal(o); err != nil {
		return nil, err
	}
	return recipe, nil
}

// provide returns the recipe of the frequencies. It stores their file in the session and makes it
// available to the workers of later passes.
func (g *Game) provide(ctx context.Context, f *learned.Frequencies, form fourier.Form) (features.Recipe, error) {
	s := g.Session
	data, err := learned.Encode(f)
	if err != nil {
		return nil, err
	}
	r, err := learned.RecipeOf(data, form, s.Options.Seed)
	if err != nil {
		return nil, err
	}
	s.Prepared.Recipe.Files = []storage.File{{Name: learned.FileName, Data: data}}
	return r, s.Job.ShareFile(ctx, s.Prepared.Recipe.Files[0], r.SHA256)
}

// adopt makes the session use the learned features, and adds the files that describe them: the
// reports of the game, if any, and f as JSON.
func (g *Game) adopt(f *results.Learned) error {
	s := g.Session
	p := s.Prepared
	recipe, err := f.Recipe.Open()
	if err != nil {
		return err
	}
	if g.Reports != nil {
		data, err := json.MarshalIndent(g.Reports, "", " ")
		if err != nil {
			return err
		}
		p.Recipe.Files = append(p.Recipe.Files, storage.File{Name: prepare.GameFile, Data: append(data, '\n')})
	}
	f.Format, f.Program = prepare.LearnedFormat, engine.Version()
	f.Kernel = prepare.LearnedName(f, recipe)
	f.Files = nil
	for _, file := range p.Recipe.Files {
		f.Files = append(f.Files, models.NewFileEntry(file.Name, file.Data))
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	p.Recipe.Files = append(p.Recipe.Files, storage.File{Name: prepare.LearnedFile, Data: append(data, '\n')})
	p.Recipe.Sealed, p.Recipe.Dim, p.Recipe.Name = f.Recipe, f.Features, f.Kernel
	return nil
}

// Limits of the sample.
const (
	// defaultSample is the default number of rows, unless rows are long. The paper's tasks have
	// about as many.
	defaultSample = 10_000
	maxSample     = 1 << 16 // rows
	maxSampled    = 1 << 27 // numbers in all rows
	chosenSampled = 1 << 24 // numbers in all rows by default
)

// defaultPartitions is the default number of partitions.
const defaultPartitions = 8

// One round of the game takes RoundsOfAGame rounds of package iterative. ReadsOfAGame of them read
// the rows. See align.Learner.
const (
	RoundsOfAGame = 5
	ReadsOfAGame  = 2
)

// chosenSample returns the default number of rows to search on, for rows of dim numbers.
func chosenSample(dim int) int { return max(1, min(defaultSample, chosenSampled/dim)) }

// GameDefaults returns the options with defaults for zero values.
func GameDefaults(a options.Game) options.Game {
	a.By = cmp.Or(a.By, options.LearnedByGame)
	a.Preset = cmp.Or(a.Preset, options.PresetPaper)
	a.Pick = cmp.Or(a.Pick, options.PickTop)
	if a.Lambda == 0 && a.C == 0 {
		a.C = 1
	}
	a.Rho = cmp.Or(a.Rho, 10)
	a.Harmonics = cmp.Or(a.Harmonics, 1000)
	a.Partitions = cmp.Or(a.Partitions, defaultPartitions)
	a.PerJob = cmp.Or(a.PerJob, RoundsOfAGame)
	return a
}

// presets holds the function of package align for each value of --preset.
var presets = map[options.Preset]func(lambda, width float64, frequencies int, seed uint64) align.Options{
	options.PresetPaper: align.PaperOptions, options.PresetDemo: align.DemoOptions,
}

// GameOf returns the options of a game that learns frequencies, from the preset and the
// options that are set. width is the typical distance of two rows.
func GameOf(a options.Game, lambda, width float64, frequencies int, seed uint64) align.Options {
	o := presets[a.Preset](lambda, width, frequencies, seed)
	o.Alternations = 0 // align.Learner projects exactly
	o.Search.Chains, o.Search.Steps = cmp.Or(a.Chains, o.Search.Chains), cmp.Or(a.Steps, o.Search.Steps)
	o.Take, o.Rate = cmp.Or(a.Take, o.Take), cmp.Or(a.Rate, o.Rate)
	return o
}

// ValidateGame returns an exit.UsageError that names the flag if an option is invalid for any data. k
// is the kernel whose features are learned.
func ValidateGame(a options.Game, k kernel.Learned) error {
	_, harmonics := k.(*learned.HarmonicOptions)
	good := func(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
	for _, f := range []struct {
		name, value string
		choices     []string
	}{
		{"align", string(a.By), option.Names(options.LearnedByGame, options.LearnedByLKRF)},
		{"preset", string(a.Preset), option.SortedNames(presets)},
		{"pick", string(a.Pick), option.Names(options.PickTop, options.PickDraw)},
	} {
		if !slices.Contains(f.choices, f.value) {
			return exit.Usagef("--%s: unknown value %q%s; have %s", f.name, f.value, option.DidYouMean(f.value, f.choices),
				strings.Join(f.choices, ", "))
		}
	}
	switch {
	case a.Lambda != 0 && a.C != 0:
		return exit.Usagef("--align_c cannot be used with --align_lambda (C = 1/(λn)): give one of them")
	case a.Lambda != 0 && !good(a.Lambda), a.C != 0 && !good(a.C):
		return exit.Usagef("--align_lambda and --align_c must be above 0 (have %g)", a.Lambda+a.C)
	case a.Chains < 0 || a.Steps < 0 || a.Take < 0:
		return exit.Usagef("--chains, --steps and --take must not be negative; 0 uses the preset's (have %d, %d, %d)",
			a.Chains, a.Steps, a.Take)
	case a.Rate != 0 && !good(a.Rate):
		return exit.Usagef("--align_rate must be above 0, or 0 for the preset's (have %g)", a.Rate)
	case harmonics && a.Preset != options.PresetPaper:
		return exit.Usagef("--preset %s cannot be used with --kernel harmonic, which has its own constants", a.Preset)
	case a.Sample < 0 || a.Sample > maxSample:
		return exit.Usagef("--sample must be 1 to %d, or 0 to choose (have %d)", maxSample, a.Sample)
	case a.Sample > 0 && a.Exact:
		return exit.Usagef("--exact_chains cannot be used with --sample: give one of them")
	case !good(a.Rho):
		return exit.Usagef("--rho must be above 0 (have %g)", a.Rho)
	case a.Proposals < 0 || a.Proposals > 1<<20:
		return exit.Usagef("--proposals must be 1 to %d, or 0 to choose (have %d)", 1<<20, a.Proposals)
	case a.Harmonics < 1 || a.Harmonics > 1<<16:
		return exit.Usagef("--harmonics must be 1 to %d (have %d)", 1<<16, a.Harmonics)
	case harmonics && a.By == options.LearnedByLKRF:
		return exit.Usagef("--align lkrf cannot be used with --kernel harmonic; give --kernel learned")
	}
	if err := a.Running.Validate(); err != nil {
		return &exit.UsageError{Err: err}
	}
	return nil
}

// GameFrequencies returns how many frequencies are learned by rounds of the game over all rows. It is 0 if
// features are learned from the sample only, as by lkrf and for harmonics.
func GameFrequencies(a options.Game, k kernel.Learned) int {
	if k, ok := k.(*learned.Options); ok && a.By == options.LearnedByGame {
		return k.Count()
	}
	return 0
}

// SampleRows returns the number of rows that the search uses, for rows of dim numbers. rows is the
// number of all rows, or 0 if unknown.
func SampleRows(a options.Game, rows int64, dim int) int64 {
	n := int64(a.Sample)
	switch {
	case a.Exact:
		n = min(max(rows, 1), maxSample)
	case n == 0:
		n = int64(chosenSample(max(dim, 1)))
	}
	if rows > 0 {
		n = min(n, rows)
	}
	return n
}
