package iterative

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/safetensors"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/profile"
)

// FitResult is the result of Fit.
type FitResult struct {
	*linear.Machine
	Options any      // what Seal returned
	History []Report // reports on the state of each round, up to the one that was used
	Ended   string   // why the training stopped
}

// Last returns the report on the weights of the model.
func (r *FitResult) Last() Report { return r.History[len(r.History)-1] }

// With patience, one of heldOutShare rows is held out.
const heldOutShare = 5

// Fit trains an iterative learner on rows in memory, with one λ, on all cores. The features of all rows are in
// memory, 4 bytes each. Training on a file of these rows with the same options gives the same weights, byte for byte.
//
// Options about files and about several partitions (Init, Curve, Partitions above 1) are an error. With
// Patience one row in five is held out, chosen by content.
func Fit(d *linear.Data, lambda float64, options LearnerOptions) (*FitResult, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	name := DefinitionOf(options).Name
	options = options.WithDefaults()
	o := options.Common()
	o.Running.SetDefaults(1, false)
	if o.Init != "" || o.Curve != "" || o.Partitions > 1 {
		return nil, fmt.Errorf("%s: Init, Curve and Partitions are for trainings of files", name)
	}
	_, dim := d.Map.Dims()
	sampled := options.Needs(Size{Features: dim}).Sample
	survey := 0 // number of rows for the profile
	if DefinitionOf(options).Joint {
		survey = sampled
	}
	m, err := newMemory(d, o.Patience > 0, survey)
	if err != nil {
		return nil, err
	}
	classes := d.Names(m.outputs)
	p, err := o.Problem(loss.Problem{Dim: m.dim, Rows: m.learned, Lambda: lambda}, options.DefaultLoss(classes != nil), classes,
		m.byClass)
	if err != nil {
		return nil, err
	}
	s := Setting{Seed: seed, Heaviest: 1, Path: []float64{lambda}, SampleFile: "sample"}
	if m.mean > 0 {
		s.Heaviest = m.most / m.mean
	}
	if sampled > 0 {
		s.Sample = SampleFeatures(m.sum, m.Map, m.span, m.grid, sampled)
	}
	sealed, err := options.Seal(p, s)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(sealed)
	if err != nil {
		return nil, err
	}
	var file any // the decoded sample file
	l, err := OpenLearner(name, data, func(_ string, decode func([]byte) (any, error)) (_ any, err error) {
		if file == nil {
			file, err = decode(EncodeSample(s.Sample))
		}
		return file, err
	})
	if err != nil {
		return nil, err
	}
	r, err := run(l, m.blocks(), o.Stop, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	r.Map, r.Options = d.Map, sealed
	if m.grid != nil {
		r.Grid = linear.Grids{*m.grid}
	}
	return r, nil
}

// seed is the seed of folds, samples and steps, which is an option when training on files.
const seed = 1

// memory holds the rows of a Fit as iterative learners need them.
type memory struct {
	*linear.Data
	in, dim, n int
	outputs    int
	byClass    []float64          // sum of the weights of each class
	mean       float64            // mean weight of the training rows; 0 if all weights are equal
	most       float64            // the largest weight
	grid       *linear.TargetGrid // scales the targets; nil for classes
	heldOut    []bool             // of each row; nil if none are held out
	learned    int64              // number of training rows: not held out, of weight above 0
	sum        *profile.Sum       // sample of the training rows, with their labels
	span       *linear.TargetGrid // range of the labels of the sample
}

// newMemory checks the data, and decides which rows are held out, if hold is true, and the grid of targets.
func newMemory(d *linear.Data, hold bool, sample int) (*memory, error) {
	n, outputs, err := d.Validate()
	if err != nil {
		return nil, err
	}
	m := &memory{Data: d, n: n, outputs: outputs}
	m.in, m.dim = d.Map.Dims()
	if d.Target != nil {
		if outputs > 1 {
			return nil, fmt.Errorf("iterative: rows have %d targets; iterative learners take one, ridge several", outputs)
		}
		spans, err := d.Grids()
		if err != nil {
			return nil, err
		}
		m.span = &spans[0]
	}
	_, m.byClass = d.Weighed(outputs)
	var hashes []uint64 // by which rows are held out
	if hold {
		if hashes, err = d.FoldHashes(seed, heldOutShare); err != nil {
			return nil, err
		}
	}
	m.survey(hashes, sample)
	if m.learned == 0 || hold && !slices.Contains(m.heldOut, true) {
		return nil, errors.New("iterative: too few rows to hold some out")
	}
	if m.span != nil {
		m.grid = SampleGrid(m.sum, *m.span)
	}
	return m, nil
}

// survey holds out rows by the hashes, unless these are nil, and samples the other rows.
func (m *memory) survey(byFold []uint64, sample int) {
	m.sum = profile.New(profile.Options{Sample: sample})
	if byFold != nil {
		m.heldOut = make([]bool, m.n)
	}
	var labeled rowio.Block
	var hashes []uint64
	var weights profile.WeightSum
	flush := func() {
		m.sum.AddBlock(&labeled, hashes)
		m.learned += int64(labeled.N)
		labeled.Reset(m.in + 1)
		hashes = hashes[:0]
	}
	labeled.Reset(m.in + 1)
	for i := range m.n {
		if m.Weight(i) == 0 {
			continue
		}
		row := m.Row(i)
		if byFold != nil && byFold[i]%heldOutShare == 0 {
			m.heldOut[i] = true
			continue
		}
		labeled.X = append(append(labeled.X, row...), m.label(i, m.span))
		hashes = append(hashes, profile.RowHash(seed, row))
		weights.Add(m.Weight(i))
		labeled.N++
		if labeled.N == rowio.RowsPerBlock(m.in+1) {
			flush()
		}
	}
	flush()
	if w := weights.Result(); !w.Equal() {
		m.mean, m.most = w.Mean(), w.Max
	}
}

// label returns the label of row i, scaled as learners take it.
func (m *memory) label(i int, grid *linear.TargetGrid) float32 {
	if grid == nil {
		return float32(m.Class[i])
	}
	return grid.Scaled(m.Target[i])
}

// blocks maps all rows to features. Training rows and held-out rows are in separate blocks, both in their order.
func (m *memory) blocks() []Block {
	limit := min(rowio.RowsPerBlock(m.in), rowio.RowsPerFeatureBlock(m.dim))
	var (
		all   []Block
		sides [2]Block     // training rows, held-out rows
		x     [2][]float32 // their values
	)
	flush := func(side int) {
		b := &sides[side]
		if b.N == 0 {
			return
		}
		b.D, b.HeldOut, b.Phi = m.dim, side == 1, make([]float32, b.N*m.dim)
		parallel.Ranges(b.N, mapped, runtime.GOMAXPROCS(0), func(lo, hi int) {
			m.Map.Apply(b.Phi[lo*m.dim:hi*m.dim], x[side][lo*m.in:], hi-lo)
		})
		all = append(all, *b)
		x[side], *b = x[side][:0], Block{Index: b.Index + 1}
	}
	for i := range m.n {
		if m.Weight(i) == 0 {
			continue
		}
		side := 0
		if m.heldOut != nil && m.heldOut[i] {
			side = 1
		}
		b := &sides[side]
		x[side] = append(x[side], m.Row(i)...)
		b.Y = append(b.Y, m.label(i, m.grid))
		if m.mean > 0 {
			b.Weights = append(b.Weights, m.Weight(i)/m.mean)
		}
		b.N++
		if b.N == limit {
			flush(side)
		}
	}
	flush(0)
	flush(1)
	return all
}

// mapped is the number of rows that a thread maps at a time.
const mapped = 64

// SampleSize returns the size of a small sample: a thousand rows, with at most 256 MB of features.
func SampleSize(features int) int { return max(1, min(1000, (64<<20)/features)) }

// SampleGrid returns the grid that scales targets, from a sample of rows whose last column is the target
// on the grid span.
func SampleGrid(sum *profile.Sum, span linear.TargetGrid) *linear.TargetGrid {
	x, n, width := sum.Sample()
	targets := make([]float32, n)
	for i := range targets {
		targets[i] = x[(i+1)*width-1]
	}
	return linear.SpreadGrid(targets, span)
}

// SampleFeatures returns the features of at most limit rows of a sample, whose last column is the label.
// Unless to is nil, labels are targets on the grid from; they are converted to the grid to.
func SampleFeatures(sum *profile.Sum, m features.Map, from, to *linear.TargetGrid, limit int) Block {
	x, n, width := sum.Sample()
	_, dim := m.Dims()
	n = min(n, limit)
	b := Block{N: n, D: dim, Phi: make([]float32, n*dim), Y: make([]float32, n)}
	for i := range n {
		row := x[i*width : (i+1)*width]
		m.Apply(b.Phi[i*dim:], row[:width-1], 1)
		b.Y[i] = row[width-1]
		if to != nil {
			b.Y[i] = to.Scaled(from.Unscaled(row[width-1]))
		}
	}
	return b
}

// EncodeSample returns a file with the features of a sample, as an n×D array "features".
func EncodeSample(b Block) []byte {
	return safetensors.Encode(nil, safetensors.NewTensor("features", b.Phi[:b.N*b.D], b.N, b.D))
}
