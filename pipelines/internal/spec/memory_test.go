package spec

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/machine"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/sgd"
	"github.com/bochner-ml/bochner/models/svm"
	"github.com/bochner-ml/bochner/pipelines/engine"
	_ "github.com/bochner-ml/bochner/pipelines/engine/remote" // clusters
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

func TestTrainingsBeyondTheMachineAreNotedOrRejected(t *testing.T) {
	m := results.Memory{Peak: 3 << 30}
	for _, test := range []struct {
		have    machine.Memory
		note    string
		refused string
	}{
		{machine.Memory{Limit: 8 << 30, By: "the machine", Free: 4 << 30}, "", ""},
		{machine.Memory{}, "", ""}, // it is not known
		{machine.Memory{Limit: 8 << 30, By: "the machine", Free: 2 << 30},
			"training takes up to 3.22 GB of memory, and only 2.15 GB is free", ""},
		{machine.Memory{Limit: 5 << 29, By: "the control group", Free: 1 << 30},
			"3.22 GB of memory, but the control group allows only 2.68 GB: it may run out of memory; use fewer " +
				"--features or --folds", ""},
		{machine.Memory{Limit: 1, By: "ulimit -v", Free: 1}, "",
			"3.22 GB of memory, but ulimit -v allows none; raise this limit by 3.22 GB"},
		{machine.Memory{Limit: 1 << 30, By: "ulimit -v", Free: 1 << 30}, "",
			"3.22 GB of memory, but ulimit -v allows only 1.07 GB; use fewer --features or --folds, or one --lambda"},
	} {
		note, err := compareTo(m, test.have, Options{})
		if test.refused != "" {
			jobtest.WantError(t, test.have.By, err, exit.CodeData, test.refused)
		} else if err != nil || test.note == "" && note != "" || !strings.Contains(note, test.note) {
			t.Errorf("%+v: %q, %v", test.have, note, err)
		}
	}
	sgd := Options{Train: options.Train{Learner: &sgd.LearnerOptions{Shared: iterative.Shared{Running: iterative.Running{Partitions: 8}}}}}
	if got := sgd.shrink(); got != "use fewer --features, a smaller --keep_bytes or fewer --partitions" {
		t.Error(got)
	}
}

// Each reader of a cluster that has a shard has a partition; one machine has one. A number that is set stays.
func TestPartitionsFollowFromTheReadersOfACluster(t *testing.T) {
	for _, c := range []struct {
		runner                string
		readers, shards       int
		given                 iterative.Running
		partitions, roundsJob int
	}{
		{engine.Direct, 0, 100, iterative.Running{}, 1, 1},
		{engine.Universal, 16, 100, iterative.Running{}, 16, 1},
		{engine.Dataflow, 0, 100, iterative.Running{}, 8, 20},
		{engine.Dataflow, 400, 100, iterative.Running{}, 100, 20},
		{engine.Dataflow, 400, 100, iterative.Running{Partitions: 3, PerJob: 1}, 3, 1},
	} {
		for _, l := range []iterative.LearnerOptions{sgd.NewLearnerOptions(), svm.NewLearnerOptions()} {
			l.Common().Running = c.given
			o := Options{Train: options.Train{Learner: l}}
			o.Job.Engine.Runner, o.Job.Engine.Readers = c.runner, c.readers
			got := o.WithDefaults().WithPartitions(c.shards).Iterative().Common()
			if got.Partitions != c.partitions || got.PerJob != c.roundsJob {
				t.Errorf("%+v: %d partitions, %d rounds per job", c, got.Partitions, got.PerJob)
			}
			if starts := (100 + got.PerJob) / got.PerJob * 4; c.given.PerJob == 0 && c.runner == engine.Dataflow &&
				starts >= 60 {
				t.Errorf("jobs of 100 rounds start for %d minutes", starts)
			}
			if l.Common().Running != c.given {
				t.Errorf("the options themselves have changed: %+v", l.Common().Running)
			}
		}
	}
}
