package job

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/csvio"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// reported is the report of a shard with so many rows, and bad ones from a line on.
func reported(file int, used, bad int64, line int64) dataset.Report {
	r := dataset.Report{Shard: dataset.Shard{File: file}, RowCounts: dataset.RowCounts{Rows: used, Bad: bad}}
	for i := range bad {
		r.SetAside = append(r.SetAside, dataset.SetAside{File: fmt.Sprintf("f%d", file), Line: line + i, Column: 2,
			Reason: "is odd"})
	}
	return r
}

func TestCountsAddUpAndRejectTooMany(t *testing.T) {
	d := jobtest.Opened(t, "a,y\n1,2\n", dataset.Options{Label: "y"})
	reports := []dataset.Report{reported(0, 90, 4, 7), reported(1, 0, 0, 0), reported(1, 5, 1, 3)}
	for _, c := range []struct {
		maxBad float64
		words  []string // of the error, or none
	}{
		{0, []string{"f0:7:2: is odd", "--max_bad_fraction 0"}},
		{0.049, []string{"f0:7:2: is odd", "5 of 100 rows", "0.049"}},
		{0.05, nil},
		{1, nil},
	} {
		got, err := Count(d, reports, c.maxBad)
		if c.words != nil {
			jobtest.WantError(t, fmt.Sprint(c.maxBad), err, exit.CodeData, c.words...)
			continue
		}
		if err != nil || got.Read != 100 || got.Used != 95 || got.SetAside != 5 || len(got.Listed) != 5 ||
			got.Listed[4].File != "f1" {
			t.Errorf("%g: %+v, %v", c.maxBad, got, err)
		}
	}
}

func TestCountListsAtMostMaxListedRows(t *testing.T) {
	d := jobtest.Opened(t, "a\n1\n", dataset.Options{})
	var reports []dataset.Report
	for i := range 12 {
		reports = append(reports, reported(0, 1, 1000, int64(i)))
	}
	c, err := Count(d, reports, 1)
	if err != nil || c.SetAside != 12_000 || len(c.Listed) != maxListed {
		t.Errorf("%d listed, %v", len(c.Listed), err)
	}
}

func TestErrorWithoutRowsNamesTheCause(t *testing.T) {
	with := jobtest.Opened(t, "a,y\n", dataset.Options{Label: "y",
		Formats: []dataset.FormatOptions{csvio.Options{Header: csvio.Present}}})
	_, err := Count(with, []dataset.Report{{}}, 0)
	jobtest.WantError(t, "header", err, exit.CodeData, with.Files[0].Name, "has columns but no rows")
	for what, c := range map[string]struct {
		unlabeled, weightless, bad int64
		words                      []string
	}{
		"unreadable": {0, 0, 3, []string{"has no usable rows: all 3 cannot be read, the first is f0:1:2: is odd"}},
		"no label":   {4, 0, 0, []string{`all 4 lack the label, column "y"; name another column with --label`}},
		"weight 0": {0, 5, 0,
			[]string{"all 5 have the weight 0, so they do not count; give some a weight above 0, or leave the weights out"}},
		"all three": {1, 2, 3, []string{"3 of 6 cannot be read, the first is ", `; 1 of 6 lack the label, column "y"; `,
			"; 2 of 6 have the weight 0, "}},
	} {
		r := reported(0, 0, c.bad, 1)
		r.Unlabeled, r.Weightless = c.unlabeled, c.weightless
		_, err = Count(with, []dataset.Report{r}, 1)
		jobtest.WantError(t, what, err, exit.CodeData, c.words...)
	}
	with.Schema.Columns = nil
	_, err = Count(with, nil, 0)
	jobtest.WantError(t, "nothing", err, exit.CodeData, "has no rows")
}

// readShards reads shards one after the other, as the readers of a pass do.
func readShards(d *dataset.Dataset, shards []dataset.Shard, mode dataset.Mode) (reports []dataset.Report) {
	for _, s := range shards {
		r := d.Read(context.Background(), s, func([]byte) (float64, string) { return 0, "" }, mode)
		var b rowio.Block
		for r.Next(&b) {
		}
		reports = append(reports, r.Report())
		r.Close()
	}
	return reports
}

// If no row may be set aside, a cut inside a quoted newline is not reported as a bad row, and does not hide
// one.
func TestCutsInQuotesAreReadAgainAndBadRowsAreNot(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		bad  int64 // line, 0 for none
	}{
		"good":           {"x,y\n" + strings.Repeat("1,\"a\nb\n\"\n", 30), 0},
		"bad row behind": {"x,y\n" + strings.Repeat("1,\"a\nb\n\"\n", 30) + "p,q\n", 92},
		"bad row before": {"x,y\np,q\n" + strings.Repeat("1,\"a\nb\n\"\n", 30), 2},
		"bad row in between": {"x,y\n" + strings.Repeat("1,\"a\nb\n\"\n", 15) + "p,q\n" + strings.Repeat("1,\"a\nb\n\"\n",
			15), 47},
	} {
		d := jobtest.Opened(t, c.text, dataset.Options{Label: "y",
			Formats: []dataset.FormatOptions{csvio.Options{Header: csvio.Present}}})
		tries := 0
		for size := int64(1); size < 120; size++ {
			shards := d.Shards(size)
			for {
				reports := readShards(d, shards, dataset.FailFast)
				again, err := untiled(d, shards, reports)
				if err != nil {
					t.Fatalf("%s, size %d: %v", name, size, err)
				}
				if len(again) > 0 {
					tries++
					shards = wholeFiles(shards, again)
					continue
				}
				got, err := Count(d, reports, 0)
				if c.bad == 0 && (err != nil || got.Used != 30) {
					t.Fatalf("%s, size %d: %+v, %v", name, size, got, err)
				}
				if place := fmt.Sprintf(":%d:1:", c.bad); c.bad > 0 && (err == nil || !strings.Contains(err.Error(), place)) {
					t.Fatalf("%s, size %d: %v, want %s", name, size, err, place)
				}
				break
			}
		}
		if c.bad != 2 && tries < 50 {
			t.Errorf("%s: read again %d times only", name, tries)
		}
	}
}

func TestFaultsKeepTheirExitCode(t *testing.T) {
	jobtest.WantError(t, "data", fault.OfReports([]dataset.Report{{}, {Fault: "torn"}}), exit.CodeData, "torn")
	jobtest.WantError(t, "storage", fault.OfReports([]dataset.Report{{Fault: "gone", Storage: true}}),
		exit.CodeStorage, "gone")
	if err := fault.OfReports([]dataset.Report{{}}); err != nil {
		t.Error(err)
	}
}

func TestWholeFileThatDoesNotTileIsAnError(t *testing.T) {
	d := jobtest.Opened(t, "a\n1\n", dataset.Options{})
	shards := []dataset.Shard{dataset.Whole(0)}
	reports := []dataset.Report{{Shard: shards[0], End: 2}, {Shard: dataset.Shard{Start: 1}, Begin: 3}}
	_, err := untiled(d, shards, reports)
	jobtest.WantError(t, "", err, exit.CodeData, "not read completely")
	if got := wholeFiles([]dataset.Shard{{File: 0, End: 4}, {File: 1}, {File: 0, Start: 4}}, []int{0}); !slices.Equal(got,
		[]dataset.Shard{{File: 1}, dataset.Whole(0)}) {
		t.Errorf("%v", got)
	}
}

func TestReportsWithFaultsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	state := func(name, content string) string {
		name = filepath.Join(dir, name)
		if err := storage.WriteState(jobtest.Ctx, name, []byte(content)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	whole := state("whole", "{\"rows\":1}\n{\"rows\":2}\n")
	faulty := state("faulty", "{\"rows\":1}\n{\"fault\":\"the connection broke\",\"storage\":true}\n")
	j := &Job{Progress: report.NewProgress(nil, nil)}
	for name, stays := range map[string]bool{whole: true, faulty: false, filepath.Join(dir, "none"): false} {
		if err := j.ForgetFaults(jobtest.Ctx, name); err != nil {
			t.Error(err)
		}
		if there, err := storage.Exists(jobtest.Ctx, name); there != stays || err != nil {
			t.Errorf("%s: there %t, %v", name, there, err)
		}
	}
}
