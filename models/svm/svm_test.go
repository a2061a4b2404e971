package svm

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/blas"
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
func TestReportMatchesTheVerifier(t *testing.T) {
	for name, c := range cases(200, 15) {
		o, s := c(3)
		r := start(t, o, s.blocks(3, 50))
		for i := range 12 {
			cert := r.certify(t)
			rep := r.round(t)
			gap, ok := rep.Gap()
			if rep.Round != i || rep.Rows != 200 || rep.HeldOutRows != 50 || !ok {
				t.Fatalf("%s: %+v", name, rep)
			}
			if math.Abs(rep.Objective-cert.Primal) > 1e-6*cert.Primal || math.Abs(gap-cert.Gap) > 2e-6*cert.Primal {
				t.Fatalf("%s: round %d: objective %g, gap %g; verified %+v", name, i, rep.Objective, gap, cert)
			}
			if cert.Dual < -1e-12 {
				t.Fatalf("%s: round %d: dual %g is below the dual 0 of α = 0", name, i, cert.Dual)
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
	for range 200 {
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
	if r.carried[6] != nil {
		t.Error("a partition without rows keeps something")
	}
	if c := r.certify(t); c.Gap > 4e-4 {
		t.Errorf("%+v", c)
	}
}

func TestEqualRunsHaveEqualBytesAndOtherSeedsDiffer(t *testing.T) {
	o, s := cases(150, 10)["hinge/3"](3)
	state := func(seed uint64) []byte {
		o.Seed = seed
		r := start(t, o, s.blocks(3, 20))
		for range 4 {
			r.round(t)
		}
		return bytes.Join(append(r.carried, r.state), nil)
	}
	one := state(1)
	if !bytes.Equal(one, state(1)) {
		t.Error("two runs differ")
	}
	if bytes.Equal(one, state(2)) {
		t.Error("the seed changes nothing")
	}
}

// Neither threads nor the vectors of the processor change a bit.
func TestBytesDoNotDependOnThreadsOrVectors(t *testing.T) {
	o, s := cases(300, 40)["squared_hinge/3"](3)
	level := blas.ISA()
	defer blas.SetISA(level)
	var want []byte
	for _, level := range blas.ISAs() {
		if err := blas.SetISA(level); err != nil {
			t.Fatal(err)
		}
		for _, threads := range []int{1, 2, 5} {
			r := start(t, o, s.blocks(3, 50))
			r.threads = threads
			for range 5 {
				r.round(t)
			}
			got := bytes.Join(append(r.carried, r.state), nil)
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s, %d threads: other bytes", level, threads)
			}
		}
	}
}

// Training converges with a window that does not hold all rows that move, because it is settled and filled
// again.
func TestSmallWindowsConverge(t *testing.T) {
	for _, name := range []string{"hinge/3", "logistic/3"} {
		o, s := cases(200, 10)[name](1)
		var rounds [2]int
		for i, bytes := range []int64{0, 50 * 4 * 10} {
			o.Window = bytes
			r := start(t, o, s.blocks(1, 20))
			first := r.round(t).Objective
			for gap := first; gap > 1e-5*first; rounds[i]++ {
				if rounds[i] > 300 {
					t.Fatalf("%s: window of %d bytes: gap is %g of %g", name, o.Window, gap, first)
				}
				gap, _ = r.round(t).Gap()
			}
			if c := r.certify(t); c.Drift > 1e-12 {
				t.Errorf("%s: window of %d bytes: %+v", name, o.Window, c)
			}
		}
		if rounds[0] >= rounds[1] {
			t.Errorf("%s: %d rounds with all rows in the window, %d with a quarter", name, rounds[0], rounds[1])
		}
	}
}

// Without momentum, a gap takes at least twice as many rounds.
func TestMomentumSavesRounds(t *testing.T) {
	o, s := cases(400, 30)["hinge/3"](4)
	o.Lambda = 1e-3
	count := func(still bool) (n int) {
		r := start(t, o, s.blocks(4, 100))
		first := r.round(t).Objective
		for gap := first; gap > 1e-2*first && n < 500; n++ {
			if still {
				st, err := decodeState(r.learner, r.state)
				if err != nil {
					t.Fatal(err)
				}
				clear(st.smooth)
				r.state = st.encode(r.learner)
			}
			gap, _ = r.round(t).Gap()
		}
		return n
	}
	with, without := count(false), count(true)
	t.Logf("%d rounds with momentum, %d without", with, without)
	if 2*with > without {
		t.Errorf("%d rounds with momentum, %d without", with, without)
	}
}
