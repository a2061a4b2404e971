package transforms

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/state"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/periodic"
)

func init() { beam.RegisterDoFn(reflect.TypeFor[*tickFn]()) }

// flinkImpulse is the source of Beam's runner for Flink that emits an element per interval in every subtask.
const flinkImpulse = "flink:transform:streaming_impulse:v1"

// Ticks emits an element every interval, without an end.
//
// Flink's runner resumes the splittable function of periodic.Impulse without a delay, tens of times a second,
// and keeps a table of state in memory for every time: about 90 kB, until its task manager has no memory left
// (https://github.com/apache/beam/issues/27648).
func Ticks(s beam.Scope, every time.Duration, flink bool) beam.PCollection {
	if !flink {
		return periodic.Impulse(s, time.Time{}, time.Unix(0, 1<<62), every, false)
	}
	payload := fmt.Appendf(nil, `{"interval_ms": %d}`, min(every.Milliseconds(), math.MaxInt32))
	all := beam.External(s, flinkImpulse, payload, nil, []beam.FullType{typex.New(reflect.TypeFor[[]byte]())}, false)
	fn := &tickFn{Every: every, Next: state.MakeValueState[int64]("next")}
	return beam.ParDo(s, fn, beam.AddFixedKey(s, all[0]))
}

// tickFn passes on one tick per interval, among the ticks of all subtasks.
type tickFn struct {
	Every time.Duration
	Next  state.Value[int64] // when the next tick is due, in Unix nanoseconds
}

func (f *tickFn) ProcessElement(p state.Provider, _ int, tick []byte, emit func([]byte)) error {
	next, _, err := f.Next.Read(p)
	if err != nil {
		return err
	}
	next, due := nextTick(time.Now().UnixNano(), next, f.Every.Nanoseconds())
	if !due {
		return nil
	}
	emit(tick)
	return f.Next.Write(p, next)
}

// nextTick reports whether a tick planned for next is due now, and when the one after it is. After a late tick,
// that is an interval after the planned time, so that a tick in time is not skipped. If it has passed too, the
// ticks in between are left out.
func nextTick(now, next, every int64) (after int64, due bool) {
	if now < next {
		return next, false
	}
	if after = next + every; after <= now {
		after = now + every
	}
	return after, true
}
