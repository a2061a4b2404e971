package gram

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
)

// Report is the dataset.Report of a shard, with further counts. Rows of several shards share a
// block, so only the first report of a lane, or the first after a checkpoint, counts features
// beyond the grid, for all shards up to the next checkpoint.
type Report struct {
	dataset.Report
	Saturated int64 `json:"saturated,omitempty"`
	// Copies holds the separately counted rows (Spec.Apart), encoded by profile.AppendContents.
	Copies []byte `json:"copies,omitempty"`
	// Contents holds the hashes of the rows of the shard, from Summer.TakeContents, and Positions
	// the lines of the rows in its file.
	Contents  []byte  `json:"contents,omitempty"`
	Positions []int64 `json:"positions,omitempty"`
	// Levels reports the rows of each level, if they are summed by level. A level may occur several times.
	Levels []LevelReport `json:"levels,omitempty"`
}

// joinReports joins the reports of a shard, one from each stripe, into one. They agree about the rows,
// unless a stripe could not read the shard; its report then counts. Only one stripe reports the rest.
func joinReports(lines [][]byte) ([][]byte, error) {
	joined := map[dataset.Shard]*Report{}
	for _, line := range lines {
		var r Report
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("gram: report of a shard: %w", err)
		}
		one := joined[r.Shard]
		if one == nil {
			joined[r.Shard] = &r
			continue
		}
		switch broken := func(r *Report) bool { return r.Fault != "" || r.Stopped }; {
		case broken(one):
		case broken(&r):
			one.Report = r.Report
		case one.Rows != r.Rows || one.Bad != r.Bad || one.Unlabeled != r.Unlabeled || one.Weightless != r.Weightless:
			return nil, fmt.Errorf("gram: the shard of file %d at %d had %d rows for one stripe of the sums and %d for "+
				"another; was the file replaced?", r.Shard.File, r.Shard.Start, one.Rows, r.Rows)
		}
		one.Saturated += r.Saturated
		one.Copies, one.Contents = append(one.Copies, r.Copies...), append(one.Contents, r.Contents...)
		one.Positions, one.Levels = append(one.Positions, r.Positions...), append(one.Levels, r.Levels...)
	}
	out := make([][]byte, 0, len(joined))
	for _, r := range joined {
		line, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		out = append(out, line)
	}
	slices.SortFunc(out, bytes.Compare)
	return out, nil
}
