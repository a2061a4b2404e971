package alignment

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/features/harmonic"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/internal/spell"
	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/models/learner"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// Options says how the features of the kernels learned and harmonic are found
// in labelled rows.
type Options struct {
	// By is the way to find frequencies: game (default; package align), or lkrf, which weighs
	// frequencies that were drawn. Harmonics are found by the game.
	By     string
	Preset string // of the game: paper (default) or demo

	Lambda float64 // of the game's support vector machine; 0 goes by C
	C      float64 // instead of Lambda: C = 1/(λn); 0 is 1, the paper's

	Chains int // of the game's search; 0 is the preset's, as with Steps and Take
	Steps  int
	Take   int     // frequencies, or harmonics, of a round
	Rate   float64 // of the dual weights (align.Options.Rate); 0 is the preset's, and 3 for harmonics
	Sample int     // rows that are searched on; 0 chooses
	// Exact searches on all rows. Equal rows of one class count once in the search.
	Exact bool

	Proposals int     // of lkrf: frequencies drawn; 0 is 20 for each that is wanted
	Rho       float64 // of lkrf: size of the χ²-ball of the weights; 0 is 10
	Pick      string  // of lkrf: top (default), the largest weights; or draw

	// Held is how many parts rows are cut into, the first of which is not looked at: it
	// judges. 0 learns from all rows.
	HeldOut int

	Harmonics int // how many of the first harmonics are looked at; 0 is 1,000

	learner.Running // partitions: 0 is DefaultPartitions
}

// Limits of the search's sample.
const (
	// DefaultSample is the largest that is chosen: the paper's experiments have as many rows.
	DefaultSample = 10_000
	maxSample     = 1 << 16
	maxSampled    = 1 << 27 // numbers
	chosenSampled = 1 << 24 // numbers, where the size is chosen
)

// DefaultPartitions is the number of partitions where none is given.
const DefaultPartitions = 8

// What one round of the game takes: see align.Learner.
const (
	RoundsOfAGame = 5 // rounds of package rounds
	ReadsOfAGame  = 2 // of these read the rows
)

// chosenSample is how many rows of dim numbers are searched on where nothing is said.
func chosenSample(dim int) int { return max(1, min(DefaultSample, chosenSampled/dim)) }

func (a Options) WithDefaults() Options {
	if a.By == "" {
		a.By = "game"
	}
	if a.Preset == "" {
		a.Preset = "paper"
	}
	if a.Pick == "" {
		a.Pick = "top"
	}
	if a.Lambda == 0 && a.C == 0 {
		a.C = 1
	}
	if a.Rho == 0 {
		a.Rho = 10
	}
	if a.Harmonics == 0 {
		a.Harmonics = 1000
	}
	if a.Partitions == 0 {
		a.Partitions = DefaultPartitions
	}
	if a.PerJob == 0 {
		a.PerJob = RoundsOfAGame
	}
	return a
}

// presets are the options of the game by the names of the flag.
var presets = map[string]func(lambda, width float64, frequencies int, seed uint64) align.Options{
	"paper": align.Paper, "demo": align.Demo,
}

// Game returns the options of a game for so many frequencies.
func (a Options) Game(lambda, width float64, frequencies int, seed uint64) align.Options {
	o := presets[a.Preset](lambda, width, frequencies, seed)
	o.Alternations = 0 // align.Learner projects exactly
	o.Search.Chains, o.Search.Steps = cmp.Or(a.Chains, o.Search.Chains), cmp.Or(a.Steps, o.Search.Steps)
	o.Take, o.Rate = cmp.Or(a.Take, o.Take), cmp.Or(a.Rate, o.Rate)
	return o
}

// Validate refuses what cannot be right whatever the data are. The kernel is the one whose
// features are to be found.
func (a Options) Validate(k kernel.Found) error {
	_, harmonics := k.(*harmonic.Options)
	good := func(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
	choices := map[string][]string{"align": {"game", "lkrf"}, "preset": spell.Names(presets), "pick": {"top", "draw"}}
	for name, have := range map[string]string{"align": a.By, "preset": a.Preset, "pick": a.Pick} {
		if list := choices[name]; !slices.Contains(list, have) {
			return exit.Usage("--%s: unknown word %q%s; have %s", name, have, spell.DidYouMean(have, list), strings.Join(list, ", "))
		}
	}
	switch {
	case a.Lambda != 0 && a.C != 0:
		return exit.Usage("--align_c and --align_lambda say the same thing, C = 1/(λn): give one of them")
	case a.Lambda != 0 && !good(a.Lambda), a.C != 0 && !good(a.C):
		return exit.Usage("--align_lambda and --align_c must be numbers > 0 (have %g)", a.Lambda+a.C)
	case a.Chains < 0 || a.Steps < 0 || a.Take < 0:
		return exit.Usage("--chains, --steps and --take must be 0 (those of the preset) or more (have %d, %d, %d)", a.Chains, a.Steps, a.Take)
	case a.Rate != 0 && !good(a.Rate):
		return exit.Usage("--align_rate must be a number > 0, or 0 for that of the preset (have %g)", a.Rate)
	case harmonics && a.Preset != "paper":
		return exit.Usage("--preset %s has constants of frequencies; harmonics have their own", a.Preset)
	case a.Sample < 0 || a.Sample > maxSample:
		return exit.Usage("--sample must be between 1 and %d, or 0 to choose (have %d)", maxSample, a.Sample)
	case a.Sample > 0 && a.Exact:
		return exit.Usage("--exact_chains is --sample of all rows: give one of them")
	case !good(a.Rho):
		return exit.Usage("--rho must be a number > 0 (have %g)", a.Rho)
	case a.Proposals < 0 || a.Proposals > 1<<20:
		return exit.Usage("--proposals must be between 1 and %d, or 0 to choose (have %d)", 1<<20, a.Proposals)
	case a.Harmonics < 1 || a.Harmonics > 1<<16:
		return exit.Usage("--harmonics must be between 1 and %d (have %d)", 1<<16, a.Harmonics)
	case harmonics && a.By == "lkrf":
		return exit.Usage("--align lkrf weighs frequencies, not harmonics; give --kernel learned")
	}
	if err := a.Running.Validate(); err != nil {
		return &exit.UsageError{Err: err}
	}
	return nil
}

// Plays returns how many frequencies are found by rounds of the game over all rows; 0 where
// features are found on the sample alone.
func (a Options) Plays(k kernel.Found) int {
	if k, ok := k.(*learned.Options); ok && a.By == "game" {
		return k.Count()
	}
	return 0
}

// SampleRows is how many rows of dim numbers features are searched on, of so many; 0 is
// a number that is not known.
func (a Options) SampleRows(rows int64, dim int) int64 {
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
