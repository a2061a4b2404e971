package apply

import (
	"context"

	"github.com/bochner-ml/bochner/io/messages"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// feed is a source of work for a stream: files that appear, or messages.
type feed interface {
	// next returns at most n tasks.
	next(ctx context.Context, n int) (feedTasks, error)
	// requeue has next return a task again.
	requeue(path string)
	// done is called when all result files are durable. It publishes results that go to topics, and returns the
	// results with their latencies.
	done(ctx context.Context, results []scoring.FileResult) ([]scoring.FileResult, error)
	close() error
}

// feedTasks holds the results of feed.next.
type feedTasks struct {
	tasks     []scoring.Arrival
	backlog   int // number of other known tasks
	unsettled int // number of files that may soon be tasks
	waited    bool

	files storage.Found // set by fileFeed
}

// fileFeed is the feed of files that appear.
type fileFeed struct{ *storage.Watch }

func (f fileFeed) next(ctx context.Context, n int) (feedTasks, error) {
	all, err := f.Next(context.WithoutCancel(ctx), n)
	if err != nil {
		return feedTasks{}, err
	}
	r := feedTasks{backlog: all.Backlog, unsettled: all.Unsettled, files: all}
	for _, file := range all.Files {
		r.tasks = append(r.tasks, scoring.ArrivalOf(file))
	}
	return r, nil
}

func (f fileFeed) requeue(path string) { f.Again(path) }

func (fileFeed) done(_ context.Context, results []scoring.FileResult) ([]scoring.FileResult, error) {
	return results, nil
}

func (fileFeed) close() error { return nil }

// tidy removes unfinished outputs for these files that a killed stream has left.
func (s *streamJob) tidy(ctx context.Context, tasks []scoring.Arrival) error {
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
