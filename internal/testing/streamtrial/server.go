//go:build unix

package streamtrial

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/internal/testing/prismtest"
)

// asServer, in the environment, has this program be prism's job server at that port until its input ends.
const asServer = "BOCHNER_STREAM_SERVER"

func init() {
	port, err := strconv.Atoi(os.Getenv(asServer))
	if err != nil {
		return
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // where prism tells of every step
	endpoint, err := prismtest.Serve(context.Background(), port)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(endpoint)
	os.Stdin.Read(make([]byte, 1)) // until the trial has ended
	os.Exit(0)
}

// server is a job server that can be killed and started again at its port.
type server struct {
	port int
	cmd  *exec.Cmd
}

// newServer starts a job server at a free port. Systems give ports from 32768 on to whoever asks
// for any: with another, nobody gets it before the server has begun, or while it is started again.
func newServer() (s *server, err error) {
	for range 20 {
		s = &server{port: 20_000 + rand.IntN(12_000)}
		if err = s.start(); err == nil {
			return s, nil
		}
	}
	return nil, err
}

func (s *server) endpoint() string { return fmt.Sprint("localhost:", s.port) }

// start returns when the server listens.
func (s *server) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s.cmd = exec.Command(self)
	s.cmd.Env = append(os.Environ(), fmt.Sprint(asServer, "=", s.port))
	s.cmd.Stderr = os.Stderr
	if _, err := s.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil && strings.TrimSpace(line) != s.endpoint() {
		err = fmt.Errorf("it listens at %s", line)
	}
	if err != nil {
		s.kill()
		return fmt.Errorf("the job server at port %d: %w", s.port, err)
	}
	return nil
}

func (s *server) kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}
