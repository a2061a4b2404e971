package svm

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/stattest"
)

func TestGapClosesForEveryLossAndNumberOfPartitions(t *testing.T) {
	const n, d = 160, 12
	for name, c := range cases(n, d) {
		t.Run(name, func(t *testing.T) {
			best := math.NaN()
			numbers := []int{1, 2, 4, 8}
			if strings.HasSuffix(name, "/weights") || strings.HasSuffix(name, "/2") {
				numbers = []int{1, 4}
			}
			for _, partitions := range numbers {
				o, s := c(partitions)
				r := start(t, o, s.blocks(partitions, 37))
				tol := 1e-6
				if partitions > 1 && math.IsInf(r.learner.loss.Scalar.Smooth(), 1) {
					tol = 1e-4 // the rest takes hundreds of rounds: rows at the kink of many partitions move against each other
				}
				first := r.until(t, tol, 800)
				cert := r.certify(t)
				if cert.Rows != n || !(cert.Gap >= -1e-9*cert.Primal) || cert.Gap > 2*tol*first || cert.Drift > 1e-12 {
					t.Errorf("%d partitions: %+v", partitions, cert)
				}
				if partitions == 1 {
					best = cert.Primal
				}
				if math.Abs(cert.Primal-best) > 2*tol*first {
					t.Errorf("%d partitions: objective %.9g, of one partition %.9g", partitions, cert.Primal, best)
				}
			}
		})
	}
}

// The report of a round is the certificate of the state that it began with.
func TestReportIsWhatTheVerifierFinds(t *testing.T) {
	for name, c := range cases(200, 15) {
		o, s := c(3)
		r := start(t, o, s.blocks(3, 50))
		for i := range 12 {
			cert := r.certify(t)
			rep := r.round(t)
			gap, ok := rep.Gap()
			if rep.Round != i || rep.Rows != 200 || rep.HeldRows != 50 || !ok {
				t.Fatalf("%s: %+v", name, rep)
			}
			if math.Abs(rep.Objective-cert.Primal) > 1e-6*cert.Primal || math.Abs(gap-cert.Gap) > 2e-6*cert.Primal {
				t.Fatalf("%s: round %d: objective %g, gap %g; verified %+v", name, i, rep.Objective, gap, cert)
			}
			if cert.Dual < -1e-12 {
				t.Fatalf("%s: round %d: dual %g is below that of zero", name, i, cert.Dual)
			}
		}
	}
}

func TestDualNeverFalls(t *testing.T) {
	for name, c := range cases(240, 12) {
		o, s := c(6)
		o.Passes = 3
		r := start(t, o, s.blocks(6, 40))
		last := math.Inf(-1)
		for i := range 20 {
			rep := r.round(t)
			if *rep.Dual < last-1e-7*rep.Objective {
				t.Fatalf("%s: dual falls from %g to %g in round %d", name, last, *rep.Dual, i)
			}
			last = *rep.Dual
		}
	}
}

func TestDriftStaysSmallOverHundredsOfRounds(t *testing.T) {
	o, s := cases(200, 30)["logistic/3"](4)
	o.Lambda = 1e-4
	r := start(t, o, s.blocks(4, 25))
	for range 300 {
		rep := r.round(t)
		if gap, _ := rep.Gap(); !(gap >= 0) {
			t.Fatalf("gap %g", gap)
		}
	}
	if c := r.certify(t); c.Drift > 1e-12 || c.Gap < -1e-9*c.Primal {
		t.Errorf("%+v", c)
	}
}

func TestBlocksOfAnySizeAndEmptyPartitionsConverge(t *testing.T) {
	o, s := cases(100, 10)["hinge/3"](8)
	parts := s.blocks(5, 1)
	parts = append(parts, nil, nil, nil)
	r := start(t, o, parts)
	r.until(t, 1e-4, 300)
	if r.own[6] != nil {
		t.Error("a partition without rows keeps something")
	}
	if c := r.certify(t); c.Gap > 4e-4 {
		t.Errorf("%+v", c)
	}
}

func TestEqualRunsHaveEqualBytesAndSeedsDoNot(t *testing.T) {
	o, s := cases(150, 10)["hinge/3"](3)
	state := func(seed uint64) []byte {
		o.Seed = seed
		r := start(t, o, s.blocks(3, 20))
		for range 4 {
			r.round(t)
		}
		return bytes.Join(append(r.own, r.state), nil)
	}
	one := state(1)
	if !bytes.Equal(one, state(1)) {
		t.Error("two runs differ")
	}
	if bytes.Equal(one, state(2)) {
		t.Error("the seed changes nothing")
	}
}

func TestNothingIsFused(t *testing.T) { stattest.NoFusedMultiplyAdd(t) }
