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
	i := &index{dir: dir, Days: map[string]*indexEntry{}, Errors: map[string][]float64{}}
	data, err := storage.ReadFile(ctx, storage.Join(dir, indexFile), maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return i, nil
	}
	if err != nil {
		return nil, err
	}
	i.file = data
	if err := json.Unmarshal(data, i); err != nil {
		return nil, fmt.Errorf("retrain: %s: %w; remove it, and it is made again", storage.Join(dir, indexFile), err)
	}
	if len(i.TotalOf) > 0 {
		exists, err := storage.Exists(ctx, storage.Join(i.total(i.TotalOf), sums.ManifestFile))
		if err != nil {
			return nil, err
		}
		if !exists {
			i.TotalOf = nil
		}
	}
	return i, nil
}

// write stores the index if it has changed. It fails if another run has changed the file since it was read.
func (i *index) write(ctx context.Context) error {
	data, err := json.MarshalIndent(i, "", " ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if bytes.Equal(data, i.file) {
		return nil
	}
	if err := storage.CompareAndSwap(ctx, storage.Join(i.dir, indexFile), i.file, data); err != nil {
		return err
	}
	i.file = data
	return nil
}

// sumsDir returns the directory of the sums with that name.
func (i *index) sumsDir(name string) string { return storage.Join(i.dir, name) }

// total returns the directory of the total of the sums with those names.
func (i *index) total(names []string) string { return i.sumsDir("total-" + hashOf(nil, names...)) }

// plan returns options that compute the total of days: from the stored total, or from the
// sums of all days if that is less work.
func (i *index) plan(days []Day) (f options.Fit) {
	names := sumNames(days)
	f.SaveSums = i.total(names)
	var add, without []string
	for _, name := range names {
		if !slices.Contains(i.TotalOf, name) {
			add = append(add, i.sumsDir(name))
		}
	}
	for _, name := range i.TotalOf {
		if !slices.Contains(names, name) {
			without = append(without, i.sumsDir(name))
		}
	}
	if len(i.TotalOf) > 0 && 1+len(add)+len(without) < len(names) {
		f.Sums, f.Without = append([]string{i.total(i.TotalOf)}, add...), without
		if len(add)+len(without) == 0 {
			f.SaveSums = ""
		}
		return f
	}
	return i.planFromDays(days)
}

// planFromDays is plan without the stored total.
func (i *index) planFromDays(days []Day) (f options.Fit) {
	names := sumNames(days)
	f.SaveSums = i.total(names)
	for _, name := range names {
		f.Sums = append(f.Sums, i.sumsDir(name))
	}
	return f
}

// recordTotal records a total that is about to be created, so that it is removed if the run is stopped.
func (i *index) recordTotal(ctx context.Context, total string) error {
	if total == "" || slices.Contains(i.Drop, total) {
		return nil
	}
	i.Drop = append(i.Drop, total)
	return i.write(ctx)
}

// setTotal makes the total of days, if it exists, the stored total, and removes those in Drop.
func (i *index) setTotal(ctx context.Context, days []Day) error {
	names := sumNames(days)
	total := i.total(names)
	if exists, err := storage.Exists(ctx, storage.Join(total, sums.ManifestFile)); err != nil {
		return err
	} else if exists && !slices.Equal(names, i.TotalOf) {
		if len(i.TotalOf) > 0 {
			i.Drop = append(i.Drop, i.total(i.TotalOf))
		}
		i.TotalOf = names
		i.Drop = slices.DeleteFunc(i.Drop, func(dir string) bool { return dir == total })
		if err := i.write(ctx); err != nil {
			return err
		}
	}
	for _, dir := range i.Drop {
		if err := storage.Remove(ctx, dir); err != nil {
			return err
		}
	}
	i.Drop = nil
	return i.write(ctx)
}

// unknownModels in index.Models stands for directories that were not recorded.
const unknownModels = "unknown"

// addModels records that the retrainings of a directory of models use these sums.
func (i *index) addModels(dir string) error {
	if len(i.Models) == 0 && len(i.Days) > 0 {
		i.Models = append(i.Models, unknownModels)
	}
	abs, err := storage.Abs(dir)
	if err != nil {
		return err
	}
	if !slices.Contains(i.Models, abs) {
		i.Models = append(i.Models, abs)
	}
	return nil
}

// discard removes sums. If that is interrupted, clear continues.
func (i *index) discard(ctx context.Context, names []string) error {
	for _, name := range names {
		delete(i.Days, name)
		if name == drawnSums {
			i.Drawn = false
		}
		i.Removing = append(i.Removing, name)
	}
	if err := i.write(ctx); err != nil {
		return err
	}
	return i.clear(ctx)
}

// clear removes the sums in Removing.
func (i *index) clear(ctx context.Context) error {
	for _, name := range i.Removing {
		if err := removeSum(ctx, i.sumsDir(name)); err != nil {
			return err
		}
	}
	i.Removing = nil
	return i.write(ctx)
}

// sumNames returns the names of the sums of days, sorted.
func sumNames(days []Day) (all []string) {
	for _, day := range days {
		all = append(all, day.name())
	}
	slices.Sort(all)
	return all
}
