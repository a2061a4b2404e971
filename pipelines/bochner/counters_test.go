//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// summaryCounts are the counters that a summary has too: rows used and set aside.
type summaryCounts struct{ used, aside int64 }

// predictsWithBadRows has a job predict rows, some of them bad, and returns the counts of its summary.
// name is the runner's name for the job.
func predictsWithBadRows(t *testing.T, dir, name string, job func(args ...string) result) summaryCounts {
	t.Helper()
	row := forMessages(t, dir)
	head, _, _ := strings.Cut(read(t, dir, "train.csv"), "\n")
	head = head[:strings.LastIndexByte(head, ',')] + "\n"
	bad := "oops" + row[strings.IndexByte(row, ','):]
	for i := range 3 {
		write(t, dir, fmt.Sprintf("rows-%d.csv", i), head+strings.Repeat(row, 100*(i+1))+strings.Repeat(bad, i))
	}
	r := job("predict", "--model", "model", "--data", "rows-*.csv", "--out", "out", "--max_bad_fraction", "0.5", "--json",
		"--job_name", name)
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	var said struct {
		Rows struct {
			Read, Used int64
			SetAside   int64 `json:"set_aside"`
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &said); err != nil || said.Rows.Used != 600 || said.Rows.SetAside != 3 {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	return summaryCounts{said.Rows.Used, said.Rows.SetAside}
}

// ofJobServer returns the counters of the job of that name that a job server shows through Beam's API.
func ofJobServer(t *testing.T, endpoint, job string) map[string]int64 {
	t.Helper()
	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	server := jobpb.NewJobServiceClient(conn)
	jobs, err := server.GetJobs(context.Background(), &jobpb.GetJobsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for _, j := range jobs.JobInfo {
		if !strings.HasPrefix(j.JobName, job) {
			continue
		}
		m, err := server.GetJobMetrics(context.Background(), &jobpb.GetJobMetricsRequest{JobId: j.JobId})
		if err != nil {
			t.Fatal(err)
		}
		addCounters(sums, m.Metrics.Committed)
	}
	return sums
}

// addCounters adds our counters to sums by name, over the steps of a pipeline.
func addCounters(sums map[string]int64, all []*pipepb.MonitoringInfo) {
	for _, info := range all {
		if info.Urn == "beam:metric:user:sum_int64:v1" && info.Labels["NAMESPACE"] == "bochner" {
			n, _ := protowire.ConsumeVarint(info.Payload)
			sums[info.Labels["NAME"]] += int64(n)
		}
	}
}

// check compares counters with a summary.
func (s summaryCounts) check(t *testing.T, who string, got map[string]int64) {
	t.Helper()
	if got["rows_read"] != s.used+s.aside || got["rows_used"] != s.used || got["rows_set_aside"] != s.aside {
		t.Errorf("%s shows %v; the summary has %d rows used and %d set aside", who, got, s.used, s.aside)
	}
}

// counted returns the name of a job that a cluster has not seen, of letters and digits: Flink's runner
// replaces others.
func counted() string { return fmt.Sprint("counted", time.Now().UnixNano()) }

func TestPrismCountersMatchTheSummary(t *testing.T) {
	campaign.Long(t)
	c := newCluster(t)
	dir, name := t.TempDir(), counted()
	said := predictsWithBadRows(t, dir, name, func(args ...string) result { return runCommand(t, c.job(dir, args...)) })
	said.check(t, "prism", ofJobServer(t, c.endpoint, name))
}

func TestFlinkCountersMatchTheSummary(t *testing.T) {
	c, dir, name := newFlink(t), t.TempDir(), counted()
	said := predictsWithBadRows(t, dir, name, func(args ...string) result { return c.run(t, dir, nil, args...) })
	at := slices.Index(c.flags, "--endpoint")
	said.check(t, "Beam's job server", ofJobServer(t, c.flags[at+1], name))
	said.check(t, "Flink", c.accumulators(t, name))
}

// accumulators returns the counters of jobs with names that begin so, as Flink's REST API shows them.
func (c *flinkCluster) accumulators(t *testing.T, job string) map[string]int64 {
	t.Helper()
	var all struct{ Jobs []struct{ JID, Name string } }
	c.rest(t, "/jobs/overview", &all)
	sums := map[string]int64{}
	for _, j := range all.Jobs {
		if !strings.HasPrefix(j.Name, job) {
			continue
		}
		var found struct {
			All []struct{ Name, Value string } `json:"user-task-accumulators"`
		}
		c.rest(t, "/jobs/"+j.JID+"/accumulators", &found)
		for _, a := range found.All {
			if a.Name != "__metricscontainers" { // of Beam
				continue
			}
			var of struct {
				Metrics struct{ Attempted []*pipepb.MonitoringInfo }
			}
			if err := json.Unmarshal([]byte(a.Value), &of); err != nil {
				t.Fatalf("%v: %s", err, a.Value)
			}
			addCounters(sums, of.Metrics.Attempted)
		}
	}
	return sums
}

// address returns the address of Flink's REST API.
func (c *flinkCluster) address(t *testing.T) string {
	t.Helper()
	conf := read(t, filepath.Join(c.dir, "conf", "flink-conf.yaml"))
	return "http://localhost:" + regexp.MustCompile(`(?m)^rest\.port: (\d+)$`).FindStringSubmatch(conf)[1]
}

// rest asks Flink's REST API.
func (c *flinkCluster) rest(t *testing.T, path string, to any) {
	t.Helper()
	answer, err := http.Get(c.address(t) + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatalf("%s: %v: %s", path, err, text)
	}
}
