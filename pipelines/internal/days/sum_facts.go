package days

import (
	"context"

	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/internal/parts"
)

// Facts describes a fit to sums by the manifests of their directories.
type Facts struct {
	Recipe      *sums.Recipe
	Directories int // of sums that are read
	Parts       int // of the data
	Classes     int // 0 if there are none
	Rows        int64
	Bytes       int64 // of the sums
	Listed      int64 // rows whose hashes are read
}

// FactsOf reads the manifests of the sums that a fit adds and subtracts, and checks that it can.
func FactsOf(ctx context.Context, o FitOptions) (*Facts, error) {
	if err := o.checkChoices(); err != nil {
		return nil, err
	}
	terms, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	all, err := parts.Add(ctx, terms)
	if err != nil {
		return nil, err
	}
	f := &Facts{
		Recipe: all.Recipe, Directories: len(terms), Parts: len(all.Leaves),
		Classes: all.ClassCount(), Rows: all.Added.Rows.Used, Listed: o.listedRows(all),
	}
	for _, d := range terms {
		f.Bytes += d.Bytes()
	}
	return f, nil
}
