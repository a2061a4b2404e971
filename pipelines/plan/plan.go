// Package plan estimates in advance what a training needs: passes, memory and, on a cluster,
// machines and time.
package plan

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/search"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
)

// Plan is what a training will need, as far as the sizes of the files and a bounded preview of
// their rows tell.
type Plan struct {
	PlanData
	PlanWork
	estimate
	PlanModel
	spec.Memory
	// Stored is the size of the sums that readers store as files of the work directory, at most, or
	// of the rows in place of them; while they run they may hold as much again in checkpoints.
	// Shuffle is what workers exchange through the runner.
	Stored  int64 `json:"bytes_stored"`
	Shuffle int64 `json:"bytes_shuffled"`
	PlanDecision
	Cluster *Cluster `json:"cluster,omitempty"` // for runners with machines of their own
	planNotes
	// Refused says why a training would be refused, if the frequencies of the map are too many.
	Refused string `json:"refused,omitempty"`
}

// PlanData describes the files of a plan.
type PlanData struct {
	Files   int    `json:"files"`
	Format  string `json:"format"`
	Bytes   int64  `json:"bytes"` // of the stored files
	Shards  int    `json:"shards"`
	Rows    int64  `json:"rows"`       // 0 if unknown
	Exact   bool   `json:"rows_exact"` // Rows is not an estimate
	Columns int    `json:"columns"`    // numbers per row
}

// PlanWork says what the job of a plan does.
type PlanWork struct {
	Passes  int    `json:"passes"` // over the data
	Lanes   int    `json:"lanes"`
	Learner string `json:"learner"`
	Rounds  int    `json:"rounds,omitempty"`      // of an iterative learner, at most, for each λ
	Parts   int    `json:"partitions,omitempty"`  // of the rows, in these rounds
	Game    int    `json:"game_rounds,omitempty"` // of feature learning, if each finds as many as it may
	Jobs    int    `json:"pipelines"`
	Objects int64  `json:"objects"` // written into the work directory, at most
}

// estimate has what costs depend on.
type estimate struct {
	fits    int     // of an iterative learner
	maps    int     // passes of these fits, which map all rows to all features
	plays   int     // passes of feature learning in rounds
	players int     // partitions of these
	search  float64 // angles that feature learning computes in total
	how     string  // purpose of the passes
	// sumsHeld is the number of sums of a lane.
	sumsHeld int
}

// PlanModel describes the model of a plan, as far as a preview of the rows tells.
type PlanModel struct {
	Features   int   `json:"features"`
	Components int   `json:"components,omitempty"` // of an embedding, which has no learner
	Folds      int   `json:"folds"`
	Lambdas    int   `json:"lambdas"`
	Outputs    int   `json:"outputs"` // classes in the preview, or 1
	Regression bool  `json:"regression"`
	Seen       int64 `json:"rows_looked_at"` // rows of the preview, to which Columns and Outputs refer
	Whole      bool  `json:"looked_at_all"`  // the preview has all rows
}

// PlanDecision says how scores become classes, and how features are searched.
type PlanDecision struct {
	Calibrate string `json:"calibrate,omitempty"` // how probabilities are computed
	// Threshold is what chooses a threshold between two classes; "" if held-out rows do not.
	Threshold  string `json:"threshold,omitempty"`
	Searched   int64  `json:"rows_searched,omitempty"` // rows on which features are searched, at most
	Unsearched string `json:"not_searched,omitempty"`  // why they are not
}

// planNotes are notes on the machine.
type planNotes struct {
	machines bool   // the runner starts machines for each job
	beyond   string // note on the machine's memory
	// unbounded is a note on --worker_bytes.
	unbounded string
}

// Training plans Train. It reads up to 64 MB of the files: all of smaller data, a part of
// larger data (see Plan.Whole).
func Training(ctx context.Context, o training.Options) (*Plan, error) { return look(ctx, o, 0) }

// Embedding plans Embed in the same way. It uses the options that both jobs have.
func Embedding(ctx context.Context, o training.Options, t pca.Training) (*Plan, error) {
	o.Learner = &ridge.Training{Grid: t.Grid}
	o.Lambda = training.LambdaOptions{Path: []float64{1}} // one sum only
	o.Search = tuning.NoSearch                            // which needs labels
	return look(ctx, o, cmp.Or(t.Components, pca.DefaultComponents))
}

// look plans a training, or an embedding if there are components.
func look(ctx context.Context, o training.Options, components int) (*Plan, error) {
	if err := o.LoadKernel(ctx); err != nil {
		return nil, err
	}
	o = o.WithDefaults()
	here := o
	if o.Job.Engine.About().Machines {
		here.Job.Engine.Runner, here.Job.Engine.Lanes = "", 0 // a plan needs neither project nor bucket
	}
	here.Model = cmp.Or(here.Model, "model") // nor a model directory
	if err := here.Validate(); err != nil {
		return nil, err
	}
	d, err := o.Types.Open(ctx, o.Data, o.Job.Log)
	if err != nil {
		return nil, err
	}
	if !d.Labeled && components == 0 {
		return nil, prepare.Unlabeled(d)
	}
	if err := o.CheckTargets(d); err != nil {
		return nil, err
	}
	engine := o.Job.Engine.WithDefaults()
	if o.Iterative() == nil {
		if err := (ridge.Shape{Dim: o.Kernel.Size(1).Features, Outputs: 1}).Validate(); err != nil {
			return nil, &exit.UsageError{Err: err}
		}
	}
	seen, err := readPreview(ctx, o, d, components)
	if err != nil {
		return nil, err
	}
	o = o.Solved(seen.Rows, seen.Features, seen.Outputs, seen.Regression)
	var unsearched string
	rows, length := cmp.Or(seen.Rows, search.MaxRows), max(seen.Dim, seen.Scaled)
	if o.Searching() {
		names, undo := tuning.Shorten(d.Schema.Table, o.Encode, rows, length)
		if names != nil {
			seen.encoded(o, d.Schema.Table)
			length = max(seen.Dim, seen.Scaled)
		}
		if unsearched = tuning.Unsearchable(rows, length, len(d.Targets), 0,
			preprocess.NeedsTargets(d.Schema.Table, o.Encode)); unsearched != "" {
			if o.Search = tuning.NoSearch; undo != nil {
				undo()
				seen.encoded(o, d.Schema.Table)
			}
		} else if seen.exact {
			seen.Features = tuning.Features(o.Kernels, seen.Rows, seen.Features)
		}
	}
	p := &Plan{
		PlanData: PlanData{Files: len(d.Files), Format: d.Schema.Format, Bytes: d.Size(), Shards: len(o.Job.Shards(d)),
			Columns: seen.Dim}, PlanModel: PlanModel{Seen: seen.read, Whole: seen.whole, Features: seen.Features,
			Outputs: seen.Outputs, Regression: seen.Regression},
		planNotes: planNotes{machines: engine.About().Machines},
	}
	p.Rows, p.Exact = seen.Rows, seen.exact
	p.Lanes = max(1, min(engine.Lanes, p.Shards))
	p.Learner = o.LearnerName()
	switch l := o.Iterative(); {
	case components > 0:
		p.Learner, p.Components = iterative.DefinitionOf(pca.NewTraining()).Name, components
		p.Folds = 1
		p.scan("one to profile it")
		p.scan("one to sum its features")
	case l != nil:
		p.iterative(o.Spread(1))
	default:
		p.sums(o)
	}
	if preprocess.NeedsTargets(d.Schema.Table, o.Encode) {
		p.scan("one to sum labels by categories")
	}
	if o.Parts() > 0 && len(preprocess.Categories(d.Schema.Table, o.Encode, preprocess.Counts)) > 0 {
		p.scan("one to count levels of categories")
	}
	if p.Unsearched = unsearched; o.Searching() {
		p.Searched = int64(tuning.PilotRows(rows, length))
		p.scan("one for the rows on which features are searched")
	}
	if o.LearnsFeatures() {
		p.learning(o, seen.Dim)
	}
	if p.Calibrate = o.Calibrate; p.Calibrate != "" {
		p.scan("one to calibrate")
	}
	if o.ChoosesThreshold() {
		p.Threshold = o.Threshold
		p.scan("one to choose the threshold")
	}
	p.Refused = tooWide(o, seen)
	p.sumsHeld = o.Planned(seen.Facts).Folds
	if engine.InProcess() {
		p.Memory = o.Memory(seen.Facts, engine, p.Lanes)
		if p.beyond, err = p.Memory.Fits(o); err != nil {
			p.beyond = err.Error() // the purpose of a plan is to find out, so this is not an error
		}
	} else {
		p.Cluster = p.solution(o, seen.Facts, d).cheapest(o.Job.Engine)
		p.Memory, p.Lanes = p.Cluster.memory, max(1, p.Cluster.Lanes)
		o.Job.Engine.Lanes = p.Lanes
	}
	p.unbounded = p.Memory.Bounded(engine)
	if p.Rounds > 0 {
		p.Parts = o.Spread(len(d.Shards(job.ShardBytes))).Iterative().Common().Partitions
	} else {
		p.Stored, p.Shuffle = int64(p.Lanes)*int64(p.sumsHeld)*p.shape().Bytes(), p.lines()*lineBytes
		if p.Carried > 0 {
			p.Stored = 3 * p.Carried // the bytes of the last two checkpoints, and all
		}
	}
	p.Objects = p.objects()
	return p, nil
}

// lineBytes is about what parts of a sum of ridge.MaxPartBytes take in a shuffle: the name of their
// file and their places.
const lineBytes = 150

// shape returns the shape of the sums.
func (p *Plan) shape() ridge.Shape {
	return ridge.Shape{Dim: p.Features, Outputs: p.Outputs, Regression: p.Regression}
}

// runs returns how many runs of parts, which are merged one by one, the sums have.
func (p *Plan) runs() int64 { return int64(p.sumsHeld) * (1 + p.shape().Bytes()/ridge.MaxPartBytes) }

// lines returns how many runs all lanes pass on, or files of rows in place of them.
func (p *Plan) lines() int64 {
	if p.Carried > 0 {
		return min(p.Rows, int64(p.Lanes)*int64(p.sumsHeld)) + p.Carried/ridge.MaxPartBytes
	}
	return int64(p.Lanes) * p.runs()
}

// objects returns how many objects of the work directory a job writes: of itself, of each pass and
// of each fit.
func (p *Plan) objects() int64 {
	const job, pass, fit, round = 6, 3, 2, 2
	n := int64(job + pass*(p.Passes-p.plays-p.maps) + p.plays*(round+2*p.players) + p.maps*(round+2*p.Parts) +
		fit*max(p.fits, 1))
	switch {
	case p.Rounds > 0:
		return n
	case p.Carried > 0:
		return n + p.lines()
	case p.Lanes > 1:
		n += p.runs() // which are merged
	}
	files := int64(p.Lanes) * int64(max(p.Stripes, 1))
	if p.Cluster != nil {
		files *= 1 + p.Cluster.saves
	}
	return n + files
}

// tooWide says why the map cannot be made, if its frequencies take more than is allowed, and what
// helps; "" if it can.
func tooWide(o training.Options, seen *preview) string {
	size := o.Kernel.Size(seen.Scaled)
	if size.Most == 0 || size.Map <= size.Most {
		return ""
	}
	levels, fewer := "", ""
	if seen.Levels > 0 {
		levels = ", one for each level of a category,"
		fewer = ", --max_levels, --encode count or target, --drop"
	}
	return fmt.Sprintf("a training would be refused: frequencies of %s for rows of %s%s take %s, more than %s; use "+
		"--draw structured, fewer --features%s",
		report.Counted(size.Features, "feature"), report.Counted(seen.Scaled, "number"), levels, report.Bytes(size.Map),
		report.Bytes(size.Most), fewer)
}

// scan adds a pass for a purpose, which is a pipeline.
func (p *Plan) scan(purpose string) {
	if p.how != "" {
		purpose = ", " + purpose
	}
	p.Passes, p.Jobs, p.how = p.Passes+1, p.Jobs+1, p.how+purpose
}

// sums plans a fit in one pass.
func (p *Plan) sums(o training.Options) {
	lambda, folds := o.Values(1)
	p.Lambdas, p.Folds = len(lambda), folds
	p.scan("one to profile it")
	p.scan("one to train")
	if folds > 1 {
		p.scan("one to score held-out rows")
	}
}

// iterative plans the fit of an iterative learner.
func (p *Plan) iterative(o training.Options) {
	lambda, folds := o.Values(max(p.Rows, 1))
	l := o.Iterative()
	r := l.Common()
	p.Lambdas, p.Folds, p.Rounds = len(lambda), max(folds, 1), r.Rounds
	if p.fits = len(lambda); iterative.DefinitionOf(l).Joint {
		p.fits = 1
	}
	if len(lambda) > 1 || o.HoldsOut() {
		p.fits++ // the fit to all rows
	}
	p.scan("one to profile it")
	if folds > 0 || l.Samples(p.Features) > 0 || p.Regression && r.Init == "" {
		p.scan("one to survey it")
	}
	p.maps = p.fits * (r.Rounds + 1)
	need := "of which learners rarely need all"
	if l.Steps() > 0 {
		need = "all of which " + p.Learner + " may need with many partitions"
	}
	p.Passes, p.how = p.Passes+p.maps, p.how+", and at most one per round, "+need
	p.Jobs += p.fits * ((r.Rounds + r.PerJob) / r.PerJob)
}

// WriteTo prints the plan for people.
func (p *Plan) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	count := "an unknown number"
	if p.Rows > 0 {
		count = report.Groups(p.Rows)
		if !p.Exact {
			count = "about " + count
		}
	}
	fmt.Fprintf(&b, "data      %s of %s, %s, in %s\n", report.Counted(p.Files, "file"), p.Format, report.Bytes(p.Bytes),
		report.Counted(p.Shards, "shard"))
	labels := ", " + report.Counted(p.Outputs, "output")
	switch {
	case p.Components > 0:
		labels = ""
	case !p.Regression:
		labels = ", " + report.Groups(int64(p.Outputs)) + " classes"
	}
	fmt.Fprintf(&b, "rows      %s, of %s%s\n", count, report.Counted(p.Columns, "number"), labels)
	if !p.Whole {
		fmt.Fprintf(&b, "          of which %s were previewed: others may have more columns and classes, and need more "+
			"memory\n", report.Groups(p.Seen))
	}
	fmt.Fprintf(&b, "passes    %d over the data: %s\n", p.Passes, p.how)
	if p.Components > 0 {
		fmt.Fprintf(&b, "model     %s, %s\n", report.Counted(p.Features, "feature"),
			report.Counted(p.Components, "component"))
	} else {
		shared := ""
		if p.Parts > 0 {
			shared = ", " + report.Counted(p.Parts, "partition")
		}
		fmt.Fprintf(&b, "model     %s, %s of lambda, %s%s\n",
			report.Counted(p.Features, "feature"), report.Counted(p.Lambdas, "value"), report.Counted(p.Folds, "fold"), shared)
	}
	if p.Searched > 0 {
		fmt.Fprintf(&b, "          of features that a search finds, on at most %s rows before\n", report.Groups(p.Searched))
	}
	if p.Unsearched != "" {
		fmt.Fprintf(&b, "          of features that are not searched: %s\n", p.Unsearched)
	}
	if p.Refused != "" {
		fmt.Fprintf(&b, "          %s\n", p.Refused)
	}
	grows := "it does not grow with the rows"
	if p.Row > 0 {
		grows = fmt.Sprintf("it grows by %s per row, over all readers", report.Bytes(p.Row))
	}
	where := "in total"
	if p.Cluster != nil {
		where = "of the driver"
	}
	fmt.Fprintf(&b, "memory    at most %s %s: %s in each of %s, %s to solve; %s\n",
		report.Bytes(p.Peak), where, report.Bytes(p.Worker), report.Counted(p.Lanes, "lane"), report.Bytes(p.Solve), grows)
	if p.Stripes > 1 {
		maps := "mapped once"
		if n := p.mappings(p.Stripes); n > 1 {
			maps = fmt.Sprintf("mapped %d times", n)
		}
		what := "sums"
		if p.Memory.Carried > 0 {
			what = "features"
		}
		fmt.Fprintf(&b, "stripes   %d, so that the %s fit: for them the rows are read %d times and %s\n", p.Stripes, what,
			p.Stripes, maps)
	}
	if p.unbounded != "" {
		fmt.Fprintf(&b, "          %s\n", p.unbounded)
	}
	if p.beyond != "" {
		fmt.Fprintf(&b, "          %s\n", p.beyond)
	}
	what := "sums"
	if p.Memory.Carried > 0 {
		what = "rows"
	}
	if p.Rounds == 0 {
		fmt.Fprintf(&b, "%s      %s at most in files of the work directory, %s shuffled\n", what, report.Bytes(p.Stored),
			report.Bytes(p.Shuffle))
	}
	if p.Cluster != nil {
		fmt.Fprintf(&b, "objects   %s at most are written into the work directory, which is removed at the end\n",
			report.Groups(p.Objects))
		p.Cluster.write(&b, p)
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// learning adds the passes of feature learning: one for a sample of the rows, and the passes of the
// rounds of the game.
func (p *Plan) learning(o training.Options, dim int) {
	a := o.Learned
	p.scan("one for the sample of feature learning")
	n := a.SampleRows(p.Rows, dim)
	frequencies := a.Plays(o.LearnedKernel())
	if frequencies == 0 {
		return
	}
	game := a.Game(1, 1, frequencies, o.Seed)
	p.Game = (game.Frequencies + game.Take - 1) / game.Take
	p.search = float64(p.Game) * float64(game.Search.Chains) * float64(game.Search.Steps) * float64(n)
	p.players, p.plays = a.Partitions, 1+tuning.ReadsOfAGame*p.Game
	p.Passes, p.Jobs = p.Passes+p.plays, p.Jobs+(tuning.RoundsOfAGame*p.Game+a.PerJob)/a.PerJob
	p.how += fmt.Sprintf(", %d for %s of a game that finds %d frequencies per round, more if it finds fewer",
		p.plays, report.Counted(p.Game, "round"), game.Take)
}
