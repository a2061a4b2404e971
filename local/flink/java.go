package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// configure writes the configuration of Flink.
func (c *cluster) configure() error {
	rpc, err := free()
	if err != nil {
		return err
	}
	rest, err := free()
	if err != nil {
		return err
	}
	c.rest = fmt.Sprintf("localhost:%d", rest)
	settings := []string{
		"jobmanager.rpc.address: localhost",
		"jobmanager.bind-host: localhost",
		fmt.Sprintf("jobmanager.rpc.port: %d", rpc),
		"rest.address: localhost",
		"rest.bind-address: localhost",
		fmt.Sprintf("rest.port: %d", rest),
		"taskmanager.host: localhost",
		"taskmanager.bind-host: localhost",
		"io.tmp.dirs: " + filepath.Join(c.run, "tmp"),
		"jobmanager.memory.process.size: 1g",
		"taskmanager.memory.process.size: " + c.memory,
		// The input and output of workers go through off-heap memory: the parts of the sums, and the program, which
		// Beam sends as fast as it can read it.
		"taskmanager.memory.task.off-heap.size: " + c.offHeap,
		"taskmanager.memory.managed.size: 256m", // for sorting parts by their keys
		fmt.Sprintf("taskmanager.numberOfTaskSlots: %d", c.slots),
		fmt.Sprintf("parallelism.default: %d", c.parallelism),
		"cluster.evenly-spread-out-slots: true",
		// A job uses the jars of the cluster. Taken from there they are
		// loaded once, and a worker lives from one stage of its job to the next.
		"classloader.resolve-order: parent-first",
		// Yet every task manager keeps a copy of 85 MB for each job, an hour by default.
		"blob.service.cleanup.interval: 60",
		// The tasks of a lost task manager fail one by one. This strategy takes those
		// that fail together for one; others have then used up all attempts.
		"restart-strategy.type: exponential-delay",
		"restart-strategy.exponential-delay.initial-backoff: 1 s",
		"restart-strategy.exponential-delay.backoff-multiplier: 2",
		"restart-strategy.exponential-delay.max-backoff: 10 s",
		fmt.Sprintf("restart-strategy.exponential-delay.attempts-before-reset-backoff: %d", c.attempts),
		// A task manager that was killed is missed after ten seconds, not fifty.
		"heartbeat.interval: 2000",
		"heartbeat.timeout: 10000",
	}
	if c.checkpoints > 0 {
		settings = append(settings,
			fmt.Sprintf("execution.checkpointing.interval: %d ms", c.checkpoints.Milliseconds()),
			"state.checkpoints.dir: file://"+filepath.Join(c.run, "checkpoints"))
	}
	return os.WriteFile(filepath.Join(c.run, "conf", "flink-conf.yaml"), []byte(strings.Join(settings, "\n")+"\n"), 0o666)
}

// opens holds the packages of Java 17 that Flink accesses by reflection.
var opens = []string{
	"java.base/java.io", "java.base/java.lang", "java.base/java.lang.reflect", "java.base/java.net", "java.base/java.nio",
	"java.base/java.text", "java.base/java.time", "java.base/java.util", "java.base/java.util.concurrent",
	"java.base/java.util.concurrent.atomic", "java.base/java.util.concurrent.locks", "java.base/sun.net.util",
	"java.base/sun.nio.ch",
}

func java(args ...string) *exec.Cmd {
	all := []string{"-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS"}
	for _, p := range opens {
		all = append(all, "--add-opens="+p+"=ALL-UNNAMED")
	}
	return exec.Command("java", append(all, args...)...)
}

// flinkProcess returns a process of Flink, with the memory that Flink's own
// scripts would give it: they ask Flink for the options of the machine and the
// settings that go with process.size.
func (c *cluster) flinkProcess(kind, class string, args ...string) (*exec.Cmd, error) {
	conf := filepath.Join(c.run, "conf")
	ask := java("-cp", c.classPath(), "org.apache.flink.runtime.util.bash.BashJavaUtils", "GET_"+kind+"_RESOURCE_PARAMS",
		"-c", conf)
	text, err := ask.CombinedOutput()
	const mark = "BASH_JAVA_UTILS_EXEC_RESULT:"
	var found [][]string
	for line := range strings.Lines(string(text)) {
		if _, rest, ok := strings.Cut(line, mark); ok {
			found = append(found, strings.Fields(rest))
		}
	}
	if err != nil || len(found) != 2 {
		return nil, fmt.Errorf("asking Flink for its memory: %v\n%s", err, tail(string(text), 20))
	}
	machine, settings := found[0], found[1]
	if kind == "TM" { // with a full heap it would stay without answering; keep starts one that ends again
		machine = append(machine, "-XX:+ExitOnOutOfMemoryError")
	}
	all := append(machine, "-cp", c.classPath(), "org.apache.flink.runtime."+class, "-c", conf)
	return java(append(append(all, args...), settings...)...), nil
}

// jobServer returns Beam's job server. What it has on its class path it sends to
// Flink with every job, so it goes without what only Flink takes.
func (c *cluster) jobServer() *exec.Cmd {
	return java("-Xmx512m", "-cp", c.classPath("flink-rpc-akka", "flink-shaded-zookeeper"),
		"org.apache.beam.runners.flink.FlinkJobServerDriver",
		"--flink-master="+c.rest, "--flink-conf-dir="+filepath.Join(c.run, "conf"),
		"--job-host=localhost", "--job-port=0", "--artifact-port=0", "--expansion-port=-1",
		"--artifacts-dir="+filepath.Join(c.run, "staged"))
}

// buildBoot builds Beam's boot program, which fetches the program of a job and starts it as a worker.
func buildBoot(ctx context.Context, file string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", file, "github.com/apache/beam/sdks/v2/go/container")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building Beam's boot: %w\n%s", err, text)
	}
	return nil
}

// writeBoot writes the script that starts boot in a directory of its own. The boot of a pool takes none: it
// starts itself for each worker.
func (c *cluster) writeBoot() error {
	if c.pool {
		c.boot = c.bootFile()
		return nil
	}
	c.boot = filepath.Join(c.run, "boot.sh")
	return writeScript(c.boot, fmt.Sprintf("d='%s/workers/'$$\nmkdir \"$d\" && cd \"$d\" && "+
		"exec '%s' --semi_persist_dir=\"$d\" \"$@\" >>'%s/workers.log' 2>&1\n", c.run, c.bootFile(), c.run))
}

// script writes the program that workers start into the cluster's directory: a
// line that runs the real one. Staging that takes no time, and leaves a hundred
// bytes in /tmp for every worker, not a hundred million.
func (c *cluster) script(program string) (string, error) {
	if _, err := os.Stat(program); err != nil {
		return "", err
	}
	name := filepath.Join(c.run, "worker.sh")
	return name, writeScript(name, fmt.Sprintf("# %s\nexec '%s' \"$@\"\n", c.run, program))
}

func writeScript(name, text string) error {
	return os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o777)
}

// tidy removes the copies of our script that Beam's boot leaves in /tmp: one for
// each worker, and what a pool has fetched.
func (c *cluster) tidy() {
	for _, pattern := range []string{"/tmp/bin*/worker", "/tmp/staged/*"} {
		copies, _ := filepath.Glob(pattern)
		for _, name := range copies {
			if info, err := os.Stat(name); err != nil || info.Size() > 4096 {
				continue
			}
			if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), "# "+c.run+"\n") {
				os.Remove(name)
				os.Remove(filepath.Dir(name)) // unless there is more in it
			}
		}
	}
}
