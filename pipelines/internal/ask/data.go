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
	"github.com/bochner-ml/bochner/pipelines/internal/parts"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms"
)

// part is a directory of sums that a question uses.
type part struct {
	parts.Term
	date         time.Time  // zero if it has none
	judges, seen bool       // models are scored on it; the recipe was drawn from some of its files
	head         []float64  // the first part of its sum
	sum          *ridge.Sum // of all folds; nil if it is not kept in memory
}

// unit is a set of parts that are trained on, left out or judged together, such as a date or a group.
type unit struct {
	name  string
	parts []int // positions in data.parts
}

// running is the sum of the parts for which in is true.
type running struct {
	*ridge.Sum
	in []bool
}

// data has the sums that a question is about. After the first error nothing more is computed.
type data struct {
	options.Ask
	ctx      context.Context // of the question
	err      error           // the first
	total    *parts.Total
	features features.Gridded
	parts    []part           // in the order of time
	slots    map[int]*running // sums that are updated from one training set to the next
	last     int              // position of the part that was read last
	*ridge.Evaluator
	units    ridge.Units
	progress *report.Progress
	facts
}

// facts are facts about the computation of an answer.
type facts struct {
	fits  int // training sets
	notes []string
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
func open(ctx context.Context, o options.Ask, terms []parts.Term) (*data, error) {
	d := &data{Ask: o, ctx: ctx, last: -1, slots: map[int]*running{},
		progress: report.NewProgress(o.Log, func() int64 { return 0 })}
	d.Threads = cmp.Or(d.Threads, runtime.GOMAXPROCS(0))
	if err := d.selectParts(terms); err != nil {
		return nil, err
	}
	for i, p := range d.parts {
		terms[i] = p.Term
	}
	terms = terms[:len(d.parts)]
	r := terms[0].Recipe
	if r.Rule.Components > 0 {
		return nil, exit.Refuse("pipelines: these sums are for an embedding, which has no target to predict; use sums by the " +
			"recipe of a regression or classification")
	}
	var err error
	if d.total, err = parts.Add(ctx, terms); err != nil {
		return nil, err
	}
	worker, shape := transforms.NewWorker(""), r.Shape(d.total.ClassCount())
	defer worker.Close()
	if d.features, err = worker.Gridded(r.Recipe); err != nil {
		return nil, err
	}
	if d.load(shape); d.err != nil {
		return nil, d.err
	}
	all := d.sum(trainSlot, []unit{{parts: d.everything()}})
	d.units = d.total.Units(d.features, all.Part(0))
	if d.Evaluator, err = ridge.NewEvaluator(all, d.units, d.Threads); err != nil {
		d.fail(exit.Refuse("%w", err))
	}
	return d, d.err
}

func (d *data) fail(err error) { d.err = cmp.Or(d.err, err) }

// load keeps the sums of all parts in memory if they fit, together with the memory for solving.
func (d *data) load(shape ridge.Shape) {
	have := cmp.Or(d.Memory, machine.ReadMemory().Free)
	work := ridge.Memory(shape, ridge.FoldPlan{Folds: blocks}, d.total.Added.Rows.Used, d.Threads) +
		int64(spanSlot+len(d.spans())+d.Threads)*shape.Bytes()
	kept := int64(len(d.parts)) * shape.Bytes()
	keep := have == 0 || kept+work <= have
	if !keep {
		d.progress.Note("the sums take %s of memory, the solve %s, and %s are free: sums are read again when they are needed",
			report.Bytes(kept), report.Bytes(work), report.Bytes(have))
	}
	errs := make([]error, len(d.parts))
	parallel.Each(len(d.parts), d.Threads, func(_, i int) {
		if keep && d.err == nil {
			s := ridge.NewSum(shape)
			d.parts[i].sum, errs[i] = s, d.addFolds(s, i)
		}
	})
	d.slots[readSlot] = &running{Sum: ridge.NewSum(shape)}
	for i, err := range errs {
		d.fail(err)
		d.parts[i].head = slices.Clone(d.part(i).Part(0))
	}
}

func (d *data) addFolds(to *ridge.Sum, i int) (err error) {
	for fold := range d.parts[i].Folds {
		err = cmp.Or(err, d.ctx.Err(), d.total.AddFold(d.ctx, to, d.parts[i].Term, fold, d.features))
	}
	return err
}

// part returns the sum of a part, which is valid until the next call.
func (d *data) part(i int) *ridge.Sum {
	d.fail(d.ctx.Err())
	if s := d.parts[i].sum; s != nil {
		return s
	}
	read := d.slots[readSlot]
	if d.last != i && d.err == nil {
		read.Clear()
		d.fail(d.addFolds(read.Sum, i))
		d.last = i
	}
	return read.Sum
}

// sum returns the sum of units in a slot, which is valid until the slot is used again. Because sums
// are exact, it adds and subtracts only the parts in which the units differ from the slot.
func (d *data) sum(slot int, of []unit) *ridge.Sum {
	s, in, n := d.slots[slot], make([]bool, len(d.parts)), 0
	if s == nil {
		s = &running{ridge.NewSum(d.slots[readSlot].Shape()), make([]bool, len(in))}
		d.slots[slot] = s
	}
	for _, u := range of {
		for _, i := range u.parts {
			in[i] = true
			n++
		}
	}
	for i := range in {
		if in[i] != s.in[i] {
			n--
		}
	}
	if n < 0 { // starting from zero takes fewer additions
		s.Clear()
		clear(s.in)
	}
	for i := range in {
		switch {
		case in[i] == s.in[i] || d.err != nil:
		case in[i]:
			s.Merge(d.part(i))
		default:
			s.Sub(d.part(i))
		}
	}
	s.in = in
	return s.Sum
}

// everything returns the positions of all parts.
func (d *data) everything() (all []int) {
	for i := range d.parts {
		all = append(all, i)
	}
	return all
}
