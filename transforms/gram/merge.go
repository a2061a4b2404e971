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

	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

func init() { beam.RegisterDoFn(reflect.TypeOf((*mergeFn)(nil))) }

// Merge adds the parts with the same key, from all lanes, and stores the results in the directory
// of the State. It returns a line of JSON for each.
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
	return line, fault.Of(fault.Internal, err)
}

// merge adds the parts of the lines. The part of a single lane, and all rows, are used as they are stored.
func (f *mergeFn) merge(ctx context.Context, meter *transforms.Meter, key int, lines [][]byte) ([]byte, error) {
	parts := make([]stored, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal(line, &parts[i]); err != nil {
			return nil, fmt.Errorf("gram: part %d of a lane: %w", key, err)
		}
	}
	if len(parts) == 1 || parts[0].Rows {
		return bytes.Join(lines, []byte("\n")), nil
	}
	merging := meter.Clock(transforms.MergeTime)
	sum, err := f.add(ctx, parts)
	merging()
	if err != nil {
		return nil, err
	}
	defer meter.Clock(transforms.StoreTime)()
	st, err := storePart(ctx, f.Dir, partName, key, sum)
	if err != nil {
		return nil, err
	}
	return json.Marshal(st)
}

// add returns the sum of parts, of which it reads several at a time.
func (f *mergeFn) add(ctx context.Context, parts []stored) ([]float64, error) {
	sum, err := loadPart(ctx, f.Dir, parts[0])
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, f.Scan.Threads) + 1) // so that one is read while another is added
	for _, p := range parts[1:] {
		g.Go(func() error {
			return fault.Guard(func() error {
				other, err := loadPart(ctx, f.Dir, p)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				if len(other) != len(sum) {
					return fmt.Errorf("gram: parts with one key have %d and %d numbers", len(sum), len(other))
				}
				for i, v := range other {
					sum[i] += v
				}
				return nil
			})
		})
	}
	return sum, g.Wait()
}
