package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// options holds the size of a cluster.
type options struct {
	dir                          string
	managers, slots, parallelism int
	memory, offHeap              string // as Flink writes sizes
	attempts                     int
	checkpoints                  time.Duration // interval; 0 for none
	pool                         bool          // a pool next to the task manager starts workers
}

func (o options) lib() string      { return filepath.Join(o.dir, "lib") }
func (o options) bootFile() string { return filepath.Join(o.dir, "boot") }

// cluster is a running cluster.
type cluster struct {
	options
	run  string   // directory of configuration, logs and process numbers
	rest string   // address of the job manager
	jobs string   // address of the job server
	boot string   // what task managers start for a worker, or the program of the pool
	held *os.File // lock of the directory; nil where another cluster has it

	ctx     context.Context // ends when the cluster is to end
	cancel  context.CancelFunc
	keepers sync.WaitGroup
	mu      sync.Mutex
	running []*role
}

// ready is the longest time that processes may take to start on a busy machine.
const ready = 3 * time.Minute

// start starts a cluster, and returns when its slots are available.
func start(ctx context.Context, o options) (*cluster, error) {
	c := &cluster{options: o, run: filepath.Join(o.dir, "run")}
	c.ctx, c.cancel = context.WithCancel(ctx)
	if err := c.bringUp(); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// bringUp starts the cluster and waits until it answers.
func (c *cluster) bringUp() error {
	if err := c.lock(); err != nil {
		return err
	}
	if err := os.RemoveAll(c.run); err != nil {
		return err
	}
	for _, d := range []string{"conf", "tmp", "staged", "workers"} {
		if err := os.MkdirAll(filepath.Join(c.run, d), 0o777); err != nil {
			return err
		}
	}
	if err := c.writeBoot(); err != nil {
		return err
	}
	if err := c.configure(); err != nil {
		return err
	}
	manager, err := c.keep("job-manager", c.jobManager)
	if err != nil {
		return err
	}
	server, err := c.launch("job-server", c.jobServer())
	if err != nil {
		return err
	}
	if _, err := manager.waitForLine(c.ctx, `(Rest endpoint listening)`, ready); err != nil {
		return err
	}
	for i := range c.managers {
		if _, err := c.keep(fmt.Sprintf("task-manager-%d", i+1), c.pod); err != nil {
			return err
		}
	}
	if c.jobs, err = server.waitForLine(c.ctx, `JobService started on (\S+)`, ready); err != nil {
		return err
	}
	// A restarted manager does not count twice, because each registers once before the first job.
	_, err = manager.waitForLine(c.ctx, fmt.Sprintf(`(?s)((?:Registering task executor.*){%d})`, c.managers), ready)
	return err
}

// lock locks the directory for as long as this process runs.
func (c *cluster) lock() error {
	f, err := os.Create(filepath.Join(c.dir, "lock"))
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return fmt.Errorf("%s: another cluster runs here (%w); end it, or name another directory with -dir", c.dir, err)
	}
	c.held = f
	return nil
}

// poolPort is the port of Beam's pool of workers, which cannot be changed.
const poolPort = 50000

// flags returns the flags of a job that runs on the cluster.
func (c *cluster) flags() []string {
	kind, config := "EXTERNAL", fmt.Sprint("localhost:", poolPort)
	if !c.pool {
		text, _ := json.Marshal(map[string]string{"command": c.boot}) // strings: it cannot fail
		kind, config = "PROCESS", string(text)
	}
	return []string{"--runner", "flink", "--endpoint", c.jobs, "--environment_type", kind, "--environment_config", config}
}

func (c *cluster) launch(name string, cmd *exec.Cmd) (*role, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, c.ctx.Err()
	}
	r, err := launch(c.run, name, cmd)
	if err == nil {
		c.running = append(c.running, r)
	}
	return r, err
}

// keep starts a manager, the last of the processes that begin returns, and begins again whenever it
// ends, as the orchestrator of a real cluster does; a task manager's pool with it, which are one
// pod. It returns the first one.
func (c *cluster) keep(name string, begin func(name string) ([]*role, error)) (*role, error) {
	roles, err := begin(name)
	if err != nil {
		return nil, err
	}
	first := roles[len(roles)-1]
	c.keepers.Go(func() {
		for err == nil {
			manager := roles[len(roles)-1]
			<-manager.done
			if c.ctx.Err() == nil {
				fmt.Fprintf(os.Stderr, "flink: %s ended (%v) and is started again\n", name, manager.cmd.ProcessState)
			}
			for _, r := range roles {
				r.stop() // its workers, too
			}
			roles, err = begin(name)
		}
	})
	return first, nil
}

// jobManager starts the job manager, which then has no jobs.
func (c *cluster) jobManager(name string) ([]*role, error) {
	cmd, err := c.flinkProcess("JM", "entrypoint.StandaloneSessionClusterEntrypoint", "--executionMode", "cluster")
	if err != nil {
		return nil, err
	}
	manager, err := c.launch(name, cmd)
	return []*role{manager}, err
}

// pod starts a task manager, the last of the processes it returns, and before that
// its pool if it has one.
func (c *cluster) pod(name string) (roles []*role, err error) {
	if c.pool {
		cmd := exec.Command(c.boot, "--worker_pool")
		cmd.Dir = filepath.Join(c.run, "workers") // each worker leaves its options there
		pool, err := c.launch("pool", cmd)
		if err != nil {
			return nil, err
		}
		if _, err := pool.waitForLine(c.ctx, `(starting Process server)`, ready); err != nil {
			return nil, err
		}
		roles = append(roles, pool)
	}
	cmd, err := c.flinkProcess("TM", "taskexecutor.TaskManagerRunner")
	if err != nil {
		return nil, err
	}
	manager, err := c.launch(name, cmd)
	return append(roles, manager), err
}

// stop ends everything, the job manager last, and removes what workers leave.
func (c *cluster) stop() {
	c.cancel()
	c.mu.Lock()
	roles := c.running
	c.mu.Unlock()
	for _, r := range slices.Backward(roles) {
		r.stop()
	}
	c.keepers.Wait()
	if c.held == nil {
		return
	}
	c.tidy()
	for _, d := range []string{"tmp", "staged", "workers"} {
		os.RemoveAll(filepath.Join(c.run, d))
	}
	c.held.Close()
}

// free returns a free port of this machine.
func free() (int, error) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// classPath returns the jars in lib, except for those whose names begin with one of the words.
func (c *cluster) classPath(without ...string) string {
	jars, _ := filepath.Glob(filepath.Join(c.lib(), "*.jar"))
	jars = slices.DeleteFunc(jars, func(jar string) bool {
		return slices.ContainsFunc(without, func(word string) bool { return strings.HasPrefix(filepath.Base(jar), word) })
	})
	return strings.Join(jars, string(filepath.ListSeparator))
}

// role is a process of the cluster, with its process group.
type role struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it has ended
}

// launch starts a process that logs to dir/NAME.log and leaves its number in
// dir/NAME.pid.
func launch(dir, name string, cmd *exec.Cmd) (*role, error) {
	r := &role{name: name, cmd: cmd, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	f, err := os.OpenFile(r.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		cmd.Wait()
		close(r.done)
	}()
	pid := strconv.Itoa(cmd.Process.Pid)
	return r, os.WriteFile(filepath.Join(dir, name+".pid"), []byte(pid+"\n"), 0o666)
}

// stop ends the process and its group, first with a signal that it can handle.
func (r *role) stop() {
	group := -r.cmd.Process.Pid
	syscall.Kill(group, syscall.SIGTERM)
	select {
	case <-r.done:
	case <-time.After(5 * time.Second):
	}
	syscall.Kill(group, syscall.SIGKILL)
	<-r.done
}

// waitForLine waits until a line of the log matches, and returns the group of the pattern.
func (r *role) waitForLine(ctx context.Context, pattern string, patience time.Duration) (string, error) {
	expr := regexp.MustCompile(pattern)
	deadline := time.After(patience)
	for {
		ended := r.ended() // before the log is read, so that its last words are in it
		text, err := os.ReadFile(r.log)
		if err != nil {
			return "", err
		}
		if m := expr.FindStringSubmatch(string(text)); m != nil {
			return m[1], nil
		}
		if ended {
			return "", fmt.Errorf("%s ended: %v; the end of %s:\n%s", r.name, r.cmd.ProcessState, r.log, tail(string(text), 20))
		}
		select {
		case <-r.done:
		case <-deadline:
			return "", fmt.Errorf("%s is not ready after %v; the end of %s:\n%s", r.name, patience, r.log,
				tail(string(text), 20))
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ended reports whether the process has ended.
func (r *role) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// tail returns the last n lines.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
