//go:build unix

// Package prismtest is Beam's prism for tests: a runner whose workers are goroutines
// of this process and exchange encoded data, as the workers of a cluster do.
//
// Prism's job server listens on every interface, asks nobody who they are, and
// starts the programs that a job names. Beam offers no way to have it listen
// elsewhere, so that the program does not have this runner. Here the socket is bound
// to the loopback device as soon as it is open.
package prismtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"golang.org/x/sys/unix"
)

// Readers is how many readers prism runs at a time.
const Readers = 8

var serve = sync.OnceValues(func() (string, error) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // where prism tells of every step
	return Serve(context.Background(), 0)
})

// execute runs a pipeline on prism in this process.
func execute(ctx context.Context, p *beam.Pipeline) (beam.PipelineResult, error) {
	endpoint, err := serve()
	if err != nil {
		return nil, err
	}
	*jobopts.Endpoint = endpoint
	if *jobopts.EnvironmentType == "" {
		*jobopts.EnvironmentType = "loopback"
	}
	return prism.Execute(ctx, p)
}

// Run runs a pipeline on prism in this process.
func Run(ctx context.Context, p *beam.Pipeline) error {
	_, err := execute(ctx, p)
	return err
}

// Serve starts prism's job server at a port, 0 for any that is free, which lives as long as the
// process, and returns its endpoint. It closes all listening sockets of the process to other
// machines.
func Serve(ctx context.Context, port int) (endpoint string, err error) {
	before := map[int]bool{}
	for _, l := range listeners() {
		before[l.port] = true
	}
	if _, err := prism.CreateJobServer(ctx, prism.Options{Port: port}); err != nil {
		return "", err
	}
	for _, l := range listeners() {
		if !before[l.port] {
			return fmt.Sprint("localhost:", l.port), Close()
		}
	}
	return "", errors.New("prismtest: the socket of prism's job server was not found")
}

// Close makes the listening sockets of this process take connections from this machine
// only.
func Close() error {
	for _, l := range listeners() {
		if err := bindToLoopback(l.fd); err != nil {
			return fmt.Errorf("prismtest: port %d cannot be closed to other machines: %w", l.port, err)
		}
	}
	return nil
}

// listener is a socket of this process that takes connections from the network.
type listener struct{ fd, port int }

func listeners() (found []listener) {
	list, _ := os.ReadDir("/dev/fd")
	for _, e := range list {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || listens == 0 {
			continue
		}
		switch a, _ := unix.Getsockname(fd); a := a.(type) {
		case *unix.SockaddrInet4:
			found = append(found, listener{fd, a.Port})
		case *unix.SockaddrInet6:
			found = append(found, listener{fd, a.Port})
		}
	}
	return found
}
