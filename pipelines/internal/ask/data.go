package ask

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/machine"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/sumdirs"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms"
)

// part is a directory of sums that a question uses.
type part struct {
	term         sumdirs.Term
	date         time.Time  // zero if it has none
	judged, seen bool       // models are scored on it; the recipe was drawn from some of its files
	head         []float64  // the first part of its sum
	sum          *ridge.Sum // of all folds; nil if it is not kept in memory
}

// unit is a set of parts that are trained on, left out or judged together, such as a date or a group.
type unit struct {
	name  string
	parts []int // positions in data.parts
}

// runningSum is the sum of the parts for which in is true.
type runningSum struct {
	*ridge.Sum
	in []bool
}

// data holds the sums that a question is about.
type data struct {
	options   options.Ask
	total     *sumdirs.Total
	features  features.Gridded
	parts     []part              // in the order of time
	slots     map[int]*runningSum // sums that are updated from one training set to the next
	last      int                 // position of the part that was read last
	evaluator *ridge.Evaluator
	units     ridge.Units
	progress  *report.Progress
	fits      int // training sets
	notes     []string

	// known is set if a retraining chooses a window: it has no half-lives, and finds here the squared errors
	// for each λ of its previous choice.
	known map[string][]float64
}

// Slots of running sums: the training set, the blocks to choose λ, the part that was read last, and
// from spanSlot on one for each span.
const (
	trainSlot = 0
	blockSlot = 1
	readSlot  = blockSlot + blocks
	spanSlot  = readSlot + 1
)

// open selects the sums of the terms and loads them.
func open(ctx context.Context, o options.Ask, terms []sumdirs.Term) (*data, error) {
	d := &data{options: o, last: -1, slots: map[int]*runningSum{},
		progress: report.NewProgress(o.Log, func() int64 { return 0 })}
	d.options.Threads = cmp.Or(d.options.Threads, runtime.GOMAXPROCS(0))
	if err := d.selectParts(ctx, terms); err != nil {
		return nil, err
	}
	for i, p := range d.parts {
		terms[i] = p.term
	}
	terms = terms[:len(d.parts)]
	r := terms[0].Recipe
	if r.Rule.Components > 0 {
		return nil, exit.Dataf("pipelines: these sums are for an embedding, which has no target to predict; use sums by " +
			"the recipe of a regression or classification")
	}
	var err error
	if d.total, err = sumdirs.Add(ctx, terms); err != nil {
		return nil, err
	}
	worker, shape := transforms.NewWorker(""), r.Shape(d.total.ClassCount())
	defer worker.Close()
	if d.features, err = worker.Gridded(r.Features); err != nil {
		return nil, err
	}
	if err := d.load(ctx, shape); err != nil {
		return nil, err
	}
	all, err := d.sum(ctx, trainSlot, []unit{{parts: d.everything()}})
	if err != nil {
		return nil, err
	}
	d.units = d.total.Units(d.features, all.Part(0))
	if d.evaluator, err = ridge.NewEvaluator(all, d.units, d.options.Threads); err != nil {
		return nil, exit.Dataf("%w", err)
	}
	return d, nil
}

// load keeps the sums of all parts in memory if they fit, together with the memory for solving.
func (d *data) load(ctx context.Context, shape ridge.Shape) error {
	have := cmp.Or(d.options.Memory, machine.ReadMemory().Free)
	work := ridge.Memory(shape, ridge.FoldPlan{Folds: blocks}, d.total.Added.Rows.Used, d.options.Threads) +
		int64(spanSlot+len(d.spans())+d.options.Threads)*shape.Bytes()
	kept := int64(len(d.parts)) * shape.Bytes()
	keep := have == 0 || kept+work <= have
	if !keep {
		d.progress.Notef("the sums take %s of memory, the solve %s, and %s are free: sums are read again when they are "+
			"needed",
			report.Bytes(kept), report.Bytes(work), report.Bytes(have))
	}
	errs := make([]error, len(d.parts))
	parallel.Each(len(d.parts), d.options.Threads, func(_, i int) {
		if keep {
			s := ridge.NewSum(shape)
			d.parts[i].sum, errs[i] = s, d.addFolds(ctx, s, i)
		}
	})
	d.slots[readSlot] = &runningSum{Sum: ridge.NewSum(shape)}
	for i, err := range errs {
		if err != nil {
			return err
		}
		s, err := d.part(ctx, i)
		if err != nil {
			return err
		}
		d.parts[i].head = slices.Clone(s.Part(0))
	}
	return nil
}

func (d *data) addFolds(ctx context.Context, to *ridge.Sum, i int) error {
	for fold := range d.parts[i].term.Folds {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.total.AddFold(ctx, to, d.parts[i].term, fold, d.features); err != nil {
			return err
		}
	}
	return nil
}

// part returns the sum of a part, which is valid until the next call.
func (d *data) part(ctx context.Context, i int) (*ridge.Sum, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s := d.parts[i].sum; s != nil {
		return s, nil
	}
	read := d.slots[readSlot]
	if d.last != i {
		read.Clear()
		if err := d.addFolds(ctx, read.Sum, i); err != nil {
			return nil, err
		}
		d.last = i
	}
	return read.Sum, nil
}

// sum returns the sum of units in a slot, which is valid until the slot is used again. Because sums
// are exact, it adds and subtracts only the parts in which the units differ from the slot.
func (d *data) sum(ctx context.Context, slot int, units []unit) (*ridge.Sum, error) {
	s, in := d.slots[slot], make([]bool, len(d.parts))
	if s == nil {
		s = &runningSum{ridge.NewSum(d.slots[readSlot].Shape()), make([]bool, len(in))}
		d.slots[slot] = s
	}
	added, changed := 0, 0
	for _, u := range units {
		for _, i := range u.parts {
			in[i] = true
			added++
		}
	}
	for i := range in {
		if in[i] != s.in[i] {
			changed++
		}
	}
	if added < changed { // starting from zero takes fewer additions
		s.Clear()
		clear(s.in)
	}
	for i := range in {
		if in[i] == s.in[i] {
			continue
		}
		p, err := d.part(ctx, i)
		if err != nil {
			return nil, err
		}
		if in[i] {
			s.Merge(p)
		} else {
			s.Sub(p)
		}
	}
	s.in = in
	return s.Sum, nil
}

// everything returns the positions of all parts.
func (d *data) everything() (all []int) {
	for i := range d.parts {
		all = append(all, i)
	}
	return all
}
