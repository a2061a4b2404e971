package gram

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/audit"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms"
)

// readerSums holds the sums of one reader, fold by fold, and saves them as checkpoints. It implements
// transforms.Saver.
type readerSums struct {
	*Accumulator
	reader    *transforms.Reader
	dir       string
	lines     []int64 // lines of the rows of the current shard
	reports   []Report
	firstOpen int // index of the first report since the last checkpoint
	checkpoints
	final       []storedRun // runs with all rows of the reader; nil until these are stored
	fullFiles   []storedRun // if rows are stored instead of sums: full files, which all later checkpoints share
	rowsPerFile int         // number of rows in a full file
}

// checkpoints are the runs that a reader has stored.
type checkpoints struct {
	attempt string // names the files of checkpoints, with their number
	saves   int
	// previousSave and lastSave are the runs of the last two checkpoints that this reader stored.
	previousSave, lastSave []storedRun
}

func newReaderSums(r *transforms.Reader, p *Pass, dir string) (*readerSums, error) {
	s, err := NewAccumulator(r.Task, r.Stripe, p)
	if err != nil {
		return nil, err
	}
	return &readerSums{Accumulator: s, reader: r, dir: dir, checkpoints: checkpoints{attempt: rand.Text()},
		rowsPerFile: ridge.RowsPerPart(s.shape)}, nil
}

// add adds a block of rows.
func (s *readerSums) add(ctx context.Context, at profile.ShardStart, b *rowio.Block) error {
	if s.listsContents {
		s.lines = append(s.lines, b.Lines...)
	}
	if err := s.Accumulator.add(at, b); err != nil || !s.pass.Spec.Rows {
		return err
	}
	defer s.reader.Clock(transforms.StoreTime)()
	return s.storeFullFiles(ctx)
}

// done takes the report of a shard after its last row.
func (s *readerSums) done(r *dataset.Report) error {
	s.reports = append(s.reports, Report{Report: *r, RowHashes: s.TakeRowHashes(), Positions: s.lines,
		Levels: s.levels.take()})
	s.lines = nil
	return nil
}

// flush adds all collected rows to the sums. It adds the number of features beyond the grid and the
// separately counted rows to the first open report.
func (s *readerSums) flush() {
	saturated := s.Accumulator.flush()
	if s.firstOpen < len(s.reports) {
		r := &s.reports[s.firstOpen]
		r.Saturated = saturated
		if s.all.copies != nil && s.reader.Stripe == 0 {
			r.Copies = profile.AppendFrequentRows(nil, s.all.copies.Rows())
		}
		r.Levels = append(r.Levels, s.levels.copies()...)
	}
	s.begin()
}

// begin starts to collect for the reports after a checkpoint.
func (s *readerSums) begin() {
	s.firstOpen = len(s.reports)
	s.startCopyCounts()
}

// store stores all parts in one file, or rows in several files. The names begin with name. It
// returns all stored runs, and the new ones among them.
func (s *readerSums) store(ctx context.Context, name string) (all, stores []storedRun, err error) {
	defer s.reader.Clock(transforms.StoreTime)()
	if s.pass.Spec.Rows {
		return s.storeRows(ctx, name)
	}
	all, err = storeRuns(ctx, s.dir, name, runsOf(s.shape, s.stripe), s.reader.Scan.Threads, s.part)
	return all, all, err
}

// savedSums is the state of a checkpoint.
type savedSums struct {
	Runs    []storedRun `json:"parts"`
	Reports []Report    `json:"reports"`
}

// Save implements transforms.Saver. The sums are in files of their own.
func (s *readerSums) Save(ctx context.Context, last bool) ([]byte, error) {
	// The last checkpoint is complete, so the one before it is no longer needed. Files of other
	// attempts stay: these attempts may still use them.
	s.remove(ctx, s.previousSave)
	s.previousSave = nil
	s.flush()
	name := partName
	if !last {
		s.saves++
		name = fmt.Sprintf("saved-%s-%d", s.attempt, s.saves) // rows of an earlier checkpoint are in this one too
	}
	all, saved, err := s.store(ctx, name)
	if err != nil {
		return nil, err
	}
	if last {
		s.final = all
	} else {
		s.previousSave, s.lastSave = s.lastSave, saved
	}
	return json.Marshal(savedSums{all, s.reports})
}

// remove removes the files of runs that this reader stored. It ignores errors: the work directory is removed in the end.
func (s *readerSums) remove(ctx context.Context, runs []storedRun) {
	for i, run := range runs {
		if i > 0 && run.File == runs[i-1].File {
			continue
		}
		if storage.Remove(ctx, storage.Join(s.dir, run.File)) != nil {
			return
		}
	}
}

// Restore implements transforms.Saver.
func (s *readerSums) Restore(ctx context.Context, state []byte) ([]dataset.Report, error) {
	var saved savedSums
	if err := json.Unmarshal(state, &saved); err != nil {
		return nil, err
	}
	if err := s.load(ctx, saved.Runs); err != nil {
		s.clear()
		return nil, err
	}
	s.reports = saved.Reports
	s.begin()
	reports := make([]dataset.Report, len(s.reports))
	for i, r := range s.reports {
		reports[i] = r.Report
	}
	return reports, nil
}

// clear removes all rows from the sums.
func (s *readerSums) clear() {
	for _, f := range s.folds {
		if f != nil && f.gridRows != nil {
			f.gridRows = ridge.NewGridRows(s.shape)
		}
	}
	s.fullFiles = nil
	if !s.pass.Spec.Rows {
		s.each(func(_ int, values []float64) { clear(values) })
	}
}

// load adds stored runs to the sums. If rows are stored instead of sums, it replaces the rows.
func (s *readerSums) load(ctx context.Context, runs []storedRun) error {
	if s.pass.Spec.Rows {
		return s.setRows(ctx, runs)
	}
	next := s.stripe.First
	for _, run := range runs {
		if run.Key != next || run.valid() != nil {
			return storage.ErrDamaged
		}
		next = run.end()
	}
	if next != s.stripe.End {
		return storage.ErrDamaged
	}
	return addAll(ctx, s.dir, runs, s.reader.Scan.Threads, s.part)
}

// finish stores the sums, unless the last checkpoint has, and emits the runs and the reports.
func (s *readerSums) finish(ctx context.Context, emit func(int, []byte), report func([]byte)) (err error) {
	if s.final == nil {
		s.flush()
		if s.final, _, err = s.store(ctx, partName); err != nil {
			return err
		}
	} else {
		s.remove(ctx, append(s.previousSave, s.lastSave...)) // a checkpoint of all rows is complete
	}
	for _, run := range s.final {
		err := transforms.EmitJSON(func(line []byte) { emit(run.Key, line) }, run)
		if err != nil {
			return err
		}
	}
	return transforms.EmitJSON(report, s.reports...)
}

// selectRows returns the rows of b with these indices: b itself if these are all rows, otherwise to.
func selectRows(to, b *rowio.Block, indices []int) *rowio.Block {
	if len(indices) == b.N {
		return b
	}
	to.Reset(b.D)
	for _, i := range indices {
		to.Append(b, i)
	}
	return to
}

// foldSum collects the rows of one fold until a block is full, and adds its features to
// sum, gridRows or audit: the one that is not nil.
type foldSum struct {
	task transforms.Task
	pass *Pass
	m    features.Gridded

	sum      *ridge.Sum
	gridRows *ridge.GridRows // if rows are stored (Spec.Rows)
	labels   []int32         // scratch for gridRows
	audit    *audit.Audit    // in an Audit
	left     []uint64        // for audit: the numbers of this fold in Audited.Left

	rows profile.WeightCollector
	grid *features.Grid // scratch that all folds of an Accumulator share

	counts    bool // count features beyond the grid; only one stripe does
	saturated int64
}

func newFoldSum(t transforms.Task, p *Pass, m features.Gridded, sum *ridge.Sum, grid *features.Grid) *foldSum {
	f := &foldSum{task: t, pass: p, m: m, sum: sum, grid: grid}
	f.rows = profile.WeightCollector{Weights: p.Spec.Weights, Unlabeled: p.Spec.Components > 0, Full: f.add}
	return f
}

// add adds a block of rows with weights on the grid, if there is one.
func (f *foldSum) add(b *rowio.Block, weights []int64) {
	stop := f.task.Clock(transforms.MapTime)
	saturated := f.m.Quantize(f.grid, b.X, b.N, f.task.Scan.Threads)
	stop()
	if f.counts {
		f.saturated += saturated
		f.task.Add(transforms.FeaturesSaturated, saturated)
	}
	if f.audit != nil {
		f.audit.Add(f.left, f.grid, b.Y, f.pass.grid(), weights, f.task.Scan.Threads)
		return
	}
	defer f.task.Clock(transforms.AddTime)()
	if f.gridRows != nil {
		f.labels = ridge.AppendLabels(f.labels[:0], b.N, b.Y, f.pass.grid())
		f.gridRows.Add(f.grid, f.labels, weights, f.task.Scan.Threads)
		return
	}
	f.sum.Add(f.grid, b.Y, f.pass.grid(), weights, f.task.Scan.Threads)
}
