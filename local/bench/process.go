//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// process is one side of a comparison, which runs cases on request.
type process struct {
	what string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	hello
}

// hello is the first line of a process: which kernels it uses, on how many threads.
type hello struct {
	Cores    []string
	Threads  int
	Versions string
}

// setting is what distinguishes the processes of a side.
type setting struct {
	python  bool
	second  bool   // the other side, where both are in Go
	core    string // BOCHNER_CPU or OPENBLAS_CORETYPE
	threads int
}

// pool starts processes as they are needed.
type pool struct {
	options
	running map[string]*process
}

// get returns a running process with that setting, and starts it if there is none.
func (p *pool) get(s setting) (*process, error) {
	key := fmt.Sprint(s)
	if q := p.running[key]; q != nil {
		return q, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	q := &process{what: "Go on " + s.core, cmd: exec.Command(self, "-serve", fmt.Sprint(s.threads))}
	// Other variables of OpenBLAS and OpenMP must not decide for us.
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "OPENBLAS_") || strings.HasPrefix(v, "OMP_") || strings.HasPrefix(v, "BOCHNER_CPU=") ||
			strings.HasPrefix(v, "GOMAXPROCS=")
	})
	q.cmd.Env = append(env, "BOCHNER_CPU="+s.core, fmt.Sprint("GOMAXPROCS=", s.threads))
	if s.python {
		q.what = "OpenBLAS on " + s.core
		q.cmd = exec.Command(p.python, filepath.Join(p.script, "theirs.py"))
		// Without the timeout its threads would spin on while the other side runs.
		q.cmd.Env = append(env, "OPENBLAS_CORETYPE="+strings.ToUpper(s.core),
			fmt.Sprint("OPENBLAS_NUM_THREADS=", s.threads), "OPENBLAS_THREAD_TIMEOUT=4")
	}
	q.cmd.Stderr = os.Stderr
	if q.in, err = q.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := q.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	q.out = bufio.NewReader(out)
	if err := q.cmd.Start(); err != nil {
		return nil, fmt.Errorf("bench: %s: %w", q.what, err)
	}
	p.running[key] = q
	line, err := q.out.ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(line), &q.hello)
	}
	if err != nil {
		return nil, fmt.Errorf("bench: %s: it did not start: %w", q.what, err)
	}
	// OpenBLAS falls back to its slowest kernels for a CPU it does not know.
	if len(q.Cores) != 1 || !strings.EqualFold(q.Cores[0], s.core) || q.Threads != s.threads {
		return nil, fmt.Errorf("bench: %s: it runs on %q and %d threads, want %s and %d", q.what, q.Cores, q.Threads,
			s.core, s.threads)
	}
	return q, nil
}

func (p *pool) close() {
	for _, q := range p.running {
		q.in.Close()
		_ = q.cmd.Wait()
	}
}

func (p *pool) versions() []string {
	var all []string
	for _, q := range p.running {
		if q.Versions != "" {
			all = append(all, q.Versions)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ask sends a line and reads the answer's fields.
func (q *process) ask(line string, format string, into ...any) error {
	if _, err := fmt.Fprintln(q.in, line); err != nil {
		return fmt.Errorf("bench: %s: %q: %w", q.what, line, err)
	}
	answer, err := q.out.ReadString('\n')
	if err == nil {
		_, err = fmt.Sscanf(answer, format, into...)
	}
	if err != nil {
		return fmt.Errorf("bench: %s: %q: answer %q: %w", q.what, line, answer, err)
	}
	return nil
}

// side is a case in a process.
type side struct {
	*process
	count int
	cpu   []float64 // seconds of a call, of each turn
	wall  []float64
}

// side starts a case of size n in the process for a setting.
func (p *pool) side(s setting, name string, n int) (*side, error) {
	q, err := p.get(s)
	if err != nil {
		return nil, err
	}
	var cpu float64
	if err := q.ask(fmt.Sprintf("case %s %d", name, n), "ok %g", &cpu); err != nil {
		return nil, err
	}
	return &side{process: q, count: max(1, min(1_000_000, int(p.seconds/math.Max(cpu, 1e-9))))}, nil
}

func (s *side) turn() error {
	var cpu, wall float64
	if err := s.ask(fmt.Sprint("run ", s.count), "%g %g", &cpu, &wall); err != nil {
		return err
	}
	s.cpu, s.wall = append(s.cpu, cpu/float64(s.count)), append(s.wall, wall/float64(s.count))
	return nil
}

// alternate gives both sides their turns, and changes the order halfway.
func alternate(turns int, a, b func() error) error {
	for i := range turns {
		if i == turns/2 {
			a, b = b, a
		}
		if err := a(); err != nil {
			return err
		}
		if err := b(); err != nil {
			return err
		}
	}
	return nil
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[len(v)/2] + v[(len(v)-1)/2]) / 2
}

// cpuTime returns the CPU time this process has used.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
