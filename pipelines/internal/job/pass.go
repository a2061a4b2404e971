package job

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// ShardBytes is the default size of the shards of plain files.
const ShardBytes = 32 << 20

// maxListed is the largest number of rows set aside that are listed.
const maxListed = 10_000

// ScanSum runs a pass over the data that ends in one encoded sum (transforms.Sum) and decodes it into sum, which
// must be zero. If the reports show that a shard boundary was inside a quoted field, it tries again and reads the
// file as one shard. It returns the reports in the order of the rows.
func (j *Job) ScanSum(ctx context.Context, p transforms.AnyPass, name string,
	sum wire.Coded) (reports []dataset.Report, err error) {
	common := p.Common()
	defer func(given []dataset.Shard) { common.Shards = given }(common.Shards)
	var file string
	for {
		if file, reports, err = j.runSum(ctx, p, name); err != nil {
			return nil, err
		}
		again, err := untiled(&common.Data, common.Shards, reports)
		if err != nil {
			return nil, err
		}
		if len(again) == 0 {
			break
		}
		common.Shards = wholeFiles(common.Shards, again)
	}
	data, err := storage.ReadState(ctx, file, transforms.MaxState)
	if err != nil {
		return nil, err
	}
	if len(data) > largeSum {
		runtime.GC() // frees the garbage of the pass before the sum is decoded
	}
	if err := wire.Unmarshal(sum, data); err != nil {
		return nil, fmt.Errorf("%s: %w; run again without --resume", file, err)
	}
	return reports, nil
}

// largeSum is the size in bytes above which an encoded sum takes much of a job's memory.
const largeSum = 1 << 20

// runSum runs a pass unless a stopped run has left its result in the work directory. It returns the URI of the
// sum, and the reports.
func (j *Job) runSum(ctx context.Context, p transforms.AnyPass, name string) (sum string, reports []dataset.Report,
	err error) {
	sum = j.Work.File(name+".bin", engine.Program(), p)
	list := j.Work.File(name+".reports", engine.Program(), p)
	if err := j.ForgetFaults(ctx, list); err != nil {
		return "", nil, err
	}
	intact, err := j.Intact(ctx, sum, list)
	if err != nil {
		return "", nil, err
	}
	if intact {
		j.Progress.Notef("found the result of this pass in the work directory")
	} else if err := j.storeSum(ctx, p, sum, list); err != nil {
		return "", nil, err
	}
	if reports, err = transforms.ReadLines[dataset.Report](ctx, list); err != nil {
		return "", nil, err
	}
	if want := len(p.Common().Shards); len(reports) != want {
		return "", nil, fmt.Errorf("%d reports for %d shards", len(reports), want)
	}
	return sum, reports, nil
}

// storeSum runs a pass and writes its sum and its reports to these URIs.
func (j *Job) storeSum(ctx context.Context, p transforms.AnyPass, sum, list string) error {
	sc, err := j.StorePass(ctx, p)
	if err != nil {
		return err
	}
	return j.Run(ctx, func(s beam.Scope) {
		total, reports := transforms.Sum(s, sc, p)
		transforms.Write(s, sum, total)
		transforms.WriteLines(s, list, reports)
	})
}

// untiled sorts the reports and returns the positions of the files that their shards do not cover without
// overlap. They must be read as one shard. A fault of a reader is an error.
func untiled(d *dataset.Dataset, shards []dataset.Shard, reports []dataset.Report) (again []int, err error) {
	_, again = dataset.Tile(reports)
	if err := fault.OfReports(reports); err != nil {
		return nil, err
	}
	for _, file := range again {
		if slices.Contains(shards, dataset.Whole(file)) {
			return nil, &dataset.Error{Format: d.Schema.Format, Name: d.Files[file].Name, Err: errNotTiled}
		}
	}
	return again, nil
}

var errNotTiled = errors.New("was not read completely")

// wholeFiles replaces the shards of the given files by one shard each.
func wholeFiles(shards []dataset.Shard, files []int) []dataset.Shard {
	out := slices.DeleteFunc(slices.Clone(shards), func(s dataset.Shard) bool { return slices.Contains(files, s.File) })
	for _, file := range files {
		out = append(out, dataset.Whole(file))
	}
	return out
}

// Intact reports whether state files exist and are undamaged. It notes damage in the log.
func (j *Job) Intact(ctx context.Context, uris ...string) (bool, error) {
	for _, uri := range uris {
		err := storage.CheckState(ctx, uri)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return false, nil
		case exit.Damaged(err):
			j.NoteDamage(err)
			return false, nil
		case err != nil:
			return false, err
		}
	}
	return true, nil
}

// NoteDamage notes that a part of the work is repeated because its state is damaged.
func (j *Job) NoteDamage(err error) {
	j.Progress.Notef("%s; this part is done again", fault.Text(err))
}

// StorePass writes the pass file and returns the scan of the pass.
func (j *Job) StorePass(ctx context.Context, p transforms.AnyPass) (transforms.Scan, error) {
	j.Worker.ShareSelection(p.Common())
	uri, err := transforms.StorePass(ctx, j.Work.Dir, p, j.files)
	if err != nil {
		return transforms.Scan{}, err
	}
	about := j.Engine.About()
	sc := transforms.Scan{
		Pass: uri, Readers: max(1, min(j.Engine.Readers, len(p.Common().Shards))), Stripes: p.Common().Stripes,
		Threads: j.Engine.Threads, SolveThreads: j.Options.Engine.Threads, // without the default, so 0 means all cores
		Reshuffle: about.Reshuffle, Split: !about.InProcess, Checkpoint: j.Engine.Checkpoint,
	}
	if j.Options.Resume {
		var rows int64
		if rows, err = sc.Continue(ctx); rows > 0 {
			j.Progress.Notef("found partial sums of %s rows in the work directory", report.Groups(rows))
		}
	}
	return sc, err
}

// ForgetFaults removes the reports of an earlier run if they contain read errors, so that the data is read
// again. Reports of other types embed a dataset.Report.
func (j *Job) ForgetFaults(ctx context.Context, uri string) error {
	intact, err := j.Intact(ctx, uri)
	if err != nil || !intact {
		return err
	}
	left, err := transforms.ReadLines[dataset.Report](ctx, uri)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(left, func(r dataset.Report) bool { return r.Fault != "" }) {
		return storage.Remove(ctx, uri)
	}
	return nil
}

// Count adds up the reports. It refuses the data if no rows can be used, or if the share of unusable rows is
// larger than maxBad.
func Count(d *dataset.Dataset, reports []dataset.Report, maxBad float64) (results.RowCounts, error) {
	var c results.RowCounts
	var bad int64
	filled := map[int]bool{}
	for _, r := range reports {
		if r.Rows+r.Bad+r.Unlabeled+r.Weightless+r.Unselected > 0 {
			filled[r.Shard.File] = true
		}
		c.Used += r.Rows
		bad += r.Bad
		c.Unlabeled += r.Unlabeled
		c.Weightless += r.Weightless
		c.Missing += r.Missing
		c.Others += r.Others
		c.Zones += r.Zones
		c.Blank += r.Blank
		c.Headers += r.Headers
		c.Listed = append(c.Listed, r.SetAside[:min(len(r.SetAside), maxListed-len(c.Listed))]...)
	}
	c.SetAside = bad + c.Unlabeled + c.Weightless
	c.Read = c.Used + c.SetAside
	if n := len(d.Files) - len(filled); n > 0 {
		c.Remarks = fmt.Sprintf("; %d of %d files without rows", n, len(d.Files))
	}
	if i := slices.IndexFunc(reports, func(r dataset.Report) bool { return r.Quoted.Rows > 0 }); i >= 0 {
		shard, f := reports[i].Shard, reports[i].Quoted
		c.Remarks += fmt.Sprintf("; %s:%d: a quoted field runs to line %d, and %d of its lines look like rows; "+
			"if its quotes are stray, remove them", d.Files[shard.File].Name, shard.Line+f.From, shard.Line+f.To, f.Rows)
	}
	if float64(bad) > maxBad*float64(c.Read) {
		b := firstBad(reports)
		first := &dataset.Error{Format: d.Schema.Format, Name: b.Position(), Err: errors.New(b.Reason)}
		if maxBad == 0 {
			return c, exit.Dataf("%w\nno row may be set aside (--max_bad_fraction 0): fix the file, or allow a share of rows "+
				"to be set aside", first)
		}
		return c, exit.Dataf("%w\n%d of %d rows are unusable, more than --max_bad_fraction %g allows; this is the first",
			first, bad, c.Read, maxBad)
	}
	if c.Used == 0 {
		return c, noRows(d, c, reports)
	}
	return c, nil
}

// maxNamedIDs is the largest number of ids that an error names.
const maxNamedIDs = 5

// CheckNamed returns an error if d selects rows by ids and some id has no used row.
func CheckNamed(ctx context.Context, d *dataset.Dataset, reports []dataset.Report) error {
	n, first, err := d.Only.Missing(ctx, reports, maxNamedIDs)
	if err != nil || n == 0 {
		return err
	}
	quoted := make([]string, len(first))
	for i, id := range first {
		quoted[i] = strconv.Quote(id)
	}
	etc := ""
	if n > len(first) {
		etc = ", …"
	}
	return exit.Dataf("%s of the list: no row of the data that can be used has %s%s; give the files with "+
		"these rows, or take the ids out of the list; ids are compared as they are written in the files",
		report.Counted64(int64(n), "id"), strings.Join(quoted, ", "), etc)
}

// firstBad returns the first row that was set aside for a reason other than a missing label. There must be one.
func firstBad(reports []dataset.Report) dataset.SetAside {
	for _, r := range reports {
		for _, a := range r.SetAside {
			if !strings.HasPrefix(a.Reason, dataset.NoLabel) {
				return a
			}
		}
	}
	panic("job: bad rows are counted, but none is listed")
}

// noRows returns the error for data without usable rows, with reasons and advice.
func noRows(d *dataset.Dataset, c results.RowCounts, reports []dataset.Report) error {
	why := errors.New("has no rows")
	switch {
	case c.SetAside > 0:
		why = errors.New("has no usable rows: " + strings.Join(reasonsSetAside(d, c, reports), "; "))
	case d.TestSplit != nil:
		why = errors.New("has no rows, or none in one of the two parts that --test makes")
	case len(d.Schema.Columns) > 0:
		why = errors.New("has columns but no rows")
	}
	if n := len(d.Files); n > 1 {
		why = fmt.Errorf("%w; neither do the other files, %d in all", why, n)
	}
	return d.Errorf("%w", why)
}

// reasonsSetAside returns the reasons why rows were set aside, with advice.
func reasonsSetAside(d *dataset.Dataset, c results.RowCounts, reports []dataset.Report) (reasons []string) {
	add := func(n int64, format string, args ...any) {
		counted := fmt.Sprintf("%d of %d", n, c.SetAside)
		if n == c.SetAside {
			counted = fmt.Sprintf("all %d", n)
		}
		if n > 0 {
			reasons = append(reasons, counted+" "+fmt.Sprintf(format, args...))
		}
	}
	if bad := c.SetAside - c.Unlabeled - c.Weightless; bad > 0 {
		b := firstBad(reports)
		add(bad, "cannot be read, the first is %s: %s", b.Position(), b.Reason)
	}
	switch {
	case len(d.Targets) > 0:
		add(c.Unlabeled, "lack one of the labels %s; leave out the label that is missing, with --label",
			strings.Join(d.Targets, ", "))
	case d.Label != "":
		add(c.Unlabeled, "lack the label, column %q; name another column with --label", d.Label)
	default:
		add(c.Unlabeled, "have no label")
	}
	add(c.Weightless, "have the weight 0, so they do not count; give some a weight above 0, or leave the weights out")
	return reasons
}

// SetAsideFiles returns the SetAsideFile, or nil if no rows were set aside.
func SetAsideFiles(c results.RowCounts) []storage.File {
	if len(c.Listed) == 0 {
		return nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, s := range c.Listed {
		enc.Encode(s) // cannot fail: strings and numbers, in memory
	}
	return []storage.File{{Name: results.SetAsideFile, Data: out.Bytes()}}
}
