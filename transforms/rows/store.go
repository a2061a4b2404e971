package rows

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*storePartFn]())
	beam.RegisterDoFn(reflect.TypeFor[*publishFn]())
	beam.RegisterType(reflect.TypeFor[Stored]())
	beam.RegisterFunction(countToOne)
}

// Stored is a directory of sums, as bochner sum makes it.
type Stored struct {
	Place string // of the directory
	Rows  int64  // that were summed
	Sums  string // digest of the sums: sums.Part.Sums
}

// Store writes sums to directories that bochner fit --sums takes, and pipelines.Fit: out itself for
// rows in the global window, and one below out for each other window, named for its beginning:
// dt=2026-11-20 for days, dt=2026-11-20T15 for hours, dt=2026-11-20T151230 for others. It returns a
// PCollection<Stored> of them.
//
// A directory is whole or absent. One that exists with the same sums is left as it is, so that a
// step may be repeated; with others it is an error. Parts are kept below out.parts until then. Rows
// that come after their window was stored (allowed lateness) are not supported.
func Store(s beam.Scope, r Recipe, out string, of Sums) beam.PCollection {
	s = s.Scope("rows.Store")
	f := fn(r.Dir, r.Threads)
	parts := beam.ParDo(s, &storePartFn{Out: out}, of.Parts)
	groups := beam.CoGroupByKey(s, parts, beam.ParDo(s, countToOne, of.Counts))
	return beam.ParDo(s, &publishFn{Fn: f, Recipe: r, Out: out}, groups)
}

func countToOne(c Count) (int, Count) { return 0, c }

// storedPart is a part in a file.
type storedPart struct {
	Key    int    `json:"key"`
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
}

// storePartFn writes parts to files that are named by their content.
type storePartFn struct{ Out string }

func (f *storePartFn) ProcessElement(ctx context.Context, w beam.Window, key int, p Part) (int, []byte, error) {
	data := encodePart(p)
	sum := sha256.Sum256(data)
	st := storedPart{Key: key, SHA256: hex.EncodeToString(sum[:])}
	st.File = storage.Join(partsOf(f.Out, w), fmt.Sprintf("part-%06d-%.32s", key, st.SHA256))
	_, err := storage.CreateState(ctx, st.File, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return 0, nil, fault.Of(fault.Storage, err)
	}
	line, err := json.Marshal(st)
	return 0, line, err
}

// publishFn makes a directory of the parts of a window.
type publishFn struct {
	transforms.Fn
	Recipe Recipe
	Out    string
}

func (f *publishFn) ProcessElement(ctx context.Context, w beam.Window, _ int, lines func(*[]byte) bool, counts func(*Count) bool) (Stored, error) {
	st, err := f.publish(ctx, w, transforms.Gather(lines), counts)
	return st, fault.Of(fault.Internal, err)
}

func (f *publishFn) publish(ctx context.Context, w beam.Window, lines [][]byte, counts func(*Count) bool) (Stored, error) {
	r, err := f.Recipe.load(ctx, f.Worker)
	if err != nil {
		return Stored{}, err
	}
	var count Count
	if !counts(&count) {
		return Stored{}, errors.New("rows: sums without a count: rows came after their window was stored, which is not supported")
	}
	name, place := placeOf(f.Out, w)
	p := &sums.Part{
		Program: "rows " + transforms.Build(), Recipe: r.Digest,
		Rows: models.Rows{Read: count.Read, Used: count.Read - count.Rejected, SetAside: count.Rejected},
	}
	if v := r.classes(); v != nil {
		p.Classes, p.ClassCounts = v.Classes, count.Classes
	}
	files, clean, err := f.files(ctx, r, p, partsOf(f.Out, w), lines)
	if errors.Is(err, fs.ErrNotExist) {
		// An attempt before this one may have removed the parts, after it had stored the sums.
		there, readErr := sums.ReadPart(ctx, place)
		if readErr == nil && there.Recipe == p.Recipe && there.Rows == p.Rows && slices.Equal(there.ClassCounts, p.ClassCounts) {
			return Stored{Place: place, Rows: p.Rows.Used, Sums: there.Sums}, nil
		}
	}
	if err != nil {
		return Stored{}, err
	}
	if len(count.Copies) > 0 {
		sum := models.SumFile(sums.CopiesFile, count.Copies)
		p.Copies = &sum
		files = append(files, storage.File{Name: sums.CopiesFile, Data: count.Copies})
	}
	if _, err = p.Encode(); err != nil { // sets the digest of the sums
		return Stored{}, err
	}
	leaf := sums.NewLeaf(name, r.Digest, r.Input.Label, r.Rule.WeightColumn, []sums.Input{{Name: name, Size: p.Rows.Used, Version: "rows of " + name + " " + p.Sums}})
	leaf.Rows = p.Rows
	p.Leaves = []sums.Leaf{leaf}
	if files, err = p.Files(r.Recipe, files); err != nil {
		return Stored{}, err
	}
	stored := Stored{Place: place, Rows: p.Rows.Used, Sums: p.Sums}
	if err := storage.Publish(ctx, place, files); err != nil {
		if !errors.Is(err, fs.ErrExist) {
			return Stored{}, fault.Of(fault.Place, err)
		}
		there, readErr := sums.ReadPart(ctx, place)
		if readErr != nil || there.Sums != p.Sums || there.Rows != p.Rows {
			return Stored{}, fault.Of(fault.Place, fmt.Errorf("rows: %s exists and has other sums; remove it, or store sums elsewhere", place))
		}
	}
	return stored, clean(ctx)
}

// files writes the sums of each fold to a file, from the parts in a directory, and returns them. clean
// removes the parts and these.
func (f *publishFn) files(ctx context.Context, r *recipe, p *sums.Part, dir string, lines [][]byte) (files []storage.File, clean func(context.Context) error, err error) {
	n := ridge.NumParts(r.Shape(len(p.Classes)))
	parts := make([]storedPart, n*r.Rule.Folds)
	for _, line := range lines {
		var st storedPart
		if err := json.Unmarshal(line, &st); err != nil {
			return nil, nil, err
		}
		if st.Key < 0 || st.Key >= len(parts) || parts[st.Key].File != "" {
			return nil, nil, fmt.Errorf("rows: part %d of %d arrived twice", st.Key, len(parts))
		}
		parts[st.Key] = st
	}
	out, err := sums.NewWriter()
	if err != nil {
		return nil, nil, err
	}
	for fold := range r.Rule.Folds {
		load := func(i int) ([]float64, error) { return parts[fold*n+i].load(ctx) }
		var frames []sums.Frame
		file := storage.File{Name: sums.FoldFile(fold), From: storage.Join(dir, sums.FoldFile(fold))}
		sum, err := storage.CreateState(ctx, file.From, func(w io.Writer) (err error) {
			frames, err = out.Fold(w, n, load)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		file.Sum = &sum
		files, p.Folds = append(files, file), append(p.Folds, frames)
	}
	return files, func(ctx context.Context) error {
		if err := storage.Remove(ctx, dir); err != nil {
			return err
		}
		return storage.RemoveEmpty(ctx, f.Out+".parts", "")
	}, nil
}

// load reads the numbers of the part.
func (p storedPart) load(ctx context.Context) ([]float64, error) {
	if p.File == "" {
		return nil, errors.New("rows: a part of the sums is missing: rows came after their window was stored, which is not supported")
	}
	data, err := storage.ReadFile(ctx, p.File, 1<<28)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != p.SHA256 {
		return nil, storage.Damaged(p.File)
	}
	v, err := decodePart(data)
	return v.Values, err
}

// placeOf returns the name of the sums of a window and their directory.
func placeOf(out string, w beam.Window) (name, place string) {
	i, ok := w.(window.IntervalWindow)
	if !ok {
		_, name = storage.Split(out)
		return name, out
	}
	start, end := i.Start.ToTime().UTC(), i.End.ToTime().UTC()
	layout := "2006-01-02T150405"
	switch {
	case whole(start, end, 24*time.Hour):
		layout = time.DateOnly
	case whole(start, end, time.Hour):
		layout = "2006-01-02T15"
	case !whole(start, end, time.Second):
		layout = "2006-01-02T150405.000"
	}
	name = "dt=" + start.Format(layout)
	return name, storage.Join(out, name)
}

// partsOf returns the directory of the parts of a window.
func partsOf(out string, w beam.Window) string {
	name, _ := placeOf(out, w)
	return storage.Join(out+".parts", name)
}

// whole reports whether both times are multiples of the unit.
func whole(start, end time.Time, unit time.Duration) bool {
	return start.Truncate(unit).Equal(start) && end.Truncate(unit).Equal(end)
}
