package ask

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/machine"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/parts"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// part is a directory of sums that takes part.
type part struct {
	parts.Term
	date   time.Time // zero if it has none
	judges bool      // by Options.Judge
	seen   bool      // the recipe was drawn from some of its files
	copies []profile.Content
	head   []float64  // the first part of its sum
	sum    *ridge.Sum // of all folds; nil if it is read again whenever it is needed
}

// unit is parts that are trained on, left out or judged together: those of a date, or of a group.
type unit struct {
	name  string
	parts []int
}

// data are the sums of all parts that take part. It is not safe for concurrent use.
type data struct {
	Options
	total    *parts.Total
	features features.Gridded
	parts    []part // in the order of time
	dated    bool
	all      *ridge.Sum // of all parts
	read     *ridge.Sum // the part that was read last, if parts are not in memory
	readPart int
	*ridge.Evaluator
	units    ridge.Units
	progress *report.Progress
	facts
}

// facts are told beside an answer.
type facts struct {
	fits  int // sums that weights were fitted to
	notes []string
}

// open reads the sums of the terms, or as many as stay in memory.
func open(ctx context.Context, o Options, terms []parts.Term) (*data, error) {
	d := &data{Options: o, readPart: -1, progress: report.NewProgress(o.Log, func() int64 { return 0 })}
	if d.Threads == 0 {
		d.Threads = runtime.GOMAXPROCS(0)
	}
	var err error
	if err = d.choose(ctx, terms); err != nil {
		return nil, err
	}
	terms = nil
	for _, p := range d.parts {
		terms = append(terms, p.Term)
	}
	r := terms[0].Recipe
	if r.Rule.Components > 0 {
		return nil, exit.Refuse("ask: the sums are of an embedding, which has no error; questions need sums with labels")
	}
	if d.total, err = parts.Add(ctx, terms); err != nil {
		return nil, err
	}
	worker := transforms.NewWorker("")
	defer worker.Close()
	if d.features, err = worker.Gridded(r.Recipe); err != nil {
		return nil, err
	}
	shape := r.Shape(d.total.ClassCount())
	if err := shape.Validate(); err != nil {
		return nil, exit.Refuse("%w", err)
	}
	if err := d.load(ctx, shape); err != nil {
		return nil, err
	}
	d.units.Step, d.units.Ranges = ridge.GridOf(d.features, r.Rule.Steps)
	d.units.Grid = r.TargetGrid
	if d.total.Added.Classes != nil {
		d.units.Classes = d.total.Added.Classes.Classes
	}
	_, d.units.Weights = r.Rule.Weigh(slices.Clone(d.all.Part(0)), nil, shape.Regression)
	if d.Evaluator, err = ridge.NewEvaluator(d.all, d.units, d.Threads); err != nil {
		return nil, exit.Refuse("%w", err)
	}
	return d, nil
}

// load adds up all parts, and keeps their sums if they fit into memory beside what the question takes.
func (d *data) load(ctx context.Context, shape ridge.Shape) (err error) {
	have := d.Memory
	if have == 0 {
		have = machine.ReadMemory().Free
	}
	work := ridge.Memory(shape, d.total.Added.Rows.Used, blocks, d.Threads, false) + d.sums()*shape.Bytes() +
		ridge.EvaluatorBytes(shape, len(ridge.AutoLambda())+len(ridge.SmallerLambda()), d.Threads)
	kept := int64(len(d.parts)) * shape.Bytes()
	if d.Memory == 0 && have > 0 && work > have {
		return exit.Refuse("ask: the sums of %d features need %s of memory, %s is free; ask where there is more",
			shape.Dim, report.Bytes(work), report.Bytes(have))
	}
	d.all = ridge.NewSum(shape)
	keep := have == 0 || kept+work <= have
	if !keep {
		d.read = ridge.NewSum(shape)
		d.note("%s of sums do not fit in %s of memory beside %s for the solve: they are read again whenever they are needed",
			report.Bytes(kept), report.Bytes(have), report.Bytes(work))
	}
	for i := range d.parts {
		if d.parts[i].copies, err = d.total.CopiesOf(ctx, d.parts[i].Term); err != nil {
			return err
		}
	}
	if keep {
		var tasks errgroup.Group
		tasks.SetLimit(d.Threads)
		for i := range d.parts {
			tasks.Go(func() error {
				return transforms.Guard(func() error {
					s := ridge.NewSum(shape)
					d.parts[i].sum = s
					return d.addFolds(ctx, s, i)
				})
			})
		}
		if err := tasks.Wait(); err != nil {
			return err
		}
	}
	for i := range d.parts {
		s, err := d.part(ctx, i)
		if err != nil {
			return err
		}
		d.all.Merge(s)
		d.parts[i].head = slices.Clone(s.Part(0))
	}
	return nil
}

// sums is how many sums a question has in memory beside those of the parts.
func (d *data) sums() int64 {
	n := 4 + blocks
	if d.Question == "window" {
		windows, lives := d.candidates(len(d.parts))
		n += len(windows) + len(lives)
	}
	return int64(n)
}

func (d *data) note(format string, args ...any) {
	d.progress.Note(format, args...)
}

// addFold adds a fold of a part, with its rows counted apart, to a sum.
func (d *data) addFold(ctx context.Context, to *ridge.Sum, i, fold int) error {
	p := &d.parts[i]
	if err := d.total.AddTerm(ctx, to, p.Term, fold); err != nil {
		return err
	}
	return gram.AddCopies(to, fold, p.Recipe, d.features, p.copies, 1)
}

func (d *data) addFolds(ctx context.Context, to *ridge.Sum, i int) error {
	for fold := range d.parts[i].Folds {
		if err := d.addFold(ctx, to, i, fold); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// part returns the sum of a part, which holds until another is asked for.
func (d *data) part(ctx context.Context, i int) (*ridge.Sum, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s := d.parts[i].sum; s != nil {
		return s, nil
	}
	if d.readPart != i {
		d.readPart = -1
		d.read.Clear()
		if err := d.addFolds(ctx, d.read, i); err != nil {
			return nil, err
		}
		d.readPart = i
	}
	return d.read, nil
}

// add adds a part to a sum, or with sign −1 subtracts it.
func (d *data) add(ctx context.Context, to *ridge.Sum, i, sign int) error {
	s, err := d.part(ctx, i)
	switch {
	case err != nil:
		return err
	case sign > 0:
		to.Merge(s)
	default:
		to.Sub(s)
	}
	return nil
}

// sum returns the sum of units, all of its own.
func (d *data) sum(ctx context.Context, of []unit) (*ridge.Sum, error) {
	to, sign := ridge.NewSum(d.all.Shape()), 1
	in := make([]bool, len(d.parts))
	n := 0
	for _, u := range of {
		for _, i := range u.parts {
			in[i] = true
			n++
		}
	}
	if 2*n > len(in) { // the others are fewer, and sums are exact
		to.Merge(d.all)
		sign = -1
	}
	for i := range in {
		if in[i] == (sign > 0) {
			if err := d.add(ctx, to, i, sign); err != nil {
				return nil, err
			}
		}
	}
	return to, nil
}

// steps returns the parts of each date, in the order of time.
func (d *data) steps() (all []unit, err error) {
	if !d.dated {
		return nil, exit.Usage("%s needs the order of time: name the label with the date, such as dt in sums/dt=2026-11-20, with --time",
			d.Question)
	}
	for i, p := range d.parts {
		if i == 0 || !p.date.Equal(d.parts[i-1].date) {
			all = append(all, unit{name: nameOf(p.date)})
		}
		last := &all[len(all)-1]
		last.parts = append(last.parts, i)
	}
	return all, nil
}

// nameOf writes a date, with its hour if it has one.
func nameOf(t time.Time) string {
	if t.Equal(t.Truncate(24 * time.Hour)) {
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02T15:04")
}

// grouped returns the parts by the value of a label, in the order of the values; without a label the
// parts of each date, or each part.
func (d *data) grouped(label string, some []int) (all []unit, err error) {
	at := map[string]int{}
	for _, i := range some {
		p := &d.parts[i]
		name, ok := p.Labels[label]
		switch {
		case label == "" && d.dated:
			name = nameOf(p.date)
		case label == "":
			name = p.Place
		case !ok:
			return nil, exit.Refuse("--by %s: %s has no such label; names of directories have labels, as sums/%s=VALUE",
				label, p.Place, label)
		}
		k, ok := at[name]
		if !ok {
			k, all = len(all), append(all, unit{name: name})
			at[name] = k
		}
		all[k].parts = append(all[k].parts, i)
	}
	if label != "" {
		slices.SortFunc(all, func(a, b unit) int { return cmp.Compare(a.name, b.name) })
	}
	return all, nil
}
