package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// If rows belong to customers and have times, the advice names one of the two, since only one can hold rows
// out.
func TestAdviceOnGroupsAndTimesNamesOneOfThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(5, 5))
	level := make([]float64, 40)
	for i := range level {
		level[i] = r.NormFloat64()
	}
	var with, without strings.Builder
	with.WriteString("cust,a,b,when,y\n")
	without.WriteString("cust,a,b,y\n")
	for range 400 {
		c := r.IntN(len(level))
		a, b := level[c]+0.1*r.NormFloat64(), 3*level[c]+0.1*r.NormFloat64()
		y := level[c] + 0.01*r.NormFloat64()
		fmt.Fprintf(&with, "k%d,%.3f,%.3f,2024-%02d-%02d,%.4f\n", c*7919%1000, a, b, 1+r.IntN(12), 1+r.IntN(28), y)
		fmt.Fprintf(&without, "k%d,%.3f,%.3f,%.4f\n", c*7919%1000, a, b, y)
	}
	write(t, dir, "with.csv", with.String())
	write(t, dir, "without.csv", without.String())
	for data, want := range map[string]bool{"with": true, "without": false} {
		out := must(t, dir, "train", "--data", data+".csv", "--label", "y", "--features", "64", "--search", "auto",
			"--model", data)
		if !strings.Contains(out, "--group_column cust holds out whole groups") ||
			strings.Contains(out, "; use either --group_column or --time_split") != want {
			t.Errorf("%s times:\n%s", data, out)
		}
	}
}
