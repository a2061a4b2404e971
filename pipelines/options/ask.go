package options

import (
	"io"

	"github.com/bochner-ml/bochner/pipelines/results"
)

// Ask holds the options of pipelines.Ask: the question and the sums.
type Ask struct {
	Question  Question
	Selection `group:"Model and output"`
	AskLimits `group:"Comparison"`

	// Lambda holds the options for λ; the recipe has the defaults.
	Lambda Lambda `group:"Learner" omit:"Folds,Select"`

	// HTML file for a report with the tables and the plot.
	Report string `flag:"report" group:"Model and output" placeholder:"FILE"`

	// Write a plot of R² to this .png or .svg file.
	Plot string `flag:"plot" group:"Model and output" placeholder:"FILE"`

	// Seed of bootstrap samples and random orders.
	Seed uint64 `flag:"seed" group:"Job" default:"1"`

	// Threads to solve with; 0 is all cores. Does not change results.
	Threads int `flag:"threads" group:"Job"`

	// Keep the sums in memory if they fit in this many bytes, as a number or as 8GB; otherwise read
	// them again when they are needed. 0 is all free memory. Does not change results.
	Memory int64     `flag:"memory" group:"Job" unit:"bytes"`
	Log    io.Writer // notes; nil discards them
}

// NewAsk returns the defaults of the command.
func NewAsk() Ask { return defaults[Ask]() }

// Question is a question to sums.
type Question = results.Question

// Values of Ask.Question.
const (
	QuestionBacktest Question = "backtest" // trains on the dates before each date, and predicts it
	QuestionGroups   Question = "groups"   // leaves out each group, and predicts it
	QuestionMatrix   Question = "matrix"   // trains on each group, and predicts each
	QuestionCurve    Question = "curve"    // trains on the last 1, 2, 4, … dates, and on as many in random order
	QuestionWindow   Question = "window"   // compares windows and half-lives
	QuestionWorth    Question = "worth"    // leaves out each group, to find what it adds to R²
	QuestionBisect   Question = "bisect"   // finds the first date that lowers R² for good
)

// Selection selects sums, and describes what their labels mean.
type Selection struct {
	SumDirs

	// Condition, as for --where, on the sums that models are scored on. The default is all sums for
	// backtest, groups, matrix and window, and the newest fifth of the dates for curve, worth and
	// bisect, which do not train on them.
	Judge string `flag:"judge,common" placeholder:"CONDITION"`

	// Labels that form the groups for the questions groups, matrix and worth, such as country. The
	// question matrix requires it; for the others, each date is a group by default.
	By []string `flag:"by,common" list:"commas" placeholder:"LABELS"`

	// Label that has the date; the default is the last part of the name, or the first label with a
	// date.
	DateLabel string `flag:"date_label" placeholder:"LABEL"`

	// Model with the recipe of the sums. Its lineage says which sums have files that the recipe was
	// drawn from; these sums are marked with *.
	Recipe string `flag:"recipe,common" placeholder:"DIR"`
}

// AskLimits holds the options of single questions.
type AskLimits struct {
	// Train the models of backtest on this many dates before each date; 0 is all.
	Dates int `flag:"train_dates,common"`

	// Dates to leave out between training and prediction in backtest and window.
	Gap int `flag:"gap_dates,common"`

	// Numbers of dates that window compares as windows and as half-lives. The default is powers of
	// two.
	Windows []int `flag:"windows" placeholder:"LIST"`

	// Random orders from which worth estimates the Shapley values of more than 12 groups; 0 estimates
	// none.
	Permutations int `flag:"permutations" default:"20"`

	// R² below which bisect calls a model broken. 0 chooses it: midway between the R² of all dates and
	// the R² of their first half, quarter and so on, for the first of these that is clearly better.
	MinR2 float64 `flag:"min_r2"`
}
