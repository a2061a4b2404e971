//go:build unix

package main

import (
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

func TestGameResumesAfterAKill(t *testing.T) {
	campaign.Long(t)
	t.Parallel()
	dir := choreData(t, "2000")
	undisturbed(t, &chore{dir: dir, out: "features", args: []string{
		"align", "--data", "data.csv", "--label", "y", "--features", "80", "--chains", "100", "--steps", "20", "--threads",
		"1", "--out", "features",
	}}).survives(t, 2, 6)
	undisturbed(t, &chore{dir: dir, out: "model", args: []string{
		"train", "--data", "data.csv", "--label", "y", "--features", "40", "--kernel", "learned", "--chains", "50",
		"--steps", "20",
		"--learner", "svm", "--lambda", "1e-4", "--rounds", "8", "--threads", "1", "--model", "model",
	}}).survives(t, 1, 5)
}
