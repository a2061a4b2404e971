// Command flink runs a Flink session cluster on this machine, to try and test bochner: a job manager, task
// managers, and Beam's job server.
//
//	go run ./local/flink make test-something   # while a command runs
//	go run ./local/flink sh                    # to try jobs
//	go run ./local/flink                       # until it is interrupted
//
// Beam's job server and pool of workers listen on all addresses, without a password. So a command and the
// cluster have a network of their own, which nothing else reaches. Without a command, or with -open, they
// are in the network of the machine.
//
// It prints the flags that a job takes to run on the cluster. A command finds
// them in its environment, one on each line of BOCHNER_FLINK_FLAGS, and the
// cluster's directory in BOCHNER_FLINK_DIR, and the file of -program, if any, in
// BOCHNER_FLINK_PROGRAM: jobs are refused by workers of another build.
//
// It takes a JDK 17 and Maven, which fetches 115 MB of jars into build/flink/lib
// the first time; every jar is compared with its SHA-256 in sums.txt. The logs are
// in build/flink/run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "flink:", err)
		code = 1
	}
	os.Exit(code)
}

// run returns the exit code of the command, which has printed its own errors.
func run(ctx context.Context) (code int, err error) {
	var o options
	flag.StringVar(&o.dir, "dir", filepath.Join("build", "flink"), "`directory` of the jars and of the logs")
	flag.IntVar(&o.managers, "task_managers", 2, "task managers, each of which starts a worker process for each job")
	flag.IntVar(&o.slots, "slots", 2, "task slots of each task manager")
	flag.IntVar(&o.parallelism, "parallelism", 0, "tasks of each stage; 0 is one for each task manager")
	flag.StringVar(&o.memory, "memory", "2g", "`size` of each task manager, without its worker")
	flag.StringVar(&o.offHeap, "off_heap", "640m",
		"part of -memory for messages and the program on their way to the worker")
	flag.IntVar(&o.attempts, "attempts", 5, "how often Flink restarts a job whose task manager or worker ended")
	flag.DurationVar(&o.checkpoints, "checkpoints", 0,
		"`interval` of checkpoints of streams, which do not need any; 0 for none")
	flag.BoolVar(&o.pool, "pool", false, "workers come from Beam's pool beside the task manager, as deploy/flink has "+
		"it, and not from the task manager; takes -task_managers 1")
	open := flag.Bool("open", false,
		"run the command in the network of the machine, where others may reach the ports of the job server")
	program := flag.String("program", "", "static bochner `file` that all workers start from where it lies, instead of "+
		"a copy that every job stages")
	flag.Parse()
	if o.pool && o.managers != 1 {
		return 0, fmt.Errorf(
			"-pool: each task manager has its own at port %d, of which a machine has one; give -task_managers 1",
			poolPort)
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return 0, err
	}
	if o.parallelism == 0 {
		o.parallelism = o.managers
	}
	if err := raiseLoopback(); err != nil {
		return 0, fmt.Errorf("bringing the loopback up: %w", err)
	}
	if err := fetch(ctx, o.lib()); err != nil {
		return 0, err
	}
	if err := buildBoot(ctx, o.bootFile()); err != nil {
		return 0, err
	}
	if flag.NArg() > 0 && !*open {
		return runInNamespace(ctx)
	}
	begun := time.Now()
	c, err := start(ctx, o)
	if err != nil {
		return 0, err
	}
	defer c.stop()
	flags := c.flags()
	if *program != "" {
		if *program, err = filepath.Abs(*program); err != nil {
			return 0, err
		}
		script, err := c.script(*program)
		if err != nil {
			return 0, err
		}
		flags = append(flags, "--worker_binary", script)
	}
	fmt.Fprintf(os.Stderr,
		"flink: %d task managers with %d slots after %.0f s; http://%s; logs in %s; a job takes\n  %s\n",
		o.managers, o.slots, time.Since(begun).Seconds(), c.rest, c.run, quoted(flags))
	if flag.NArg() == 0 {
		fmt.Fprintf(os.Stderr, "flink: anyone who can reach the port of %s on this machine can run programs here; "+
			"with a command, only the command can\n", c.jobs)
		<-ctx.Done()
		return 0, nil
	}
	cmd := exec.CommandContext(ctx, flag.Arg(0), flag.Args()[1:]...)
	cmd.Env = append(os.Environ(),
		"BOCHNER_FLINK_FLAGS="+strings.Join(flags, "\n"), "BOCHNER_FLINK_DIR="+c.run, "BOCHNER_FLINK_PROGRAM="+*program)
	return exitCode(cmd)
}

// runInNamespace runs this program with the same arguments in a network namespace of its own.
func runInNamespace(ctx context.Context) (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"-open"}, os.Args[1:]...)...)
	if cmd.SysProcAttr, err = ownNetwork(os.Getuid(), os.Getgid()); err == nil {
		code, err = exitCode(cmd)
	}
	if err != nil {
		err = fmt.Errorf("cannot start a network of its own: %w; allow user namespaces, "+
			"or give -open: the job server is then open to the network of this machine", err)
	}
	return code, err
}

// exitCode runs a command with the input and output of this program.
func exitCode(cmd *exec.Cmd) (code int, err error) {
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// quoted quotes words for a shell.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if strings.ContainsAny(w, " {}\"'$*") {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}
