package pipelines

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/linear"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/transforms/epochs"
)

// search finds features in the data of a session.
type search struct {
	*session
	kernel KernelOptions  // learned or harmonic
	game   []align.Report // how the game went, by round
}

// learn finds the features of the kernel learned or harmonic in the data, in place of
// those of the Gaussian kernel that the look has chosen.
func (s *search) learn(ctx context.Context, a LearnedOptions) (*Found, error) {
	if s.target == nil || s.target.Classes == nil {
		return nil, usage("learned features tell classes apart; the labels are numbers (see --task)")
	}
	x, class, n, err := s.alignRows(ctx, a)
	if err != nil {
		return nil, err
	}
	found := &Found{
		Seed: s.spec.Seed, Width: s.recipe.width, Rows: n, Held: a.Held, Sample: len(class),
		Classes: s.target.Classes.Classes, Fingerprint: s.digest, Data: s.rowsDigest(), Lambda: a.Lambda,
	}
	if found.Lambda == 0 {
		found.Lambda = 1 / (a.C * float64(n))
	}
	var last features.Recipe
	switch {
	case s.kernel.Name == "harmonic":
		last, err = s.chooseHarmonics(found, a, x, class)
	case a.By == "lkrf":
		last, err = s.weighFrequencies(ctx, found, a, x, class)
	default:
		last, err = s.playGame(ctx, found, a, x, class)
	}
	if err != nil {
		return nil, err
	}
	chain := features.Chain{Steps: append(s.recipe.scaling.steps[:len(s.recipe.scaling.steps):len(s.recipe.scaling.steps)], last)}
	if found.Recipe, err = features.Seal(chain); err != nil {
		return nil, &UsageError{err}
	}
	if _, found.Features, err = features.Dims(chain); err != nil {
		return nil, err
	}
	if err := s.adopt(found); err != nil {
		return nil, err
	}
	s.progress.note("%d features of the %s", s.recipe.dim, s.recipe.name)
	return found, nil
}

// alignRows returns the rows of a sample, scaled, with their classes, and how many rows
// there are to learn from. Rows that are held out are not among them.
func (s *search) alignRows(ctx context.Context, a LearnedOptions) (x []float32, class []int32, learned int64, err error) {
	fail := func(err error) ([]float32, []int32, int64, error) { return nil, nil, 0, err }
	dim, n := s.recipe.scaling.dim, a.Sample
	switch {
	case a.Exact:
		if s.counts.Used > maxSample {
			return fail(usage("--exact_chains: the chains of a search see up to %s rows, the data have %s; give --sample", groups(maxSample), groups(s.counts.Used)))
		}
		n = int(s.counts.Used)
	case n == 0:
		n = chosenSample(max(dim, s.found.Dim))
	}
	if most := maxSampled / max(dim, s.found.Dim); n > most {
		return fail(usage("--sample: of rows of %d numbers at most %d are searched on (have %d)", max(dim, s.found.Dim), most, n))
	}
	sum, err := s.surveyRows(ctx, a.Held, n)
	if err != nil {
		return fail(err)
	}
	if learned, err = s.learnedFrom(sum, a.Held); err != nil {
		return fail(err)
	}
	raw, n, d := sum.Sample()
	rows := make([]float32, 0, n*(d-1))
	for i := range n {
		row := raw[i*d : (i+1)*d]
		rows, class = append(rows, row[:d-1]...), append(class, int32(row[d-1]))
	}
	x, err = s.recipe.scaling.apply(rows, n)
	return x, class, learned, err
}

// form is that of the features, and how many frequencies they take.
func (s *search) form() (form fourier.Form, frequencies int) {
	return s.recipe.mapping.form, s.recipe.mapping.frequencies()
}

// playGame finds frequencies by rounds of the game over all rows.
func (s *search) playGame(ctx context.Context, found *Found, a LearnedOptions, x []float32, class []int32) (features.Recipe, error) {
	form, frequencies := s.form()
	o := a.game(found.Lambda, s.recipe.width, frequencies, s.spec.Seed)
	dim := s.recipe.scaling.dim
	learner := &align.Learner{Options: o, Dim: dim, Classes: s.outputs(), Partitions: a.Partitions, X: x, Class: class}
	if err := learner.Validate(); err != nil {
		return nil, &UsageError{err}
	}
	found.Bound = sampleBound(dim, x, o)
	pass, err := s.alignPass(ctx, learner, a.Held)
	if err != nil {
		return nil, err
	}
	first, err := learner.Start(nil)
	if err != nil {
		return nil, err
	}
	s.progress.note("learning %s of rows of %d numbers from %s rows: %s of %d steps on a sample of %s, %d of a round; lambda %.4g, width %.4g",
		fmt.Sprint(frequencies, " frequencies"), dim, groups(found.Rows), counted(o.Search.Chains, "chain"), o.Search.Steps, groups(int64(len(class))), o.Take, found.Lambda, s.recipe.width)
	s.progress.phase("learning features", 0)
	defer s.progress.done()
	c, err := s.job.rounds(ctx, pass, first, RoundOptions{
		Rounds: 3 + roundsOfAGame*frequencies, Partitions: a.Partitions, PerJob: a.PerJob, Keep: a.Keep,
	})
	if err != nil {
		return nil, err
	}
	opened, err := learner.Open(c.state)
	if err != nil {
		return nil, err
	}
	for _, r := range c.history {
		if r.Detail == nil {
			continue
		}
		var report align.Report
		if err := json.Unmarshal(r.Detail, &report); err != nil {
			return nil, fmt.Errorf("pipelines: report of round %d: %w; run again without --resume", r.Round, err)
		}
		s.game = append(s.game, report)
	}
	round := opened.(*align.Round)
	last, _ := round.Last()
	found.Game = &last
	if found.Options, err = json.Marshal(learner); err != nil {
		return nil, err
	}
	return s.provide(ctx, round.Frequencies(), form)
}

// alignPass is the pass of the game, with the learner's sample in the work directory. The
// first of the folds, if there are any, is held out.
func (s *search) alignPass(ctx context.Context, l *align.Learner, folds int) (*epochs.Pass, error) {
	data := l.EncodeSample()
	uri := storage.Join(s.work.dir, "sample-"+shortSum(data)+".safetensors")
	if err := storage.WriteState(ctx, uri, data); err != nil {
		return nil, err
	}
	options, err := json.Marshal(align.Sealed{Learner: *l, SampleFile: uri})
	if err != nil {
		return nil, err
	}
	pass := s.learnPass(epochs.Learner{Kind: align.Kind, Options: options}, folds, l.Partitions)
	steps := s.recipe.scaling.steps
	pass.Recipe, err = features.Seal(features.Chain{Steps: append(steps[:len(steps):len(steps)], linear.Identity{In: l.Dim, Bound: 1})})
	return pass, err
}

// sampleBound returns how many rows Theorem 4.4 of the paper asks for, so that no potential on the
// sample is wrong by more than 0.1, among frequencies that chains begin with.
func sampleBound(dim int, x []float32, o align.Options) float64 {
	var norm float64
	for i := 0; i < len(x); i += dim {
		var square float64
		for _, v := range x[i : i+dim] {
			square += float64(v) * float64(v)
		}
		norm = max(norm, square)
	}
	n, err := align.SampleSize(dim, math.Sqrt(norm), o.Search.Spread/o.Search.Width*math.Sqrt(float64(dim)), 0.1, 0.05)
	if err != nil {
		return 0 // rows of zeros
	}
	return n
}

// weighFrequencies draws frequencies of the Gaussian kernel and takes those of large weight.
func (s *search) weighFrequencies(ctx context.Context, found *Found, a LearnedOptions, x []float32, class []int32) (features.Recipe, error) {
	form, frequencies := s.form()
	m, dim := a.Proposals, s.recipe.scaling.dim
	if m == 0 {
		m = 20 * frequencies
	}
	if m < frequencies {
		return nil, usage("--proposals %d: fewer than the %d frequencies to choose", m, frequencies)
	}
	s.progress.note("weighing %d frequencies of the %s on %s rows", m, s.recipe.name, groups(int64(len(class))))
	w := align.Propose(m, dim, s.recipe.width, s.spec.Seed)
	field := align.NewField(x, len(class), dim)
	q, err := align.Weigh(align.Alignment(field, w, m, class, s.outputs(), s.engine.Threads), a.Rho)
	if err != nil {
		return nil, &DataError{err}
	}
	index, weight := align.Top(q, frequencies)
	if a.Pick == "draw" {
		index, weight = align.Draw(q, frequencies, s.spec.Seed)
	}
	f := align.Choice(w, dim, index, weight)
	if f.Count < frequencies {
		s.notes = append(s.notes, fmt.Sprintf("%d different frequencies of %d that were wanted: a smaller --rho, or more --proposals, have more", f.Count, frequencies))
	}
	found.Options, err = json.Marshal(map[string]any{"proposals": m, "rho": a.Rho, "pick": a.Pick})
	if err != nil {
		return nil, err
	}
	found.Lambda = 0 // it knows none
	return s.provide(ctx, f, form)
}

// chooseHarmonics chooses of the first spherical harmonics by the game, on the sample alone.
func (s *search) chooseHarmonics(found *Found, a LearnedOptions, x []float32, class []int32) (features.Recipe, error) {
	dim := s.recipe.scaling.dim
	if dim < 2 {
		return nil, refuse("pipelines: harmonics are of rows of 2 numbers or more")
	}
	if most := maxSampled / len(class); a.Harmonics > most {
		return nil, usage("--harmonics: of a sample of %s rows at most %d harmonics are looked at (have %d); give a smaller --sample", groups(int64(len(class))), most, a.Harmonics)
	}
	o := align.Harmonic(found.Lambda, s.kernel.Features)
	o.Take, o.Rate = cmp.Or(a.Take, o.Take), cmp.Or(a.Rate, o.Rate)
	recipe, chosen, err := align.Harmonics(x, dim, a.Harmonics, class, s.outputs(), o, func(report align.Report) { s.game = append(s.game, report) })
	if err != nil {
		return nil, &UsageError{err}
	}
	found.Game = &chosen.Reports[len(chosen.Reports)-1]
	if found.Options, err = json.Marshal(o); err != nil {
		return nil, err
	}
	return recipe, nil
}

// provide makes the recipe of the frequencies, and has the passes to come know them.
func (s *search) provide(ctx context.Context, f *learned.Frequencies, form fourier.Form) (features.Recipe, error) {
	data, err := learned.Encode(f)
	if err != nil {
		return nil, err
	}
	r, err := learned.Of(data, form, s.spec.Seed)
	if err != nil {
		return nil, err
	}
	s.recipe.files = []storage.File{{Name: learned.FileName, Data: data}}
	return r, s.job.share(ctx, data, r.SHA256)
}

// adopt makes the features that were found those of the job.
func (s *search) adopt(f *Found) error {
	recipe, err := f.Recipe.Open()
	if err != nil {
		return err
	}
	if s.game != nil {
		data, err := json.MarshalIndent(s.game, "", " ")
		if err != nil {
			return err
		}
		s.recipe.files = append(s.recipe.files, storage.File{Name: GameFile, Data: append(data, '\n')})
	}
	f.Format, f.Program, f.Kernel, f.Files = foundFormat, Version(), f.name(recipe), nil
	for _, file := range s.recipe.files {
		f.Files = append(f.Files, models.SumFile(file.Name, file.Data))
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	s.recipe.files = append(s.recipe.files, storage.File{Name: FoundFile, Data: append(data, '\n')})
	s.recipe.sealed, s.recipe.dim, s.recipe.name = f.Recipe, f.Features, f.Kernel
	return nil
}
