package scoring

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/paired"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { transforms.RegisterSum[Compared](beginCompare) }

// Compare is a pass that scores two models, the champion and the challenger, on the same labelled
// rows. Its Mode must be dataset.KeepPlace, so that rows of two readers can be matched by their
// places, and rows must keep their weights. If rows have keys, these are the keys of their groups. Its sum is Compared.
type Compare struct {
	transforms.Pass
	Champion   Model `json:"champion"`
	Challenger Model `json:"challenger"`
	// Other is the same data as the challenger takes it; nil if both models take the same rows.
	Other *dataset.Dataset `json:"other,omitempty"`
	// Metrics are as for paired.NewSum: of classes if the first is paired.Error.
	Metrics []paired.Metric `json:"metrics"`
	// Unit is the number by which errors of predicted numbers are divided; unused for classes.
	Unit float64 `json:"unit,omitempty"`
	// Grid is the grid of the weights of rows, by which rows count; nil if they have none.
	Grid   *profile.WeightGrid `json:"grid,omitempty"`
	Slices []Slice             `json:"slices,omitempty"` // columns of the champion's rows
}

// Compared is the result of Compare. Its sums are exact.
type Compared struct {
	paired.Sum
	Slices []paired.Slices // of the columns of Compare.Slices
	// Champion and Challenger count the labels that are not classes of the respective model.
	Champion, Challenger schema.LabelCounts
}

// Merge adds the rows of d, of the same pass.
func (c *Compared) Merge(d *Compared) { wire.Merge(c, d) }

// Code implements wire.Coded.
func (c *Compared) Code(w *wire.Coder) {
	c.Sum.Code(w)
	wire.CodedList(w, &c.Slices, math.MaxUint8)
	c.Champion.Code(w)
	c.Challenger.Code(w)
}

// MaxCompared is the largest number of columns of Compare.Slices.
const MaxCompared = 255

// beginCompare prepares the comparison of two models on the rows of a reader. The challenger takes copies of the same
// rows, or reads them again from p.Other.
func beginCompare(ctx context.Context, r *transforms.Reader, p *Compare) (transforms.Accumulator, error) {
	champion, err := p.Champion.applier(ctx, r, 2)
	if err != nil {
		return transforms.Accumulator{}, err
	}
	challenger, err := p.Challenger.applier(ctx, r, 2)
	if err != nil {
		return transforms.Accumulator{}, err
	}
	for _, s := range p.Slices {
		r.Request.IDs = r.Request.IDs || s.Value < 0
	}
	sum := &Compared{Sum: *paired.NewSum(p.Metrics...).Weighted(p.Grid != nil)}
	if p.Data.Key != nil {
		sum.Sum.Grouped()
	}
	for range p.Slices {
		sum.Slices = append(sum.Slices, *paired.NewSlices(&sum.Sum))
	}
	c := &comparing{p: p, sum: sum, by: newSliced(p.Slices), champion: newSide(champion, p, &p.Data),
		challenger: newSide(challenger, p, p.Other)}
	if p.Other != nil {
		c.challenger.rows = &otherRows{ctx: ctx, data: p.Other, shards: p.Shards, label: c.challenger.label()}
	} else {
		c.challenger.rows = &sameRows{from: c.champion, to: c.challenger}
	}
	return transforms.Accumulator{Sum: sum, Label: c.champion.label(), Add: c.add, Done: c.done}, nil
}

// comparing adds blocks to the sum.
type comparing struct {
	p                    *Compare
	sum                  *Compared
	by                   *sliced
	champion, challenger *side
	repeats              []int64
	used, weightless     int64 // rows of the shard
}

// side is one of the two models.
type side struct {
	*applier
	classes bool
	unit    float64
	labels  *openLabels    // of classes
	rows    challengerRows // of the challenger
	losses  []float64      // of a row
}

func newSide(a *applier, p *Compare, d *dataset.Dataset) *side {
	s := &side{applier: a, classes: p.Metrics[0] == paired.Error, unit: p.Unit, losses: make([]float64, len(p.Metrics))}
	if d == nil {
		d = &p.Data
	}
	if s.classes {
		s.labels = newOpenLabels(a.Model.Manifest.Vocabulary, d.Schema.LabelText)
	}
	return s
}

func (s *side) label() dataset.Label {
	if s.classes {
		return s.labels.index
	}
	return schema.ParseTarget
}

// add scores a block by both models. It leaves out rows that one of them cannot read, and counts rows of weight 0.
func (c *comparing) add(at profile.ShardStart, b *rowio.Block) error {
	other, err := c.challenger.rows.take(at, b)
	if err != nil {
		return err
	}
	c.repeats = c.p.Grid.AppendRepeats(c.repeats[:0], b)
	// Take the values of slices first: the model may fill in missing values.
	texts := make([][]string, len(c.by.columns))
	for i := range texts {
		for k := range b.N {
			texts[i] = append(texts[i], c.by.text(i, b, k))
		}
	}
	first, second := c.champion.apply(b), c.challenger.apply(other)
	for i := range b.N {
		if unread(b, i) || unread(other, i) {
			continue
		}
		if len(b.Weights) > 0 && b.Weights[i] == 0 {
			c.weightless++
			continue
		}
		c.used++
		x := c.champion.lossesOf(first, b.Y[i], i, &c.sum.Champion)
		y := c.challenger.lossesOf(second, other.Y[i], i, &c.sum.Challenger)
		group := groupOf(b, i)
		c.sum.Add(group, c.repeats[i], x, y)
		for k := range c.sum.Slices {
			c.sum.Slices[k].Add(texts[k][i], group, c.repeats[i], x, y)
		}
	}
	return nil
}

// lossesOf returns the losses of row i, whose label is y. It counts the label if it is not a class.
func (s *side) lossesOf(output models.Applied, y float64, i int, unseen *schema.LabelCounts) []float64 {
	if !s.classes {
		e := (output.Targets[i] - y) / s.unit
		s.losses[0], s.losses[1] = float64(e*e), math.Abs(e)
		return s.losses
	}
	k := s.Model.Linear.K
	truth := int(y)
	if y < 0 {
		truth = score.Unseen
		unseen.Add([]byte(s.labels.text(y)))
	}
	s.losses[0] = 0
	if int(output.Classes[i]) != truth {
		s.losses[0] = 1
	}
	if len(s.losses) > 1 {
		logLoss, brier := score.ProbabilityLosses(output.Probabilities[i*k:(i+1)*k], truth)
		s.losses[1], s.losses[2] = float64(logLoss), float64(brier)
		if !exact.AllFinite(output.Scores[i*k : (i+1)*k]) {
			s.losses[1] = math.NaN()
		}
	}
	return s.losses
}

// done corrects the report: rows that could not be compared count as unlabeled or bad, not as used.
func (c *comparing) done(r *dataset.Report) error {
	used, weightless := c.used, c.weightless
	c.used, c.weightless = 0, 0
	other, err := c.challenger.rows.done(r)
	if err != nil || r.Fault != "" {
		return err
	}
	if other != nil {
		unlabeled := max(0, other.Unlabeled-r.Unlabeled)
		lost := r.Rows - used - weightless // could not be read only for the challenger
		r.Unlabeled += min(unlabeled, lost)
		r.Bad += max(0, lost-unlabeled)
		listed := len(r.SetAside)
		for _, s := range other.SetAside {
			if !slices.ContainsFunc(r.SetAside[:listed], func(t dataset.SetAside) bool { return t.Line == s.Line }) {
				r.SetAside = append(r.SetAside, s)
			}
		}
		slices.SortStableFunc(r.SetAside, func(a, b dataset.SetAside) int { return int(a.Line - b.Line) })
	}
	r.Rows, r.Weightless = used, r.Weightless+weightless
	return nil
}

// challengerRows gives the challenger the same rows as the champion.
type challengerRows interface {
	// take returns the rows at the places of a block of the champion, valid until the next call.
	take(at profile.ShardStart, b *rowio.Block) (*rowio.Block, error)
	// done ends a shard. r is the report of the champion, to which done may add a fault. If
	// there is another reader, it returns the report of that reader.
	done(r *dataset.Report) (*dataset.Report, error)
}

// sameRows are rows that both models take in the same form.
type sameRows struct {
	from, to *side
	block    rowio.Block
	classes  map[float64]float64 // class index of the challenger, by the champion's
}

// take returns a copy of the block, with classes numbered as by the challenger.
func (s *sameRows) take(_ profile.ShardStart, b *rowio.Block) (*rowio.Block, error) {
	s.block.N, s.block.D, s.block.Bad = b.N, b.D, b.Bad
	s.block.X, s.block.Y = append(s.block.X[:0], b.X[:b.N*b.D]...), append(s.block.Y[:0], b.Y...)
	if !s.from.classes {
		return &s.block, nil
	}
	if s.classes == nil {
		s.classes = map[float64]float64{}
	}
	for i, y := range b.Y {
		index, ok := s.classes[y]
		if !ok {
			text := ""
			if y >= 0 {
				text = s.from.Model.Manifest.Vocabulary.Classes[int(y)]
			} else {
				text = s.from.labels.text(y)
			}
			index, _ = s.to.labels.index([]byte(text))
			s.classes[y] = index
		}
		s.block.Y[i] = index
	}
	return &s.block, nil
}

func (s *sameRows) done(*dataset.Report) (*dataset.Report, error) { return nil, nil }

// otherRows reads the rows once more, in the form that the challenger takes.
type otherRows struct {
	ctx    context.Context
	data   *dataset.Dataset
	shards []dataset.Shard
	label  dataset.Label

	reader *dataset.Reader // of the shard; nil before its first row
	read   rowio.Block
	next   int // row of read
	block  rowio.Block
}

var errPlaces = errors.New("scoring: the two models are given different rows: files have changed since they were " +
	"listed; start again")

// take reads as many rows as the block has, from the same place of the other dataset.
func (o *otherRows) take(at profile.ShardStart, b *rowio.Block) (*rowio.Block, error) {
	if o.reader == nil {
		i := slices.IndexFunc(o.shards, func(s dataset.Shard) bool { return s.File == at.File && s.Start == at.Start })
		o.reader = o.data.ReadFrom(o.ctx, nil, o.shards[i], dataset.Request{Label: o.label, Mode: dataset.KeepPlace})
		o.read.N, o.next = 0, 0
	}
	o.block.Reset(0)
	for o.block.N < b.N {
		if o.next == o.read.N {
			if !o.reader.Next(&o.read) {
				if o.reader.Report().Fault == "" {
					return nil, errPlaces
				}
				// The fault is reported at the end of the shard; until then no row is compared.
				o.block.D = max(o.block.D, 1)
				for i := o.block.N; i < b.N; i++ {
					o.block.X = append(o.block.X, make([]float32, o.block.D)...)
					o.block.Y, o.block.Bad = append(o.block.Y, 0), append(o.block.Bad, i)
				}
				o.block.N = b.N
				break
			}
			o.next = 0
		}
		if unread(&o.read, o.next) {
			o.block.Bad = append(o.block.Bad, o.block.N)
		}
		o.block.D = o.read.D
		o.block.Append(&o.read, o.next)
		o.next++
	}
	return &o.block, nil
}

// done ends a shard. It returns the report on the other dataset, whose fault becomes the fault of r, or an error if
// the two read different rows.
func (o *otherRows) done(r *dataset.Report) (*dataset.Report, error) {
	if o.reader == nil {
		return nil, nil
	}
	defer func() { o.reader.Close(); o.reader = nil }()
	more := o.reader.Next(&o.read)
	other := o.reader.Report()
	switch {
	case r.Fault != "":
		return nil, nil
	case other.Fault != "":
		r.Fault, r.Storage = other.Fault, other.Storage
		return &other, nil
	case more || other.Begin != r.Begin || other.End != r.End:
		return nil, errPlaces
	}
	return &other, nil
}
