//go:build unix

package main

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// digests holds for each job, VARIANT/SET, the digest of each output, "COMMAND FILE". For variants other than
// base it has only digests that differ from base, and "" for missing outputs.
type digests map[string]map[string]string

func readDigests(name string) (digests, error) {
	f, err := os.Open(name)
	if err != nil {
		return digests{}, err
	}
	defer f.Close()
	d := digests{}
	for s := bufio.NewScanner(f); s.Scan(); {
		words := strings.Split(s.Text(), " ")
		if len(words) != 4 {
			return nil, fmt.Errorf("%s: %q, want VARIANT/SET COMMAND FILE DIGEST", name, s.Text())
		}
		if d[words[0]] == nil {
			d[words[0]] = map[string]string{}
		}
		d[words[0]][words[1]+" "+words[2]] = words[3]
	}
	return d, nil
}

func (d digests) write(name string) error {
	var text strings.Builder
	for _, job := range slices.Sorted(maps.Keys(d)) {
		for _, output := range slices.Sorted(maps.Keys(d[job])) {
			fmt.Fprintf(&text, "%s %s %s\n", job, output, d[job][output])
		}
	}
	return os.WriteFile(name, []byte(text.String()), 0o666)
}

const missing = "missing"

// whole returns the digests of all outputs of a job.
func (d digests) whole(job string) map[string]string {
	variant, set, _ := strings.Cut(job, "/")
	outputs := map[string]string{}
	if variant != "base" {
		maps.Copy(outputs, d["base/"+set])
	}
	maps.Copy(outputs, d[job])
	maps.DeleteFunc(outputs, func(_, digest string) bool { return digest == missing })
	return outputs
}

// changes describes the differences in the jobs that ran.
func (d digests) changes(found digests) (lines []string) {
	for _, job := range slices.Sorted(maps.Keys(found)) {
		was := d.whole(job)
		for output, digest := range found[job] {
			switch before, known := was[output]; {
			case !known:
				lines = append(lines, fmt.Sprintf("%s %s is new: %s", job, output, digest))
			case before != digest:
				lines = append(lines, fmt.Sprintf("%s %s was %s, is %s", job, output, before, digest))
			}
		}
		for output := range was {
			if _, there := found[job][output]; !there {
				lines = append(lines, fmt.Sprintf("%s %s is missing", job, output))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// replaced returns d with the digests of the jobs that ran replaced.
func (d digests) replaced(found digests) digests {
	merged := maps.Clone(d)
	for job, outputs := range found {
		if strings.HasPrefix(job, "base/") {
			merged[job] = outputs
		}
	}
	for job, outputs := range found {
		_, set, _ := strings.Cut(job, "/")
		base := merged["base/"+set]
		if strings.HasPrefix(job, "base/") {
			continue
		}
		differ := map[string]string{}
		for output, digest := range outputs {
			if base[output] != digest {
				differ[output] = digest
			}
		}
		for output := range base {
			if _, there := outputs[output]; !there {
				differ[output] = missing
			}
		}
		merged[job] = differ
	}
	return merged
}
