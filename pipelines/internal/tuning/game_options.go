package tuning

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

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
	a.By = cmp.Or(a.By, options.ByGame)
	a.Preset = cmp.Or(a.Preset, options.PaperPreset)
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

// presets has the function of package align for each value of --preset.
var presets = map[options.Preset]func(lambda, width float64, frequencies int, seed uint64) align.Options{
	options.PaperPreset: align.PaperOptions, options.DemoPreset: align.DemoOptions,
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
	choices := map[string][]string{"align": option.Names(options.ByGame, options.ByLKRF),
		"preset": option.SortedNames(presets), "pick": option.Names(options.PickTop, options.PickDraw)}
	for name, have := range map[string]string{"align": string(a.By), "preset": string(a.Preset), "pick": string(a.Pick)} {
		if list := choices[name]; !slices.Contains(list, have) {
			return exit.Usagef("--%s: unknown value %q%s; have %s", name, have, option.DidYouMean(have, list),
				strings.Join(list, ", "))
		}
	}
	switch {
	case a.Lambda != 0 && a.C != 0:
		return exit.Usagef("--align_c and --align_lambda are mutually exclusive (C = 1/(λn)): give one of them")
	case a.Lambda != 0 && !good(a.Lambda), a.C != 0 && !good(a.C):
		return exit.Usagef("--align_lambda and --align_c must be above 0 (have %g)", a.Lambda+a.C)
	case a.Chains < 0 || a.Steps < 0 || a.Take < 0:
		return exit.Usagef("--chains, --steps and --take must not be negative; 0 uses the preset's (have %d, %d, %d)",
			a.Chains, a.Steps, a.Take)
	case a.Rate != 0 && !good(a.Rate):
		return exit.Usagef("--align_rate must be above 0, or 0 for the preset's (have %g)", a.Rate)
	case harmonics && a.Preset != options.PaperPreset:
		return exit.Usagef("--preset %s cannot be used with --kernel harmonic, which has its own constants", a.Preset)
	case a.Sample < 0 || a.Sample > maxSample:
		return exit.Usagef("--sample must be between 1 and %d, or 0 to choose (have %d)", maxSample, a.Sample)
	case a.Sample > 0 && a.Exact:
		return exit.Usagef("--exact_chains and --sample are mutually exclusive: give one of them")
	case !good(a.Rho):
		return exit.Usagef("--rho must be above 0 (have %g)", a.Rho)
	case a.Proposals < 0 || a.Proposals > 1<<20:
		return exit.Usagef("--proposals must be between 1 and %d, or 0 to choose (have %d)", 1<<20, a.Proposals)
	case a.Harmonics < 1 || a.Harmonics > 1<<16:
		return exit.Usagef("--harmonics must be between 1 and %d (have %d)", 1<<16, a.Harmonics)
	case harmonics && a.By == options.ByLKRF:
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
	if k, ok := k.(*learned.Options); ok && a.By == options.ByGame {
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
