package gram

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/models/points"
	"github.com/bochner-ml/bochner/models/ridge"
)

// A pass over few rows stores them as they would be summed, in files of some rows of a fold; nothing is added
// up. The order of rows and files does not matter, because points.Join has one of its own. A lane stores the rows
// of a file as soon as it has them, so it holds no more than that of each fold.

// fullFiles stores the rows that fill files.
func (s *laneSums) fullFiles(ctx context.Context) error {
	for fold, f := range s.folds {
		if f == nil {
			continue
		}
		full := f.carried.N() / s.some * s.some
		if full == 0 {
			continue
		}
		parts, err := s.storeSome(ctx, partName, fold, full)
		if err != nil {
			return err
		}
		s.full = append(s.full, parts...)
		f.carried.Drop(full)
	}
	return nil
}

// storeRows stores the rows of all folds that are in no file yet, in files whose names begin with that text. It
// returns the files of all rows, and these alone.
func (s *laneSums) storeRows(ctx context.Context, name string) (all, rest []stored, err error) {
	if err := s.fullFiles(ctx); err != nil {
		return nil, nil, err
	}
	for fold, f := range s.folds {
		if f == nil {
			continue
		}
		parts, err := s.storeSome(ctx, name, fold, f.carried.N())
		if err != nil {
			return nil, nil, err
		}
		rest = append(rest, parts...)
	}
	return slices.Concat(s.full, rest), rest, nil
}

// storeSome stores the first n rows of a fold.
func (s *laneSums) storeSome(ctx context.Context, name string, fold, n int) (parts []stored, err error) {
	for first := 0; first < n; first += s.some {
		part, err := storeFile(ctx, s.dir, name, fold, s.folds[fold].carried.Encode(first, min(first+s.some, n)))
		if err != nil {
			return nil, err
		}
		part.Rows = true
		parts = append(parts, part)
	}
	return parts, nil
}

// setRows sets the rows to those of a checkpoint.
func (s *laneSums) setRows(ctx context.Context, parts []stored) error {
	var rest []stored
	for _, part := range parts {
		if !strings.HasPrefix(part.File, partName+"-") {
			rest = append(rest, part)
			continue
		}
		if _, err := readPart(ctx, s.dir, part); err != nil { // or the solve would find the damage
			return err
		}
		s.full = append(s.full, part)
	}
	sets, err := readRows(ctx, s.dir, rest, len(s.folds), s.shape)
	if err != nil {
		return err
	}
	for i, f := range s.folds {
		if f != nil {
			f.carried = points.Join(sets[i])
		}
	}
	return nil
}

// readRows returns the rows of each fold, of which there is an empty set at least.
func readRows(ctx context.Context, dir string, parts []stored, folds int, shape ridge.Shape) ([][]*points.Set, error) {
	sets := make([][]*points.Set, folds)
	for i := range sets {
		sets[i] = append(sets[i], ridge.NewPoints(shape))
	}
	for _, part := range parts {
		if part.Key < 0 || part.Key >= folds || !part.Rows {
			return nil, fmt.Errorf("gram: %s has no rows of %d folds; run again without --resume", part.File, folds)
		}
		data, err := readPart(ctx, dir, part)
		if err != nil {
			return nil, err
		}
		set, err := points.Decode(data, sets[part.Key][0])
		if err != nil {
			return nil, fmt.Errorf("gram: %s: %w", part.File, err)
		}
		sets[part.Key] = append(sets[part.Key], set)
	}
	return sets, nil
}

// loadRows returns the rows of an index for the solve.
func loadRows(ctx context.Context, p *Pass, st State, index []byte, shape ridge.Shape) (*ridge.Rows, error) {
	parts, err := parseIndex(index)
	if err != nil {
		return nil, err
	}
	sets, err := readRows(ctx, st.Dir, parts, p.Fold.Folds, shape)
	if err != nil {
		return nil, err
	}
	rows := &ridge.Rows{Shape: shape, Steps: p.Fold.Steps}
	for _, of := range sets {
		set := points.Join(of)
		for _, q := range set.Q {
			if !shape.Regression && (q < 0 || int(q) >= shape.Outputs) {
				return nil, fmt.Errorf("gram: a stored row has class %d of %d; run again without --resume", q, shape.Outputs)
			}
		}
		rows.Folds = append(rows.Folds, set)
	}
	return rows, nil
}

// firstHead returns the head of the sum of the first fold.
func firstHead(rows *ridge.Rows) []float64 {
	sum := ridge.NewPartSum(rows.Shape, 0, 1)
	sum.AddPoints(rows.Folds[0], rows.Steps, 1)
	return sum.Part(0)
}
