package options

import (
	"io"

	"github.com/bochner-ml/bochner/pipelines/engine"
)

// Job holds the options of all jobs over data. None of them changes results.
type Job struct {
	Engine engine.Engine `group:"Job"`

	// Work directory, new or empty. The default is a hidden directory next to the output. It is
	// removed when the job succeeds.
	Work string `flag:"work" placeholder:"DIR"`

	// Continue an interrupted run from its work directory.
	Resume bool      `flag:"resume,common"`
	Log    io.Writer // progress and notes; nil discards them

	// Size of the shards that plain files are cut into; 0 is 32 MiB. Does not change results.
	ShardBytes int64 `flag:"shard_bytes,hidden"`

	// LimitMemory lets the job set the memory limit of the process, unless GOMEMLIMIT is set, so that the garbage
	// collector keeps it within the plan.
	LimitMemory bool
}
