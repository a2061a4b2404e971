package days

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// indexFile is the file of an index in the directory of the sums of a recipe.
const indexFile = "index.json"

// drawnSums is the directory of the sums of the days from which the recipe was drawn.
const drawnSums = "drawn"

// maxIndex is the largest index that is read, in bytes.
const maxIndex = storage.MaxSwap

// index describes the directory of sums of a recipe: the sums of days, and a total. The next
// total is computed from it by adding new days and subtracting removed ones. Everything in
// the index can be recomputed from the sums.
type index struct {
	dir  string
	file []byte                 // content when last read or written; nil if it does not exist
	Days map[string]*indexEntry `json:"days"` // by name
	// TotalOf holds the names of the sums in the stored total, sorted; nil if there is no total.
	TotalOf []string `json:"total_of,omitempty"`
	// Drawn reports that drawnSums exists.
	Drawn     bool `json:"drawn,omitempty"`
	Reference bool `json:"reference,omitempty"` // the recipe is a reference
	// Errors are the errors by which the last window was chosen: see ask.ChooseWindow.
	Errors map[string][]float64 `json:"errors,omitempty"`
	// Models holds the directories of models whose retrainings use these sums. It has unknownModels if
	// there were sums before any directory was recorded.
	Models []string `json:"models,omitempty"`
	// Removing holds the names of sums that are being removed. They are not in Days.
	Removing []string `json:"removing,omitempty"`
	// Drop has directories of totals that are not needed. Some may not exist: a run may have been
	// stopped before it created or after it removed them.
	Drop []string `json:"drop,omitempty"`
}

// indexEntry describes the sums of a day.
type indexEntry struct {
	DaySums
	Drift *results.Drift `json:"drift,omitempty"` // from the rows of the recipe; nil if it was not asked for
}

// name returns the name of the sums of this version of a day.
func (d Day) name() string { return d.Date + "-" + d.Digest }

// readIndex reads the index in a directory, which is empty if there is no file. It drops a total whose sums do not
// exist.
func readIndex(ctx context.Context, dir string) (*index, error) {
	x := &index{dir: dir, Days: map[string]*indexEntry{}, Errors: map[string][]float64{}}
	data, err := storage.ReadFile(ctx, storage.Join(dir, indexFile), maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return x, nil
	}
	if err != nil {
		return nil, err
	}
	x.file = data
	if err := json.Unmarshal(data, x); err != nil {
		return nil, fmt.Errorf("retrain: %s: %w; remove it, and it is made again", storage.Join(dir, indexFile), err)
	}
	if len(x.TotalOf) > 0 {
		exists, err := storage.Exists(ctx, storage.Join(x.total(x.TotalOf), sums.ManifestFile))
		if err != nil {
			return nil, err
		}
		if !exists {
			x.TotalOf = nil
		}
	}
	return x, nil
}

// write stores the index if it has changed. It fails if another run has changed the file since it was read.
func (x *index) write(ctx context.Context) error {
	data, err := json.MarshalIndent(x, "", " ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if bytes.Equal(data, x.file) {
		return nil
	}
	if err := storage.CompareAndSwap(ctx, storage.Join(x.dir, indexFile), x.file, data); err != nil {
		return err
	}
	x.file = data
	return nil
}

// sumsDir returns the directory of the sums with that name.
func (x *index) sumsDir(name string) string { return storage.Join(x.dir, name) }

// total returns the directory of the total of the sums with those names.
func (x *index) total(names []string) string { return x.sumsDir("total-" + hashOf(nil, names...)) }

// plan returns options that compute the total of days: from the stored total, or from the
// sums of all days if that is less work.
func (x *index) plan(days []Day) (f options.Fit) {
	names := sumNames(days)
	f.SaveSums = x.total(names)
	var add, without []string
	for _, name := range names {
		if !slices.Contains(x.TotalOf, name) {
			add = append(add, x.sumsDir(name))
		}
	}
	for _, name := range x.TotalOf {
		if !slices.Contains(names, name) {
			without = append(without, x.sumsDir(name))
		}
	}
	if len(x.TotalOf) > 0 && 1+len(add)+len(without) < len(names) {
		f.Sums, f.Without = append([]string{x.total(x.TotalOf)}, add...), without
		if len(add)+len(without) == 0 {
			f.SaveSums = ""
		}
		return f
	}
	return x.planFromDays(days)
}

// planFromDays is plan without the stored total.
func (x *index) planFromDays(days []Day) (f options.Fit) {
	names := sumNames(days)
	f.SaveSums = x.total(names)
	for _, name := range names {
		f.Sums = append(f.Sums, x.sumsDir(name))
	}
	return f
}

// recordTotal records a total that is about to be created, so that it is removed if the run is stopped.
func (x *index) recordTotal(ctx context.Context, total string) error {
	if total == "" || slices.Contains(x.Drop, total) {
		return nil
	}
	x.Drop = append(x.Drop, total)
	return x.write(ctx)
}

// setTotal makes the total of days, if it exists, the stored total, and removes those in Drop.
func (x *index) setTotal(ctx context.Context, days []Day) error {
	names := sumNames(days)
	total := x.total(names)
	if exists, err := storage.Exists(ctx, storage.Join(total, sums.ManifestFile)); err != nil {
		return err
	} else if exists && !slices.Equal(names, x.TotalOf) {
		if len(x.TotalOf) > 0 {
			x.Drop = append(x.Drop, x.total(x.TotalOf))
		}
		x.TotalOf = names
		x.Drop = slices.DeleteFunc(x.Drop, func(dir string) bool { return dir == total })
		if err := x.write(ctx); err != nil {
			return err
		}
	}
	for _, dir := range x.Drop {
		if err := storage.Remove(ctx, dir); err != nil {
			return err
		}
	}
	x.Drop = nil
	return x.write(ctx)
}

// unknownModels in index.Models stands for directories that were not recorded.
const unknownModels = "unknown"

// addModels records that the retrainings of a directory of models use these sums.
func (x *index) addModels(dir string) error {
	if len(x.Models) == 0 && len(x.Days) > 0 {
		x.Models = append(x.Models, unknownModels)
	}
	abs, err := storage.Abs(dir)
	if err != nil {
		return err
	}
	if !slices.Contains(x.Models, abs) {
		x.Models = append(x.Models, abs)
	}
	return nil
}

// discard removes sums. If that is interrupted, clear continues.
func (x *index) discard(ctx context.Context, names []string) error {
	for _, name := range names {
		delete(x.Days, name)
		if name == drawnSums {
			x.Drawn = false
		}
		x.Removing = append(x.Removing, name)
	}
	if err := x.write(ctx); err != nil {
		return err
	}
	return x.clear(ctx)
}

// clear removes the sums in Removing.
func (x *index) clear(ctx context.Context) error {
	for _, name := range x.Removing {
		if err := removeSum(ctx, x.sumsDir(name)); err != nil {
			return err
		}
	}
	x.Removing = nil
	return x.write(ctx)
}

// sumNames returns the names of the sums of days, sorted.
func sumNames(days []Day) (all []string) {
	for _, day := range days {
		all = append(all, day.name())
	}
	slices.Sort(all)
	return all
}
