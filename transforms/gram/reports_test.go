package gram

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms"
)

// Each shard has one report, with the same contents, for any number of stripes.
func TestStripesReportEachShardOnce(t *testing.T) {
	lines := table(2000)
	lines[7] = "1e9,1e9,nonsense,1" // set aside
	pass := func() *Pass {
		p := passOf(t, lines, 1)
		p.Mode = dataset.SkipRow
		p.Spec.Frequent, p.Spec.RowHashes = &profile.FrequentHashes{}, true
		return p
	}
	p := pass()
	index, st := sumParts(t, p, 9_000, "direct", transforms.Scan{Readers: 1, Threads: 1})
	want := readState(t, st.Reports)
	if n := bytes.Count(want, []byte("\n")); n < 5 || n != len(p.Shards) || !bytes.Contains(want, []byte("contents")) ||
		!bytes.Contains(want, []byte("nonsense")) {
		t.Fatalf("%d lines of %d shards", n, len(p.Shards))
	}
	for _, stripes := range []int{2, 4, 12} {
		same := *p
		got, st := sumParts(t, &same, 9_000, "direct", transforms.Scan{Readers: 1, Threads: 1, Stripes: stripes})
		if !bytes.Equal(got, index) {
			t.Errorf("%d stripes: other sums", stripes)
		}
		if reports := readState(t, st.Reports); !bytes.Equal(reports, want) {
			t.Errorf("%d stripes: other reports:\n%.300s\nwant\n%.300s", stripes, reports, want)
		}
	}
}

// A shard that one stripe could not read is not complete, even if the others have read it, and stripes that
// read different rows are an error.
func TestStripesMustAgreeOnTheRows(t *testing.T) {
	line := func(r Report) []byte {
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	of := func(rows int64, fault string) []byte {
		return line(Report{Report: dataset.Report{RowCounts: dataset.RowCounts{Rows: rows}, Fault: fault}, Saturated: rows})
	}
	for _, lines := range [][][]byte{{of(3, ""), of(1, "gone")}, {of(1, "gone"), of(3, "")}} {
		joined, err := joinReports(lines)
		if err != nil || len(joined) != 1 {
			t.Fatalf("%s: %v", joined, err)
		}
		var r Report
		if err := json.Unmarshal(joined[0], &r); err != nil || r.Fault != "gone" || r.Rows != 1 || r.Saturated != 4 {
			t.Errorf("%s: %v", joined[0], err)
		}
	}
	if _, err := joinReports([][]byte{of(3, ""), of(4, "")}); err == nil ||
		!strings.Contains(err.Error(), "3 rows for one stripe of the sums and 4 for another") {
		t.Error(fmt.Sprint(err))
	}
}

// readState returns the content of a file of state.
func readState(t *testing.T, name string) []byte {
	t.Helper()
	data, err := storage.ReadState(t.Context(), name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
