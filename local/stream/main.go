//go:build unix

// Command stream tests bochner predict --stream for a given time. It kills the stream and its job server,
// replaces the model, and adds a bad model, a bad file and a bad row. Finally it counts every row of the
// output.
//
//	go run ./local/stream -binary bochner -rows 10000000 -time 1h
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/bochner-ml/bochner/internal/testing/streamtrial"
)

func main() {
	t := streamtrial.Trial{Log: os.Stderr}
	flag.StringVar(&t.Binary, "binary", "bochner", "the program")
	flag.IntVar(&t.Rows, "rows", 10_000_000, "rows in all")
	flag.IntVar(&t.PerFile, "rows_per_file", 5_000, "rows of a file")
	flag.DurationVar(&t.Time, "time", time.Hour, "time over which the files are written")
	flag.IntVar(&t.Reloads, "reloads", 10, "models that replace the first one")
	flag.IntVar(&t.Kills, "kills", 3, "how often the stream is killed, with its workers")
	flag.IntVar(&t.Managers, "managers", 1, "how often the job server is killed")
	flag.StringVar(&t.Runner, "runner", "universal",
		"universal, on a job server that is started here, or direct, which has none")
	flag.StringVar(&t.Dir, "dir", "", "directory to work in; a temporary one by default, removed at the end")
	flag.Parse()
	if err := inDir(context.Background(), &t); err != nil {
		fmt.Fprintln(os.Stderr, "stream:", err)
		os.Exit(1)
	}
}

func inDir(ctx context.Context, t *streamtrial.Trial) error {
	if t.Dir == "" {
		dir, err := os.MkdirTemp("", "bochner-stream-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		t.Dir = dir
	}
	return t.Run(ctx)
}
