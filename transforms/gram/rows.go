package gram

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// A pass over few rows stores the features of the rows on the grid instead of their sums, in files that each hold
// some rows of one fold. The order of rows and files does not matter, because ridge.JoinRows puts them into an
// order of its own. A reader writes a file as soon as it is full, so it holds at most one file of each fold.

// storeFullFiles stores the rows that fill files.
func (s *readerSums) storeFullFiles(ctx context.Context) error {
	full := func(rows *ridge.GridRows) int { return rows.N() / s.rowsPerFile * s.rowsPerFile }
	parts, err := s.storeSome(ctx, partName, full)
	if err != nil {
		return err
	}
	s.fullFiles = append(s.fullFiles, parts...)
	for _, f := range s.folds {
		if f != nil && full(f.gridRows) > 0 {
			f.gridRows.Drop(full(f.gridRows))
		}
	}
	return nil
}

// storeRows stores the rows of all folds that are in no file yet, in files whose names begin with
// name. It returns the files of all rows, and the new files only.
func (s *readerSums) storeRows(ctx context.Context, name string) (all, rest []storedRun, err error) {
	if err := s.storeFullFiles(ctx); err != nil {
		return nil, nil, err
	}
	if rest, err = s.storeSome(ctx, name, (*ridge.GridRows).N); err != nil {
		return nil, nil, err
	}
	return slices.Concat(s.fullFiles, rest), rest, nil
}

// storeSome stores the first count rows of each fold.
func (s *readerSums) storeSome(ctx context.Context, name string,
	count func(*ridge.GridRows) int) (parts []storedRun, err error) {
	type file struct{ fold, first, end int }
	var files []file
	for fold, f := range s.folds {
		if f == nil {
			continue
		}
		n := count(f.gridRows)
		for first := 0; first < n; first += s.rowsPerFile {
			files = append(files, file{fold, first, min(first+s.rowsPerFile, n)})
		}
	}
	parts = make([]storedRun, len(files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, s.reader.Scan.Threads))
	for i, f := range files {
		g.Go(func() error {
			return fault.Guard(func() (err error) {
				parts[i], err = storeFile(ctx, s.dir, name, f.fold, withChecksum(s.folds[f.fold].gridRows.Encode(f.first, f.end), 0))
				parts[i].Rows = true
				return err
			})
		})
	}
	return parts, g.Wait()
}

// setRows replaces the rows by the rows of a checkpoint.
func (s *readerSums) setRows(ctx context.Context, parts []storedRun) error {
	var rest []storedRun
	for _, part := range parts {
		if !strings.HasPrefix(part.File, partName+"-") {
			rest = append(rest, part)
			continue
		}
		if err := part.each(ctx, s.dir, func(int,
			[]byte) error {
			return nil
		}); err != nil { // check now, because otherwise only the solve would find the damage
			return err
		}
		s.fullFiles = append(s.fullFiles, part)
	}
	sets, err := readRows(ctx, s.dir, rest, len(s.folds), s.shape, s.reader.Scan.Threads)
	if err != nil {
		return err
	}
	for i, f := range s.folds {
		if f != nil {
			f.gridRows = ridge.JoinRows(sets[i])
		}
	}
	return nil
}

// readRows returns the rows of each fold, as an empty set if a fold has none.
func readRows(ctx context.Context, dir string, parts []storedRun, folds int, shape ridge.Shape,
	threads int) ([][]*ridge.GridRows, error) {
	sets := make([][]*ridge.GridRows, folds)
	for i := range sets {
		sets[i] = append(sets[i], ridge.NewGridRows(shape))
	}
	read := make([]*ridge.GridRows, len(parts))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, threads))
	for i, part := range parts {
		g.Go(func() error {
			return fault.Guard(func() error {
				if part.Key < 0 || part.Key >= folds || !part.Rows {
					return fmt.Errorf("gram: %s has no rows of %d folds; run again without --resume", part.File, folds)
				}
				return part.each(ctx, dir, func(_ int, data []byte) (err error) {
					if read[i], err = ridge.DecodeRows(data, sets[part.Key][0]); err != nil {
						err = fmt.Errorf("gram: %s: %w", part.File, err)
					}
					return err
				})
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i, part := range parts {
		sets[part.Key] = append(sets[part.Key], read[i])
	}
	return sets, nil
}

// loadRows returns the rows of the files in an index.
func (s *solver) loadRows(ctx context.Context, index []byte) (*ridge.FoldRows, error) {
	parts, err := parseIndex(index)
	if err != nil {
		return nil, err
	}
	shape := s.source.Shape
	sets, err := readRows(ctx, s.state.Dir, parts, s.pass.Spec.Folds, shape, s.threads)
	if err != nil {
		return nil, err
	}
	rows := &ridge.FoldRows{Shape: shape, Steps: s.pass.Spec.Steps, Folds: make([]*ridge.GridRows, len(sets))}
	parallel.Each(len(sets), s.threads, func(_, i int) { rows.Folds[i] = ridge.JoinRows(sets[i]) })
	for _, set := range rows.Folds {
		for _, q := range set.Q {
			if !shape.Regression && (q < 0 || int(q) >= shape.Outputs) {
				return nil, fmt.Errorf("gram: a stored row has class %d of %d; run again without --resume", q, shape.Outputs)
			}
		}
	}
	return rows, nil
}
