package transforms

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// Task is a piece of the work of a DoFn, whose rows and times its Meter counts.
type Task struct {
	Fn
	*Meter
}

// NewTask begins a piece of work.
func NewTask(f Fn) Task { return Task{f, f.Worker.NewMeter()} }

// Reader reads some of the shards of a pass, in one worker, and does the work of the pass on their rows.
type Reader struct {
	Task
	Number int
	Stripe int // of Scan.Stripes
	// Request says what the blocks hold besides values; Label and Mode are set by Read.
	Request dataset.Request
	// Saver, unless nil, stores the work between shards: Each then continues from the reader's last
	// checkpoint.
	Saver Saver

	begun   time.Time
	tracker *sdf.LockRTracker // of the range of its shards; nil if it is all of them
}

// NewReader begins the work of a DoFn on all shards of an element, which is a reader or a stripe of one.
func NewReader(f Fn, element int) *Reader {
	r := &Reader{Task: NewTask(f), begun: time.Now()}
	r.Number, r.Stripe = f.Scan.readerOf(element)
	r.repeats = r.Stripe > 0
	return r
}

// RunReader runs the work of a DoFn on the shards of an element, or on their range that the tracker of a Splittable
// holds. It loads the pass from the pass file. At the end it updates the counters of the runner and writes a line
// to its log.
func RunReader[P any](ctx context.Context, f Fn, element int, tracker *sdf.LockRTracker,
	work func(*Reader, *P) error) error {
	r := NewReader(f, element)
	r.tracker = tracker
	defer r.end(ctx)
	p, err := LoadPass[P](ctx, f.Worker, f.Scan.Pass)
	if err == nil {
		err = work(r, p)
	}
	return fault.Wrap(fault.Internal, err)
}

func (r *Reader) end(ctx context.Context) {
	r.Commit(ctx)
	r.log(ctx, "reader ended", "rows", r.values[RowsRead].Load(), "set_aside", r.values[RowsSetAside].Load(), "cached",
		r.values[RowsCached].Load(), "restored", r.values[rowsRestored].Load(),
		"seconds", time.Since(r.begun).Seconds())
}

func (r *Reader) log(ctx context.Context, message string, fields ...any) {
	attributes := []any{"pass", path.Base(r.Scan.Pass), "reader", r.Number}
	if r.Scan.stripes() > 1 {
		attributes = append(attributes, "stripe", r.Stripe)
	}
	logLine(ctx, message, append(attributes, fields...)...)
}

// shards returns the shards of the reader. Shards are assigned in descending order of size, each
// to the reader with the least to read. Which reader reads a shard does not change results.
func (r *Reader) shards(p *Pass) []dataset.Shard { return r.Scan.assign(&p.Data, p.Shards)[r.Number] }

// BlockFunc processes a block of rows, which it owns until it returns. The first argument is the
// place where the shard of the rows begins.
type BlockFunc func(profile.ShardStart, *rowio.Block) error

// Each reads the shards of the reader and calls process with every block of their rows, in order. While
// process runs, the next block is read. A separate goroutine calls label to convert labels to numbers; a
// nil label leaves them unread. After each shard, Each calls done with its report, which done may
// change. Shards that a checkpoint covers are not read again. Errors come from process, done or the
// Saver; problems of the data are in the reports.
func (r *Reader) Each(ctx context.Context, p *Pass, label dataset.Label, process BlockFunc,
	done func(*dataset.Report) error) error {
	shards := r.shards(p)
	first, end := r.rest(len(shards))
	saving := r.newSaving(first)
	n, err := saving.restore(ctx, r, end-first)
	if err != nil {
		return err
	}
	for shard, source := range r.ahead(ctx, p, shards[:end], first+n) {
		report, err := r.Read(ctx, p, shard, source, label, process)
		if err != nil {
			return err
		}
		if err := done(&report); err != nil {
			return err
		}
		n++
		_, last := r.rest(len(shards)) // the runner may have split the range since
		if err := saving.add(ctx, r, report, first+n == last); err != nil {
			return err
		}
	}
	return nil
}

// Read reads one shard as Each does, from the source that dataset.Dataset.Ahead yields with it.
func (r *Reader) Read(ctx context.Context, p *Pass, shard dataset.Shard, source *dataset.Source, label dataset.Label,
	process BlockFunc) (report dataset.Report, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request := r.Request
	request.Label, request.Mode = label, p.Mode
	const ahead = 2 // blocks: one being read, one being processed
	free, full := make(chan *rowio.Block, ahead), make(chan *rowio.Block, ahead)
	for range ahead {
		free <- new(rowio.Block)
	}
	var reading errgroup.Group
	reading.Go(func() error {
		defer close(full)
		return fault.Guard(func() (err error) {
			report, err = r.readBlocks(ctx, p.Data.ReadFrom(ctx, source, shard, request), free, full)
			return err
		})
	})
	var used, aside int64 // in blocks
	for b := range full {
		if err != nil { // an earlier block failed, and the shard is read no further
			free <- b
			continue
		}
		if p.EqualWeights {
			b.Weights = b.Weights[:0]
		}
		if err = process(profile.ShardStart{File: shard.File, Start: shard.Start}, b); err != nil {
			cancel()
		}
		bad := int64(len(b.Bad))
		used += int64(b.N) - bad
		aside += bad
		r.countRows(ctx, int64(b.N)-bad, bad)
		free <- b
	}
	if err = cmp.Or(err, reading.Wait()); err != nil {
		return dataset.Report{}, err
	}
	// Rows that were set aside may not be in any block.
	all := report.Bad + report.Unlabeled + report.Weightless
	r.Add(BytesRead, p.Data.Bytes(shard))
	r.countRows(ctx, report.Rows-used, all-aside)
	r.log(ctx, "shard read", "shard", fmt.Sprintf("%s at %d", p.Data.Files[shard.File].Name, shard.Start), "rows",
		report.Rows, "set_aside", all)
	return report, nil
}

// countRows adds rows to the counters of the runner.
func (r *Reader) countRows(ctx context.Context, used, aside int64) {
	r.Add(RowsRead, used+aside)
	r.Add(RowsUsed, used)
	r.Add(RowsSetAside, aside)
	r.Commit(ctx)
}

// readBlocks reads the rows of a shard into free blocks, and returns its report. It ends early if ctx does.
func (r *Reader) readBlocks(ctx context.Context, in *dataset.Reader, free <-chan *rowio.Block,
	full chan<- *rowio.Block) (dataset.Report, error) {
	defer in.Close()
	for {
		var b *rowio.Block
		select {
		case b = <-free:
		case <-ctx.Done():
			return dataset.Report{}, ctx.Err()
		}
		stop := r.Clock(ReadTime)
		more := in.Next(b)
		stop()
		if !more {
			return in.Report(), nil
		}
		full <- b
	}
}
