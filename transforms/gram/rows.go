package gram

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms"
)

// A pass over few rows stores the features of the rows on the grid instead of their sums, in files that each hold
// some rows of one fold. The order of rows and files does not matter, because ridge.JoinRows puts them into an
// order of its own. A reader writes a file as soon as it is full, so it holds at most one file of each fold.

// storeFullFiles stores the rows that fill files.
func (s *readerSums) storeFullFiles(ctx context.Context) error {
	full := func(rows *ridge.GridRows) int { return rows.N() / s.rowsPerFile * s.rowsPerFile }
	stored, err := s.storeSome(ctx, partName, full)
	if err != nil {
		return err
	}
	s.fullFiles = append(s.fullFiles, stored...)
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
	count func(*ridge.GridRows) int) (stored []storedRun, err error) {
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
	stored = make([]storedRun, len(files))
	err = transforms.Parallel(ctx, s.reader.Scan.Threads, files, func(ctx context.Context, i int, f file) (err error) {
		data := withChecksum(s.folds[f.fold].gridRows.Encode(f.first, f.end), 0)
		stored[i], err = storeFile(ctx, s.dir, name, f.fold, data)
		stored[i].Rows = true
		return err
	})
	return stored, err
}

// setRows replaces the rows by the rows of a checkpoint.
func (s *readerSums) setRows(ctx context.Context, files []storedRun) error {
	var rest []storedRun
	for _, f := range files {
		if !strings.HasPrefix(f.File, partName+"-") {
			rest = append(rest, f)
			continue
		}
		// Check now, because otherwise only the solve would find the damage.
		if err := f.each(ctx, s.dir, func(int, []byte) error { return nil }); err != nil {
			return err
		}
		s.fullFiles = append(s.fullFiles, f)
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
func readRows(ctx context.Context, dir string, files []storedRun, folds int, shape ridge.Shape,
	threads int) ([][]*ridge.GridRows, error) {
	sets := make([][]*ridge.GridRows, folds)
	for i := range sets {
		sets[i] = append(sets[i], ridge.NewGridRows(shape))
	}
	read := make([]*ridge.GridRows, len(files))
	err := transforms.Parallel(ctx, threads, files, func(ctx context.Context, i int, f storedRun) error {
		if f.Key < 0 || f.Key >= folds || !f.Rows {
			return fmt.Errorf("gram: %s has no rows of %d folds; run again without --resume", f.File, folds)
		}
		return f.each(ctx, dir, func(_ int, data []byte) (err error) {
			if read[i], err = ridge.DecodeRows(data, sets[f.Key][0]); err != nil {
				err = fmt.Errorf("gram: %s: %w", f.File, err)
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		sets[f.Key] = append(sets[f.Key], read[i])
	}
	return sets, nil
}

// loadRows returns the rows of the files in an index.
func (s *solver) loadRows(ctx context.Context, index []byte) (*ridge.FoldRows, error) {
	files, err := parseIndex(index)
	if err != nil {
		return nil, err
	}
	shape := s.source.Shape
	sets, err := readRows(ctx, s.state.Dir, files, s.pass.Spec.Folds, shape, s.threads)
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
