package job

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
)

// Constants for the memory of a training run. The process takes
//
//	the program itself and Go's runtime
//	+ the largest memory of its passes, which run one after the other
//	+ room for the garbage collector, which is told how much it has
//
// Tests train with the program and compare.
const (
	ProgramBytes = 54 << 20 // the program itself: its code, tables and Beam's graph
	SlackBytes   = 8 << 20  // readers, coders and the garbage collector

	ColumnBytes   = 184     // a column in a profile
	PartialBytes  = 80      // a column in statistics and scalings
	DecisionBytes = 40      // a column, while kernel and scalings are chosen
	LargestPart   = 9 << 20 // a part of a sum, as it is computed and stored
)

// memoryLimit is the limit on the memory of the process that a job sets.
type memoryLimit struct {
	peak int64 // last argument of LimitMemory; -1 without a limit
	ours bool  // the job may have set the limit of the process
	// heldBefore is the memory in bytes that the process used before the job set a limit, minus what every process
	// uses at its start.
	heldBefore int64
	percent    int // GOGC before the job set it; 0 if it has not
}

// LimitMemory has the garbage collector keep the process within peak bytes. If peak is 0, for unknown, it
// collects whenever the heap has grown by a quarter. It does nothing unless options.Job.LimitMemory is set, workers are
// in this process, and the user has set no limit.
func (j *Job) LimitMemory(peak int64) {
	l := &j.memory
	l.peak = peak
	if !l.ours && j.Options.LimitMemory && j.Engine.InProcess() && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		l.ours = true
		l.heldBefore = max(0, inUse()-ProgramBytes/3)
	}
	if l.ours {
		l.apply()
	}
}

// WithUnknownMemory calls LimitMemory(0) for a step whose memory depends on the rows. restore returns to the limit
// before the step.
func (j *Job) WithUnknownMemory() (restore func()) {
	before := j.memory.peak
	j.LimitMemory(0)
	return func() {
		if before < 0 {
			j.memory.lift()
		} else {
			j.LimitMemory(before)
		}
	}
}

// apply sets the limit for peak.
func (l *memoryLimit) apply() {
	limit := int64(math.MaxInt64)
	if l.peak > 0 {
		// About a third of ProgramBytes is managed by Go and counts toward the limit. Without it, the collector of a
		// small job would run all the time.
		limit = l.heldBefore + max(l.peak-ProgramBytes*2/3, SlackBytes)
	}
	debug.SetMemoryLimit(limit)
	switch {
	case l.peak > 0:
		l.resetPercent()
	case l.percent == 0:
		l.percent = debug.SetGCPercent(25)
	}
}

// lift restores the original settings of the garbage collector.
func (l *memoryLimit) lift() {
	l.peak = -1
	if l.ours {
		debug.SetMemoryLimit(math.MaxInt64)
		l.resetPercent()
	}
}

// resetPercent restores GOGC if the job has set it.
func (l *memoryLimit) resetPercent() {
	if l.percent != 0 {
		debug.SetGCPercent(l.percent)
		l.percent = 0
	}
}

// inUse returns the size in bytes of the live and dead objects of the process.
func inUse() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
