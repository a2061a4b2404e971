package apply

import (
	"context"

	"github.com/bochner-ml/bochner/io/messages"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/transforms/scores"
)

// feed is what a stream does: files that appear, or messages.
type feed interface {
	// next returns at most n that are to be done.
	next(ctx context.Context, n int) (found, error)
	// again has one returned again.
	again(path string)
	// done is called when all that is in files is durable. It publishes the rest, and returns the
	// results with their latencies.
	done(ctx context.Context, results []scores.FileResult) ([]scores.FileResult, error)
	close() error
}

// found is the answer of a feed.
type found struct {
	tasks     []scores.Arrival
	backlog   int // others that are known
	unsettled int // more than 0: there may be more soon
	waited    bool

	files storage.Found // of a stream of files
}

// files is the feed of files that appear.
type files struct{ *storage.Watch }

func (f files) next(ctx context.Context, n int) (found, error) {
	all, err := f.Next(context.WithoutCancel(ctx), n)
	if err != nil {
		return found{}, err
	}
	r := found{backlog: all.Backlog, unsettled: all.Unsettled, files: all}
	for _, file := range all.Files {
		r.tasks = append(r.tasks, scores.ArrivalOf(file))
	}
	return r, nil
}

func (f files) again(path string) { f.Again(path) }

func (files) done(_ context.Context, results []scores.FileResult) ([]scores.FileResult, error) {
	return results, nil
}

func (files) close() error { return nil }

// tidy removes what a killed stream has left of the outputs of these files.
func (s *streaming) tidy(ctx context.Context, tasks []scores.Arrival) error {
	cleared := map[string]bool{}
	for _, f := range tasks {
		for _, in := range []string{s.files.Out, s.files.Dead} {
			if messages.Is(in) {
				continue
			}
			dir, _ := storage.Split(storage.Join(in, f.Path))
			if cleared[dir] {
				continue
			}
			cleared[dir] = true
			if err := storage.ClearUnfinished(context.WithoutCancel(ctx), dir); err != nil {
				return err
			}
		}
	}
	return nil
}
