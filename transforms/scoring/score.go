package scoring

import (
	"context"
	"math"
	"strings"
	"sync"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/paired"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { transforms.RegisterSum[Scores](beginScore) }

// Score is a pass that compares predictions with labels. If rows have keys, they are the keys of their groups.
// Its sum is Scores.
type Score struct {
	transforms.Pass
	Model
	Classifies bool `json:"classifies"` // the model does
	// Grid is the grid of the weights of rows, by which rows count; nil if they have none.
	Grid   *profile.WeightGrid `json:"grid,omitempty"`
	Slices []Slice             `json:"slices,omitempty"`
	Worst  int                 `json:"worst,omitempty"` // number of rows with the largest losses to keep
}

// Scores is the result of Score: one of its fields.
type Scores struct {
	Classes *ClassScores  // of a classifier
	Targets *TargetScores // of a regression
}

// Merge adds the scores of other rows.
func (s *Scores) Merge(t *Scores) { wire.Merge(s, t) }

// Code implements wire.Coded. It writes the field that is set.
func (s *Scores) Code(c *wire.Coder) {
	wire.Optional(c, &s.Classes, func(classes *ClassScores) { classes.Code(c) })
	wire.Optional(c, &s.Targets, func(targets *TargetScores) { targets.Code(c) })
}

func beginScore(ctx context.Context, r *transforms.Reader, p *Score) (transforms.Accumulator, error) {
	a, err := p.Model.applier(ctx, r, 1)
	if err != nil {
		return transforms.Accumulator{}, err
	}
	for _, s := range p.Slices {
		r.Request.IDs = r.Request.IDs || s.Value < 0
	}
	if p.Classifies {
		return a.scoreClasses(p), nil
	}
	return a.scoreTargets(p), nil
}

// scoreClasses sums up how rows are classified.
func (a *applier) scoreClasses(p *Score) transforms.Accumulator {
	sum, by := a.newClassScores(), newSliced(p.Slices)
	sum.Slices = newSlices(p.Slices, a.Model.Linear.K)
	if p.Grid != nil {
		sum.Weighted = score.NewClasses(a.Model.Linear.K)
	}
	sum.Groups = p.grouped(1)
	var sets *covering
	sets, sum.Coverage = newCovering(a, 1)
	var repeats []int64
	if p.Worst > 0 {
		sum.Worst = score.NewWorst(p.Worst)
	}
	labels := newOpenLabels(a.Model.Manifest.Vocabulary, p.Data.Schema.LabelText)
	return transforms.Accumulator{Sum: &Scores{Classes: sum}, Label: labels.index, Add: func(_ profile.ShardStart,
		b *rowio.Block) error {
		repeats = p.Grid.AppendRepeats(repeats[:0], b)
		output := a.apply(b)
		sets.classes(sum.Coverage, output, b.Y, repeats)
		return sum.add(b, output, labels.text, by, repeats)
	}}
}

// grouped returns, for each output, an empty sum of losses by group; nil without groups.
func (p *Score) grouped(outputs int) (sums []paired.Sum) {
	metric := paired.MSE
	if p.Classifies {
		metric = paired.Error
	}
	for range outputs {
		if p.Data.Key != nil {
			sums = append(sums, *paired.NewSum(metric).Weighted(p.Grid != nil).Grouped())
		}
	}
	return sums
}

// scoreTargets sums the errors of predicted numbers.
func (a *applier) scoreTargets(p *Score) transforms.Accumulator {
	k := a.Model.Linear.K
	by := newSliced(p.Slices)
	sum := &TargetScores{OutOfRange: make([]score.OutOfRange, k)}
	grids := a.Model.Manifest.TargetGrid
	for c := range k {
		sum.Targets = append(sum.Targets, *score.NewTargets(grids[c].Mid(), grids[c].Half()))
		sum.Slices = append(sum.Slices, newSlices(p.Slices, 0)...)
	}
	sum.Groups = p.grouped(k)
	if p.Worst > 0 {
		sum.Worst = score.NewWorst(p.Worst)
	}
	var intervals *covering
	intervals, sum.Coverage = newCovering(a, k)
	var repeats []int64
	return transforms.Accumulator{Sum: &Scores{Targets: sum}, Label: p.Target.Label(), Add: func(_ profile.ShardStart,
		b *rowio.Block) error {
		repeats = p.Grid.AppendRepeats(repeats[:0], b)
		output := a.apply(b)
		targets := output.Targets
		intervals.targets(sum.Coverage, output, b.Y, repeats)
		for i := range b.N {
			for c, y := range b.Labels(i) {
				sum.Targets[c].Add(y, targets[i*k+c], repeats[i])
				if sum.Worst != nil && c == 0 {
					sum.Worst.Add(math.Abs(y-targets[i*k]), y, targets[i*k], b.Row(i))
				}
				if repeats[i] > 0 {
					sum.OutOfRange[c].Add(float64(output.Scores[i*k+c]))
				}
				if sum.Groups != nil {
					e := (targets[i*k+c] - y) / grids[c].Half()
					sum.Groups[c].Add(groupOf(b, i), repeats[i], []float64{0}, []float64{e * e})
				}
			}
			for s := range by.columns {
				text := by.text(s, b, i)
				for c, y := range b.Labels(i) {
					sum.Slices[c*len(by.columns)+s].AddTarget(text, y, targets[i*k+c], repeats[i])
				}
			}
		}
		return nil
	}}
}

// newClassScores returns the scores of no rows.
func (a *applier) newClassScores() *ClassScores {
	k := a.Model.Linear.K
	s := &ClassScores{Hits: *score.NewClasses(k), Ranking: *score.NewRanking(k, a.Model.Manifest.PositiveClass(),
		score.MaxCells, a.Model.Manifest.Probabilities != nil)}
	if a.Model.Manifest.Probabilities != nil {
		s.Probabilities = score.NewReliability(k, reliabilityBins)
	}
	return s
}

// openLabels converts labels to class indices. Labels that the model does not know get numbers below 0, so
// that every prediction for such a row is wrong. text returns the text of a label from its number.
//
// Labels are read in one goroutine and scored in another.
type openLabels struct {
	known *schema.Vocabulary
	lower map[string]int // classes by their text in lower case; −1 if two classes have the same

	mu     sync.Mutex
	place  map[string]int // index of a label in unseen
	unseen []string
}

// newOpenLabels returns the labels of a model. Labels that are read in lower case are
// compared with its classes in lower case.
func newOpenLabels(known *schema.Vocabulary, text *dataset.LabelText) *openLabels {
	l := &openLabels{known: known}
	if text == nil || !text.Lower {
		return l
	}
	l.lower = make(map[string]int)
	for i, class := range known.Classes {
		key := strings.ToLower(class)
		if _, twice := l.lower[key]; twice {
			i = -1
		}
		l.lower[key] = i
	}
	return l
}

// maxUnseen is how many labels are distinguished: one more than schema.LabelCounts, which then
// counts them without their names.
const maxUnseen = schema.MaxClasses + 1

// index is a dataset.Label.
func (l *openLabels) index(token []byte) (float64, string) {
	if i, ok := l.known.Index(token); ok {
		return float64(i), ""
	}
	if i, ok := l.lower[string(token)]; ok && i >= 0 {
		return float64(i), ""
	}
	if len(token) > schema.MaxLabel {
		token = token[:schema.MaxLabel+1] // LabelCounts does not name longer labels
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i, ok := l.place[string(token)]
	if !ok {
		i = len(l.unseen)
		if i == maxUnseen {
			return -maxUnseen, ""
		}
		if l.place == nil {
			l.place = make(map[string]int)
		}
		text := string(token)
		l.place[text] = i
		l.unseen = append(l.unseen, text)
	}
	return float64(-1 - i), ""
}

// text returns the label for which index returned a number below 0.
func (l *openLabels) text(y float64) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unseen[-1-int(y)]
}
