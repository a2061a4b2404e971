package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/scores"
)

// Part is a file of consecutive rows of one input file.
type Part struct {
	Names []string `json:"names"` // files of this part
	File  string   `json:"file"`  // input file of the rows
	First int64    `json:"first"` // lines or records of the file before the shard of these rows
	Rows  int64    `json:"rows"`
	Blank int64    `json:"blank_lines,omitempty"` // in the shard of these rows
}

// filePass is a pass that writes files for every shard.
type filePass interface {
	transforms.Kind
	// Write returns an transforms.Written for each shard, in JSON.
	Write(beam.Scope, transforms.Scan) beam.PCollection
}

// writeShards runs a pass that writes files for every shard, in a directory of the work
// directory whose name it stores in out. Shards that an earlier run finished are not repeated;
// found tells that there may be some. It returns what was written, in the order of the rows,
// and the directory.
func (j *Job) writeShards(ctx context.Context, pass filePass, name string, out *string,
	found bool) (written []transforms.Written, dir string, err error) {
	// Files are named by the start of their shards, so shards of another size need another
	// directory.
	common := pass.Common()
	*out, common.Shards = "", nil
	dir = j.Work.File(name, engine.Program(), pass, j.Opts.ShardBytes)
	*out = dir
	shards := j.Opts.Shards(&common.Data)
	if p, ok := pass.(*scores.Predict); ok && p.Lines {
		shards = common.Data.Shards(math.MaxInt64 / 2) // line numbers are known only if a file is read from its start
	}
	var done map[dataset.Shard]transforms.Written
	if found { // otherwise the work directory was empty
		if done, err = j.finished(ctx, dir, shards); err != nil {
			return nil, "", err
		}
		if len(done) > 0 {
			j.Progress.Note("found %d of %d finished shards in the work directory", len(done), len(shards))
		}
	}
	for {
		var all []transforms.Written
		common.Shards = nil
		for _, s := range shards {
			if w, ok := done[s]; ok {
				all = append(all, w)
			} else {
				common.Shards = append(common.Shards, s)
			}
		}
		if len(common.Shards) > 0 {
			fresh, err := j.writeFresh(ctx, pass, name)
			if err != nil {
				return nil, "", err
			}
			all = append(all, fresh...)
		}
		done = make(map[dataset.Shard]transforms.Written, len(all))
		for _, w := range all {
			done[w.Report.Shard] = w
		}
		sort.Slice(all, func(a, b int) bool { return all[a].Report.Shard.Before(all[b].Report.Shard) })
		reports := ReportsOf(all)
		again, err := untiled(&common.Data, shards, reports)
		if err != nil {
			return nil, "", err
		}
		if len(again) == 0 {
			for i := range all {
				all[i].Report = reports[i] // with the lines that Tile has counted
			}
			return all, dir, nil
		}
		shards = wholeFiles(shards, again)
	}
}

// writeFresh runs the pass over the unfinished shards.
func (j *Job) writeFresh(ctx context.Context, pass filePass, name string) ([]transforms.Written, error) {
	sc, err := j.Store(ctx, pass)
	if err != nil {
		return nil, err
	}
	list := j.Work.File(name+".written", engine.Program(), pass)
	if err := j.Run(ctx, func(s beam.Scope) { transforms.WriteLines(s, list, pass.Write(s, sc)) }); err != nil {
		return nil, err
	}
	all, err := ReadReports[transforms.Written](ctx, list)
	if err != nil {
		return nil, err
	}
	if want := len(pass.Common().Shards); len(all) != want {
		return nil, fmt.Errorf("pipelines: %d shards were written, want %d", len(all), want)
	}
	return all, nil
}

// parallelReads is the number of small files that the driver reads at the same time.
const parallelReads = 32

// finished returns what was written for the shards whose files are all intact; after any error
// a shard is done again. The directory is listed once, because asking for each shard would take
// a round trip each.
func (j *Job) finished(ctx context.Context, dir string,
	shards []dataset.Shard) (map[dataset.Shard]transforms.Written, error) {
	there := map[string]bool{}
	names, err := storage.Names(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		there[name] = true
	}
	var mu sync.Mutex
	done := map[dataset.Shard]transforms.Written{}
	var reads errgroup.Group
	reads.SetLimit(parallelReads)
	for _, s := range shards {
		if !there[transforms.DoneName(s)] {
			continue
		}
		reads.Go(func() error {
			w, err := finishedShard(ctx, dir, s)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				done[s] = w
			} else if exit.Damaged(err) {
				j.Damage(err)
			}
			return nil
		})
	}
	reads.Wait()
	return done, ctx.Err()
}

// errUnfinished means that a shard must still be done.
var errUnfinished = errors.New("pipelines: shard is not finished")

func finishedShard(ctx context.Context, dir string, s dataset.Shard) (w transforms.Written, err error) {
	data, err := storage.ReadState(ctx, storage.Join(dir, transforms.DoneName(s)), transforms.MaxState)
	if err != nil {
		return w, err
	}
	if err := json.Unmarshal(data, &w); err != nil || w.Report.Shard != s || w.Report.Fault != "" {
		return w, errUnfinished
	}
	for _, p := range w.Parts {
		for _, f := range p.Files {
			if err := f.Sum.Verify(ctx, storage.Join(dir, f.Name)); err != nil {
				return w, err
			}
		}
	}
	return w, nil
}

// PublishShards writes the shards of a pass and publishes the files. If some of them are
// damaged by then, they are written again.
func (j *Job) PublishShards(ctx context.Context, pass filePass, name string, out *string,
	publish func(written []transforms.Written, dir string) error) error {
	const tries = 3
	for try := 1; ; try++ {
		written, dir, err := j.writeShards(ctx, pass, name, out, j.Opts.Resume || try > 1)
		if err != nil {
			return err
		}
		if err = publish(written, dir); !exit.Damaged(err) || try == tries {
			return err
		}
		j.Damage(err)
	}
}

// ReportsOf returns the reports on the shards.
func ReportsOf(written []transforms.Written) []dataset.Report {
	reports := make([]dataset.Report, len(written))
	for i, w := range written {
		reports[i] = w.Report
		reports[i].SetAside = slices.Clone(w.Report.SetAside) // Tile adds to their lines
	}
	return reports
}

// PublishedParts names the files of all parts in the order of the rows.
func PublishedParts(d *dataset.Dataset, written []transforms.Written, dir string) (parts []Part, files []storage.File) {
	for _, w := range written {
		for _, p := range w.Parts {
			part := Part{File: d.Files[w.Report.Shard.File].Name, First: w.Report.Shard.Line, Rows: p.Rows,
				Blank: w.Report.Blank + w.Report.Headers}
			for _, f := range p.Files {
				name := fmt.Sprintf("part-%05d%s", len(parts), f.Suffix)
				part.Names = append(part.Names, name)
				files = append(files, storage.File{Name: name, From: storage.Join(dir, f.Name), Sum: &f.Sum})
			}
			parts = append(parts, part)
		}
	}
	return parts, files
}
