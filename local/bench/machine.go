//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/bochner-ml/bochner/internal/blas"
)

// machine describes the machine of the figures.
type machine struct {
	CPU      string   `json:"cpu"`
	Cores    int      `json:"cores"`
	System   string   `json:"system"`
	Go       string   `json:"go"`
	Levels   []string `json:"levels"`
	Commit   string   `json:"commit,omitempty"`
	Load     string   `json:"load,omitempty"` // of the last minute, before
	Versions []string `json:"versions,omitempty"`
}

func describe() machine {
	m := machine{CPU: "unknown CPU", Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Levels: blas.ISAs()}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		var family, model string
		for line := range bytes.Lines(info) {
			key, value, _ := strings.Cut(string(line), ":")
			value = strings.TrimSpace(value)
			switch strings.TrimSpace(key) {
			case "model name":
				m.CPU = value
			case "cpu family":
				family = value
			case "model":
				model = value
			}
		}
		if family != "" {
			m.CPU += fmt.Sprintf(" (family %s, model %s)", family, model)
		}
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(load), " ")
	}
	if out, err := exec.Command("git", "describe", "--always", "--dirty").Output(); err == nil {
		m.Commit = strings.TrimSpace(string(out))
	}
	return m
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %d cores, load %s, %s, %s, levels %s, commit %s\n", m.CPU, m.Cores, m.Load, m.System, m.Go,
		strings.Join(m.Levels, " "), m.Commit)
}
