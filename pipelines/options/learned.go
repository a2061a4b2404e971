package options

import "github.com/bochner-ml/bochner/models/iterative"

// Game holds the options for learning features from labels.
type Game struct {
	// How the frequencies of --kernel learned are learned: game, or lkrf, which weights drawn
	// frequencies. Both include frequencies of one or two columns that agree with the labels far
	// better than random ones.
	//
	// Harmonics are always learned by the game (package align).
	By LearnedBy `flag:"align" default:"game" values:"game,lkrf"`

	// Constants of the game: paper, or demo (from the authors' demonstration, which takes one
	// frequency per round).
	Preset Preset `flag:"preset" default:"paper" values:"paper,demo"`

	// Regularisation λ of the game's support vector machine, relative to the mean loss; 0 uses
	// --align_c.
	Lambda float64 `flag:"align_lambda"`

	// Alternative to --align_lambda: C = 1/(λn), where n is the number of rows; 0 is 1.
	C float64 `flag:"align_c"`

	// Search chains in each round of the game; 0 is 500.
	Chains int `flag:"chains"`

	// Steps of each chain; 0 is 100.
	Steps int `flag:"steps"`

	// Frequencies that each round adds, the best that its chains found; 0 is 10 for the preset paper,
	// 1 for demo.
	Take int `flag:"take"`

	// Step size of the dual variables; 0 is 1 for the preset paper, 0.1 for demo, 3 for harmonics.
	// With many rounds a larger step can do better.
	Rate float64 `flag:"align_rate"`

	// Rows that the chains search on; 0 is 10000, or fewer if rows are long.
	Sample int `flag:"sample"`

	// Search on all rows; the limit is 65536 rows.
	//
	// Equal rows of one class count once.
	Exact bool `flag:"exact_chains"`

	LKRF

	// HeldOut is the number of folds. Features are not learned from the first fold, which can then
	// measure held-out errors; with 0 they are learned from all rows.
	HeldOut int

	// For --kernel harmonic: number of harmonics to choose from, lowest degree first; 0 is 1000.
	Harmonics int `flag:"harmonics"`

	iterative.Running `group:"Iterative learners"` // Partitions: 0 means 8
}

// LearnedBy is a method that learns features.
type LearnedBy string

// Values of Game.By.
const (
	LearnedByGame LearnedBy = "game"
	LearnedByLKRF LearnedBy = "lkrf"
)

// Preset names constants of the game.
type Preset string

// Values of Game.Preset.
const (
	PresetPaper Preset = "paper"
	PresetDemo  Preset = "demo"
)

// LKRF are the options of the method lkrf ("learning kernels with random features", Sinha & Duchi
// 2016), which weights drawn frequencies.
type LKRF struct {
	// For lkrf: frequencies to draw; 0 is 20 for each frequency that is kept.
	Proposals int `flag:"proposals"`

	// For lkrf: radius of the ball of weights; 0 is 10.
	Rho float64 `flag:"rho"`

	// For lkrf: top keeps the frequencies with the largest weights, draw samples frequencies by
	// weight.
	Pick Pick `flag:"pick" default:"top" values:"top,draw"`
}

// Pick is how frequencies are chosen by their weights.
type Pick string

// Values of LKRF.Pick.
const (
	PickTop  Pick = "top"
	PickDraw Pick = "draw"
)

// Align holds the options of pipelines.Align: the features to learn and the labelled data.
type Align struct {
	Prepare `omit:"Split,Room"` // Kernel is learned or harmonic
	Learned Game                `group:"Learned features"`

	// Directory to create; it must not exist.
	Out string `flag:"out,common" group:"Model and output" placeholder:"PATH"`

	// Folds of the rows. The first fold is not used, so that train can choose lambda and report
	// held-out errors on it; 0 is 5. 1 learns from all rows, and then no rows are left for held-out
	// errors.
	Folds int `flag:"folds,common" group:"Learner"`

	// File for a plot of the game's log, .png or .svg.
	Plot string `flag:"curve" group:"Model and output" placeholder:"FILE"`
}

// NewAlign returns the defaults of the command.
func NewAlign() Align {
	o := defaults[Align]()
	o.Learned.Keep = iterative.DefaultKeep
	return o
}
