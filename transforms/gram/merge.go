package gram

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { beam.RegisterDoFn(reflect.TypeOf((*mergeFn)(nil))) }

// Merge adds the runs of the same parts from all lanes, and stores the results in the directory of
// the State. It returns a line of JSON for each stored run.
func Merge(s beam.Scope, sc transforms.Scan, st State, parts beam.PCollection) beam.PCollection {
	s = s.Scope("gram.Merge")
	return beam.ParDo(s, &mergeFn{Fn: transforms.Fn{Scan: sc}, Dir: st.Dir}, beam.GroupByKey(s, parts))
}

type mergeFn struct {
	transforms.Fn
	Dir string
}

func (f *mergeFn) ProcessElement(ctx context.Context, key int, lines func(*[]byte) bool) ([]byte, error) {
	m := f.Worker.NewMeter()
	line, err := f.merge(ctx, m, key, transforms.Gather(lines))
	m.Commit(ctx)
	return line, transforms.NewFault(transforms.InternalFault, err)
}

// merge adds the runs that the lines describe. It leaves the run of a single lane, and stored rows, where they are.
func (f *mergeFn) merge(ctx context.Context, meter *transforms.Meter, key int, lines [][]byte) ([]byte, error) {
	runs := make([]stored, len(lines))
	for i, line := range lines {
		err := json.Unmarshal(line, &runs[i])
		if err == nil {
			err = runs[i].valid()
		}
		if err != nil {
			return nil, fmt.Errorf("gram: part %d of a lane: %w", key, err)
		}
	}
	if len(runs) == 1 || runs[0].Rows {
		return bytes.Join(lines, []byte("\n")), nil
	}
	merging := meter.Clock(transforms.MergeTime)
	sum, err := f.add(ctx, runs)
	merging()
	if err != nil {
		return nil, err
	}
	defer meter.Clock(transforms.StoreTime)()
	return storeRun(ctx, f.Dir, ridge.Stripe{First: key, End: runs[0].end()}, func(k int) ([]float64, error) {
		return sum[k-key], nil
	})
}

// add returns the sums of the parts of the runs. It reads several runs at a time.
func (f *mergeFn) add(ctx context.Context, runs []stored) ([][]float64, error) {
	sum := make([][]float64, len(runs[0].At)-1)
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, f.Scan.Threads) + 1) // so that one is read while another is added
	for _, st := range runs {
		g.Go(func() error {
			return transforms.Guard(func() error {
				if len(st.At) != len(runs[0].At) {
					return fmt.Errorf("gram: runs with one key have %d and %d parts; run again without --resume",
						len(st.At)-1, len(sum))
				}
				return st.each(ctx, f.Dir, func(key int, part []byte) (err error) {
					mu.Lock()
					defer mu.Unlock()
					if to := &sum[key-st.Key]; *to == nil {
						*to, err = DecodePart(part)
					} else {
						err = addTo(*to, part)
					}
					return err
				})
			})
		})
	}
	return sum, g.Wait()
}
