package training

import (
	"context"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// ReadRecipe returns the recipe of a model, which may be an alias. It notes the directory of an alias in the
// log.
func ReadRecipe(ctx context.Context, model string, log io.Writer) (*sums.Recipe, error) {
	dir, err := job.FindModel(ctx, model, log)
	if err != nil {
		return nil, err
	}
	r, _, err := sums.ReadRecipe(ctx, dir)
	if err != nil && exit.CodeOf(err) == exit.CodeFailed {
		err = &exit.UsageError{Err: err}
	}
	return r, err
}

// SegmentSums describes the sums of one segment.
type SegmentSums struct {
	Members   []sums.Member
	Classes   []int64               // rows of each class; nil without classes
	Copies    []profile.FrequentRow // frequent rows, which are counted instead of summed
	RowHashes [][]byte              // hashes of rows, as gram.ShardReport.RowHashes has them
}

// bySegment sets s.Segments from the reports.
func (s *WorkSums) bySegment(segments [][]sums.Member) (err error) {
	s.Segments = make([]SegmentSums, len(segments))
	rows := make([]int64, len(segments))
	for _, r := range s.Reports {
		for _, l := range r.Segments {
			if l.Segment < 0 || l.Segment >= len(segments) {
				return fmt.Errorf("a report of segment %d of %d", l.Segment, len(segments))
			}
			segment := &s.Segments[l.Segment]
			rows[l.Segment] += l.Rows
			if segment.Classes == nil {
				segment.Classes = make([]int64, len(l.Classes))
			}
			for c, n := range l.Classes {
				segment.Classes[c] += n
			}
			segment.RowHashes = append(segment.RowHashes, l.RowHashes)
			if segment.Copies, err = gram.AddFrequentRows(segment.Copies, l.Copies); err != nil {
				return err
			}
		}
	}
	for i, members := range segments {
		s.Segments[i].Members = members
		if want := (&sums.Segment{Members: members}).Rows(); want != rows[i] {
			return fmt.Errorf("segment %s had %d rows when they were counted, and %d when they were summed",
				members[0].Name, want, rows[i])
		}
	}
	return nil
}

// Manifest describes sums in the work directory. With write it also returns the files of the part, except for its
// manifest, and writes the packed sums into the work directory.
func (j *RecipeJob) Manifest(ctx context.Context, s *WorkSums, write bool) (*sums.Manifest, []storage.File, error) {
	t := j.Training
	p := &sums.Manifest{
		Program: engine.Version(), Recipe: j.options.Recipe.Digest, Rows: t.Prepared.Counts.RowCounts,
	}
	segments := s.Segments
	if segments == nil {
		segments = []SegmentSums{{Copies: s.Copies}}
		if t.classes() != nil {
			segments[0].Classes = t.Prepared.Profile.Labels.Counts
		}
	}
	sumFiles := make([]sums.SumFiles, len(segments))
	files, err := j.foldFiles(ctx, s, sumFiles, write)
	if err != nil {
		return nil, nil, err
	}
	var copies []byte
	for i, l := range segments {
		c := &sumFiles[i]
		if t.classes() != nil {
			c.Classes, c.ClassCounts = t.classes(), l.Classes
		}
		if len(l.Copies) > 0 {
			data := profile.AppendFrequentRows(nil, l.Copies)
			entry := models.NewFileEntry(sums.CopiesFile, data)
			c.Copies = &entry
			copies = append(copies, data...)
		}
	}
	if copies != nil {
		files = append(files, storage.File{Name: sums.CopiesFile, Data: copies})
	}
	if s.Segments == nil {
		p.SumFiles = sumFiles[0]
	} else {
		p.SegmentColumns, p.MinRows = t.Prepared.Data.Segments.Columns, j.options.MinRows
		for i, l := range s.Segments {
			p.Segments = append(p.Segments, sums.Segment{Members: l.Members, SumFiles: sumFiles[i]})
		}
	}
	_, err = p.Encode() // sets the digest
	return p, files, err
}

// foldFiles describes the sums of each fold of each segment, segment by segment. With write it also writes their
// files into the work directory, and returns them.
func (j *RecipeJob) foldFiles(ctx context.Context, s *WorkSums, segments []sums.SumFiles,
	write bool) (files []storage.File, err error) {
	stored, err := gram.OpenSums(ctx, s.State, s.Folds*len(segments), s.Shape)
	if err != nil {
		return nil, err
	}
	w, err := sums.NewWriter()
	if err != nil {
		return nil, err
	}
	n := s.Shape.NumParts()
	for f := range s.Folds {
		frames := make([][]sums.Frame, len(segments))
		fold := func(out io.Writer) (err error) {
			for l := 0; err == nil && l < len(segments); l++ {
				first := (l*s.Folds + f) * n
				frames[l], err = w.WriteFold(out, n, func(i int) ([]float64, error) { return stored.Load(ctx, first+i) })
			}
			return err
		}
		if write {
			file := storage.File{Name: sums.FoldFile(f),
				From: j.Training.Job.Work.File(sums.FoldFile(f), engine.Program(), s.State.Sum)}
			checksum, err := storage.CreateState(ctx, file.From, fold)
			if err != nil {
				return nil, err
			}
			file.Checksum = &checksum
			files = append(files, file)
		} else if err := fold(nil); err != nil {
			return nil, err
		}
		for l := range segments {
			segments[l].Folds = append(segments[l].Folds, frames[l])
		}
	}
	return files, nil
}
