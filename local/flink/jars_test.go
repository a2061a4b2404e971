package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckRequiresExactlyTheListedFiles(t *testing.T) {
	sums := fmt.Sprintf("%x  a.jar\n%x  b.jar\n", sha256.Sum256([]byte("a")), sha256.Sum256([]byte("b")))
	for name, test := range map[string]struct {
		files map[string]string
		want  string // in the error; "" is none
	}{
		"all":     {map[string]string{"a.jar": "a", "b.jar": "b"}, ""},
		"changed": {map[string]string{"a.jar": "a", "b.jar": "B"}, "b.jar has SHA-256"},
		"missing": {map[string]string{"a.jar": "a"}, "b.jar is missing"},
		"more":    {map[string]string{"a.jar": "a", "b.jar": "b", "c.jar": "c"}, "c.jar"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range test.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			err := check(dir, sums)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
	if err := check(filepath.Join(t.TempDir(), "none"), sums); err == nil {
		t.Error("a directory that is not there passes")
	}
}

// Jars that pom.xml has Maven resolve are named with their versions in sums.txt.
func TestSumsNameTheVersionsOfThePom(t *testing.T) {
	for _, jar := range []string{"beam-runners-flink-1.19-2.62.0.jar", "slf4j-simple-1.7.30.jar",
		"flink-runtime-1.19.0.jar"} {
		if !strings.Contains(sums, "  "+jar+"\n") {
			t.Errorf("sums.txt does not name %s", jar)
		}
	}
	for _, version := range []string{"beam-runners-flink-1.19</artifactId>\n      <version>2.62.0<",
		"slf4j-simple</artifactId>\n      <version>1.7.30<"} {
		if !strings.Contains(string(pom), version) {
			t.Errorf("pom.xml does not have %q", version)
		}
	}
}
