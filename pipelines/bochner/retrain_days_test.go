package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// On a first night, with a champion, and after the directory of the champion was lost, bad days are rejected by
// name with all learners, and the other days are used.
func TestBadDaysDoNotStopANight(t *testing.T) {
	for _, learner := range []string{"ridge", "sgd", "svm"} {
		t.Run(learner, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			good := func(day int) string { return replaced(quadrants(90+day), nil) }
			otherUnits := func(day int) string {
				return regexp.MustCompile(`(?m)^([-.0-9]+),`).ReplaceAllString(good(day), "${1}e2,")
			}
			put := func(day int, text string) {
				at := filepath.Join(dir, fmt.Sprintf("data/dt=2026-11-0%d", day))
				if err := os.MkdirAll(at, 0o777); err != nil {
					t.Fatal(err)
				}
				write(t, at, "a.csv", text)
			}
			rounds := []string{"--rounds", "3"}
			if learner == "ridge" {
				rounds = nil
			}
			night := func(day, code int, want ...string) string {
				t.Helper()
				r := run(t, dir, append([]string{"retrain", "--models", "models", "--data", "data/dt=YYYY-MM-DD/*.csv", "--label",
					"y", "--learner", learner, "--search", "none",
					"--features", "16", "--max_drift", "0.3", "--paired_gate", "not worse by 90% at 50%", "--day",
					fmt.Sprintf("2026-11-0%d", day)}, rounds...)...)
				for _, w := range want {
					if r.code != code || !strings.Contains(r.stdout, w) {
						t.Fatalf("day %d: exit code %d, want %d and %q\n%s%s", day, r.code, code, w, r.stdout, r.stderr)
					}
				}
				return r.stdout
			}
			put(1, good(1))
			put(2, good(1))
			put(3, "PK\x03\x04 a b c")
			put(4, otherUnits(4))
			put(5, good(5))
			bad := []string{"refused    2026-11-02: has the same 91 rows as 2026-11-01", "refused    2026-11-03: ",
				"refused    2026-11-04: drift "}
			report := night(5, 0, append(bad, "trained on 1 partition, 2026-11-01")...)
			put(6, otherUnits(6))
			night(6, 8, append(bad, "the data of 2026-11-06 is refused: drift ")...)
			champion := regexp.MustCompile(`(?m)^champion +(\S+)`).FindStringSubmatch(report)[1]
			if err := os.RemoveAll(filepath.Join(dir, "models", champion)); err != nil {
				t.Fatal(err)
			}
			put(7, good(7))
			night(7, 0, append(bad, "the champion "+champion+" is lost", "refused    2026-11-06: drift ",
				"trained on 2 partitions, 2026-11-01 to 2026-11-05")...)
			put(8, good(8))
			night(8, 0, append(bad, "judged by  2026-11-08", "trained on 3 partitions, 2026-11-01 to 2026-11-07")...)
		})
	}
}
