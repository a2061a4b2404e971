//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/runnerlib"
	df "google.golang.org/api/dataflow/v1b3"
	"google.golang.org/protobuf/proto"

	"github.com/bochner-ml/bochner/internal/testing/gcstest"
)

// cloud stands in for what a job on Dataflow meets: storage with one bucket, a
// server that hands out tokens for a service account's key, and the service,
// which notes what it is asked for.
type cloud struct {
	storage *gcstest.Server
	address string // of the storage
	api     *httptest.Server
	key     string // file with the service account's key

	mu    sync.Mutex
	jobs  []*df.Job
	says  map[string][]string // messages by job
	asked int                 // times that a driver asked for a job
	// run does a job that was submitted, and returns its last state and messages.
	run func(*df.Job) (state string, messages []string)
}

const (
	testProject = "bochner-test"
	testRegion  = "europe-west4"
	testBucket  = gcstest.Bucket
)

// newCloud starts a cloud that ends with the test, and leads clients of storage
// in this process and its children to it.
func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{says: map[string][]string{}}
	c.run = func(*df.Job) (string, []string) { return "JOB_STATE_DONE", nil }
	c.storage, c.address = gcstest.Start(t)

	mux := http.NewServeMux()
	jobs := "/v1b3/projects/" + testProject + "/locations/" + testRegion + "/jobs"
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]any{"access_token": "good", "token_type": "Bearer", "expires_in": 3600})
	})
	mux.HandleFunc("POST "+jobs, c.create)
	mux.HandleFunc("GET "+jobs, func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		list := &df.ListJobsResponse{}
		for _, j := range c.jobs {
			if j.CurrentState == "JOB_STATE_RUNNING" {
				list.Jobs = append(list.Jobs, &df.Job{Id: j.Id, Name: j.Name})
			}
		}
		answer(w, list)
	})
	mux.HandleFunc("GET "+jobs+"/{id}", func(w http.ResponseWriter,
		r *http.Request) {
		c.withJob(w, r, func(*df.Job) { c.asked++ })
	})
	mux.HandleFunc("PUT "+jobs+"/{id}", func(w http.ResponseWriter, r *http.Request) {
		var asked df.Job
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.withJob(w, r, func(j *df.Job) { j.RequestedState, j.CurrentState = asked.RequestedState, asked.RequestedState })
	})
	mux.HandleFunc("GET "+jobs+"/{id}/messages", func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		list := &df.ListJobMessagesResponse{}
		for _, m := range c.says[r.PathValue("id")] {
			list.JobMessages = append(list.JobMessages, &df.JobMessage{MessageText: m})
		}
		answer(w, list)
	})
	mux.HandleFunc("GET "+jobs+"/{id}/metrics",
		func(w http.ResponseWriter, r *http.Request) { answer(w, &df.JobMetrics{}) })
	c.api = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" && r.Header.Get("Authorization") != "Bearer good" {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(c.api.Close)

	c.key = serviceAccount(t, c.api.URL+"/token")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", c.key)
	t.Setenv("STORAGE_EMULATOR_HOST", c.address)
	return c
}

// serviceAccount writes a key file whose tokens come from the given address.
func serviceAccount(t *testing.T, tokens string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": testProject, "private_key_id": "1",
		"private_key":  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"client_email": "launcher@" + testProject + ".iam.gserviceaccount.com", "client_id": "1", "token_uri": tokens,
	})
	if err != nil {
		t.Fatal(err)
	}
	return write(t, t.TempDir(), "key.json", string(text))
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

// create takes a job and does it.
func (c *cloud) create(w http.ResponseWriter, r *http.Request) {
	j := new(df.Job)
	if err := json.NewDecoder(r.Body).Decode(j); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	j.Id = fmt.Sprintf("job-%d", len(c.jobs)+1)
	j.CurrentState = "JOB_STATE_RUNNING"
	c.jobs = append(c.jobs, j)
	c.mu.Unlock()
	state, messages := c.run(j)
	c.mu.Lock()
	defer c.mu.Unlock()
	j.CurrentState, c.says[j.Id] = state, messages
	answer(w, &df.Job{Id: j.Id, Name: j.Name, CurrentState: "JOB_STATE_QUEUED"})
}

// withJob calls f with the job that a request names, and answers with it.
func (c *cloud) withJob(w http.ResponseWriter, r *http.Request, f func(*df.Job)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.jobs {
		if j.Id == r.PathValue("id") {
			f(j)
			answer(w, &df.Job{Id: j.Id, Name: j.Name, CurrentState: j.CurrentState, RequestedState: j.RequestedState})
			return
		}
	}
	http.NotFound(w, r)
}

// put stores a file in the bucket and returns its name.
func (c *cloud) put(name, content string) string {
	c.storage.Fill(name, []byte(content))
	return "gs://" + testBucket + "/" + name
}

// get returns what the storage holds under a name.
func (c *cloud) get(t *testing.T, uri string) []byte {
	t.Helper()
	content := c.storage.Content(strings.TrimPrefix(uri, "gs://"+testBucket+"/"))
	if content == nil {
		t.Errorf("%s is missing", uri)
	}
	return content
}

// names lists what the bucket holds below a directory.
func (c *cloud) names(dir string) []string {
	return slices.DeleteFunc(c.storage.Names(), func(name string) bool { return !strings.HasPrefix(name, dir) })
}

// flags returns the flags of a job on this cloud, followed by more.
func (c *cloud) flags(more ...string) []string {
	return append([]string{
		"--runner", "dataflow", "--project", testProject, "--region", testRegion, "--dataflow_endpoint", c.api.URL + "/",
		"--staging_location", "gs://" + testBucket + "/staging", "--temp_location", "gs://" + testBucket + "/temp",
		"--storage_emulator", c.address,
	}, more...)
}

// pipelineOptions holds the options of a job that tests look at.
type pipelineOptions struct {
	Options struct {
		Experiments       []string `json:"experiments"`
		PipelineURL       string   `json:"pipelineUrl"`
		PipelineProtoHash string   `json:"pipelineProtoHash"`
		TempLocation      string   `json:"tempLocation"`
	} `json:"options"`
}

// graph returns the pipeline that a job was staged with, and its size.
func (c *cloud) graph(t *testing.T, j *df.Job) (*pipepb.Pipeline, int) {
	t.Helper()
	var o pipelineOptions
	if err := json.Unmarshal(j.Environment.SdkPipelineOptions, &o); err != nil {
		t.Fatal(err)
	}
	data := c.get(t, o.Options.PipelineURL)
	p := new(pipepb.Pipeline)
	if err := proto.Unmarshal(data, p); err != nil {
		t.Fatal(err)
	}
	return p, len(data)
}

// runOn has the cloud do its jobs as Dataflow would: the staged graph, by the
// staged program as a worker, on a cluster of this machine.
func (c *cloud) runOn(t *testing.T, workers *cluster) {
	c.run = func(j *df.Job) (string, []string) {
		p, _ := c.graph(t, j)
		pool, err := proto.Marshal(&pipepb.ExternalPayload{Endpoint: &pipepb.ApiServiceDescriptor{Url: workers.pool}})
		if err != nil {
			t.Error(err)
		}
		for _, env := range p.Components.Environments {
			env.Urn, env.Payload = "beam:env:external:v1", pool
		}
		worker := filepath.Join(workers.temp, "staged")
		// The cluster tells its own programs by their last bytes.
		program := slices.Concat(c.get(t, j.Environment.WorkerPools[0].Packages[0].Location), workers.mark)
		if err := os.WriteFile(worker, program, 0o777); err != nil {
			t.Error(err)
		}
		defer os.Remove(worker)
		beam.PipelineOptions.Set("storage_emulator", c.address)
		if _, err := runnerlib.Execute(context.Background(), p, workers.endpoint,
			&runnerlib.JobOptions{Name: j.Name, Worker: worker}, false); err != nil {
			return "JOB_STATE_FAILED", []string{"Workflow failed.", err.Error()}
		}
		return "JOB_STATE_DONE", nil
	}
}

func fileBytes(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
