package rows

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window/trigger"

	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
	"github.com/bochner-ml/bochner/transforms/gram"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*storeFn]())
	beam.RegisterDoFn(reflect.TypeFor[*publishFn]())
	beam.RegisterType(reflect.TypeFor[Stored]())
}

// Stored is a directory of sums, as bochner sum makes it.
type Stored struct {
	Dir    string // name of the directory
	Rows   int64  // number of summed rows
	Digest string // digest of the sums: sums.Manifest.Sums
	// Window lists the directories of all sums of the window so far. Dir is the last one, and
	// the only one unless rows arrived after others of their window were stored.
	Window []string
}

// Store writes sums to directories that bochner fit --sums takes, and pipelines.Fit: out itself for
// rows in the global window, and one below out for each other window, named for its beginning:
// dt=2026-11-20 for days, dt=2026-11-20T15 for hours, dt=2026-11-20T151230 for others. It returns a
// PCollection<Stored> of them.
//
// If windows have triggers or allow rows to be late, each later pane with rows is a further
// directory of the window: dt=2026-11-20-part-2, and so on, in the order in which the runner stores
// them. Their sums add up to the sums of all rows of the window. Store panics if panes accumulate
// what they have fired (set beam.PanesDiscard), and if sessions have triggers or allow rows to be
// late: sessions that were stored cannot be merged. Runners drop rows that are later than windows
// allow, and count them.
//
// A directory is complete or absent. If it already exists with the same sums, Store leaves it alone,
// so that steps can be retried; other sums are an error. Until the sums of a window are stored, the
// sums of each bundle are in a file below out.parts. A failed bundle may leave its file there.
func Store(s beam.Scope, r Recipe, out string, totals Sums) beam.PCollection {
	s = s.Scope("rows.Store")
	w := totals.all.WindowingStrategy()
	if w.AccumulationMode == window.Accumulating {
		panic("rows: panes that accumulate would count rows twice: set beam.PanesDiscard() with the trigger")
	}
	if w.Fn.Kind == window.Sessions && (w.AllowedLateness > 0 || !firesOnce(w.Trigger)) {
		panic("rows: a session that fires more than once may merge with another that is stored: leave out " +
			"beam.AllowedLateness and beam.Trigger, or use fixed windows")
	}
	out = strings.TrimRight(out, "/")
	files := beam.ParDo(s, &storeFn{Out: out}, totals.all)
	return beam.ParDo(s, &publishFn{Fn: fn(r.Dir, r.Threads), Recipe: r, Out: out}, beam.GroupByKey(s, files))
}

// firesOnce reports whether a trigger fires once, if no row is late.
func firesOnce(t trigger.Trigger) bool {
	switch t := t.(type) {
	case trigger.DefaultTrigger, *trigger.DefaultTrigger:
		return true
	case *trigger.AfterEndOfWindowTrigger:
		_, plain := t.Early().(*trigger.DefaultTrigger)
		return plain && t.Late() == nil
	}
	return false
}

// storeFn writes the sums of some rows of a window to a file, and emits their count. Each attempt has a
// file of its own, so that an earlier pane never removes a file that a later one needs.
type storeFn struct{ Out string }

func (f *storeFn) ProcessElement(ctx context.Context, w beam.Window, x summed, emit func(int, count)) error {
	if x.Rejected != nil {
		return nil
	}
	_, place := placeOf(f.Out, w, 0)
	to := file{Name: storage.Join(partsOf(f.Out, place), "sums-"+rand.Text())}
	_, err := storage.CreateState(ctx, to.Name, func(w io.Writer) error {
		to.Parts = nil
		for _, values := range x.Parts {
			data := gram.EncodePart(values)
			entry := models.NewFileEntry("", data)
			to.Parts = append(to.Parts, sums.Frame{Size: entry.Size, SHA256: entry.SHA256})
			if _, err := w.Write(data); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fault.Wrap(fault.Storage, err)
	}
	x.Count.Files = []file{to}
	emit(0, x.Count)
	return nil
}

// longestWait is how long a pane waits for others of its window that are being stored.
const longestWait = 10 * time.Minute

// publishFn makes a directory of the sums of a pane. It follows a GroupByKey and not a combiner,
// because Beam's combiners lose the number of the pane.
//
// Runners may process the panes of a window in any order, and at the same time. Each pane takes the
// first name of the window that is free, so those with a lower number always exist, and the last
// one comes with all of them.
type publishFn struct {
	transforms.Fn
	Recipe Recipe
	Out    string
}

func (f *publishFn) ProcessElement(
	ctx context.Context, pane beam.PaneInfo, w beam.Window, _ int, counts func(*count) bool, emit func(Stored),
) error {
	var sum, next count
	var err error
	for err == nil && counts(&next) {
		sum, err = sum.add(next)
		next = count{}
	}
	if err != nil || len(sum.Files) == 0 { // some runners fire empty panes
		return fault.Wrap(fault.Internal, err)
	}
	st, err := f.publish(ctx, w, int(pane.Index), sum)
	if err != nil {
		return fault.Wrap(fault.Internal, err)
	}
	emit(st)
	return nil
}

// publish joins the files of the sums of a window and publishes their directory. If the files are gone, an earlier
// attempt may have published the same sums.
func (f *publishFn) publish(ctx context.Context, w beam.Window, pane int, total count) (Stored, error) {
	r, err := f.Recipe.load(ctx, f.Worker)
	if err != nil {
		return Stored{}, err
	}
	p := &sums.Manifest{
		Program: "rows " + transforms.Build(), Recipe: r.Digest,
		Rows: models.RowCounts{Read: total.Read, Used: total.Read - total.Rejected, SetAside: total.Rejected},
	}
	if v := r.classes(); v != nil {
		p.Classes, p.ClassCounts = v.Classes, total.Classes
	}
	_, first := placeOf(f.Out, w, 0)
	dir := partsOf(f.Out, first)
	files, err := foldFiles(ctx, r, p, dir, total.Files)
	if errors.Is(err, fs.ErrNotExist) {
		// An earlier attempt may have stored the sums and then removed the parts.
		at, earlier, findErr := f.find(ctx, w, pane)
		if findErr == nil && earlier != nil && earlier.Recipe == p.Recipe && earlier.Rows == p.Rows &&
			slices.Equal(earlier.ClassCounts, p.ClassCounts) {
			return f.stored(w, at, earlier), nil
		}
	}
	if err != nil {
		return Stored{}, err
	}
	if len(total.Copies) > 0 {
		entry := models.NewFileEntry(sums.CopiesFile, total.Copies)
		p.Copies = &entry
		files = append(files, storage.File{Name: sums.CopiesFile, Data: total.Copies})
	}
	if int64(len(total.Contents)) == 8*p.Rows.Used {
		files = append(files, p.SetRowHashes(sums.RowHashesOf(total.Contents)))
	}
	if _, err = p.Encode(); err != nil { // sets the digest of the sums
		return Stored{}, err
	}
	at, err := f.store(ctx, w, pane, r, p, files)
	if err != nil {
		return Stored{}, err
	}
	return f.stored(w, at, p), f.clean(ctx, dir, files, total.Files)
}

// store publishes the sums of a pane in the first free directory of its window, and returns the number of that
// directory. Sums that an earlier attempt has stored stay as they are.
func (f *publishFn) store(
	ctx context.Context, w beam.Window, pane int, r *recipe, p *sums.Manifest, files []storage.File,
) (int, error) {
	own, _ := placeOf(f.Out, w, pane)
	input := sums.Input{Name: own, Size: p.Rows.Used, Version: "rows of " + own + " " + p.Sums}
	begun, wait := time.Now(), 10*time.Millisecond
	for last := -1; ; {
		at, earlier, err := f.find(ctx, w, pane)
		if err != nil {
			return 0, err
		}
		name, place := placeOf(f.Out, w, at)
		if earlier != nil && earlier.Rows == p.Rows && earlier.Leaves[0].Files[0] == input {
			return at, nil
		}
		if earlier != nil || at == last {
			return 0, hasOtherSums(place)
		}
		leaf := sums.NewLeaf(name, r.Digest, r.Input.Label, r.Rule.WeightColumn, []sums.Input{input})
		leaf.Rows = p.Rows
		p.Leaves = []sums.Leaf{leaf}
		all, err := p.Files(r.Recipe, files)
		if err != nil {
			return 0, err
		}
		if err = storage.Publish(ctx, place, all); err == nil {
			return at, nil
		}
		switch { // another pane takes the name, or has taken it
		case errors.Is(err, storage.ErrBusy) && time.Since(begun) < longestWait:
			if err := parallel.Sleep(ctx, wait); err != nil {
				return 0, err
			}
			wait = min(2*wait, time.Second)
		case errors.Is(err, fs.ErrExist):
			last = at
		default:
			return 0, fault.Wrap(fault.Place, err)
		}
	}
}

// find returns the number of the directory that has the sums of a pane, and its manifest; or the
// number of the first directory of the window that does not exist, and nil.
func (f *publishFn) find(ctx context.Context, w beam.Window, pane int) (at int, own *sums.Manifest, err error) {
	first, _ := placeOf(f.Out, w, 0)
	name, _ := placeOf(f.Out, w, pane)
	for ; ; at++ {
		_, place := placeOf(f.Out, w, at)
		m, err := sums.ReadManifest(ctx, place)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return at, nil, nil
		case err != nil:
			return 0, nil, err
		case len(m.Leaves) != 1 || len(m.Leaves[0].Files) != 1 ||
			!strings.HasPrefix(m.Leaves[0].Files[0].Version, "rows of "+first):
			return 0, nil, hasOtherSums(place)
		case m.Leaves[0].Files[0].Name == name:
			return at, m, nil
		}
	}
}

func hasOtherSums(place string) error {
	return fault.Wrap(fault.Place,
		fmt.Errorf("rows: %s exists and has other sums; remove it, or store sums elsewhere", place))
}

// stored describes the directory of a window with a number.
func (f *publishFn) stored(w beam.Window, at int, p *sums.Manifest) Stored {
	st := Stored{Rows: p.Rows.Used, Digest: p.Sums}
	for i := range at + 1 {
		_, st.Dir = placeOf(f.Out, w, i)
		st.Window = append(st.Window, st.Dir)
	}
	return st
}

// foldFiles writes the sums of each fold to a file in a directory, from files of sums, and returns them.
func foldFiles(ctx context.Context, r *recipe, p *sums.Manifest, dir string, from []file) (files []storage.File,
	err error) {
	n := r.Shape(len(p.Classes)).NumParts()
	at := make([]int64, len(from)) // where the next part begins
	for _, source := range from {
		if len(source.Parts) != n*r.Rule.Folds {
			return nil, fmt.Errorf("rows: %s has %d parts, want %d", source.Name, len(source.Parts), n*r.Rule.Folds)
		}
	}
	out, err := sums.NewWriter()
	if err != nil {
		return nil, err
	}
	for fold := range r.Rule.Folds {
		load := func(i int) (sum []float64, err error) {
			for k, source := range from {
				values, err := source.part(ctx, fold*n+i, at[k])
				if err != nil {
					return nil, err
				}
				at[k] += source.Parts[fold*n+i].Size
				if sum == nil {
					sum = values
					continue
				}
				for j, v := range values {
					sum[j] += v
				}
			}
			return sum, nil
		}
		var frames []sums.Frame
		file := storage.File{Name: sums.FoldFile(fold), From: storage.Join(dir, "fold-"+rand.Text())}
		start := slices.Clone(at)
		checksum, err := storage.CreateState(ctx, file.From, func(w io.Writer) (err error) {
			copy(at, start) // begin again, after a failed attempt
			frames, err = out.WriteFold(w, n, load)
			return err
		})
		if err != nil {
			return nil, err
		}
		file.Checksum = &checksum
		files = append(files, file)
		p.Folds = append(p.Folds, frames)
	}
	return files, nil
}

// clean removes the files of foldFiles and the files of sums that they were made from.
func (f *publishFn) clean(ctx context.Context, dir string, files []storage.File, from []file) error {
	var made []string
	for _, file := range files {
		if file.From != "" {
			made = append(made, file.From)
		}
	}
	dirs := []string{dir}
	for _, source := range from {
		made = append(made, source.Name)
		of, _ := storage.Split(source.Name) // a session's rows were summed in other windows
		dirs = append(dirs, of)
	}
	for _, name := range made {
		if err := storage.Remove(ctx, name); err != nil {
			return err
		}
	}
	slices.Sort(dirs)
	for _, name := range append(slices.Compact(dirs), f.Out+".parts") {
		if err := storage.RemoveEmpty(ctx, name, ""); err != nil {
			return err
		}
	}
	return nil
}

// part reads a part, which begins at an offset.
func (f file) part(ctx context.Context, key int, at int64) ([]float64, error) {
	want := f.Parts[key]
	data, err := storage.ReadRange(ctx, nil, f.Name, at, want.Size)
	if err != nil {
		return nil, err
	}
	if models.NewFileEntry("", data).SHA256 != want.SHA256 {
		return nil, storage.DamagedError(f.Name)
	}
	return gram.DecodePart(data)
}

// placeOf returns the name of the sums of a window with a number from 0, and their directory.
func placeOf(out string, w beam.Window, i int) (name, place string) {
	suffix := ""
	if i > 0 {
		suffix = fmt.Sprintf("-part-%d", i+1)
	}
	interval, ok := w.(window.IntervalWindow)
	if !ok {
		_, name = storage.Split(out)
		return name + suffix, out + suffix
	}
	start, end := interval.Start.ToTime().UTC(), interval.End.ToTime().UTC()
	layout := "2006-01-02T150405"
	switch {
	case whole(start, end, 24*time.Hour):
		layout = time.DateOnly
	case whole(start, end, time.Hour):
		layout = "2006-01-02T15"
	case !whole(start, end, time.Second):
		layout = "2006-01-02T150405.000"
	}
	name = "dt=" + start.Format(layout) + suffix
	return name, storage.Join(out, name)
}

// partsOf returns the directory of the files that are added up to the sums of a window.
func partsOf(out, place string) string {
	_, name := storage.Split(place)
	return storage.Join(out+".parts", name)
}

// whole reports whether both times are multiples of the unit.
func whole(start, end time.Time, unit time.Duration) bool {
	return start.Truncate(unit).Equal(start) && end.Truncate(unit).Equal(end)
}
