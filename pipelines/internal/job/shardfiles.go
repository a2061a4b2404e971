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
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// filePass is a pass that writes files for every shard.
type filePass interface {
	transforms.AnyPass
	// SetOut sets the directory of the files.
	SetOut(dir string)
	// Write returns a transforms.Written for each shard, in JSON.
	Write(beam.Scope, transforms.Scan) beam.PCollection
}

// writeShards runs a pass that writes files for every shard, into a directory in the work directory. If resume is set,
// it keeps shards that an earlier attempt finished. It returns what was written, in the order of the rows, and the
// directory.
func (j *Job) writeShards(ctx context.Context, pass filePass, name string,
	resume bool) (written []transforms.Written, dir string, err error) {
	// The names of files have only the start of their shards, so each size of shards has its own directory.
	common := pass.Common()
	common.Shards = nil
	pass.SetOut("") // the directory is named by a hash of the pass
	dir = j.Work.File(name, engine.Program(), pass, j.Options.ShardBytes)
	pass.SetOut(dir)
	shards := Shards(j.Options, &common.Data)
	if p, ok := pass.(*scoring.Predict); ok && p.Lines {
		shards = common.Data.Shards(math.MaxInt64 / 2) // line numbers are known only if a file is read from its start
	}
	var done map[dataset.Shard]transforms.Written
	if resume { // otherwise the work directory was empty
		if done, err = j.finished(ctx, dir, shards); err != nil {
			return nil, "", err
		}
		if len(done) > 0 {
			j.Progress.Notef("found %d of %d finished shards in the work directory", len(done), len(shards))
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
				all[i].Report = reports[i] // Tile has counted the lines before it
			}
			return all, dir, nil
		}
		shards = wholeFiles(shards, again)
	}
}

// writeFresh runs the pass over the unfinished shards.
func (j *Job) writeFresh(ctx context.Context, pass filePass, name string) ([]transforms.Written, error) {
	sc, err := j.StorePass(ctx, pass)
	if err != nil {
		return nil, err
	}
	list := j.Work.File(name+".written", engine.Program(), pass)
	if err := j.Run(ctx, func(s beam.Scope) { transforms.WriteLines(s, list, pass.Write(s, sc)) }); err != nil {
		return nil, err
	}
	all, err := transforms.ReadLines[transforms.Written](ctx, list)
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

// finished returns what was written for the shards whose files are all intact. A shard with an error is
// repeated. It lists the directory once, because a query for each shard would take a round trip.
func (j *Job) finished(ctx context.Context, dir string,
	shards []dataset.Shard) (map[dataset.Shard]transforms.Written, error) {
	present := map[string]bool{}
	names, err := storage.Names(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		present[name] = true
	}
	var mu sync.Mutex
	done := map[dataset.Shard]transforms.Written{}
	var reads errgroup.Group
	reads.SetLimit(parallelReads)
	for _, s := range shards {
		if !present[transforms.DoneName(s)] {
			continue
		}
		reads.Go(func() error {
			w, err := finishedShard(ctx, dir, s)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				done[s] = w
			} else if exit.Damaged(err) {
				j.NoteDamage(err)
			}
			return nil
		})
	}
	reads.Wait()
	return done, ctx.Err()
}

// errUnfinished means that the files of a shard are not complete.
var errUnfinished = errors.New("pipelines: shard is not finished")

// finishedShard returns what an earlier run has written for a shard, if its files are complete.
func finishedShard(ctx context.Context, dir string, s dataset.Shard) (w transforms.Written, err error) {
	data, err := storage.ReadState(ctx, storage.Join(dir, transforms.DoneName(s)), transforms.MaxState)
	if err != nil {
		return w, err
	}
	if err := json.Unmarshal(data, &w); err != nil || w.Report.Shard != s || w.Report.Fault != "" {
		return w, errUnfinished
	}
	for _, p := range w.Outputs {
		for _, f := range p.Files {
			if err := f.Checksum.Verify(ctx, storage.Join(dir, f.Name)); err != nil {
				return w, err
			}
		}
	}
	return w, nil
}

// PublishShards writes the files of the shards of a pass and publishes them. If files turn out to be damaged
// when they are published, it writes them again.
func (j *Job) PublishShards(ctx context.Context, pass filePass, name string,
	publish func(written []transforms.Written, dir string) error) error {
	const tries = 3
	for try := 1; ; try++ {
		written, dir, err := j.writeShards(ctx, pass, name, j.Options.Resume || try > 1)
		if err != nil {
			return err
		}
		if err = publish(written, dir); !exit.Damaged(err) || try == tries {
			return err
		}
		j.NoteDamage(err)
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

// PublishedFiles returns the parts in the order of the rows, with the names of their files in the output.
func PublishedFiles(d *dataset.Dataset, written []transforms.Written, dir string) (parts []results.OutputFiles,
	files []storage.File) {
	for _, w := range written {
		for _, p := range w.Outputs {
			part := results.OutputFiles{File: d.Files[w.Report.Shard.File].Name, First: w.Report.Shard.Line, Rows: p.Rows,
				Blank: w.Report.Blank + w.Report.Headers}
			for _, f := range p.Files {
				name := fmt.Sprintf("part-%05d%s", len(parts), f.Suffix)
				part.Names = append(part.Names, name)
				files = append(files, storage.File{Name: name, From: storage.Join(dir, f.Name), Checksum: &f.Checksum})
			}
			parts = append(parts, part)
		}
	}
	return parts, files
}
