package pipelines

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/machine"
)

func TestTrainingsBeyondTheMachineAreToldOrRefused(t *testing.T) {
	m := Memory{Peak: 3 << 30}
	for _, test := range []struct {
		have    machine.Memory
		note    string
		refused string
	}{
		{machine.Memory{Limit: 8 << 30, By: "the machine", Free: 4 << 30}, "", ""},
		{machine.Memory{}, "", ""}, // it is not known
		{machine.Memory{Limit: 8 << 30, By: "the machine", Free: 2 << 30}, "training takes up to 3.22 GB of memory, 2.15 GB is free at present", ""},
		{machine.Memory{Limit: 5 << 29, By: "the control group", Free: 1 << 30}, "3.22 GB of memory, the control group allows 2.68 GB: it may end before it is done; take fewer --features or --folds", ""},
		{machine.Memory{Limit: 1 << 30, By: "ulimit -v", Free: 1 << 30}, "", "3.22 GB of memory, ulimit -v allows 1.07 GB; take fewer --features or --folds, or one --lambda"},
	} {
		note, err := m.beyond(test.have, TrainOptions{})
		if test.refused != "" {
			wantError(t, test.have.By, err, ExitData, test.refused)
		} else if err != nil || test.note == "" && note != "" || !strings.Contains(note, test.note) {
			t.Errorf("%+v: %q, %v", test.have, note, err)
		}
	}
	sgd := TrainOptions{Learner: LearnerOptions{Name: "sgd", Rounds: RoundOptions{Partitions: 8}}}
	if got := sgd.shrink(); got != "take fewer --features, a smaller --keep_bytes or fewer --partitions" {
		t.Error(got)
	}
}

// What is shuffled is of the lanes that the plan itself advises.
func TestThePlannedShuffleIsOfThePlansLanes(t *testing.T) {
	p := aPlan(1e9, 100, 4096, 0.5, 0.3)
	if c := p.cluster(Engine{Runner: dataflow}, 100); c.Lanes <= 64 {
		t.Fatalf("%+v", c)
	}
	name := write(t, t.TempDir(), "d.csv", strings.Join(made(t, "moons", 500, 1), ""))
	o := TrainOptions{}
	o.Data.Data, o.Data.Label = []string{name}, "y"
	o.Job.ShardBytes, o.Job.Engine.Runner, o.Job.Engine.Lanes = 1000, dataflow, 3
	three := plan(t, o)
	o.Job.Engine.Lanes = 6
	if six := plan(t, o); three.Cluster.Lanes != 3 || six.Cluster.Lanes != 6 || six.Shuffle != 2*three.Shuffle || three.Shuffle == 0 {
		t.Errorf("%+v\n%+v", three, six)
	}
	o.Job.Engine.Lanes = 0
	if free := plan(t, o); free.Shuffle != int64(free.Cluster.Lanes)*three.Shuffle/3 {
		t.Errorf("%d lanes: %d bytes, of three %d", free.Cluster.Lanes, free.Shuffle, three.Shuffle)
	}
}

// A plan reads columns and classes where it can, and says so where it cannot read all.
func TestPlansReckonWithTheDataThemselves(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 300 {
		lines.WriteString("c")
		lines.WriteString(strings.Repeat("x", i%150))
		lines.WriteString(" 1:1 4000:2\n")
	}
	o := TrainOptions{}
	o.Data.Data = []string{write(t, dir, "d.svm", lines.String())}
	p := plan(t, o)
	if p.Columns != 4000 || p.Outputs != 150 || !p.Whole || p.Looked != 300 {
		t.Errorf("%+v", p)
	}
	if got := text(t, p); !strings.Contains(got, "300, of 4000 numbers, 150 classes") || strings.Contains(got, "looked at") || !strings.Contains(got, "at most ") {
		t.Error(got)
	}
	p.Whole = false
	if got := text(t, p); !strings.Contains(got, "of which 300 were looked at") {
		t.Error(got)
	}
}
