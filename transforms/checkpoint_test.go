package transforms

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/bochner-ml/bochner/io/dataset"
)

// countingSaver counts the checkpoints of a reader without work.
type countingSaver struct{ saves int }

func (s *countingSaver) Save(context.Context, bool) ([]byte, error) {
	s.saves++
	return []byte("{}"), nil
}

func (s *countingSaver) Restore(context.Context, []byte) ([]dataset.Report, error) { return nil, nil }

// A checkpoint ends before a shard that could not be read, or not to its end; otherwise its rows would count as
// read.
func TestCheckpointsExcludeUnreadableShards(t *testing.T) {
	for what, bad := range map[string]dataset.Report{"unreadable": {Fault: "input/output error"},
		"stopped": {Stopped: true}} {
		fn := Fn{Scan: Scan{Pass: filepath.Join(t.TempDir(), "pass-train.json"), Readers: 1, Checkpoint: -1}}
		fn.Setup()
		reader, saver := NewReader(fn, 0), new(countingSaver)
		reader.Saver = saver
		s := reader.newSaving(0)
		good := dataset.Report{RowCounts: dataset.RowCounts{Rows: 3}}
		for i, r := range []dataset.Report{good, bad, good, good} {
			if err := s.add(t.Context(), reader, r, i == 3); err != nil {
				t.Fatal(err)
			}
		}
		if saver.saves != 1 {
			t.Errorf("%s: %d checkpoints, want one, of the first shard", what, saver.saves)
		}
		again := reader.newSaving(0)
		if shards, err := again.restore(t.Context(), reader, 4); err != nil || shards != 1 {
			t.Errorf("%s: continued after %d shards, %v; want 1", what, shards, err)
		}
		fn.Teardown()
	}
}
