package plan

import (
	"fmt"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// passes lists the passes of a job over the data.
func (p *Plan) passes(o spec.Options, d *dataset.Dataset, seen *preview) {
	p.Learner = o.LearnerName()
	switch l := o.Iterative(); {
	case p.Components > 0:
		p.Learner = iterative.DefinitionOf(pca.NewLearnerOptions()).Name
		p.Folds = 1
		p.scan("one to profile it")
		p.scan("one to sum its features")
	case l != nil:
		p.iterative(o.WithPartitions(1))
	default:
		p.sums(o)
	}
	if preprocess.NeedsLabelSums(d.Schema.Table, o.Encode) {
		p.scan("one to sum labels by categories")
	}
	if o.FoldCount() > 0 && len(preprocess.Categories(d.Schema.Table, o.Encode, preprocess.CountEncoding)) > 0 {
		p.scan("one to count levels of categories")
	}
	if o.Searching() {
		p.Searched = int64(tuning.PilotRows(seen.searched()))
		p.scan("one for the rows on which features are searched")
	}
	if o.LearnsFeatures() {
		p.learning(o, seen.Dim)
	}
	if o.CalibrationPass(seen.Outputs, seen.Features) && !seen.Regression && p.Components == 0 {
		p.scan("one to calibrate")
	}
	if o.ChoosesThreshold() {
		p.Threshold = o.Threshold
		p.scan("one to choose the threshold")
	}
	if p.measures(o) {
		p.scan("one to measure intervals")
	}
}

// measures reports whether intervals take a pass. They do not with ridge, which measures them while it scores
// held-out rows, unless the curves of classes take a pass.
func (p *Plan) measures(o spec.Options) bool {
	if o.Intervals == options.IntervalsNone || o.FoldCount() == 0 || p.Components > 0 {
		return false
	}
	if o.Iterative() == nil {
		return o.CalibrationRequested()
	}
	return p.Calibrate != "" || p.Regression || o.LossProbabilities() != ""
}

// calibration describes how probabilities are computed, "" if scores are not calibrated.
func calibration(o spec.Options, seen *preview) options.Calibration {
	if calibrates, _ := o.WillCalibrate(seen.Outputs, seen.Features); !calibrates || seen.Regression {
		return ""
	}
	return o.Calibrate
}

// scan adds a pass, which is a pipeline, with its purpose.
func (p *Plan) scan(purpose string) {
	if p.purposes != "" {
		purpose = ", " + purpose
	}
	p.Passes++
	p.Pipelines++
	p.purposes += purpose
}

// sums plans a fit in one pass.
func (p *Plan) sums(o spec.Options) {
	lambda, folds := o.Values(1)
	p.Lambdas, p.Folds = len(lambda), folds
	p.scan("one to profile it")
	p.scan("one to train")
	if folds > 1 {
		p.scan("one to score held-out rows")
	}
}

// iterative plans the fit of an iterative learner.
func (p *Plan) iterative(o spec.Options) {
	lambda, folds := o.Values(max(p.Rows, 1))
	l := o.Iterative()
	r := l.Common()
	p.Lambdas, p.Folds, p.Rounds = len(lambda), max(folds, 1), r.Rounds
	p.fits = len(lambda)
	if iterative.DefinitionOf(l).Joint {
		p.fits = 1
	}
	if len(lambda) > 1 || o.FitsWithoutFirst() {
		p.fits++ // the final fit to all rows
	}
	p.scan("one to profile it")
	needs := l.Needs(iterative.Size{Features: p.Features})
	if folds > 0 || needs.Sample > 0 || p.Regression && r.Init == "" {
		p.scan("one to survey it")
	}
	p.fitPasses = p.fits * (r.Rounds + 1)
	need := "of which learners rarely need all"
	if needs.Steps > 0 {
		need = "all of which " + p.Learner + " may need with many partitions"
	}
	p.Passes += p.fitPasses
	p.purposes += ", and at most one per round, " + need
	p.Pipelines += p.fits * ((r.Rounds + r.PerJob) / r.PerJob)
}

// learning adds the passes of feature learning: one to sample rows, and the passes of the game.
func (p *Plan) learning(o spec.Options, dim int) {
	a := o.Learned
	p.scan("one for the sample of feature learning")
	n := tuning.SampleRows(a, p.Rows, dim)
	frequencies := tuning.GameFrequencies(a, o.LearnedKernel())
	if frequencies == 0 {
		return
	}
	game := tuning.GameOf(a, 1, 1, frequencies, o.Seed)
	p.Game = (game.Frequencies + game.Take - 1) / game.Take
	p.search = float64(p.Game) * float64(game.Search.Chains) * float64(game.Search.Steps) * float64(n)
	p.gamePartitions = a.Partitions
	p.gamePasses = 1 + tuning.ReadsOfAGame*p.Game
	p.Passes += p.gamePasses
	p.Pipelines += (tuning.RoundsOfAGame*p.Game + a.PerJob) / a.PerJob
	p.purposes += fmt.Sprintf(", %d for %s of a game that finds %d frequencies per round, more if it finds fewer",
		p.gamePasses, report.Counted(p.Game, "round"), game.Take)
}
