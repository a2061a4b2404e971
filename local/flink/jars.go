package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed pom.xml
var pom []byte

// sums holds a line for each jar, as sha256sum writes it.
//
//go:embed sums.txt
var sums string

const plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

// fetch sees to it that lib holds the jars of pom.xml, each with its checksum in sums.txt, and
// nothing else.
func fetch(ctx context.Context, lib string) error {
	if check(lib, sums) == nil {
		return nil
	}
	dir, err := os.MkdirTemp("", "bochner-flink-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "pom.xml"), pom, 0o666); err != nil {
		return err
	}
	if err := os.RemoveAll(lib); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "mvn", "--batch-mode", "--quiet", "--strict-checksums", plugin,
		"-DoutputDirectory="+lib)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mvn: %w\n%s", err, bytes.TrimSpace(text))
	}
	return check(lib, sums)
}

// check returns an error unless a directory holds the files that have a sum, with
// that sum, and no others.
func check(dir, sums string) error {
	want := map[string]string{}
	for line := range strings.Lines(sums) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		want[name] = sum
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		sum, known := want[e.Name()]
		if !known {
			return fmt.Errorf("%s: a file that sums.txt does not name: %s", dir, e.Name())
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != sum {
			return fmt.Errorf("%s: %s has SHA-256 %s, sums.txt says %s", dir, e.Name(), got, sum)
		}
		delete(want, e.Name())
	}
	for name := range want {
		return fmt.Errorf("%s: %s is missing, and %d more", dir, name, len(want)-1)
	}
	return nil
}
