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
	"github.com/bochner-ml/bochner/models"
)

// indexFile is the file of an index in the directory of the sums of a recipe.
const indexFile = "index.json"

// drawnSums is the directory of the sums of the partitions from which the recipe was drawn.
const drawnSums = "drawn"

// maxIndex is the largest index that is read, in bytes.
const maxIndex = storage.MaxSwap

// index describes the sums of a recipe: those of partitions, and their total, from which the
// next total follows by adding what is new and subtracting what is gone. It says only what can
// be found out again from the sums.
type index struct {
	dir   string
	file  []byte              // as it was read or written last; nil for none
	Parts map[string]*indexed `json:"parts"` // by name
	// Of are the names of the parts whose total is stored, sorted; none if there is no total.
	Of []string `json:"total_of,omitempty"`
	// Drawn says that there are sums of the partitions from which the recipe was drawn.
	Drawn bool `json:"drawn,omitempty"`
	Probe bool `json:"probe,omitempty"` // the recipe is that of a probe
	// Errors are those by which the last window was chosen: see ask.Options.
	Errors map[string][]float64 `json:"errors,omitempty"`
	// Models are the directories of models whose retrainings use these sums; unknownModels is one of
	// them if there were sums before this was noted.
	Models []string `json:"models,omitempty"`
	// Gone are names of sums that are being removed, and are not in Parts.
	Gone []string `json:"gone,omitempty"`
	// Drop are directories of totals that may exist and are not needed: a run that was stopped
	// may have left them.
	Drop []string `json:"drop,omitempty"`
}

// indexed is what is known of the sums of a partition.
type indexed struct {
	Summed
	Drift *Drift `json:"drift,omitempty"` // from the rows of the recipe; nil if it was not asked for
}

// name names the sums of a partition as it is: others have another name.
func (p *Partition) name() string { return p.Day + "-" + p.Digest }

func readIndex(ctx context.Context, dir string) (*index, error) {
	x := &index{dir: dir, Parts: map[string]*indexed{}, Errors: map[string][]float64{}}
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
	if len(x.Of) > 0 {
		there, err := storage.Exists(ctx, storage.Join(x.total(x.Of), models.ManifestFile))
		if err != nil {
			return nil, err
		}
		if !there {
			x.Of = nil
		}
	}
	return x, nil
}

func (x *index) write(ctx context.Context) error {
	data, err := json.MarshalIndent(x, "", " ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if bytes.Equal(data, x.file) {
		return nil
	}
	err = storage.Swap(ctx, storage.Join(x.dir, indexFile), x.file, data)
	x.file = data
	return err
}

// place is the directory of the sums of a name.
func (x *index) place(name string) string { return storage.Join(x.dir, name) }

// total is the directory of the total of parts.
func (x *index) total(of []string) string {
	var parts []Partition
	for _, name := range of {
		parts = append(parts, Partition{Day: name})
	}
	return x.place("total-" + key(parts))
}

// plan says how the sums of partitions follow from the stored total, or from those of all
// partitions if that is less work.
func (x *index) plan(parts []Partition) (f FitOptions) {
	of := names(parts)
	f.SaveSums = x.total(of)
	var add, without []string
	for _, name := range of {
		if !slices.Contains(x.Of, name) {
			add = append(add, x.place(name))
		}
	}
	for _, name := range x.Of {
		if !slices.Contains(of, name) {
			without = append(without, x.place(name))
		}
	}
	if len(x.Of) > 0 && 1+len(add)+len(without) < len(of) {
		f.Sums, f.Without = append([]string{x.total(x.Of)}, add...), without
		if len(add)+len(without) == 0 {
			f.SaveSums = ""
		}
		return f
	}
	return x.anew(parts)
}

// anew is plan without the stored total.
func (x *index) anew(parts []Partition) (f FitOptions) {
	of := names(parts)
	f.SaveSums = x.total(of)
	for _, name := range of {
		f.Sums = append(f.Sums, x.place(name))
	}
	return f
}

// begin prepares for a total that is about to be made.
func (x *index) begin(ctx context.Context, total string) error {
	if total == "" || slices.Contains(x.Drop, total) {
		return nil
	}
	x.Drop = append(x.Drop, total)
	return x.write(ctx)
}

// follow makes the total of partitions, if it was stored, the one that the next follows from,
// and removes those that are not needed.
func (x *index) follow(ctx context.Context, parts []Partition) error {
	of := names(parts)
	total := x.total(of)
	if there, err := storage.Exists(ctx, storage.Join(total, models.ManifestFile)); err != nil {
		return err
	} else if there && !slices.Equal(of, x.Of) {
		if len(x.Of) > 0 {
			x.Drop = append(x.Drop, x.total(x.Of))
		}
		x.Of = of
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

// unknownModels stands for directories of models that are not known.
const unknownModels = "unknown"

// use notes that the retrainings of a directory of models use these sums.
func (x *index) use(models string) error {
	if len(x.Models) == 0 && len(x.Parts) > 0 {
		x.Models = append(x.Models, unknownModels)
	}
	place, err := storage.Abs(models)
	if err == nil && !slices.Contains(x.Models, place) {
		x.Models = append(x.Models, place)
	}
	return err
}

// discard removes sums. If that is interrupted, clear continues.
func (x *index) discard(ctx context.Context, names []string) error {
	for _, name := range names {
		delete(x.Parts, name)
		if name == drawnSums {
			x.Drawn = false
		}
		x.Gone = append(x.Gone, name)
	}
	if err := x.write(ctx); err != nil {
		return err
	}
	return x.clear(ctx)
}

// clear removes the sums that are being removed.
func (x *index) clear(ctx context.Context) error {
	for _, name := range x.Gone {
		if err := removeSum(ctx, x.place(name)); err != nil {
			return err
		}
	}
	x.Gone = nil
	return x.write(ctx)
}

// names are the names of the sums of partitions, sorted.
func names(parts []Partition) (all []string) {
	for _, p := range parts {
		all = append(all, p.name())
	}
	slices.Sort(all)
	return all
}
